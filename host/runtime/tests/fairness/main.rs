//! The engine with the host's fairness, and real guests that sleep, spin, trap and come in
//! floods: what they cost their neighbours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../engine/tests/it/encode.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod encode;
#[path = "../../../engine/tests/it/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Event, Gvk, Outcome, Reason, Verb};
use wharf_engine::{Engine, EngineConfig, Revision, RevisionSpec};
use wharf_runtime::fairness::Fairness;

use support::{Get, OBJECT, Recorder, artifact, delivery, grants, limits, spec, until};

/// The object whose name `cluster` reads.
const READS: &str = r#"{"metadata":{"name":"n"},"data":{"name":"x"}}"#;

fn engine(instances: u32, weights: &[(&str, u32)]) -> Engine {
    let config = EngineConfig { instances, threads: 1, ..EngineConfig::default() };
    let weights: BTreeMap<String, u32> = weights.iter().map(|(tenant, weight)| ((*tenant).to_owned(), *weight)).collect();
    let fairness = Fairness::new(&config, weights);
    Engine::with_scheduler(config, fairness).unwrap()
}

async fn plugin(engine: &Engine, tenant: &str, name: &str, guest: &str, limits: Limits, ports: &Arc<Recorder>) -> Arc<Revision> {
    let grants = grants(Gvk::new("", "v1", "ConfigMap"), &[Verb::Get], Namespaces::All);
    let name = PluginName::new(tenant, name).unwrap();
    let spec = RevisionSpec { name, grants, ..spec(limits, ports) };
    engine.prepare(artifact(engine, guest).await.unwrap(), spec).unwrap()
}

fn endless() -> Limits {
    Limits { deadline: Duration::from_secs(3600), cpu: Duration::from_secs(3600), ..limits() }
}

/// Makes a wait that never ends fail.
async fn ends<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), future).await.expect("it does not end")
}

/// Waits for something that has no event of its own; `what` says what it is.
async fn comes(what: &str, condition: impl Fn() -> bool) {
    assert!(timeout(Duration::from_secs(60), until(condition)).await.is_ok(), "in vain: {what}");
}

/// Calls again and again until it is aborted.
fn again_and_again(calls: &mut JoinSet<()>, revision: &Arc<Revision>) {
    let revision = Arc::clone(revision);
    calls.spawn(async move {
        loop {
            drop(revision.call(delivery(Event::Add, OBJECT)).await);
        }
    });
}

#[tokio::test]
async fn sleepers_spinners_traps_and_floods_keep_no_neighbour_from_its_calls() {
    let engine = engine(16, &[]);
    let ports = Recorder::with(Get::Hang);
    let spins = plugin(&engine, "spins", "a", "loop", endless(), &ports).await;
    let traps = plugin(&engine, "traps", "a", "trap", limits(), &ports).await;
    let flood = plugin(&engine, "flood", "a", "ok", limits(), &ports).await;
    let good = plugin(&engine, "good", "a", "ok", limits(), &ports).await;
    let mut calls = JoinSet::new();
    for _ in 0..4 {
        again_and_again(&mut calls, &spins);
    }
    until(|| engine.stats().busy() == 4).await;
    again_and_again(&mut calls, &traps);
    for _ in 0..64 {
        again_and_again(&mut calls, &flood);
    }
    for number in 0..300 {
        let sleeps = plugin(&engine, "sleeps", &format!("p{number}"), "cluster", endless(), &ports).await;
        calls.spawn(async move { drop(sleeps.call(delivery(Event::Add, READS)).await) });
    }
    until(|| engine.stats().waiting_calls > 250).await;
    for _ in 0..30 {
        let report = ends(good.call(delivery(Event::Add, OBJECT))).await;
        assert_eq!(report.result, Ok(Ok(Outcome::Done)));
        // The next call needs an instance.
        good.rest(Duration::ZERO);
    }
    assert!(engine.stats().waiting_calls > 250, "the crowd still waits");
    ends(calls.shutdown()).await;
    until(|| engine.stats().busy() == 0).await;
}

