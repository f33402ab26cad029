//! `wharf top`: what plugins and their host cost. Owns the arithmetic between two looks at the host's
//! counters, and the form; the host keeps no rates.

use std::cmp::Ordering;
use std::io::IsTerminal as _;

use serde::Serialize;
use tokio::time::sleep;
use wharf_runtime::admin::rows::{MemoryRow, PluginUsage, UsageRow};

use crate::args::{Output, SortBy, TopArgs};
use crate::exit;
use crate::host::{self, Host};
use crate::report::{CliError, print_error, write};
use crate::table::Table;

/// Clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// What was measured.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Top {
    window_seconds: f64,
    host: HostTop,
    plugins: Vec<PluginTop>,
}

/// Of the process, guests included.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct HostTop {
    cpu_cores: f64,
    memory_bytes: u64,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PluginTop {
    plugin: String,
    cpu_cores: f64,
    memory_bytes: u64,
    memory: MemoryRow,
    calls_per_second: f64,
    failures_per_second: f64,
    instances: u64,
    queue_depth: u64,
}

pub(crate) fn run(args: TopArgs) -> Result<u8, CliError> {
    let host = Host::at(&args.host)?;
    host::until_ended(top(&host, &args))
}

async fn top(host: &Host, args: &TopArgs) -> Result<u8, CliError> {
    let clear = args.watch && args.output.is_none_or(|output| output == Output::Table) && std::io::stdout().is_terminal();
    let mut before: UsageRow = host::read(&host.get("/v1/usage").await?)?;
    let mut first = true;
    loop {
        sleep(args.window).await;
        let now: UsageRow = host::read(&host.get("/v1/usage").await?)?;
        let mut top = measure(before, &now);
        let missing = choose(&mut top, args);
        if first && top.plugins.is_empty() && !missing.is_empty() {
            // Errors say enough.
            missing.iter().for_each(|name| print_error(&host::no_plugin(name)));
            return Ok(exit::NO);
        }
        let text = text(&top, args.output.unwrap_or(Output::Table))?;
        let before_it = match (clear, first, args.output) {
            (true, ..) => CLEAR,
            (_, _, Some(Output::Yaml)) if args.watch => "---\n",
            (_, false, None | Some(Output::Table | Output::Wide)) => "\n",
            _ => "",
        };
        let open = write(format!("{before_it}{text}")).await?;
        if first {
            missing.iter().for_each(|name| print_error(&host::no_plugin(name)));
        }
        if !args.watch || !open {
            return Ok(if missing.is_empty() { exit::OK } else { exit::NO });
        }
        (before, first) = (now, false);
    }
}

/// Rates are what two looks differ in. Of a host that has begun anew all is new.
fn measure(before: UsageRow, now: &UsageRow) -> Top {
    let before = if before.at_seconds > now.at_seconds { UsageRow::default() } else { before };
    let window = now.at_seconds - before.at_seconds;
    let per_second = |more: f64| if window > 0.0 { more.max(0.0) / window } else { 0.0 };
    let plugin = |row: &PluginUsage| {
        let was = before.plugins.iter().find(|was| was.plugin == row.plugin).cloned().unwrap_or_default();
        // Each revision counts from nothing.
        let cpu = if was.revision == row.revision { row.cpu_seconds - was.cpu_seconds } else { row.cpu_seconds };
        // Exact up to 2^53 calls. A plugin that went and came back counts from nothing.
        let more = |was: u64, now: u64| per_second(now.checked_sub(was).unwrap_or(now) as f64);
        PluginTop {
            plugin: row.plugin.clone(),
            cpu_cores: per_second(cpu),
            memory_bytes: row.memory_bytes,
            memory: row.memory,
            calls_per_second: more(was.calls, row.calls),
            failures_per_second: more(was.failures, row.failures),
            instances: row.instances,
            queue_depth: row.queue_depth,
        }
    };
    Top {
        window_seconds: window,
        host: HostTop { cpu_cores: per_second(now.host.cpu_seconds - before.host.cpu_seconds), memory_bytes: now.host.memory_bytes },
        plugins: now.plugins.iter().map(plugin).collect(),
    }
}

