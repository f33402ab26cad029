//! The memory that all guests may have together.

use std::sync::Arc;

use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Event, Outcome, Reason};
use wharf_engine::{Engine, EngineConfig, Revision, RevisionSpec};

use crate::support::{OBJECT, Recorder, artifact, delivery, limits, spec};

fn engine(guest_memory: u64) -> Engine {
    Engine::new(EngineConfig { instances: 4, threads: 1, guest_memory: Some(guest_memory), ..EngineConfig::default() }).unwrap()
}

async fn revision(engine: &Engine, tenant: &str, guest: &str, limits: Limits) -> Arc<Revision> {
    let name = PluginName { namespace: tenant.into(), name: "test".into() };
    let artifact = artifact(engine, guest).await.unwrap();
    engine.prepare(artifact, RevisionSpec { name, isolation: Isolation::Warm, ..spec(limits, &Recorder::new()) }).unwrap()
}

async fn works(revision: &Revision) {
    assert_eq!(revision.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn who_takes_all_is_refused_and_not_the_neighbour() {
    let engine = engine(4 << 20);
    let greedy = revision(&engine, "team-a", "memory-bomb", Limits { memory: 64 << 20, ..limits() }).await;
    let neighbour = revision(&engine, "team-b", "ok", limits()).await;
    for _ in 0..2 {
        let strike = greedy.call(delivery(Event::Add, OBJECT)).await.result.unwrap_err();
        // Nobody else has it: this one wants more than it can ever have.
        assert_eq!(strike.reason, Reason::MemoryExceeded);
        assert!(strike.message.contains("3728271 are allowed"), "{}", strike.message);
        works(&neighbour).await;
    }
    drop((greedy, neighbour));
    assert_eq!(engine.stats().memory, 0);
}

/// Each of these guests has a page of 64 KiB, and there is no room for two.
#[tokio::test]
async fn what_idles_makes_room() {
    let engine = engine(80 << 10);
    let (one, same) = (revision(&engine, "team-a", "ok", limits()).await, revision(&engine, "team-a", "ok", limits()).await);
    let other = revision(&engine, "team-b", "ok", limits()).await;
    works(&one).await;
    assert_eq!((one.idle(), engine.stats().memory), (1, 64 << 10));
    works(&other).await;
    assert_eq!((one.idle(), other.idle(), engine.stats().memory), (0, 1, 64 << 10));
    works(&one).await;
    same.describe().await.unwrap();
    assert_eq!((one.idle(), engine.stats().memory), (0, 0));
}

#[tokio::test]
async fn what_can_never_begin_is_said_so() {
    let engine = engine(32 << 10);
    let strike = revision(&engine, "team-a", "ok", limits()).await.call(delivery(Event::Add, OBJECT)).await.result.unwrap_err();
    assert_eq!(strike.reason, Reason::InstantiateFailed);
}
