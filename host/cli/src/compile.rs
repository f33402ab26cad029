//! `wharf compile`: components to machine code, before a host needs it; and the process in which a host has it done.

use std::fmt::Write as _;
use std::path::Path;

use wharf_engine::{Compile, Compiler, Engine, EngineConfig};

use crate::args::CompileArgs;
use crate::exit;
use crate::report::{CliError, print_data};

/// What the compiling process says is for the host that started it.
pub(crate) fn helper(args: &CompileArgs) -> u8 {
    wharf_engine::compile_stdin(if args.quick { Compile::Quick } else { Compile::Thorough })
}

pub(crate) fn run(args: &CompileArgs) -> Result<u8, CliError> {
    if args.helper {
        return Ok(helper(args));
    }
    let Some(cache) = &args.cache else { return Err(CliError::new(exit::USAGE, "--cache is missing")) };
    crate::block_on(warm(cache, &args.components))?
}

async fn warm(cache: &Path, components: &[std::path::PathBuf]) -> Result<u8, CliError> {
    let compiler = Some(Compiler::this_program());
    let config = EngineConfig { instances: 2, threads: 1, cache_dir: Some(cache.to_owned()), compiler, ..EngineConfig::default() };
    let engine = Engine::new(config).map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::USAGE, "start the engine") })?;
    let mut code = exit::OK;
    for path in components {
        let file = path.display();
        let wasm =
            std::fs::read(path).map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::USAGE, format!("read {file}")) })?;
        let mut line = format!("{file}: ");
        // Writing to a string does not fail.
        let _written = match engine.load(wasm.into()).await {
            Ok(artifact) if artifact.from_cache() => writeln!(line, "{} was compiled already", artifact.digest()),
            Ok(artifact) => writeln!(line, "{} compiled in {} ms", artifact.digest(), artifact.compile_time().as_millis()),
            Err(error) => {
                code = exit::NO;
                writeln!(line, "{} [{}]; {}", error.message, error.reason, error.reason.hint())
            }
        };
        print_data(&line)?;
    }
    Ok(code)
}
