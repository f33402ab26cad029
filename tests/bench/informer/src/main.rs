//! An informer of Pods on wharf-cache with N handlers that count, with the host's allocator
//! and runtime, to be measured beside the peers. Owns nothing but that: what the host adds
//! (plugins, ledger, queue) is measured on the host.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use serde_json::{Map, Value, json};
use wharf_bench_record::{Content, Counts, Lists, Program, Recorder, measure, measure_late, timestamp};
use wharf_cache::{
    Change, ChangeHandler, IndexError, IndexValue, InformerSpec, Informers, NoMetrics, Options, Reader as _, Registration, Scope, View,
};
use wharf_core::{Gvk, Object, Pointer};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The label that has an index, and the name of the index.
const INSTANCE: &str = "app.kubernetes.io/instance";
/// Where writers put the time.
const STAMP: &str = "/metadata/annotations/bench~1ts";

/// Flags: `-server URL`, `-handlers N`, `-hold SECONDSs`.
struct Flags {
    server: String,
    handlers: usize,
    hold: Option<Duration>,
}

fn main() -> ExitCode {
    let recorder = Recorder::new("wharf");
    // Fails only if a provider was installed before, which nobody does in this process.
    let _first = rustls::crypto::ring::default_provider().install_default();
    match run(recorder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if that is closed too.
            let _told = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(mut recorder: Recorder) -> Result<()> {
    let flags = Flags::parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = kube::Config::new(flags.server.parse().context("read the URL of -server")?);
        // As wharf-cache wants it.
        config.default_retry = false;
        config.read_timeout = None;
        let informers = Informers::new(Client::try_from(config)?, Options::default(), Arc::new(NoMetrics));
        let informer = Informer::start(informers, flags.handlers, recorder.counts())?;
        for registration in &informer.registrations {
            registration.settle().await;
            ensure!(registration.has_synced(), "the informer has settled without a list: {:?}", registration.state());
        }
        recorder.synced(informer.store.len())?;
        recorder.serve(&informer, flags.hold).await
    })
}

impl Flags {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut flags = Self { server: String::new(), handlers: 1, hold: None };
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} has no value"))?;
            match flag.as_str() {
                "-server" => flags.server = value,
                "-handlers" => flags.handlers = value.parse().context("read -handlers")?,
                "-hold" => flags.hold = Some(Duration::from_secs_f64(value.trim_end_matches('s').parse().context("read -hold")?)),
                _ => bail!("there is no flag {flag}"),
            }
        }
        ensure!(!flags.server.is_empty() && flags.handlers > 0, "-server and at least one handler are needed");
        Ok(flags)
    }
}

/// The informer with its handlers.
struct Informer {
    informers: Informers,
    registrations: Vec<Registration>,
    store: View,
}

impl Informer {
    fn start(informers: Informers, handlers: usize, counts: Arc<Counts>) -> Result<Self> {
        // Only the first is the recorder's; the others only count.
        let all = std::iter::once(counts).chain(std::iter::repeat_with(Arc::<Counts>::default)).take(handlers);
        let registrations = all.map(|counts| Ok(informers.attach(pods(), Arc::new(Handler::new(counts)?))));
        let registrations = registrations.collect::<Result<Vec<_>>>()?;
        let store = registrations.first().context("there is no handler")?.view();
        store.add_indexer(INSTANCE, Arc::new(instance))?;
        Ok(Self { informers, registrations, store })
    }
}

/// The value of the label by which objects are found.
fn instance(object: &Object) -> Result<Vec<IndexValue>, IndexError> {
    Ok(object.labels().into_iter().filter(|(name, _)| name == INSTANCE).map(|(_, value)| value.as_ref().into()).collect())
}

fn pods() -> InformerSpec {
    InformerSpec::new(Gvk::new("", "v1", "Pod"), Scope::All)
}

/// Counts, and reads one annotation of what changed.
struct Handler {
    counts: Arc<Counts>,
    stamp: Pointer,
}

impl Handler {
    fn new(counts: Arc<Counts>) -> Result<Self> {
        Ok(Self { counts, stamp: Pointer::parse(STAMP)? })
    }
}

impl ChangeHandler for Handler {
    fn on_change(&self, change: &Change<'_>) {
        match (change.old, change.new) {
            (None, Some(_)) => self.counts.added(),
            (_, Some(new)) => self.counts.updated(new.get(&self.stamp).map_or(0, |text| timestamp(text.trim_matches('"')))),
            (_, None) => self.counts.deleted(),
        }
    }
}

/// A handler that comes late and is told of everything.
struct Late;

impl ChangeHandler for Late {
    fn on_change(&self, change: &Change<'_>) {
        std::hint::black_box(change.sequence);
    }
}

impl Program for Informer {
    fn content(&self) -> Content {
        let mut content = Content::default();
        for object in self.store.list(None) {
            let key = object.key();
            content.add(key.namespace.as_deref().unwrap_or(""), &key.name, object.resource_version());
        }
        content
    }

    fn figures(&self) -> Map<String, Value> {
        Map::from_iter([
            ("handlers".to_owned(), json!(self.registrations.len())),
            ("encoding".to_owned(), json!("json")),
            ("store_json_bytes".to_owned(), json!(self.informers.snapshot().iter().map(|informer| informer.bytes).sum::<u64>())),
        ])
    }

    fn reads(&self) -> Map<String, Value> {
        let all = self.store.list(None);
        let namespaces: BTreeSet<String> = all.iter().filter_map(|object| Some(object.key().namespace.as_deref()?.to_owned())).collect();
        let mut out = measure(self, &namespaces);
        let mut late = None;
        measure_late(&mut out, || late = Some(self.informers.attach(pods(), Arc::new(Late))));
        out
    }
}

impl Lists for Informer {
    fn namespace(&self, namespace: &str) -> usize {
        self.store.list(Some(namespace)).len()
    }

    fn instance(&self, instance: &str) -> Option<usize> {
        self.store.by_index(INSTANCE, instance).ok().map(|found| found.len())
    }
}
