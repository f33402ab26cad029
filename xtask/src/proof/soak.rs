//! `cargo xtask proof soak`: 10,000 revisions and a million calls, traps among them, on a release build: memory, file
//! descriptors, mappings and threads do not grow. Owns how many; the run is that of the test `soak`, of which `cargo test`
//! plays a short one.

use std::env;
use std::path::Path;

use anyhow::Result;
use wharf_testkit::paths;

use crate::setup;
use crate::step::{cargo, run as run_command, step};

const SWAPS: &str = "WHARF_SOAK_SWAPS";

/// Builds what is needed, and exchanges 10,000 revisions, or as many as the environment says; each is told of 100 objects.
///
/// # Errors
/// If something grows.
pub(crate) fn run(root: &Path) -> Result<()> {
    setup::all(root)?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let swaps = env::var(SWAPS).unwrap_or_else(|_| "10000".to_owned());
    let mut tests = cargo();
    tests.current_dir(root).env(SWAPS, &swaps).env("WHARF_BINARY", paths::target().join("release").join("wharf"));
    tests.args(["test", "--workspace", "--test", "soak", "--", "--nocapture"]);
    step(&format!("{swaps} revisions; {SWAPS} changes that"), || run_command(&mut tests))
}
