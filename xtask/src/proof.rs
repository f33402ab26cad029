//! `cargo xtask proof NAME`: long proofs and measurements, whose figures people report. CI
//! does not run them. Owns the list; each has a file.

mod apiserver;
mod dispatch;
mod events;
mod fairness;
mod figures;
mod hostile;
mod idle;
mod informers;
mod kill;
mod languages;
mod peers;
mod soak;
mod swap;
mod teams;
mod watch_faults;

use std::path::Path;

use anyhow::{Result, bail};

/// Runs a proof by name.
///
/// # Errors
/// An unknown name, or that of the proof.
pub(crate) fn run(root: &Path, name: &str) -> Result<()> {
    match name {
        "apiserver" => apiserver::run(root),
        "dispatch" => dispatch::run(root),
        "events" => events::run(root),
        "fairness" => fairness::run(root),
        "figures" => figures::run(root),
        "hostile" => hostile::run(root),
        "idle" => idle::run(root),
        "informers" => informers::run(root),
        "kill" => kill::run(root),
        "languages" => languages::run(root),
        "soak" => soak::run(root),
        "swap" => swap::run(root),
        "teams" => teams::run(root),
        "watch-faults" => watch_faults::run(root),
        _ => bail!(
            "there is no proof {name:?}; there are: apiserver, dispatch, events, fairness, figures, hostile, idle, informers, kill, languages, soak, swap, teams, watch-faults"
        ),
    }
}
