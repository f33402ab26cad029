//! `cargo xtask proof kill`: hosts that are killed at random moments, on a real API server, with a
//! judge. Owns how many runs and from which seed; the runs are those of the test `restart`, of
//! which `cargo test` plays three.

use std::env;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::setup;
use crate::step::{cargo, run as run_command, step};

const RUNS: &str = "WHARF_KILL_RUNS";
const SEED: &str = "WHARF_KILL_SEED";

/// Builds what is needed and plays 100 runs, or as many as the environment says.
///
/// # Errors
/// If a run finds anything lost or doubled.
pub(crate) fn run(root: &Path) -> Result<()> {
    setup::all(root)?;
    let runs = env::var(RUNS).unwrap_or_else(|_| "100".to_owned());
    let seed = match env::var(SEED) {
        Ok(seed) => seed,
        // Any seed, but one that is easily typed.
        Err(_) => (SystemTime::now().duration_since(UNIX_EPOCH).context("read the clock")?.as_secs() % 100_000 * 1000).to_string(),
    };
    let mut tests = cargo();
    tests.current_dir(root).env(RUNS, &runs).env(SEED, &seed);
    tests.args(["test", "--workspace", "--test", "restart", "--", "--nocapture", "nothing_is_lost_or_doubled_by_kill"]);
    step(&format!("{runs} runs from seed {seed} on; {RUNS} and {SEED} change that"), || run_command(&mut tests))
}
