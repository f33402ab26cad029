//! Compiling in a process of its own, with the real program: what it makes runs here, what it may use up is bounded, and
//! `wharf compile` makes what a host finds.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result};
use wharf_core::Reason;
use wharf_engine::{Compiler, Engine, EngineConfig};
use wharf_testkit::paths;

#[cfg(test)]
#[path = "../../../host/engine/tests/it/hostile/bombs.rs"]
mod bombs;

fn compiler() -> Result<Compiler> {
    Ok(Compiler { program: paths::wharf()?, ..Compiler::this_program() })
}

fn engine(folder: &Path, compiler: Option<Compiler>) -> Result<Engine> {
    let config = EngineConfig { instances: 2, threads: 1, cache_dir: Some(folder.to_owned()), compiler, ..EngineConfig::default() };
    Ok(Engine::new(config)?)
}

fn compile(cache: &Path, components: &[&Path]) -> Result<Output> {
    let mut command = Command::new(paths::wharf()?);
    command.args(["compile", "--cache"]).arg(cache).args(components).output().context("run wharf")
}

/// Whoever compiles and whoever runs agree on everything that shapes the code.
#[tokio::test]
async fn what_is_compiled_there_runs_here() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let wasm = std::fs::read(paths::guest("probe")?)?;
    let made = engine(folder.path(), Some(compiler()?))?.load(wasm.clone().into()).await?;
    assert!(!made.from_cache());
    // One that compiles by itself finds it too.
    assert!(engine(folder.path(), None)?.load(wasm.into()).await?.from_cache());
    Ok(())
}

/// Strangers' bytes are checked in that process, and the reason is the same.
#[tokio::test]
async fn what_is_not_valid_is_said_to_be_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let engine = engine(folder.path(), Some(compiler()?))?;
    let mut cut = std::fs::read(paths::guest("probe")?)?;
    cut.truncate(cut.len() / 2);
    for (bytes, message) in [
        (cut, "the component is not valid: "),
        (wat::parse_str("(component (core module (func (result i32))))")?, "the component is not valid: type mismatch"),
        (wat::parse_str("(module)")?, "this is a WebAssembly core module"),
    ] {
        let error = engine.load(bytes.into()).await.err().context("it was taken")?;
        assert!(error.reason == Reason::ComponentInvalid && error.message.starts_with(message), "{error:?}");
    }
    Ok(())
}

#[tokio::test]
async fn bombs_end_with_their_process() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let functions = bombs::functions(40_000);
    let second = Compiler { cpu: Duration::from_secs(1), ..compiler()? };
    for (bomb, limited, message) in [
        (&functions, second.clone(), "compiling needs more than 1 s of processor time"),
        (&functions, Compiler { memory: 48 << 20, ..compiler()? }, "compiling needs more than 48 MiB of memory"),
        (&functions, Compiler { code: 1 << 16, ..compiler()? }, "its machine code has more than 0 MiB"),
        // A kilobyte and a half.
        (&bombs::instances(30), second, "compiling needs more than 1 s of processor time"),
    ] {
        // Such a bomb needs all three.
        let engine = engine(folder.path(), Some(limited))?;
        let error = engine.load(bomb.clone().into()).await.err().context("it was compiled")?;
        assert_eq!((error.reason, &*error.message), (Reason::CompileFailed, message));
        let left = std::fs::read_dir(folder.path())?.count();
        assert_eq!(left, 0, "nothing is left of it");
    }
    Ok(())
}

#[test]
fn the_command_warms_the_cache() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (cache, bad) = (folder.path().join("cwasm"), folder.path().join("bad.wasm"));
    std::fs::write(&bad, "no component")?;
    let probe = paths::guest("probe")?;
    let first = compile(&cache, &[&probe])?;
    let said = String::from_utf8(first.stdout)?;
    assert!(first.status.success() && said.contains("compiled in"), "{said}");
    let second = compile(&cache, &[&bad, &probe])?;
    let said = String::from_utf8(second.stdout)?;
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("bad.wasm: ") && said.contains("[ComponentInvalid]") && said.contains("was compiled already"), "{said}");
    Ok(())
}
