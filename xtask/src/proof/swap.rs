//! `cargo xtask proof swap`: one revision of a plugin after the other while objects change all the time, good ones and
//! then every tenth broken, on a release build and a real API server, with a witness. Owns how many and how fast; the
//! run is that of the test `swap`, of which `cargo test` plays a short one.

use std::env;
use std::path::Path;

use anyhow::Result;
use wharf_testkit::paths;

use crate::setup;
use crate::step::{cargo, run as run_command, step};

const SWAPS: &str = "WHARF_SWAPS";
const RATE: &str = "WHARF_SWAP_RATE";

/// Builds what is needed, and exchanges 10,000 revisions of each sort at 1,000 changes a second, or as the environment says. A
/// real API server may take fewer; `WHARF_SWAP_SERVER=embedded` takes them all.
///
/// # Errors
/// If anything is lost or doubled, or a revision does not become what it must.
pub(crate) fn run(root: &Path) -> Result<()> {
    setup::all(root)?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let or = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let (swaps, rate) = (or(SWAPS, "10000"), or(RATE, "1000"));
    let mut tests = cargo();
    tests.current_dir(root).env(SWAPS, &swaps).env(RATE, &rate);
    tests.env("WHARF_BINARY", paths::target().join("release").join("wharf"));
    tests.args(["test", "--workspace", "--test", "swap", "--", "--nocapture", "swaps_under_load"]);
    step(&format!("2 x {swaps} revisions at {rate} changes a second; {SWAPS} and {RATE} change that"), || run_command(&mut tests))
}