/// Keeps and sorts what is asked for. Returns the names that no plugin has.
fn choose(top: &mut Top, args: &TopArgs) -> Vec<String> {
    let here = |plugin: &str| args.namespace.as_deref().is_none_or(|n| plugin.split_once('/').is_some_and(|(namespace, _)| namespace == n));
    top.plugins.retain(|row| here(&row.plugin));
    let missing = args.plugins.iter().filter(|name| !top.plugins.iter().any(|row| host::is_plugin(&row.plugin, name)));
    let missing = missing.cloned().collect();
    top.plugins.retain(|row| args.plugins.is_empty() || args.plugins.iter().any(|name| host::is_plugin(&row.plugin, name)));
    let most = |a: &PluginTop, b: &PluginTop| match args.sort_by {
        SortBy::Cpu => b.cpu_cores.total_cmp(&a.cpu_cores),
        SortBy::Memory => b.memory_bytes.cmp(&a.memory_bytes),
        SortBy::Calls => b.calls_per_second.total_cmp(&a.calls_per_second),
        SortBy::Failures => b.failures_per_second.total_cmp(&a.failures_per_second),
        SortBy::Queue => b.queue_depth.cmp(&a.queue_depth),
        SortBy::Name => Ordering::Equal,
    };
    top.plugins.sort_by(|a, b| most(a, b).then_with(|| a.plugin.cmp(&b.plugin)));
    missing
}

fn text(top: &Top, output: Output) -> Result<String, CliError> {
    let value = || serde_json::to_value(top).map_err(|error| CliError::new(exit::USAGE, error.to_string()));
    Ok(match output {
        Output::Json => format!("{:#}\n", value()?),
        Output::Yaml => host::yaml(&value()?)?,
        Output::Name => top.plugins.iter().map(|row| format!("plugin/{}\n", row.plugin)).collect(),
        Output::Table | Output::Wide => tables(top, output == Output::Wide),
    })
}

fn tables(top: &Top, wide: bool) -> String {
    let mut names = vec!["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)", "CALLS/S", "FAILURES/S", "INSTANCES", "QUEUE"];
    if wide {
        names.extend(["CODE", "LINEAR", "KEYS", "HISTORY", "FAILURES", "BACKLOG", "CACHE"]);
    }
    let mut plugins = Table::new(names);
    for row in &top.plugins {
        let (namespace, name) = row.plugin.split_once('/').unwrap_or(("", &row.plugin));
        let mut cells = vec![
            namespace.to_owned(),
            name.to_owned(),
            cores(row.cpu_cores),
            bytes(row.memory_bytes),
            format!("{:.1}", row.calls_per_second),
            format!("{:.1}", row.failures_per_second),
            row.instances.to_string(),
            row.queue_depth.to_string(),
        ];
        if wide {
            let MemoryRow { code, instances, keys, history, failures, backlog, cache } = row.memory;
            cells.extend([code, instances, keys, history, failures, backlog, cache].map(bytes));
        }
        plugins.row(cells);
    }
    let mut host = Table::new(vec!["HOST", "CPU(cores)", "MEMORY(bytes)"]);
    host.row(vec!["wharf".to_owned(), cores(top.host.cpu_cores), bytes(top.host.memory_bytes)]);
    let plugins = if top.plugins.is_empty() { "No plugins found.\n".to_owned() } else { plugins.render() };
    format!("{plugins}\n{}", host.render())
}

/// Thousandths of a processor, as kubectl has them.
fn cores(cores: f64) -> String {
    format!("{:.0}m", cores * 1000.0)
}

