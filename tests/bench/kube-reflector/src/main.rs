//! kube's `watcher` and `reflector` on Pods, typed or dynamic, with their defaults, to be
//! measured beside the host's informer. It has the host's allocator and runtime, so that
//! only the libraries differ. Owns nothing but that.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::reflector::{Store, reflector, store::Writer};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use wharf_bench_record::{Content, Counts, Lists, Program, Recorder, measure, measure_late, timestamp};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Flags: `-server URL`, `-objects typed|dynamic`, `-hold SECONDSs`.
struct Flags {
    server: String,
    typed: bool,
    hold: Option<Duration>,
}

fn main() -> ExitCode {
    let recorder = Recorder::new("kube-reflector");
    // Fails only if a provider was installed before, which nobody does in this process.
    let _first = rustls::crypto::ring::default_provider().install_default();
    match run(recorder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(recorder: Recorder) -> Result<()> {
    let flags = Flags::parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = kube::Config::new(flags.server.parse().context("read the URL of -server")?);
        // A quiet watch is no broken one.
        config.read_timeout = None;
        let client = Client::try_from(config)?;
        if flags.typed {
            serve(Api::<Pod>::all(client), (), recorder, flags.hold).await
        } else {
            let resource = ApiResource::erase::<Pod>(&());
            serve(Api::<DynamicObject>::all_with(client, &resource), resource, recorder, flags.hold).await
        }
    })
}

async fn serve<K>(api: Api<K>, resource: K::DynamicType, mut recorder: Recorder, hold: Option<Duration>) -> Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Debug + Send + Sync + Unpin,
{
    let writer = Writer::new(resource);
    let store = writer.as_reader();
    let counts = recorder.counts();
    let stream = reflector(writer, watcher(api, watcher::Config::default())).default_backoff();
    let follow = tokio::spawn(stream.for_each(move |event| {
        match event {
            Ok(event) => count(&counts, &event),
            // The 410 is one of them: the watcher goes on by itself.
            Err(error) => eprintln!("watch: {error}"),
        }
        std::future::ready(())
    }));
    store.wait_until_ready().await.context("the watcher has ended")?;
    recorder.synced(store.state().len())?;
    let served = recorder.serve(&Reflector(store), hold).await;
    follow.abort();
    served
}

/// Each object that the stream shows again is one that its reader has to look at again.
fn count<K: Resource>(counts: &Counts, event: &watcher::Event<K>) {
    match event {
        watcher::Event::Apply(object) => counts.updated(object.annotations().get("bench/ts").map_or(0, |text| timestamp(text))),
        watcher::Event::InitApply(_) => counts.added(),
        watcher::Event::Delete(_) => counts.deleted(),
        watcher::Event::Init | watcher::Event::InitDone => {}
    }
}

impl Flags {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut flags = Self { server: String::new(), typed: false, hold: None };
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} has no value"))?;
            match (flag.as_str(), value.as_str()) {
                ("-server", _) => flags.server = value,
                ("-objects", "typed") => flags.typed = true,
                ("-objects", "dynamic") => flags.typed = false,
                ("-hold", _) => flags.hold = Some(Duration::from_secs_f64(value.trim_end_matches('s').parse().context("read -hold")?)),
                _ => bail!("there is no flag {flag} {value}"),
            }
        }
        ensure!(!flags.server.is_empty(), "-server is needed");
        Ok(flags)
    }
}

struct Reflector<K>(Store<K>)
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone;

impl<K> Program for Reflector<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn content(&self) -> Content {
        let mut content = Content::default();
        for object in self.0.state() {
            let meta = object.meta();
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            content.add(&text(&meta.namespace), &text(&meta.name), &text(&meta.resource_version));
        }
        content
    }

    fn figures(&self) -> Map<String, Value> {
        Map::from_iter([("handlers".to_owned(), json!(1)), ("encoding".to_owned(), json!("json"))])
    }

    fn reads(&self) -> Map<String, Value> {
        let namespaces: BTreeSet<String> = self.0.state().iter().filter_map(|object| object.namespace()).collect();
        let mut out = measure(self, &namespaces);
        // Who comes late takes the whole state.
        measure_late(&mut out, || self.0.state().iter().for_each(|object| drop(std::hint::black_box(Arc::clone(object)))));
        out
    }
}

/// There is no index: each list goes through all objects.
impl<K> Lists for Reflector<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    fn namespace(&self, namespace: &str) -> usize {
        self.0.state_filter(|object| object.meta().namespace.as_deref() == Some(namespace)).len()
    }

    fn instance(&self, instance: &str) -> Option<usize> {
        let has = |object: &K| object.labels().get("app.kubernetes.io/instance").is_some_and(|label| label == instance);
        Some(self.0.state_filter(has).len())
    }
}
