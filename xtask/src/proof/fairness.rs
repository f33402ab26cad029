//! `cargo xtask proof fairness`: what sleeping, spinning, trapping and flooded plugins cost
//! their neighbours, and what a turn costs. Owns which programs are run; they are benches of
//! the crates, whose environment variables make them larger or smaller.

use std::path::Path;

use anyhow::Result;

use crate::step::{cargo, run as run_command, step};

/// Runs both benches.
///
/// # Errors
/// If one cannot be built, or does not come to its end.
pub(crate) fn run(root: &Path) -> Result<()> {
    for (package, what) in [("wharf-queue", "what a turn costs"), ("wharf-runtime", "what bad neighbours cost")] {
        let bench = if package == "wharf-queue" { "fair" } else { "fairness" };
        let mut cargo = cargo();
        cargo.current_dir(root).args(["bench", "--package", package, "--bench", bench]);
        step(what, || run_command(&mut cargo))?;
    }
    Ok(())
}
