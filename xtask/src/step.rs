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
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    without_this_package(&mut command);
    command
}

/// Takes out what `cargo run` tells this program about its own package: build scripts that
/// look at it would run again, and half of the dependencies would be built twice.
pub(crate) fn without_this_package(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        if is_about_this_package(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

fn is_about_this_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// A command as one would type it.
pub(crate) fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_package_is_does_not_reach_other_builds() {
        let command = cargo();
        let removed = |name: &str| command.get_envs().any(|(variable, value)| variable == name && value.is_none());
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR"), "{:?}", command.get_envs().collect::<Vec<_>>());
        assert!(!is_about_this_package("CARGO_HOME") && !is_about_this_package("CARGO_TARGET_DIR"));
    }
}
