//! The cache of compiled components on disk, through the engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wharf_core::{Event, Outcome};
use wharf_engine::{Artifact, Engine, EngineConfig};

use crate::support::{OBJECT, Recorder, artifact, delivery, limits, spec};

fn engine(folder: &Path) -> Engine {
    let cache_dir = Some(folder.to_owned());
    Engine::new(EngineConfig { instances: 2, threads: 1, cache_dir, ..EngineConfig::default() }).unwrap()
}

async fn works(engine: &Engine, artifact: Arc<Artifact>) {
    let revision = engine.prepare(artifact, spec(limits(), &Recorder::new())).unwrap();
    assert_eq!(revision.call(delivery(Event::Add, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
}

fn compiled(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "cwasm")).collect()
}

#[tokio::test]
async fn the_second_start_does_not_compile() {
    let dir = tempfile::tempdir().unwrap();
    for start in 0..2 {
        let engine = engine(dir.path());
        let artifact = artifact(&engine, "ok").await.unwrap();
        assert_eq!(artifact.from_cache(), start == 1);
        works(&engine, artifact).await;
    }
    assert_eq!(compiled(dir.path()).len(), 1);
}

#[tokio::test]
async fn damaged_code_is_found_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    drop(artifact(&engine(dir.path()), "ok").await.unwrap());
    let [file] = &compiled(dir.path())[..] else { panic!("one file") };
    let whole = fs::read(file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damage in [flipped, whole[..whole.len() - 1].to_vec(), b"not code".to_vec()] {
        // Replaced, not written in place: the old contents may still be mapped.
        fs::remove_file(file).unwrap();
        fs::write(file, &damage).unwrap();
        let engine = engine(dir.path());
        let artifact = artifact(&engine, "ok").await.unwrap();
        assert!(!artifact.from_cache());
        works(&engine, artifact).await;
        assert_ne!(fs::read(file).unwrap(), damage);
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let config = EngineConfig { instances: 2, threads: 1, cache_dir: Some(file.join("cache")), ..EngineConfig::default() };
    let error = Engine::new(config).unwrap_err().to_string();
    assert!(error.contains("file/cache"), "{error}");
}
