//! `cargo xtask proof dispatch`: random histories of the ledger with each of its rules switched off
//! in turn, and of the whole of dispatch on a paused clock, with a witness that sees the calls only.
//! Owns how many; the histories are those of the tests `model` and `dispatch`, of which
//! `cargo test` plays some.

use std::env;
use std::path::Path;

use anyhow::Result;

use crate::step::{cargo, run as run_command, step};

const HISTORIES: &str = "WHARF_HISTORIES";

/// Plays a million histories of each, or as many as the environment says.
///
/// # Errors
/// If one breaks a promise; it is shown with its seed.
pub(crate) fn run(root: &Path) -> Result<()> {
    let histories = env::var(HISTORIES).unwrap_or_else(|_| "1000000".to_owned());
    for (test, filter, what) in [
        ("model", "promises", "of the ledger"),
        ("dispatch", "promises", "of the whole of dispatch"),
        ("dispatch", "every_version", "of changes that are told one by one"),
    ] {
        let mut tests = cargo();
        tests.current_dir(root).env(HISTORIES, &histories);
        // A million times over, better code is worth its compilation.
        tests.args(["test", "--config", "profile.dev.package.wharf-runtime.opt-level=2", "--workspace", "--test", test, "--", filter]);
        step(&format!("{histories} histories {what}; {HISTORIES} changes that"), || run_command(&mut tests))?;
    }
    Ok(())
}
