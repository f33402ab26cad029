//! What bad neighbours cost: the waiting time of many well-behaved plugins, alone, beside
//! plugins that sleep, spin, trap and are flooded, and beside the same on an engine that
//! serves first come, first served. `cargo xtask proof fairness` runs it; `PLUGINS`, `TENANTS`,
//! `SLEEPERS`, `RATE`, `SECONDS` and `RUNS` make it larger or smaller. Never asserts a time.
//!
//! The parts are the host's: its queues, its fairness, its engine with real guests; in place of
//! informers there is a clock that adds keys.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a bench prints, and may end at the first error"
)]

#[path = "../../engine/tests/it/encode.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod encode;
#[path = "../../engine/tests/it/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Event, Gvk, Verb};
use wharf_engine::{Artifact, Engine, EngineConfig, Revision, RevisionSpec};
use wharf_queue::WorkQueue;
use wharf_runtime::fairness::Fairness;

use support::{Get, OBJECT, Recorder, delivery, grants, spec};

const READS: &str = r#"{"metadata":{"name":"n"},"data":{"name":"x"}}"#;
/// Calls of a plugin at once.
const CONCURRENCY: usize = 4;
/// Keys of a plugin that is flooded, or has always something to do.
const FLOOD: u64 = 10_000;
/// A sleeper waits so long for an answer of its API server.
const SLEEP: Duration = Duration::from_secs(2);

struct Plan {
    plugins: usize,
    tenants: usize,
    sleepers: usize,
    /// Keys a second, over all well-behaved plugins.
    rate: f64,
    seconds: u64,
    runs: usize,
}

impl Plan {
    fn from_environment() -> Self {
        let read = |name: &str, default: usize| std::env::var(name).map_or(default, |text| text.parse().expect(name));
        let plan = Self {
            plugins: read("PLUGINS", 1000),
            tenants: read("TENANTS", 50),
            sleepers: read("SLEEPERS", 300),
            rate: read("RATE", 500) as f64,
            seconds: read("SECONDS", 10) as u64,
            runs: read("RUNS", 3),
        };
        assert!(plan.tenants > 4 && plan.plugins >= plan.sleepers + plan.tenants && plan.rate > 0.0 && plan.runs > 0, "too small");
        plan
    }
}

/// Which neighbours there are, and who shares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Run {
    Alone,
    Neighbours,
    FirstCome,
}

const RUNS: [(Run, &str); 3] =
    [(Run::Alone, "without bad neighbours"), (Run::Neighbours, "with them"), (Run::FirstCome, "with them, first come, first served")];