#[tokio::test]
async fn the_crowd_gives_way_as_it_ends_its_calls() {
    let engine = engine(8, &[]);
    let (crowds, lates) = (Recorder::with(Get::Hang), Recorder::with(Get::Hang));
    let crowd = plugin(&engine, "crowd", "a", "cluster", endless(), &crowds).await;
    let late = plugin(&engine, "late", "a", "cluster", endless(), &lates).await;
    let call = |revision: &Arc<Revision>| {
        let revision = Arc::clone(revision);
        tokio::spawn(async move { revision.call(delivery(Event::Add, READS)).await }).abort_handle()
    };
    let begun = |ports: &Recorder| ports.asked.lock().iter().filter(|line| line.starts_with("get")).count();
    let early: Vec<AbortHandle> = (0..7).map(|_| call(&crowd)).collect();
    comes("7 of the crowd", || begun(&crowds) == 7).await;
    // These wait, however many they are.
    let more: Vec<AbortHandle> = (0..20).map(|_| call(&crowd)).collect();
    comes("20 more", || engine.stats().waiting_calls == 20).await;
    let lately: Vec<AbortHandle> = (0..20).map(|_| call(&late)).collect();
    comes("one of the latecomer", || begun(&lates) == 1).await;
    // The first that ends becomes the one that is kept; what ends then is the latecomer's.
    for (ended, call) in early.iter().take(3).enumerate() {
        call.abort();
        comes("what ends is the latecomer's", || begun(&lates) == 1 + ended).await;
    }
    assert_eq!((begun(&crowds), begun(&lates)), (7, 3), "four of the crowd are left");
    early[3].abort();
    comes("now both have three, and the crowd was served longer ago", || begun(&crowds) == 8).await;
    assert_eq!(begun(&lates), 3);
    early.iter().chain(&more).chain(&lately).for_each(AbortHandle::abort);
    comes("the end", || engine.stats().busy() == 0 && engine.stats().waiting_calls == 0).await;
}

/// Calls guests that loop until their processor time is used up; the names in the order in
/// which that happens.
async fn race(calls: Vec<(&'static str, Arc<Revision>)>) -> Vec<&'static str> {
    let mut racing = JoinSet::new();
    for (name, revision) in calls {
        racing.spawn(async move { (name, revision.call(delivery(Event::Add, OBJECT)).await.result) });
    }
    let mut order = Vec::new();
    while let Some(ended) = ends(racing.join_next()).await {
        let (name, result) = ended.unwrap();
        assert_eq!(result.unwrap_err().reason, Reason::CpuExceeded);
        order.push(name);
    }
    order
}

#[tokio::test]
async fn tenants_compute_by_their_weights() {
    let engine = engine(8, &[("heavy", 3)]);
    let loops = |cpu| Limits { cpu: Duration::from_millis(cpu), ..endless() };
    let heavy = plugin(&engine, "heavy", "a", "loop", loops(300), &Recorder::new()).await;
    let light = plugin(&engine, "light", "a", "loop", loops(200), &Recorder::new()).await;
    assert_eq!(race(vec![("light", light), ("heavy", heavy)]).await, ["heavy", "light"], "three to one");
}

#[tokio::test]
async fn plugins_of_a_tenant_compute_alike_however_many_calls_they_have() {
    let engine = engine(16, &[]);
    let limits = Limits { cpu: Duration::from_millis(100), ..endless() };
    let many = plugin(&engine, "t", "many", "loop", limits, &Recorder::new()).await;
    let one = plugin(&engine, "t", "one", "loop", limits, &Recorder::new()).await;
    let calls = (0..8).map(|_| ("many", Arc::clone(&many))).chain([("one", one)]).collect();
    assert_eq!(race(calls).await[0], "one");
}

#[tokio::test]
async fn waiting_for_a_turn_is_told_and_is_no_computing() {
    let engine = engine(8, &[]);
    let limits = Limits { cpu: Duration::from_millis(50), ..endless() };
    let a = plugin(&engine, "a", "a", "loop", limits, &Recorder::new()).await;
    let b = plugin(&engine, "b", "b", "loop", limits, &Recorder::new()).await;
    let (a, b) = tokio::join!(a.call(delivery(Event::Add, OBJECT)), b.call(delivery(Event::Add, OBJECT)));
    for report in [&a, &b] {
        assert!(report.cpu >= Duration::from_millis(50), "{report:?}");
    }
    assert!(a.waited_turns + b.waited_turns >= Duration::from_millis(50), "one computes while the other waits: {a:?} {b:?}");
}
