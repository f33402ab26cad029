//! How long swaps take: from the moment that a document is in its place to the first call of its
//! revision, and of that the host's own part. Owns these experiments; judges nothing.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use wharf_testkit::{Cluster, Host, HostOptions, Line, paths};

use super::{DEADLINE, document};

const COLD: usize = 5;
const CACHED: usize = 40;
/// Plugins that are changed at once.
const MANY: usize = 100;

/// One after the other, on a cluster that holds other things too.
pub(super) async fn measure(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["create", "configmap", "swapped", "--from-literal=value=1"], None).await?;
    cold(cluster).await?;
    cached(cluster).await?;
    many(cluster).await
}

/// A host, its plugins folder and its data.
struct Bench {
    host: Host,
    plugins: TempDir,
    _data: TempDir,
}

impl Bench {
    async fn start(cluster: &Cluster) -> Result<Self> {
        let (plugins, data) = (TempDir::new()?, TempDir::new()?);
        fs::copy(paths::guest("probe")?, plugins.path().join("probe.wasm"))?;
        let (folder, kubeconfig) = (plugins.path().to_owned(), cluster.kubeconfig());
        let host = Host::start(HostOptions { plugins: folder, kubeconfig, data: data.path().to_owned(), args: Vec::new() })?;
        host.ready().await?;
        Ok(Self { host, plugins, _data: data })
    }

    /// Puts documents into their places; returns when the first one was.
    fn save(&self, names: &[String], tag: &str) -> Result<f64> {
        let folder = self.plugins.path();
        let grants = json!([{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}]);
        let spec = json!({"component": {"file": "probe.wasm"}, "config": {"tag": tag}, "rollout": {"bake": "0s"}, "grants": grants});
        for name in names {
            fs::write(folder.join(format!(".{name}")), document(name, &spec))?;
        }
        let saved = SystemTime::now();
        for name in names {
            fs::rename(folder.join(format!(".{name}")), folder.join(format!("{name}.yaml")))?;
        }
        Ok(saved.duration_since(UNIX_EPOCH)?.as_secs_f64() * 1000.0 % DAY)
    }

    /// Waits for the first call of the next revision of a plugin after a place in the log: when it ended, and how
    /// long the host took from the moment that it set about the revision.
    async fn first_call(&self, name: &str, mark: usize) -> Result<(f64, f64)> {
        let plugin = format!("default/{name}");
        let serving = |line: &Line| line.is("message", "plugin revision serving") && line.is("plugin", &plugin);
        let serving = self.host.log().wait_for("the swap", mark, DEADLINE, serving).await?;
        let revision = serving.text("revision");
        let called =
            |line: &Line| line.is("message", "guest call finished") && line.is("plugin", &plugin) && line.is("revision", &revision);
        let called = self.host.log().wait_for("the first call", mark, DEADLINE, called).await?;
        let (served, ended) = (milliseconds(&serving.text("timestamp"))?, milliseconds(&called.text("timestamp"))?);
        let staged: f64 = serving.text("duration_ms").parse().context("a swap without a duration")?;
        Ok((ended, ended - served + staged))
    }

    async fn end(mut self) -> Result<()> {
        self.host.terminate(DEADLINE).await?;
        Ok(())
    }
}

const DAY: f64 = 86_400_000.0;

async fn cold(cluster: &Cluster) -> Result<()> {
    let (mut saved, mut own) = (Vec::new(), Vec::new());
    for _ in 0..COLD {
        let bench = Bench::start(cluster).await?;
        let mark = bench.host.log().len();
        let at = bench.save(&["one".to_owned()], "first")?;
        let (ended, host) = bench.first_call("one", mark).await?;
        saved.push(ended - at);
        own.push(host);
        bench.end().await?;
    }
    println!("==> from a document to the first call of its revision, ms: median, worst");
    say("Rust, never compiled before", &saved, &own, "200");
    Ok(())
}

async fn cached(cluster: &Cluster) -> Result<()> {
    let bench = Bench::start(cluster).await?;
    let names = ["one".to_owned()];
    bench.save(&names, "first")?;
    bench.first_call("one", 0).await?;
    let (mut saved, mut own) = (Vec::new(), Vec::new());
    for round in 0..CACHED {
        let mark = bench.host.log().len();
        let at = bench.save(&names, if round % 2 == 0 { "even" } else { "odd" })?;
        let (ended, host) = bench.first_call("one", mark).await?;
        saved.push(ended - at);
        own.push(host);
    }
    say("Rust, in the cache", &saved, &own, "5");
    bench.end().await
}

async fn many(cluster: &Cluster) -> Result<()> {
    let bench = Bench::start(cluster).await?;
    let names: Vec<String> = (0..MANY).map(|i| format!("p{i}")).collect();
    bench.save(&names, "first")?;
    for name in &names {
        bench.first_call(name, 0).await?;
    }
    let mark = bench.host.log().len();
    let at = bench.save(&names, "second")?;
    let mut last = at;
    for name in &names {
        last = last.max(bench.first_call(name, mark).await?.0);
    }
    println!("    {MANY} plugins changed at once: the last first call after {:.0} ms (aim: 2000)", last - at);
    bench.end().await
}

fn say(what: &str, saved: &[f64], own: &[f64], aim: &str) {
    let of = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        let at = |index: usize| times.get(index).copied().unwrap_or(f64::NAN);
        (at(times.len() / 2), at(times.len().saturating_sub(1)))
    };
    let ((middle, worst), (own, own_worst)) = (of(saved), of(own));
    println!(
        "    {what:<30} since it was saved {middle:>6.0} {worst:>6.0}   of that staging, swap and call {own:>6.0} {own_worst:>6.0} (aim: {aim})"
    );
}

/// Milliseconds since midnight of a timestamp like `2026-11-29T20:46:54.690737Z`.
fn milliseconds(timestamp: &str) -> Result<f64> {
    let time = timestamp.split_once('T').map(|(_, time)| time.trim_end_matches('Z')).context("no timestamp")?;
    let mut total = 0.0;
    for part in time.split(':') {
        total = total * 60.0 + part.parse::<f64>().with_context(|| format!("read {timestamp}"))?;
    }
    ensure!(total * 1000.0 < DAY, "{timestamp} is no time of day");
    Ok(total * 1000.0)
}
