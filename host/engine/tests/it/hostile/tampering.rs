//! Machine code on disk that somebody has laid hands on: it is made again, or the load fails; it is never mapped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use wharf_core::{Event, Failure, Outcome};
use wharf_engine::{Engine, EngineConfig};

use crate::support::{OBJECT, Recorder, artifact, delivery, limits, spec};

fn engine(folder: &Path) -> Engine {
    let cache_dir = Some(folder.to_owned());
    Engine::new(EngineConfig { instances: 2, threads: 1, cache_dir, ..EngineConfig::default() }).unwrap()
}

/// Does an engine that finds this folder take the code in it? In any case it runs the guest that was asked for.
async fn taken(folder: &Path, guest: &str) -> bool {
    let engine = engine(folder);
    let artifact = artifact(&engine, guest).await.unwrap();
    let from_cache = artifact.from_cache();
    let revision = engine.prepare(artifact, spec(limits(), &Recorder::new())).unwrap();
    let result = revision.call(delivery(Event::Add, OBJECT)).await.result;
    match guest {
        "ok" => assert_eq!(result, Ok(Ok(Outcome::Done))),
        _ => assert!(matches!(result, Ok(Err(Failure::Retry(_)))), "{result:?}"),
    }
    from_cache
}

/// The code of a guest, and its checksum.
async fn files(folder: &Path, guest: &str) -> [PathBuf; 2] {
    let there = |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let before = if folder.exists() { there(folder) } else { Vec::new() };
    assert!(!taken(folder, guest).await && taken(folder, guest).await);
    let mut new: Vec<_> = there(folder).into_iter().filter(|path| !before.contains(path)).collect();
    new.sort();
    new.try_into().unwrap()
}

fn flip(path: &Path, at: usize, bit: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1 << bit;
    // Not in place: the old contents may be mapped.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn flips_are_seen_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let [code, sum] = files(folder.path(), "ok").await;
    let (length, digits) = (fs::read(&code).unwrap().len(), fs::read(&sum).unwrap().len());
    for at in (0..16).map(|part| part * (length - 1) / 15) {
        flip(&code, at, 3);
        assert!(!taken(folder.path(), "ok").await, "byte {at} of the code");
    }
    for at in [0, digits / 2, digits - 2] {
        flip(&sum, at, 0);
        assert!(!taken(folder.path(), "ok").await, "byte {at} of the checksum");
    }
    assert!(taken(folder.path(), "ok").await, "it was made again");
}

#[tokio::test]
async fn code_of_another_component_is_not_taken_with_its_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let (ok, fails) = (files(folder.path(), "ok").await, files(folder.path(), "fails").await);
    let aside = folder.path().join("aside");
    for (one, other) in ok.iter().zip(&fails) {
        fs::rename(one, &aside).unwrap();
        fs::rename(other, one).unwrap();
        fs::rename(&aside, other).unwrap();
    }
    assert!(!taken(folder.path(), "ok").await);
    assert!(!taken(folder.path(), "fails").await);
}

#[tokio::test]
async fn what_is_no_plain_file_is_not_read() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [code, sum] = files(folder.path(), "ok").await;
    for victim in [&code, &sum] {
        // With the right contents, which whoever owns the other file may change at any time.
        let away = elsewhere.path().join("file");
        fs::rename(victim, &away).unwrap();
        symlink(&away, victim).unwrap();
        assert!(!taken(folder.path(), "ok").await, "a link in place of {}", victim.display());
        assert!(away.exists() && !fs::symlink_metadata(victim).unwrap().is_symlink());
        fs::remove_file(victim).unwrap();
        mknodat(CWD, victim, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(!taken(folder.path(), "ok").await, "a pipe in place of {}", victim.display());
        fs::remove_file(victim).unwrap();
        fs::create_dir(victim).unwrap();
        assert!(!taken(folder.path(), "ok").await, "a folder in place of {}", victim.display());
        fs::remove_dir(victim).unwrap();
        assert!(!taken(folder.path(), "ok").await);
    }
}
