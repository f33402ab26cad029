//! Instances that serve more than one call: when they do, when they never do, and who gets
//! their slots.

use std::sync::Arc;
use std::time::Duration;

use wharf_core::plugin::{Isolation, Limits};
use wharf_core::{Event, Outcome, Reason};
use wharf_engine::{Engine, EngineConfig, Revision, RevisionSpec, Used};

use crate::support::{OBJECT, Recorder, artifact, delivery, engine, limits, revision_of, spec, until};

/// The guest `ok` with a recorder of its "call N".
async fn counting(engine: &Engine) -> (Arc<Revision>, Arc<Recorder>) {
    let ports = Recorder::new();
    (revision_of(engine, "ok", limits(), &ports).await, ports)
}

async fn add(revision: &Revision) {
    assert_eq!(revision.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

async fn update(revision: &Revision) {
    let again = Outcome::RequeueAfter(Duration::from_millis(1500));
    assert_eq!(revision.call(delivery(Event::Update, OBJECT)).await.result, Ok(Ok(again)));
}

fn counted(ports: &Recorder) -> Vec<String> {
    ports.lines.lock().iter().map(|(_, message, _)| message.clone()).collect()
}

#[tokio::test]
async fn a_burst_has_one_instance_and_a_rest_ends_it() {
    let engine = engine(4);
    let (revision, ports) = counting(&engine).await;
    for _ in 0..3 {
        add(&revision).await;
    }
    assert_eq!((counted(&ports), revision.idle()), (["call 1", "call 2", "call 3"].map(str::to_owned).to_vec(), 1));
    let stats = engine.stats();
    assert_eq!((stats.made_instances, stats.live_instances, stats.idle_instances), (1, 1, 1));
    revision.rest(Duration::ZERO);
    assert_eq!((revision.idle(), engine.stats().live_instances), (0, 0));
    let report = revision.call(delivery(Event::Add, OBJECT)).await;
    assert!(!report.reused);
    assert_eq!(counted(&ports).last().map(String::as_str), Some("call 1"));
}

#[tokio::test]
async fn calls_at_the_same_time_never_share() {
    let engine = engine(4);
    let (revision, ports) = counting(&engine).await;
    for _ in 0..2 {
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let revision = Arc::clone(&revision);
                tokio::spawn(async move { add(&revision).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
    }
    // However they fell together: as many first calls as instances.
    let first = counted(&ports).iter().filter(|line| *line == "call 1").count();
    assert_eq!(first as u64, engine.stats().made_instances);
    assert_eq!(counted(&ports).len(), 6);
}

#[tokio::test]
async fn fresh_means_fresh() {
    let engine = engine(2);
    let ports = Recorder::new();
    let spec = RevisionSpec { isolation: Isolation::Fresh, ..spec(limits(), &ports) };
    let revision = engine.prepare(artifact(&engine, "ok").await.unwrap(), spec).unwrap();
    for _ in 0..2 {
        add(&revision).await;
    }
    assert_eq!(counted(&ports), ["call 1", "call 1"]);
    assert_eq!(engine.stats().live_instances, 0);
}

#[tokio::test]
async fn warm_means_kept_between_bursts() {
    let engine = engine(2);
    let ports = Recorder::new();
    let spec = RevisionSpec { isolation: Isolation::Warm, ..spec(limits(), &ports) };
    let revision = engine.prepare(artifact(&engine, "ok").await.unwrap(), spec).unwrap();
    for _ in 0..2 {
        add(&revision).await;
        revision.rest(Duration::ZERO);
    }
    assert_eq!(counted(&ports), ["call 1", "call 2"]);
}

#[tokio::test]
async fn an_instance_grows_only_so_old() {
    let config = EngineConfig { instances: 2, threads: 1, instance_age: Duration::ZERO, ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    let (revision, ports) = counting(&engine).await;
    for _ in 0..2 {
        add(&revision).await;
    }
    assert_eq!(counted(&ports), ["call 1", "call 1"]);
}

#[tokio::test]
async fn what_is_used_is_summed_and_given_back() {
    let engine = engine(2);
    let (revision, _ports) = counting(&engine).await;
    assert_eq!(revision.used(), Used::default());
    let report = revision.call(delivery(Event::Add, OBJECT)).await;
    let used = revision.used();
    assert_eq!(used.memory, report.peak_memory, "the instance idles");
    // What ends the call is computed after its report was made.
    assert!(used.cpu >= report.cpu, "{used:?} {report:?}");
    revision.rest(Duration::ZERO);
    assert_eq!(revision.used().memory, 0);
    add(&revision).await;
    assert!(revision.used().cpu > used.cpu);
}

#[tokio::test]
async fn setup_leaves_nothing_behind() {
    let engine = engine(2);
    let (revision, ports) = counting(&engine).await;
    add(&revision).await;
    revision.validate_config().await.unwrap().unwrap();
    revision.describe().await.unwrap();
    assert_eq!(engine.stats().made_instances, 3);
    add(&revision).await;
    assert_eq!(counted(&ports), ["call 1", "call 2"]);
}

#[tokio::test]
async fn nothing_is_used_again_after_a_trap() {
    let engine = engine(2);
    let revision = revision_of(&engine, "trap", limits(), &Recorder::new()).await;
    for reused in [false, true, false, true] {
        let event = if reused { Event::Add } else { Event::Update };
        let report = revision.call(delivery(event, OBJECT)).await;
        assert_eq!((report.reused, report.result.is_err()), (reused, reused));
    }
    assert_eq!(engine.stats().live_instances, 0);
}

#[tokio::test]
async fn an_instance_has_its_number_of_calls() {
    let config = EngineConfig { instances: 2, threads: 1, calls_per_instance: 2, ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    let (revision, ports) = counting(&engine).await;
    for _ in 0..5 {
        add(&revision).await;
    }
    assert_eq!(counted(&ports), ["call 1", "call 2", "call 1", "call 2", "call 1"]);
}

#[tokio::test]
async fn an_instance_that_grew_is_replaced_before_it_meets_its_limit() {
    let engine = engine(2);
    let small = Limits { memory: 8 << 20, ..limits() };
    let revision = revision_of(&engine, "grows", small, &Recorder::new()).await;
    for _ in 0..20 {
        add(&revision).await;
    }
    let made = engine.stats().made_instances;
    assert!(made > 1 && made < 20, "{made}");
}

#[tokio::test]
async fn who_waits_for_a_slot_gets_one_that_idles() {
    let engine = engine(2);
    let mut revisions = Vec::new();
    for _ in 0..5 {
        revisions.push(counting(&engine).await.0);
    }
    for _ in 0..3 {
        for revision in &revisions {
            add(revision).await;
        }
    }
    let stats = engine.stats();
    assert!(stats.live_instances <= 2 && stats.waiting_calls == 0, "{stats:?}");
    // All at once: whoever ends a call gives up its slot while somebody waits.
    let calls: Vec<_> = (0..50)
        .map(|i| {
            let revision = Arc::clone(&revisions[i % revisions.len()]);
            tokio::spawn(async move { add(&revision).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn nobody_gives_up_an_instance_while_there_are_slots() {
    let engine = engine(64);
    let (one, other) = (counting(&engine).await.0, counting(&engine).await.0);
    let other = tokio::spawn(async move {
        for _ in 0..200 {
            update(&other).await;
            // The next call needs a slot.
            other.rest(Duration::ZERO);
        }
    });
    for _ in 0..200 {
        update(&one).await;
    }
    other.await.unwrap();
    assert_eq!(engine.stats().made_instances, 1 + 200);
}

#[tokio::test]
async fn what_idles_goes_with_its_revision() {
    let engine = engine(2);
    let (revision, _) = counting(&engine).await;
    add(&revision).await;
    assert_eq!(engine.stats().live_instances, 1);
    drop(revision);
    assert_eq!(engine.stats().live_instances, 0);
}

#[tokio::test]
async fn what_idles_too_long_is_swept() {
    let config = EngineConfig { instances: 2, threads: 1, keep_idle: Duration::from_millis(20), ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    let (revision, _) = counting(&engine).await;
    add(&revision).await;
    until(|| engine.stats().live_instances == 0).await;
    add(&revision).await;
}

#[tokio::test]
async fn a_trap_comes_with_what_the_guest_logged() {
    let engine = engine(2);
    let revision = revision_of(&engine, "last-words", limits(), &Recorder::new()).await;
    for _ in 0..2 {
        let strike = revision.call(delivery(Event::Add, OBJECT)).await.result.unwrap_err();
        assert_eq!(strike.reason, Reason::Trap);
        assert!(strike.message.starts_with("index out of bounds / in handler.c:7; "), "{}", strike.message);
    }
}
