//! Threads, slots and cancelling: what a guest does to those beside it, which is nothing.

use std::sync::Arc;
use std::time::Duration;

use wharf_core::grant::Namespaces;
use wharf_core::plugin::Limits;
use wharf_core::{Event, Gvk, Outcome, Reason, Verb};
use wharf_engine::{Engine, Revision, RevisionSpec};

use crate::support::{Get, OBJECT, Recorder, artifact, delivery, engine, grants, limits, revision, spec, until};

/// Without an end of its own within the life of a test.
fn endless() -> Limits {
    Limits { deadline: Duration::from_secs(3600), cpu: Duration::from_secs(3600), ..limits() }
}

async fn hanging(engine: &Engine, limits: Limits, ports: &Arc<Recorder>) -> Arc<Revision> {
    reader(engine, "cluster", limits, ports).await
}

async fn reader(engine: &Engine, guest: &str, limits: Limits, ports: &Arc<Recorder>) -> Arc<Revision> {
    let grants = grants(Gvk::new("", "v1", "ConfigMap"), &[Verb::Get], Namespaces::All);
    let artifact = artifact(engine, guest).await.unwrap();
    engine.prepare(artifact, RevisionSpec { grants, ..spec(limits, ports) }).unwrap()
}

const READS: &str = r#"{"metadata":{"name":"n"},"data":{"name":"x"}}"#;

#[tokio::test]
async fn timers_and_neighbours_go_on_while_a_guest_loops() {
    let engine = engine(4);
    let neighbour = revision(&engine, "ok").await;
    let artifact = artifact(&engine, "loop").await.unwrap();
    let endless = engine.prepare(artifact, spec(endless(), &Recorder::new())).unwrap();
    let looping = tokio::spawn(async move { endless.call(delivery(Event::Add, OBJECT)).await });
    until(|| engine.stats().busy() == 1).await;
    let mut timer = tokio::time::interval(Duration::from_millis(1));
    for _ in 0..20 {
        timer.tick().await;
        // There is one guest thread, and the loop is on it.
        assert_eq!(neighbour.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
    }
    assert!(!looping.is_finished());
    // Whoever stops waiting ends the guest too.
    looping.abort();
    until(|| engine.stats().busy() == 0).await;
}

#[tokio::test]
async fn more_calls_than_instances_wait_for_their_turn() {
    let engine = engine(2);
    let ok = revision(&engine, "ok").await;
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let ok = Arc::clone(&ok);
            tokio::spawn(async move { ok.call(delivery(Event::Add, OBJECT)).await.result })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(Ok(Outcome::Done)));
    }
    let stats = engine.stats();
    assert_eq!((stats.busy(), stats.waiting_calls, stats.max_instances), (0, 0, 2));
}

#[tokio::test]
async fn time_that_ends_in_a_port_is_the_servers() {
    let engine = engine(2);
    let short = Limits { deadline: Duration::from_millis(20), ..limits() };
    let revision = hanging(&engine, short, &Recorder::with(Get::Hang)).await;
    let report = revision.call(delivery(Event::Add, READS)).await;
    assert_eq!(report.result.unwrap_err().reason, Reason::ServerUnavailable, "no strike of the guest's");
    assert!(report.activity.total() >= 2);
    let unanswered: Vec<_> = report.activity.requests.iter().filter(|request| request.answer == "unanswered").collect();
    assert!(unanswered.len() == 1 && report.activity.waited > Duration::ZERO, "{:?}", report.activity);
}

#[tokio::test]
async fn waiting_is_not_computing() {
    let engine = engine(2);
    // Each of its thirty waits is longer than a tick: counted by ticks it would have used up 150 ms.
    let short = Limits { cpu: Duration::from_millis(100), ..limits() };
    let ports = Recorder::with(Get::Slow(Duration::from_millis(6)));
    let revision = reader(&engine, "waits", short, &ports).await;
    let report = revision.call(delivery(Event::Add, READS)).await;
    assert_eq!(report.activity.to_string(), "cluster.get=30");
    let requests: Vec<_> = report.activity.requests.iter().map(|request| (request.verb, request.answer, request.count)).collect();
    assert_eq!(requests, [(Verb::Get, "ok", 30)]);
    assert_eq!((report.result, report.activity.total()), (Ok(Ok(Outcome::Done)), 30));
}

#[tokio::test]
async fn a_dropped_call_gives_its_instance_back() {
    let engine = engine(2);
    let ports = Recorder::with(Get::Hang);
    let revision = hanging(&engine, endless(), &ports).await;
    for _ in 0..3 {
        let call = revision.call(delivery(Event::Add, READS));
        tokio::select! {
            report = call => panic!("{report:?}"),
            () = ports.hanging.notified() => {}
        }
        until(|| engine.stats().busy() == 0).await;
    }
}

#[tokio::test]
async fn a_queue_before_a_full_pool_can_be_left() {
    let engine = engine(2);
    let ports = Recorder::with(Get::Hang);
    let revision = hanging(&engine, endless(), &ports).await;
    let blockers: Vec<_> = (0..2)
        .map(|_| {
            let revision = Arc::clone(&revision);
            tokio::spawn(async move { revision.call(delivery(Event::Add, READS)).await })
        })
        .collect();
    until(|| engine.stats().busy() == 2).await;
    let waiting = Arc::clone(&revision);
    let waiting = tokio::spawn(async move { waiting.call(delivery(Event::Add, READS)).await });
    until(|| engine.stats().waiting_calls == 1).await;
    waiting.abort();
    until(|| engine.stats().waiting_calls == 0).await;
    blockers.iter().for_each(tokio::task::JoinHandle::abort);
    until(|| engine.stats().busy() == 0).await;
    assert_eq!(self::revision(&engine, "ok").await.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn an_engine_may_be_dropped_anywhere() {
    let engine = engine(2);
    let ok = revision(&engine, "ok").await;
    drop(engine);
    assert_eq!(ok.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
    drop(ok);
}

/// Each of its thirty reads asks twice: where objects of the kind live, and for the object.
#[tokio::test]
async fn a_slow_answer_is_the_guests_own_time_for_a_moment_only() {
    let engine = engine(2);
    let ports = Recorder::with(Get::Slow(Duration::from_millis(20)));
    let revision = reader(&engine, "waits", endless(), &ports).await;
    let report = revision.call(delivery(Event::Add, READS)).await;
    let waits = report.own - report.cpu;
    assert_eq!(report.activity.total(), 30);
    assert!((Duration::from_millis(90)..=Duration::from_millis(180)).contains(&waits), "{report:?}");
}
