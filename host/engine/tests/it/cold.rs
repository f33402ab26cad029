//! Machine code that nobody uses is unmapped, and comes back.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use wharf_core::plugin::Isolation;
use wharf_core::{Event, Outcome};
use wharf_engine::{Artifact, Engine, EngineConfig, Revision, RevisionSpec};

use crate::support::{OBJECT, Recorder, artifact, delivery, limits, spec, until};

/// An engine that unmaps soon, and keeps instances for ever.
fn engine(folder: &std::path::Path) -> Engine {
    let config = EngineConfig {
        instances: 4,
        threads: 1,
        cache_dir: Some(folder.to_owned()),
        keep_mapped: Duration::from_millis(20),
        keep_idle: Duration::from_secs(3600),
        ..EngineConfig::default()
    };
    Engine::new(config).unwrap()
}

fn revision(engine: &Engine, artifact: &Arc<Artifact>, isolation: Isolation) -> Arc<Revision> {
    engine.prepare(Arc::clone(artifact), RevisionSpec { isolation, ..spec(limits(), &Recorder::new()) }).unwrap()
}

async fn works(revision: &Revision) {
    assert_eq!(revision.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

#[tokio::test]
async fn code_is_unmapped_and_comes_back_for_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let artifact = artifact(&engine, "ok").await.unwrap();
    let [one, other] = [(); 2].map(|()| revision(&engine, &artifact, Isolation::Fresh));
    let mapped = artifact.mapped();
    assert!(mapped > 0);
    for revision in [&one, &other] {
        works(revision).await;
        assert_eq!(artifact.mapped(), mapped);
        until(|| artifact.mapped() == 0).await;
    }
    // Whoever tidies up, or fills the cache with something else, takes nothing from those who run.
    fs::remove_dir_all(dir.path()).unwrap();
    works(&one).await;
    until(|| artifact.mapped() == 0).await;
    // A new revision of the same component.
    works(&revision(&engine, &artifact, Isolation::Fresh)).await;
}

#[tokio::test]
async fn an_instance_keeps_its_code() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let [kept, cold] = [artifact(&engine, "ok").await.unwrap(), artifact(&engine, "fails").await.unwrap()];
    let revision = revision(&engine, &kept, Isolation::Reuse);
    works(&revision).await;
    assert_eq!(revision.idle(), 1);
    // The other one shows that it was looked at meanwhile.
    until(|| cold.mapped() == 0).await;
    assert!(kept.mapped() > 0);
    revision.rest(Duration::ZERO);
    until(|| kept.mapped() == 0).await;
    works(&revision).await;
}
