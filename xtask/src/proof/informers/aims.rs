//! The aims, and which of them this run has met. Owns their numbers; a missed aim is shown
//! and fails nothing, since the machine has a part in it.

use anyhow::{Context as _, Result};

use super::measure::Runs;
use super::{OURS, OURS_20, REFERENCE};

/// Of client-go typed on protobuf, though JSON is on the wire.
const SYNCED: f64 = 0.5;
/// Of the bytes of JSON without managedFields.
const MEMORY: f64 = 1.1;
/// Of what is resident at rest.
const RELIST: f64 = 1.1;
/// Of what one handler costs.
const TWENTY: f64 = 1.05;

/// Prints the aims for a number of objects whose JSON has so many bytes without managedFields.
///
/// # Errors
/// If a figure is missing.
pub(super) fn print(runs: &Runs, pods: u64, json: f64) -> Result<()> {
    let of = |name: &str, figure: &str| runs.median(name, figure).with_context(|| format!("{name} has no {figure}"));
    println!("\n### Aims with {pods} Pods\n\n| | aim | is | |\n|---|---|---|---|");
    line("time to synced, of client-go typed's on protobuf", of(OURS, "synced_s")? / of(REFERENCE, "synced_s")?, SYNCED);
    line("memory at rest over the empty process, of the JSON without managedFields", of(OURS, "bytes_per_object")? / json, MEMORY);
    line("peak while everything is listed again, of that at rest", of(OURS, "relist_peak_of_rest")?, RELIST);
    line("announced then, of what has changed", of(OURS, "relist_announced")? / of(OURS, "relist_changed")?, 1.0);
    line("memory at rest with 20 handlers, of that with one", of(OURS_20, "rest_kib")? / of(OURS, "rest_kib")?, TWENTY);
    Ok(())
}

/// Prints the aim for a host with 20 plugins on one kind, by what is resident then and with one.
pub(super) fn print_host(one: f64, twenty: f64) {
    println!("\n| | aim | is | |\n|---|---|---|---|");
    line("memory at rest of a host with 20 plugins on one kind, of that with one", twenty / one, TWENTY);
}

fn line(what: &str, is: f64, at_most: f64) {
    let verdict = if is <= at_most { "met" } else { "missed" };
    println!("| {what} | ≤ {at_most:.2}× | {is:.2}× | {verdict} |");
}
