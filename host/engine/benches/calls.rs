//! What components cost: to compile and to map, and how many calls a second one guest thread
//! makes, with a fresh instance for each and with instances that are used again:
//! `cargo bench -p wharf-engine --bench calls -- target/guests/*.wasm`.
//! Prints the medians of five rounds. Never asserts a time.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may end at the first error")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Cause, ClusterGrant, Delivery, Event, Grants, Gvk, Object, Removal, Verb};
use wharf_engine::{Engine, EngineConfig, NoPorts, RevisionSpec};

const ROUNDS: usize = 5;
const CALLS: u32 = 4_000;
const CALLERS: u32 = 4;

/// It has the label that label-guard asks for: the call looks and finds nothing to do.
const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"team-a","uid":"u-1","resourceVersion":"7","labels":{"owner":"me"}},"data":{"a":"1"}}"#;

fn main() {
    // Cargo adds flags of its own (`--bench`).
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if files.is_empty() {
        println!("usage: cargo bench -p wharf-engine --bench calls -- COMPONENT...");
        return;
    }
    println!(
        "{:<24} {:>10} {:>10} {:>11} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "component", "wasm KiB", "code KiB", "compile ms", "map ms", "fresh us", "calls/s", "reused us", "calls/s", "fresh MiB", "warm MiB"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for file in &files {
        let wasm: Arc<[u8]> = std::fs::read(file).unwrap().into();
        let cache = tempfile::tempdir().unwrap();
        let config = EngineConfig { instances: 8, threads: 1, cache_dir: Some(cache.path().join("c")), ..EngineConfig::default() };
        let (compile, map) = runtime.block_on(prepare(&wasm, &config));
        let code = bytes_in(cache.path());
        let [fresh, reused] = [Isolation::Fresh, Isolation::Reuse].map(|isolation| runtime.block_on(measure(&wasm, &config, isolation)));
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        println!(
            "{name:<24} {:>10.1} {:>10.1} {:>11.1} {:>7.2} {:>9.1} {:>9.0} {:>9.1} {:>9.0} {:>9.1} {:>9.1}",
            wasm.len() as f64 / 1024.0,
            code as f64 / 1024.0,
            compile.as_secs_f64() * 1e3,
            map.as_secs_f64() * 1e3,
            1e6 / fresh.rate,
            fresh.rate,
            1e6 / reused.rate,
            reused.rate,
            fresh.memory as f64 / 1048576.0,
            reused.memory as f64 / 1048576.0,
        );
    }
}

/// Time to compile, and time to map what was compiled.
async fn prepare(wasm: &Arc<[u8]>, config: &EngineConfig) -> (Duration, Duration) {
    let compile = Engine::new(config.clone()).unwrap().load(Arc::clone(wasm)).await.unwrap().compile_time();
    let mapped = Engine::new(config.clone()).unwrap().load(Arc::clone(wasm)).await.unwrap();
    assert!(mapped.from_cache());
    (compile, mapped.compile_time())
}

fn bytes_in(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| if entry.path().is_dir() { bytes_in(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}

/// The median of the rounds.
struct Measured {
    /// Calls a second.
    rate: f64,
    /// The most memory that an instance had, in bytes.
    memory: u64,
}

async fn measure(wasm: &Arc<[u8]>, config: &EngineConfig, isolation: Isolation) -> Measured {
    let engine = Engine::new(config.clone()).unwrap();
    let artifact = engine.load(Arc::clone(wasm)).await.unwrap();
    let kind = Gvk::new("", "v1", "ConfigMap");
    let grant = ClusterGrant { kind: kind.clone(), verbs: vec![Verb::Get], namespaces: wharf_core::grant::Namespaces::All };
    let spec = RevisionSpec {
        name: PluginName { namespace: "team-a".into(), name: "bench".into() },
        limits: Limits::default(),
        grants: Grants { cluster: vec![grant] },
        config: "{}".into(),
        ports: Arc::new(NoPorts),
        isolation,
    };
    let revision = engine.prepare(artifact, spec).unwrap();
    let current = Arc::new(Object::parse(OBJECT, &kind).unwrap());
    let delivery = Delivery {
        event: Event::Update,
        key: current.key().clone(),
        uid: Arc::clone(current.uid()),
        kind: Arc::new(kind),
        subscription: "main".into(),
        removal: Removal::None,
        final_state_unknown: false,
        cause: Cause::Watch,
        attempt: 1,
        queued: Duration::ZERO,
        current: Some(Arc::clone(&current)),
        previous: Some(current),
    };
    let mut rates = Vec::new();
    let mut memory = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        // As many callers as a plugin has workers: the guest thread never waits for work.
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let (revision, delivery) = (Arc::clone(&revision), delivery.clone());
            callers.spawn(async move {
                let mut memory = 0;
                for _ in 0..CALLS / CALLERS {
                    let report = revision.call(delivery.clone()).await;
                    report.result.unwrap().unwrap();
                    memory = memory.max(report.peak_memory);
                }
                memory
            });
        }
        memory = callers.join_all().await.into_iter().chain([memory]).max().unwrap_or_default();
        rates.push(f64::from(CALLS) / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Measured { rate: rates.get(ROUNDS / 2).copied().unwrap_or_default(), memory }
}
