//! How many calls a second one guest thread makes, with a fresh instance for each:
//! `cargo bench -p wharf-engine --bench calls -- target/guests/label-guard.wasm`.
//! Prints the median of five rounds. Never asserts a time.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may end at the first error")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Cause, ClusterGrant, Delivery, Event, Grants, Gvk, Object, Removal, Verb};
use wharf_engine::{Engine, EngineConfig, NoPorts, RevisionSpec};

const ROUNDS: usize = 5;
const CALLS: u32 = 20_000;
const CALLERS: u32 = 4;

/// It has the label that label-guard asks for: the call looks and finds nothing to do.
const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"team-a","uid":"u-1","resourceVersion":"7","labels":{"owner":"me"}},"data":{"a":"1"}}"#;

fn main() {
    // Cargo adds flags of its own (`--bench`).
    let Some(path) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) else {
        println!("usage: cargo bench -p wharf-engine --bench calls -- COMPONENT");
        return;
    };
    let wasm: Arc<[u8]> = std::fs::read(&path).unwrap().into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rates: Vec<f64> = runtime.block_on(measure(wasm));
    rates.sort_by(f64::total_cmp);
    if let (Some(low), Some(median), Some(high)) = (rates.first(), rates.get(ROUNDS / 2), rates.last()) {
        println!("{path}: {median:.0} calls/s (from {low:.0} to {high:.0}), {:.1} us each", 1e6 / median);
    }
}

async fn measure(wasm: Arc<[u8]>) -> Vec<f64> {
    let engine = Engine::new(EngineConfig { instances: 8, threads: 1, ..EngineConfig::default() }).unwrap();
    let artifact = engine.load(wasm).await.unwrap();
    let kind = Gvk::new("", "v1", "ConfigMap");
    let grant = ClusterGrant { kind: kind.clone(), verbs: vec![Verb::Get], namespaces: wharf_core::grant::Namespaces::All };
    let spec = RevisionSpec {
        name: PluginName { namespace: "team-a".into(), name: "bench".into() },
        limits: Limits::default(),
        grants: Grants { cluster: vec![grant] },
        config: "{}".into(),
        ports: Arc::new(NoPorts),
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
    for _ in 0..ROUNDS {
        let start = Instant::now();
        // As many callers as a plugin has workers: the guest thread never waits for work.
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..CALLERS {
            let (revision, delivery) = (Arc::clone(&revision), delivery.clone());
            callers.spawn(async move {
                for _ in 0..CALLS / CALLERS {
                    revision.call(delivery.clone()).await.result.unwrap().unwrap();
                }
            });
        }
        callers.join_all().await;
        rates.push(f64::from(CALLS) / start.elapsed().as_secs_f64());
    }
    rates
}
