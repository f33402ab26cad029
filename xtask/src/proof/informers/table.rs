//! The figures as tables in Markdown. Owns their columns; never says whether a figure is good.

use anyhow::Result;
use serde_json::Value;

use super::REFERENCE;
use super::measure::Runs;
use crate::proof::peers::number;

const KIB_IN_MIB: f64 = 1024.0;

/// A column: the figure, how it is called, by what it is divided, and its decimals.
struct Column {
    figure: &'static str,
    head: &'static str,
    unit: f64,
    decimals: usize,
    /// Beside the figure: how many times that of the reference.
    ratio: bool,
}

const fn column(figure: &'static str, head: &'static str, decimals: usize) -> Column {
    Column { figure, head, unit: 1.0, decimals, ratio: false }
}

impl Column {
    const fn ratio(self) -> Self {
        Self { ratio: true, ..self }
    }

    const fn mib(self) -> Self {
        Self { unit: KIB_IN_MIB, ..self }
    }
}

const START: [Column; 7] = [
    column("synced_s", "synced, s", 2).ratio(),
    column("cpu_s", "CPU, s", 2).ratio(),
    column("server_cpu_s", "server's CPU, s", 2),
    column("peak_kib", "RSS peak, MiB", 0).mib(),
    column("rest_kib", "RSS at rest, MiB", 0).mib().ratio(),
    column("floor_kib", "after a GC, MiB", 0).mib(),
    column("bytes_per_object", "bytes an object", 0),
];

const RELIST: [Column; 5] = [
    column("relist_peak_kib", "RSS peak, MiB", 0).mib(),
    column("relist_peak_of_rest", "of that at rest", 2),
    column("relist_announced", "announced", 0),
    column("relist_changed", "of which changed", 0),
    column("relist_cpu_s", "CPU, s", 2).ratio(),
];

const WORK: [Column; 6] = [
    column("events_per_s", "events/s", 0).ratio(),
    column("event_cpu_s", "CPU s/100k", 2).ratio(),
    column("event_server_cpu_s", "server's CPU s/100k", 2),
    column("list_namespace_us", "list a namespace, µs", 1).ratio(),
    column("list_instance_us", "list by index, µs", 1).ratio(),
    column("late_handler_ms", "late handler, ms", 2).ratio(),
];

/// Before the measurements of a number of objects.
pub(super) fn headline(pods: u64, rounds: usize) {
    println!("\n## {pods} Pods, medians of {rounds} runs");
}

/// What the server has, and how fast it can send.
///
/// # Errors
/// If the server does not say.
pub(super) fn source(stats: &Value, drained: f64) -> Result<()> {
    let (objects, all, without) =
        (number(stats, "objects")?, number(stats, "json_bytes")?, number(stats, "json_bytes_without_managed_fields")?);
    println!(
        "\nA Pod: {:.0} bytes of JSON, {:.0} without managedFields. A client that throws the list away has it in {drained:.2} s.",
        all / objects,
        without / objects
    );
    Ok(())
}

/// All tables. In brackets: how many times that of client-go typed on protobuf.
pub(super) fn print(runs: &Runs) {
    print_table("Start and rest", &START, runs);
    print_table("List again after a 410, while one object in a hundred has changed", &RELIST, runs);
    print_table("Changes and reads", &WORK, runs);
}

fn print_table(title: &str, columns: &[Column], runs: &Runs) {
    println!("\n### {title}\n");
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    println!("| | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    let most = runs.names().into_iter().map(|name| runs.count(name)).max().unwrap_or_default();
    for name in runs.names() {
        let cells: Vec<String> = columns.iter().map(|column| cell(column, name, runs)).collect();
        let once = if runs.count(name) < most { " (1 run)" } else { "" };
        println!("| {name}{once} | {} |", cells.join(" | "));
    }
}

fn cell(column: &Column, name: &str, runs: &Runs) -> String {
    let Some(figure) = runs.median(name, column.figure) else { return "-".to_owned() };
    let (shown, decimals) = (figure / column.unit, column.decimals);
    match runs.median(REFERENCE, column.figure) {
        Some(reference) if column.ratio && name != REFERENCE && reference > 0.0 => {
            format!("{shown:.decimals$} ({:.2}×)", figure / reference)
        }
        _ => format!("{shown:.decimals$}"),
    }
}
