//! The host's way of an event without the rest of a host: an informer of Pods, the dispatcher
//! of a plugin, and a handler that is native or a component. Owns the stop watch around the
//! calls, and nothing that is measured.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use kube::Client;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use wharf_bench_record::{Content, Counts, Program, Recorder, timestamp};
use wharf_cache::{Change, ChangeHandler, InformerSpec, Informers, NoMetrics, Options, Registration, Scope};
use wharf_core::grant::Namespaces;
use wharf_core::ledger::Policy;
use wharf_core::plugin::{Isolation, Limits, PluginName, Replay, Subscription};
use wharf_core::{Delivery, Event, Grants, Gvk, Object, Outcome, Pointer, Selector};
use wharf_engine::{Admission, CallReport, Engine, EngineConfig, NoPorts, RevisionSpec};
use wharf_runtime::clock::Clock;
use wharf_runtime::dispatch::{BreakerPolicy, Callee, Dispatcher, Serving, Shared, Subscribed};
use wharf_runtime::fairness::Fairness;
use wharf_runtime::lease::Tenure;
use wharf_runtime::telemetry::Metrics;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Where writers put the time.
const STAMP: &str = "/metadata/annotations/bench~1ts";
/// As a host's.
const HISTORY_BYTES: usize = 1 << 20;
/// What the component `label-guard` looks for: every Pod has it.
const CONFIG: &str = r#"{"requiredLabel":"app.kubernetes.io/instance"}"#;

/// Flags: `-server URL`, `-component FILE` (without one the handler is native), `-hold SECONDSs`.
struct Flags {
    server: String,
    component: Option<String>,
    hold: Option<Duration>,
}

fn main() -> ExitCode {
    let recorder = Recorder::new("wharf-dispatch");
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
        let handler = handler(flags.component.as_deref()).await?;
        let plugin = Plugin::start(informers, handler, recorder.counts()).await?;
        plugin.idle().await;
        recorder.synced(plugin.received.view().len())?;
        recorder.serve(&plugin, flags.hold).await
    })
}

impl Flags {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut flags = Self { server: String::new(), component: None, hold: None };
        while let Some(flag) = args.next() {
            let value = args.next().with_context(|| format!("{flag} has no value"))?;
            match flag.as_str() {
                "-server" => flags.server = value,
                "-component" => flags.component = Some(value),
                "-hold" => flags.hold = Some(Duration::from_secs_f64(value.trim_end_matches('s').parse().context("read -hold")?)),
                _ => bail!("there is no flag {flag}"),
            }
        }
        ensure!(!flags.server.is_empty(), "-server is needed");
        Ok(flags)
    }
}

fn name() -> PluginName {
    PluginName { namespace: "bench".into(), name: "guard".into() }
}

fn limits() -> Limits {
    Limits { cpu: Duration::from_secs(2), ..Limits::default() }
}

/// The component in an engine as a host has it, or the handler that does nothing.
async fn handler(component: Option<&str>) -> Result<Arc<dyn Callee>> {
    let Some(file) = component else { return Ok(Arc::new(Native)) };
    let bytes: Arc<[u8]> = std::fs::read(file).with_context(|| format!("read {file}"))?.into();
    let config = EngineConfig::default();
    let fairness = Fairness::new(&config, [].into());
    let engine = Engine::with_scheduler(config, fairness)?;
    let spec = RevisionSpec {
        name: name(),
        limits: limits(),
        grants: Grants::everything(),
        config: CONFIG.into(),
        ports: Arc::new(NoPorts),
        isolation: Isolation::Reuse,
    };
    let revision: Arc<dyn Callee> = engine.prepare(engine.load(bytes).await?, spec)?;
    Ok(revision)
}

/// Does nothing, with success.
struct Native;

impl Callee for Native {
    fn call(&self, _: Option<Admission>, _: Delivery) -> BoxFuture<'_, CallReport> {
        let report = CallReport {
            result: Ok(Ok(Outcome::Done)),
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            own: Duration::ZERO,
            peak_memory: 0,
            activity: wharf_engine::Activity::default(),
            log_lines: 0,
            log_dropped: 0,
            reused: false,
            waited_instance: Duration::ZERO,
            waited_turns: Duration::ZERO,
            core_dump: None,
        };
        ready(report).boxed()
    }
}

/// Notes when a call has ended, and counts those that failed.
struct Timed {
    handler: Arc<dyn Callee>,
    clock: Stamps,
}

