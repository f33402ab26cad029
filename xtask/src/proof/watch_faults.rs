//! `cargo xtask proof watch-faults`: random runs of the informers against a real API server in
//! every kind of trouble, with a judge. Owns how many runs and from which seed; the runs are
//! those of the test `watch_faults`, of which `cargo test` plays a sample.

use std::env;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::step::{cargo, run as run_command, step};
use crate::{cluster, peers};

const RUNS: &str = "WHARF_FAULT_RUNS";
const SEED: &str = "WHARF_FAULT_SEED";

/// Builds what is needed and plays 200 runs, or as many as the environment says.
///
/// # Errors
/// If a run finds anything lost or doubled, or a kind of trouble never took effect.
pub(crate) fn run(root: &Path) -> Result<()> {
    cluster::build(root)?;
    peers::build(root, "informer-dump")?;
    let runs = env::var(RUNS).unwrap_or_else(|_| "200".to_owned());
    let seed = match env::var(SEED) {
        Ok(seed) => seed,
        // Any seed, but one that is easily typed; whole batches begin with a round one.
        Err(_) => (SystemTime::now().duration_since(UNIX_EPOCH).context("read the clock")?.as_secs() % 1_000_000 * 10).to_string(),
    };
    let mut tests = cargo();
    tests.current_dir(root).env(RUNS, &runs).env(SEED, &seed);
    tests.args(["test", "--workspace", "--test", "watch_faults", "--", "--nocapture", "nothing_is_lost_or_doubled_under_faults"]);
    step(&format!("{runs} runs from seed {seed} on; {RUNS} and {SEED} change that"), || run_command(&mut tests))
}
