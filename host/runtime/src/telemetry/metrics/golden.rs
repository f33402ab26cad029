//! The whole exposition of a host with one plugin, compared with a file, and docs/metrics.md,
//! which is made from it. Tests only. `WHARF_UPDATE=1 cargo test -p wharf-runtime` writes
//! both anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use wharf_cache::{CacheMetrics, InformerSpec, Scope, WatchEventType};
use wharf_core::{Event, Gvk, Reason};
use wharf_queue::QueueMetrics;

use super::*;

const PLUGIN: &str = "team-a/guard";

/// Compares with a file of the repository, or writes it.
pub(in crate::telemetry) fn compare(relative: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(relative);
    if std::env::var_os("WHARF_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{relative} is not up to date: run `WHARF_UPDATE=1 cargo test -p wharf-runtime` and look at the diff");
}

fn spec(kind: &Gvk) -> InformerSpec {
    InformerSpec::new(kind.clone(), Scope::All)
}

/// One plugin and one of everything, with fixed numbers.
fn host() -> Arc<Metrics> {
    let metrics = Metrics::new();
    let kind = Gvk::new("", "v1", "ConfigMap");
    let queue = metrics.queue(PLUGIN);
    queue.added(1);
    queue.handed_out(Duration::from_micros(20));
    queue.worked(Duration::from_millis(2));
    queue.retried();
    metrics.serving(PLUGIN, "1-abc", "sha256:abc");
    metrics.subscribed(PLUGIN, [&kind], &["OwnerMissing".into()]);
    metrics.call(
        PLUGIN,
        &CallCount {
            kind: &kind,
            event: Event::Add,
            result: CallResult::Done,
            failure: None,
            duration: Duration::from_millis(2),
            cpu: Duration::from_micros(500),
            waited_instance: Duration::ZERO,
            waited_turns: Duration::from_micros(250),
            peak_memory: Some(1 << 20),
            log_dropped: 0,
            lag: Some(Duration::from_micros(300)),
            parked: false,
        },
    );
    metrics.host_call(PLUGIN, "cluster.apply", "ok");
    metrics.event(PLUGIN, "written");
    metrics.log_line(PLUGIN, "info");
    metrics.compiled(Duration::from_millis(300));
    metrics.checkpointed(Duration::from_millis(4));
    metrics.leads("wharf", true);
    metrics.lease_slow_path("wharf");
    metrics.status_written("ok");
    metrics.request(&Method::GET, "127.0.0.1:6443", Some(StatusCode::OK), Duration::from_millis(3));
    metrics.started(&spec(&kind));
    metrics.watch_event(&spec(&kind), WatchEventType::Added);
    metrics.relist(&spec(&kind), Reason::WatchExpired);
    metrics.failed(&spec(&kind), Reason::ServerUnavailable);
    metrics.initial_events_late(&spec(&kind), Duration::from_secs(10));
    metrics.on_scrape(move |now| {
        let stats =
            wharf_queue::Stats { depth: 3, low: 1, processing: 1, longest_running: Duration::from_millis(250), ..Default::default() };
        now.queues.push(QueueSample::new(PLUGIN.into(), &stats, 4));
        now.plugins.push(PluginSample {
            plugin: PLUGIN.into(),
            ledger_entries: 10,
            parked_keys: 1,
            backlog_bytes: 0,
            breaker: 2,
            failing_keys: 3,
            history_bytes: 4096,
            memory: vec![("code", 3 << 20), ("instances", 1 << 20)],
            instances: vec![("running", 1)],
            synced: true,
        });
        let sample = |objects, synced| InformerSample {
            kind: Gvk::new("", "v1", "ConfigMap"),
            objects,
            bytes: 100 * objects,
            synced,
            last_event_age: Some(Duration::from_secs(objects)),
        };
        now.informers.extend([sample(10, true), sample(5, true)]);
        now.cache = Some((300 << 20, 1 << 20));
        now.log = Some(LogSample { bytes: 5000, given_up: 7, levels: 1 });
        now.checkpoint = Some(CheckpointSample { keys: 10, bytes: 1500, body_bytes: 4000, failing: false });
    });
    metrics
}

/// The exposition, with the numbers of this process replaced.
fn exposition(metrics: &Metrics) -> String {
    let line = |line: &str| match line.split_once(' ') {
        Some((name, _)) if name.starts_with("process_") || name == "wharf_log_lines_lost_total" => format!("{name} VARIES\n"),
        _ => format!("{line}\n"),
    };
    metrics.encode().unwrap().lines().map(line).collect()
}

#[test]
fn exposition_is_as_agreed() {
    compare("tests/golden/metrics.txt", &exposition(&host()));
}

#[test]
fn same_numbers_give_the_same_text() {
    assert_eq!(exposition(&host()), exposition(&host()));
}

#[test]
fn every_family_is_documented() {
    compare("../../docs/metrics.md", &document(&exposition(&host())));
}