/// Whole units, as kubectl has them.
fn bytes(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{}Mi", bytes >> 20) } else { format!("{}Ki", bytes >> 10) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use wharf_runtime::admin::rows::HostUsage;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(line: &[&str]) -> TopArgs {
        let cli = Cli::try_parse_from(["wharf", "top"].iter().chain(line)).unwrap();
        let Command::Top(args) = cli.command else { panic!("not top") };
        args
    }

    fn row(plugin: &str, revision: &str, calls: u64, cpu_seconds: f64) -> PluginUsage {
        let (plugin, revision) = (plugin.to_owned(), revision.to_owned());
        let memory =
            MemoryRow { code: 1 << 20, instances: 1 << 18, keys: 1 << 15, history: 1 << 17, failures: 1 << 14, backlog: 0, cache: 3 << 15 };
        PluginUsage {
            plugin,
            revision,
            calls,
            failures: calls / 10,
            cpu_seconds,
            memory_bytes: 3 << 19,
            memory,
            instances: 1,
            queue_depth: 7,
        }
    }

    fn looks() -> (UsageRow, UsageRow) {
        let host = |cpu_seconds| HostUsage { cpu_seconds, memory_bytes: 84 << 20 };
        let before =
            UsageRow { at_seconds: 10.0, host: host(5.0), plugins: vec![row("a/calm", "1-a", 10, 1.0), row("b/busy", "1-a", 100, 9.0)] };
        let plugins = vec![row("a/calm", "1-a", 20, 1.01), row("b/busy", "2-b", 600, 0.5), row("b/idle", "", 0, 0.0)];
        (before, UsageRow { at_seconds: 12.0, host: host(5.75), plugins })
    }

    #[test]
    fn tables_by_processor_time() {
        let (before, now) = looks();
        let mut top = measure(before, &now);
        assert!(choose(&mut top, &args(&[])).is_empty());
        insta::assert_snapshot!(text(&top, Output::Table).unwrap(), @r"
        NAMESPACE   NAME   CPU(cores)   MEMORY(bytes)   CALLS/S   FAILURES/S   INSTANCES   QUEUE
        b           busy   250m         1Mi             250.0     25.0         1           7
        a           calm   5m           1Mi             5.0       0.5          1           7
        b           idle   0m           1Mi             0.0       0.0          1           7

        HOST    CPU(cores)   MEMORY(bytes)
        wharf   375m         84Mi
        ");
        let wide = text(&top, Output::Wide).unwrap();
        assert!(wide.contains("QUEUE   CODE   LINEAR   KEYS   HISTORY   FAILURES   BACKLOG   CACHE\n"), "{wide}");
        assert!(wide.contains("7       1Mi    256Ki    32Ki   128Ki     16Ki       0Ki       96Ki\n"), "{wide}");
        assert_eq!(text(&top, Output::Name).unwrap(), "plugin/b/busy\nplugin/a/calm\nplugin/b/idle\n");
        let json: serde_json::Value = serde_json::from_str(&text(&top, Output::Json).unwrap()).unwrap();
        assert_eq!((&json["windowSeconds"], &json["plugins"][0]["callsPerSecond"]), (&2.0.into(), &250.0.into()));
        assert!(text(&top, Output::Yaml).unwrap().contains("memoryBytes: 1572864"));
    }

    #[test]
    fn what_is_asked_for() {
        let chosen = |line: &[&str]| {
            let (before, now) = looks();
            let mut top = measure(before, &now);
            let missing = choose(&mut top, &args(line));
            (top.plugins.into_iter().map(|row| row.plugin).collect::<Vec<_>>().join(" "), missing)
        };
        assert_eq!(chosen(&["--sort-by", "name"]).0, "a/calm b/busy b/idle");
        assert_eq!(chosen(&["-n", "b", "--sort-by", "queue"]).0, "b/busy b/idle");
        assert_eq!(chosen(&["idle", "a/calm", "b/calm"]), ("a/calm b/idle".to_owned(), vec!["b/calm".to_owned()]));
        for wrong in ["0s", "2", "2h"] {
            assert!(Cli::try_parse_from(["wharf", "top", "--window", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_that_has_begun_anew_counts_from_nothing() {
        let (before, now) = looks();
        let top = measure(now, &UsageRow { at_seconds: 4.0, ..before });
        assert_eq!((top.window_seconds, top.host.cpu_cores), (4.0, 1.25));
        assert_eq!((top.plugins[0].calls_per_second, top.plugins[1].cpu_cores), (2.5, 2.25));
    }
}
