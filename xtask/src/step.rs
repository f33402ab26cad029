//! Steps of a task: what is being done and how long it took. Owns running a command so
//! that its failure names it.

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// Does a piece of work under a headline.
///
/// # Errors
/// That of the work, with the headline before it.
pub(crate) fn step<T>(headline: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("==> {headline}");
    let start = Instant::now();
    let done = work().with_context(|| format!("{headline}: failed"))?;
    let took = start.elapsed().as_secs();
    if took > 1 {
        eprintln!("    done in {took} s");
    }
    Ok(done)
}

/// Runs a command with the terminal's input and output.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    ensure!(status.success(), "{} ended with {status}", name(command));
    Ok(())
}

/// The cargo that runs this task.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A command as one would type it.
pub(crate) fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
