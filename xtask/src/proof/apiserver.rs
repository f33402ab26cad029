//! `cargo xtask proof apiserver`: what the embedded API server costs, in release: start, writes, lists, memory. Owns the build and
//! nothing else: the experiments and their aims are those of `tests/bench/apiserver`; no figure lets the proof fail.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use wharf_testkit::paths;

use crate::step::{cargo, run as run_command, step};

const PROGRAM: &str = "wharf-bench-apiserver";

/// Builds the program that measures, then lets it measure.
///
/// # Errors
/// If it cannot be built, or the server answers something wrong.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut build = cargo();
    build.current_dir(root).args(["build", "--release", "--package", PROGRAM]);
    step("build the API server and its client in release", || run_command(&mut build))?;
    let program = paths::target().join("release").join(PROGRAM);
    step("measure; RUNS and PODS change how much", || run_command(&mut Command::new(program)))
}
