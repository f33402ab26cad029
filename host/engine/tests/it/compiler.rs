//! The compiling process and its ends, with shells in its place: what each end is called, and that the next component
//! is compiled all the same. The real one is in tests/it/tests/compile.rs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use wharf_core::Reason;
use wharf_engine::{Compiler, Engine, EngineConfig, EngineError};

use crate::support::artifact;

/// What the process does with its component.
fn compiler(script: &str) -> Compiler {
    Compiler {
        program: "/bin/sh".into(),
        arguments: ["-c", script].map(Into::into).to_vec(),
        cpu: Duration::from_secs(1),
        memory: 256 << 20,
        code: 1 << 20,
        ..Compiler::this_program()
    }
}

fn engine(folder: &Path, compiler: Compiler) -> Result<Engine, EngineError> {
    let (cache_dir, compiler) = (Some(folder.to_owned()), Some(compiler));
    Engine::new(EngineConfig { instances: 2, threads: 1, cache_dir, compiler, ..EngineConfig::default() })
}

#[tokio::test]
async fn each_end_has_its_message() {
    let dir = tempfile::tempdir().unwrap();
    let patient = |script: &str| compiler(script);
    let hasty = Compiler { wall: Duration::from_millis(50), ..patient("exec sleep 1000") };
    for (compiler, message) in [
        (patient("while :; do :; done"), "compiling needs more than 1 s of processor time"),
        (hasty, "compiling took longer than 0 s"),
        (patient("cat > /dev/null; exec head -c 2000000 /dev/zero"), "its machine code has more than 1 MiB"),
        (patient("cat > /dev/null; echo 'bad function 7' >&2; exit 70"), "bad function 7"),
        (patient("exit 70"), "exit status: 70"),
        (patient("echo 'memory allocation of 7 bytes failed' >&2; kill -ABRT $$"), "compiling needs more than 256 MiB of memory"),
        (patient("echo 'index out of bounds' >&2; exit 101"), "the compiler crashed on this component: index out of bounds"),
        (patient("kill -SEGV $$"), "the compiler crashed on this component: signal: 11 (SIGSEGV)"),
        (patient("cat > /dev/null; echo 'no room' >&2; exit 74"), "no place for its machine code: no room"),
        (
            Compiler { program: "/nowhere/wharf".into(), ..patient("") },
            "the compiler could not be started: No such file or directory (os error 2)",
        ),
    ] {
        let engine = engine(dir.path(), compiler.clone()).unwrap();
        let error = artifact(&engine, "ok").await.unwrap_err();
        assert_eq!((error.reason, &*error.message), (Reason::CompileFailed, message), "{compiler:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of it");
    }
}

#[tokio::test]
async fn what_it_says_is_bounded_and_clean() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path(), compiler("printf 'a\\033[31mb' >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 65")).unwrap();
    let error = artifact(&engine, "ok").await.unwrap_err();
    assert!(error.message.len() < 5000 && !error.message.contains('\u{1b}'), "{}", error.message);
}

/// Code of another engine is no code.
#[tokio::test]
async fn what_it_makes_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path(), compiler("cat > /dev/null; echo rubbish")).unwrap();
    let error = artifact(&engine, "ok").await.unwrap_err();
    assert_eq!(error.reason, Reason::CompileFailed);
}

#[tokio::test]
async fn who_waits_no_more_lets_the_next_one_have_it() {
    let dir = tempfile::tempdir().unwrap();
    for pipe in ["first", "second"] {
        assert!(std::process::Command::new("mkfifo").arg(dir.path().join(pipe)).status().unwrap().success());
    }
    // Each process waits for a word through a pipe of its own.
    let here = dir.path().display();
    let script = format!(
        "cat > /dev/null; pipe=second; mkdir {here}/begun 2> /dev/null && pipe=first; read word < {here}/$pipe; echo $word >&2; exit 65"
    );
    let engine = engine(&dir.path().join("cache"), compiler(&script)).unwrap();
    let load = |guest: &'static str| {
        let engine = engine.clone();
        tokio::spawn(async move { artifact(&engine, guest).await })
    };
    let tell = |pipe: &str, word: &'static str| {
        let path = dir.path().join(pipe);
        // Opens when somebody reads.
        tokio::task::spawn_blocking(move || fs::write(path, word).unwrap())
    };
    let first = load("ok");
    until_exists(&dir.path().join("begun")).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let second = load("trap");
    tell("first", "once\n").await.unwrap();
    tell("second", "twice\n").await.unwrap();
    assert_eq!(second.await.unwrap().unwrap_err().message, "twice");
}

async fn until_exists(path: &Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_compiling_process_needs_a_folder() {
    let compiler = Some(compiler(""));
    let error = Engine::new(EngineConfig { instances: 2, threads: 1, compiler, ..EngineConfig::default() }).unwrap_err();
    assert!(error.to_string().contains("needs a cache folder"), "{error}");
}
