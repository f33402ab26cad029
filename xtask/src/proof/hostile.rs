//! `cargo xtask proof hostile`: how long each hostile guest and component takes to its end, by which name, and what the calls
//! of a good neighbour take on the one guest thread that they share. Owns which program is run; the cases are those that
//! `cargo test` plays without a clock (`host/engine/tests/it/hostile`).

use std::env;
use std::path::Path;

use anyhow::Result;
use wharf_testkit::paths;

use crate::step::{cargo, run as run_command, step};

const SECONDS: &str = "WHARF_PROOF_SECONDS";

/// Builds what is needed, and plays each case for five seconds, or as long as the environment says.
///
/// # Errors
/// If something cannot be built, a case ends by another name than it may, or a call of the neighbour fails.
pub(crate) fn run(root: &Path) -> Result<()> {
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let seconds = env::var(SECONDS).unwrap_or_else(|_| "5".to_owned());
    let mut tests = cargo();
    tests.current_dir(root).env(SECONDS, &seconds);
    // What compiles in a process of its own.
    tests.env("WHARF_BINARY", paths::target().join("release").join("wharf"));
    tests.args(["test", "--release", "--package", "wharf-engine", "--test", "it", "--", "--nocapture"]);
    tests.arg("hostile::proof::measure");
    step(&format!("each case for {seconds} s beside a neighbour; {SECONDS} changes that"), || run_command(&mut tests))
}