#[test]
fn an_empty_host_has_no_series_of_plugins() {
    let text = Metrics::new().encode().unwrap();
    assert!(!text.contains("plugin=\"") && !text.contains("controller=\""), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn labels_are_bounded() {
    let allowed: BTreeSet<&str> = [
        "plugin",
        "revision",
        "digest",
        "kind",
        "filter",
        "event",
        "result",
        "reason",
        "capability",
        "level",
        "state",
        "name",
        "controller",
        "part",
        "priority",
        "code",
        "method",
        "verb",
        "host",
        "type",
        "le",
    ]
    .into();
    let text = exposition(&host());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for (label, value) in labels(line) {
            assert!(allowed.contains(label), "label {label} in {line}");
            let lease = line.starts_with("leader_election_") && value == "wharf";
            assert!(label != "name" || lease || value == PLUGIN, "`name` is that of a plugin or a lease: {line}");
        }
    }
}

#[test]
fn series_of_a_plugin_stay_within_the_budget() {
    let text = host().encode().unwrap();
    let series = |prefix: &str| text.lines().filter(|l| l.starts_with(prefix) && l.contains(PLUGIN)).count();
    assert!(series("") < 240, "{} series for one plugin with one kind", series(""));
}

#[test]
fn removal_leaves_nothing_but_what_is_pulled() {
    let metrics = host();
    metrics.remove_plugin(PLUGIN);
    metrics.stopped(&spec(&Gvk::new("", "v1", "ConfigMap")));
    let text = metrics.encode().unwrap();
    let pulled = ["workqueue_depth", "workqueue_unfinished", "workqueue_longest", "controller_runtime_active", "controller_runtime_max"];
    let pulled = pulled
        .into_iter()
        .chain([
            "wharf_instances",
            "wharf_plugin_memory_bytes",
            "wharf_ledger_entries",
            "wharf_parked_keys",
            "wharf_breaker_state",
            "wharf_failing_keys",
            "wharf_backlog_bytes",
            "wharf_history_bytes",
            "wharf_plugin_synced",
        ])
        .collect::<Vec<_>>();
    let left = text.lines().filter(|l| !l.starts_with('#') && l.contains(PLUGIN));
    let left: Vec<_> = left.filter(|l| !pulled.iter().any(|name| l.starts_with(name))).collect();
    assert!(left.is_empty(), "{left:#?}");
    assert!(!text.contains("wharf_informer_relists_total{") && !text.contains("wharf_informer_watch_events_total{"));
}

fn labels(line: &str) -> Vec<(&str, &str)> {
    let Some((_, rest)) = line.split_once('{') else { return Vec::new() };
    let (inside, _) = rest.rsplit_once('}').unwrap();
    inside.split("\",").map(|pair| pair.split_once("=\"").unwrap()).map(|(l, v)| (l, v.trim_end_matches('"'))).collect()
}

/// docs/metrics.md: a row per family of the exposition.
fn document(exposition: &str) -> String {
    let mut out = String::from(INTRODUCTION);
    let mut rows = Vec::new();
    for line in exposition.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            rows.push((name, help.trim_end_matches('.'), String::new(), String::from("none")));
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            rows.last_mut().unwrap().2 = kind.split_once(' ').unwrap().1.to_owned();
        } else if !line.starts_with('#') {
            let names = labels(line).into_iter().map(|(label, _)| label).filter(|label| *label != "le");
            let names: Vec<_> = names.map(|label| format!("`{label}`")).collect();
            if !names.is_empty() {
                rows.last_mut().unwrap().3 = names.join(", ");
            }
        }
    }
    rows.sort();
    for (name, help, kind, labels) in rows {
        let suffix = if kind == "counter" { "_total" } else { "" };
        writeln!(out, "| `{name}{suffix}` | {kind} | {labels} | {help} |").unwrap();
    }
    out
}

const INTRODUCTION: &str = "\
# Metrics

The host serves its metrics at `/metrics` on the metrics address (`:8080` unless configured), as
`application/openmetrics-text; version=1.0.0; charset=utf-8`.

- Names, labels and buckets of `workqueue_*`, `controller_runtime_*`, `rest_client_*` and `leader_election_*` are those of client-go
  and controller-runtime, so that their dashboards and alerts fit. One plugin is one controller: `name` and `controller` are the
  plugin's `namespace/name`. The `name` of an election is that of its lease.
- Bounds of buckets are printed as `1e-8` and `1.0` where Go prints `1e-08` and `1`. `histogram_quantile` does not care.
- Labels are bounded: plugins, kinds and the failure reasons that a plugin declares come from documents, everything else is a fixed
  word. Namespaces, names and messages of objects are never labels.
- `kind` is the kind alone for the core group (`ConfigMap`), and kind and group for others (`Deployment.apps`).
- The series of a plugin exist from its first mention, at zero, and go when it is removed. A family without series is left out.
- `result` of guest calls: `done`, `requeue-after`, `retry`, `permanent` (what the guest said) and `strike` (it trapped, or the host
  ended the call; the reason is in `wharf_guest_traps_total`).
- Gauges of queues, ledgers and informers are read at the moment of the scrape.

| name | type | labels | meaning |
|---|---|---|---|
";