fn main() {
    let plan = Plan::from_environment();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let Plan { plugins, tenants, sleepers, rate, seconds, runs } = plan;
    println!(
        "{plugins} plugins of {tenants} tenants: {sleepers} of one tenant sleep {SLEEP:?} in each call, one spins, one traps each time, one is flooded."
    );
    println!("Keys of the others: {rate} a second for {seconds} s; medians of {runs} runs; {cores} processors.\n");
    println!("| | calls | waiting p50 | p99 | p99.9 | answered p50 | p99 | p99.9 | not served |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut figures: BTreeMap<Run, Vec<Figures>> = BTreeMap::new();
    for round in 0..runs {
        for (run, _) in RUNS {
            if run == Run::FirstCome && round > 0 {
                continue;
            }
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            figures.entry(run).or_default().push(runtime.block_on(measure(&plan, run)));
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
    let mut p99 = Vec::new();
    for (run, name) in RUNS {
        let all = figures.get_mut(&run).unwrap();
        all.sort_by_key(|figures| figures.waited[1]);
        let median = &all[all.len() / 2];
        println!("| {name} | {median} |");
        p99.push((median.waited[1], median.answered[1]));
    }
    println!("\np99 of waiting with bad neighbours: {:.2} x of that without them.", ratio(p99[1].0, p99[0].0));
    println!("p99 of answered with bad neighbours: {:.2} x of that without them.", ratio(p99[1].1, p99[0].1));
}

fn ratio(is: Duration, of: Duration) -> f64 {
    is.as_secs_f64() / of.as_secs_f64()
}

/// Of one run: p50, p99 and p99.9.
struct Figures {
    calls: usize,
    /// For the queue, an instance and turns.
    waited: [Duration; 3],
    /// From the key's add to the end of its call.
    answered: [Duration; 3],
    unserved: usize,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [w50, w99, w999] = self.waited.map(|time| time.as_secs_f64() * 1e3);
        let [a50, a99, a999] = self.answered.map(|time| time.as_secs_f64() * 1e3);
        write!(f, "{} | {w50:.3} ms | {w99:.3} | {w999:.3} | {a50:.3} ms | {a99:.3} | {a999:.3} | {}", self.calls, self.unserved)
    }
}

type Calls = Arc<Mutex<Vec<(Duration, Duration)>>>;

struct Plugin {
    queue: WorkQueue<u64>,
    revision: Arc<Revision>,
    event: Event,
    object: &'static str,
    /// Its keys come back at once.
    endless: bool,
}

async fn measure(plan: &Plan, run: Run) -> Figures {
    let config = EngineConfig::default();
    let engine = match run {
        Run::FirstCome => Engine::new(config).unwrap(),
        Run::Alone | Run::Neighbours => {
            let fairness = Fairness::new(&config, BTreeMap::new());
            Engine::with_scheduler(config, fairness).unwrap()
        }
    };
    let quick = Recorder::new();
    let slow = Recorder::with(Get::Slow(SLEEP));
    let mut artifacts: BTreeMap<&str, Arc<Artifact>> = BTreeMap::new();
    for guest in ["ok", "cluster", "loop", "trap"] {
        artifacts.insert(guest, support::artifact(&engine, guest).await.unwrap());
    }
    let mut others = Vec::new();
    let mut bad = Vec::new();
    for number in 0..plan.plugins {
        let (tenant, guest, object) = match number.checked_sub(plan.sleepers) {
            None => (0, "cluster", READS),
            Some(rest) => (1 + rest % (plan.tenants - 1), ["loop", "trap", "ok"].get(rest).copied().unwrap_or("ok"), OBJECT),
        };
        let event = if guest == "ok" { Event::Update } else { Event::Add };
        let endless = number < plan.sleepers + 3;
        let name = PluginName::new(&format!("tenant-{tenant}"), &format!("plugin-{number}")).unwrap();
        let ports = if guest == "cluster" { &slow } else { &quick };
        let grants = grants(Gvk::new("", "v1", "ConfigMap"), &[Verb::Get], Namespaces::All);
        let limits = Limits { deadline: Duration::from_secs(10), cpu: Duration::from_millis(200), ..Limits::default() };
        let revision = engine.prepare(Arc::clone(&artifacts[guest]), RevisionSpec { name, grants, ..spec(limits, ports) }).unwrap();
        let plugin = Arc::new(Plugin { queue: WorkQueue::new(""), revision, event, object, endless });
        if endless { bad.push(plugin) } else { others.push(plugin) }
    }
    let calls = Calls::default();
    let mut workers = JoinSet::new();
    if run != Run::Alone {
        for plugin in &bad {
            (0..FLOOD).for_each(|key| plugin.queue.add(key));
        }
        work(&mut workers, &bad, &calls);
        sleep(Duration::from_secs(1)).await;
    }
    work(&mut workers, &others, &calls);
    let added = keys(plan, &others).await;
    // What comes in time.
    sleep(SLEEP).await;
    workers.shutdown().await;
    let calls = std::mem::take(&mut *calls.lock());
    let at = |of: &dyn Fn(&(Duration, Duration)) -> Duration| {
        let mut all: Vec<Duration> = calls.iter().map(of).collect();
        all.sort_unstable();
        [0.5, 0.99, 0.999].map(|part| all.get((all.len() as f64 * part) as usize).copied().unwrap_or_default())
    };
    let (waited, answered) = (at(&|call| call.0), at(&|call| call.1));
    Figures { calls: calls.len(), waited, answered, unserved: added - calls.len() }
}

fn work(workers: &mut JoinSet<()>, plugins: &[Arc<Plugin>], calls: &Calls) {
    for plugin in plugins {
        for _ in 0..CONCURRENCY {
            workers.spawn(worker(Arc::clone(plugin), Arc::clone(calls)));
        }
    }
}

/// As the dispatcher's, without a ledger.
async fn worker(plugin: Arc<Plugin>, calls: Calls) {
    loop {
        if plugin.queue.is_empty() {
            plugin.revision.rest(Duration::ZERO);
        }
        let Some(item) = plugin.queue.get().await else { return };
        let started = Instant::now();
        let report = plugin.revision.call(delivery(plugin.event, plugin.object)).await;
        if plugin.endless {
            plugin.queue.add(*item.key());
        } else {
            let waited = item.queued() + report.waited_instance + report.waited_turns;
            calls.lock().push((waited, item.queued() + started.elapsed()));
        }
    }
}

/// Adds keys at a constant rate, each to another plugin; returns how many.
async fn keys(plan: &Plan, others: &[Arc<Plugin>]) -> usize {
    let start = Instant::now();
    let count = (plan.rate * plan.seconds as f64) as usize;
    let mut random = 7_u64;
    for number in 0..count {
        sleep_until(start + Duration::from_secs_f64(number as f64 / plan.rate)).await;
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        others[(random >> 33) as usize % others.len()].queue.add(number as u64);
    }
    count
}