impl Callee for Timed {
    fn admit(&self) -> BoxFuture<'_, Option<Admission>> {
        self.handler.admit()
    }

    fn call(&self, admission: Option<Admission>, delivery: Delivery) -> BoxFuture<'_, CallReport> {
        Box::pin(async move {
            let object = delivery.current.clone();
            let report = self.handler.call(admission, delivery).await;
            if matches!(report.result, Ok(Ok(Outcome::Done))) {
                self.clock.counts.handled(object.map_or(0, |object| self.clock.of(&object)));
            }
            report
        })
    }

    fn threads(&self) -> Option<&Handle> {
        self.handler.threads()
    }

    fn rest(&self, since: Duration) {
        self.handler.rest(since);
    }

    fn idle(&self) -> usize {
        self.handler.idle()
    }
}

/// Reads when an object was written.
#[derive(Clone)]
struct Stamps {
    counts: Arc<Counts>,
    pointer: Pointer,
}

impl Stamps {
    fn of(&self, object: &Object) -> u64 {
        object.get(&self.pointer).map_or(0, |text| timestamp(text.trim_matches('"')))
    }
}

/// A second handler of the informer: it counts what was received.
impl ChangeHandler for Stamps {
    fn on_change(&self, change: &Change<'_>) {
        match (change.old, change.new) {
            (None, Some(_)) => self.counts.added(),
            (_, Some(new)) => self.counts.updated(self.of(new)),
            (_, None) => self.counts.deleted(),
        }
    }
}

/// A dispatcher with its informer.
struct Plugin {
    dispatcher: Arc<Dispatcher>,
    received: Registration,
}

impl Plugin {
    async fn start(informers: Informers, handler: Arc<dyn Callee>, counts: Arc<Counts>) -> Result<Self> {
        let kind = Gvk::new("", "v1", "Pod");
        let clock = Stamps { counts, pointer: Pointer::parse(STAMP)? };
        let received = informers.attach(InformerSpec::new(kind.clone(), Scope::All), Arc::new(clock.clone()));
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            metrics: Metrics::new(),
            policy: Policy::default(),
            breaker: BreakerPolicy::default(),
            history_bytes: HISTORY_BYTES,
            keep_failed: wharf_runtime::dispatch::KeepFailed { calls: 10, bytes: 1 << 20, secret_data: false },
            checkpoint: None,
            tenure: Tenure::always(),
        });
        let dispatcher = Dispatcher::new(name(), shared);
        let subscription = Subscription {
            name: "main".into(),
            kind: Arc::new(kind),
            namespaces: Namespaces::All,
            label_selector: Selector::default(),
            field_selector: Selector::default(),
            events: Event::ALL.to_vec(),
            resync: None,
            redacted: false,
            every_event: false,
            filters: wharf_core::filter::Filters::default(),
            ignore_own_writes: false,
            map: None,
        };
        let subscribed = Arc::new(Subscribed::attach(vec![subscription], |_| true, &informers, &dispatcher));
        subscribed.settle().await;
        ensure!(received.has_synced(), "the informer has settled without a list: {:?}", received.state());
        let serving = Serving {
            revision: Arc::new(Timed { handler, clock }),
            number: 1,
            identity: "bench".into(),
            tag: "bench".into(),
            limits: limits(),
            reasons: Vec::new(),
            tally: Arc::default(),
        };
        drop(dispatcher.swap(serving, subscribed, Replay::All));
        Ok(Self { dispatcher, received })
    }

    /// Waits until nothing waits and nothing runs.
    async fn idle(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        loop {
            look.tick().await;
            let queue = self.dispatcher.stats().queue;
            if queue.depth + queue.processing == 0 && self.dispatcher.has_synced() {
                return;
            }
        }
    }
}

impl Program for Plugin {
    fn content(&self) -> Content {
        let mut content = Content::default();
        for object in self.received.view().list(None) {
            let key = object.key();
            content.add(key.namespace.as_deref().unwrap_or(""), &key.name, object.resource_version());
        }
        content
    }

    fn figures(&self) -> Map<String, Value> {
        let stats = self.dispatcher.stats();
        Map::from_iter([("failed".to_owned(), json!(stats.failures)), ("waiting".to_owned(), json!(stats.queue.depth))])
    }

    fn reads(&self) -> Map<String, Value> {
        Map::new()
    }
}
