//! Revisions are exchanged and guests trap for a long time, on a real host: memory, file descriptors, mappings and threads
//! are at the end what they were after the first part. `cargo test` does that for a moment; `cargo xtask proof soak` with
//! other numbers: `WHARF_SOAK_SWAPS` revisions. The embedded API server, so that nothing else is in the way.
#![allow(clippy::print_stderr, reason = "a proof's figures are for the one who runs it")]

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wharf_testkit::{Cluster, Host, HostOptions, Kind, paths, scratch, until};

const SWAPS: &str = "WHARF_SOAK_SWAPS";
const DEADLINE: Duration = Duration::from_secs(120);
const PLUGINS: usize = 4;
/// Each plugin is told of all of them with each revision.
const OBJECTS: usize = 100;
/// What objects make the guest do; all others succeed.
const WORDS: [&str; 8] = ["trap", "trap", "trap", "panic", "panic", "bomb", "permanent", "retry:1"];
/// Swaps before the first look: pools, buffers and tables have their size by then. As many are at least between the looks.
const WARM: u64 = 100;
/// Threads for what blocks come and go, and mappings with them.
const THREADS: i64 = 8;
const MAPS: i64 = 200;
const FILES: i64 = 16;
/// Growth of what the process has for itself that passes for none.
const GROWTH: (f64, f64) = (1.15, 8.0);

struct Look {
    calls: u64,
    /// MiB.
    resident: f64,
    anonymous: f64,
    files: i64,
    maps: i64,
    threads: i64,
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, resident, anonymous, files, maps, threads } = self;
        write!(f, "{calls} calls; {resident:.1} MiB resident, {anonymous:.1} of its own; {files} files, {maps} mappings, {threads} threads")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_behind() -> Result<()> {
    let swaps: u64 = match std::env::var(SWAPS) {
        Ok(text) => text.parse().context("read WHARF_SOAK_SWAPS")?,
        Err(_) => 8 * WARM,
    };
    ensure!(swaps >= 2 * WARM, "{SWAPS} must be {} at least", 2 * WARM);
    let cluster = Cluster::start_as(Kind::Embedded).await?;
    for number in 0..OBJECTS {
        let word = number.checked_rem(12).filter(|at| *at == 0).and_then(|_| WORDS.get(number / 12)).copied().unwrap_or("done");
        let metadata = json!({"namespace": "default", "name": format!("m{number}")});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"do": word, "value": "x".repeat(500)}});
        cluster.api().create(&object).await?;
    }
    let home = scratch("soak")?;
    let plugins = home.path().join("plugins");
    fs::create_dir(&plugins)?;
    for guest in ["probe", "probe-v2"] {
        fs::copy(paths::guest(guest)?, plugins.join(format!("{guest}.wasm")))?;
    }
    (0..PLUGINS).try_for_each(|plugin| put(&plugins, plugin, 0))?;
    let config = home.path().join("host.yaml");
    // Instances and code come and go within the run.
    let engine = json!({"keepInstances": "1s", "keepCode": "1s"});
    // Held back by their breakers the plugins would leave less behind.
    let failures = json!({"breaker": {"openFor": "0s"}});
    let text = json!({"apiVersion": "config.wharf.dev/v1alpha1", "kind": "HostConfiguration", "engine": engine, "failures": failures});
    fs::write(&config, text.to_string())?;
    let mut host = Host::start(HostOptions {
        plugins: plugins.clone(),
        kubeconfig: cluster.kubeconfig(),
        data: home.path().join("data"),
        args: ["--log-level", "error", "--config", &config.display().to_string()].map(str::to_owned).to_vec(),
    })?;
    told(&host, 0).await?;
    let (begun, mut first) = (Instant::now(), None);
    for round in 1..=swaps / PLUGINS as u64 {
        (0..PLUGINS).try_for_each(|plugin| put(&plugins, plugin, round))?;
        told(&host, round).await?;
        if round * PLUGINS as u64 == WARM {
            first = Some(look(&host).await?);
        }
    }
    let (first, last) = (first.context("no first look")?, look(&host).await?);
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("{swaps} revisions in {seconds:.0} s\nafter {WARM}: {first}\nat the end: {last}");
    let strikes = host.metric("wharf_guest_calls_total", &[("result".to_owned(), "strike".to_owned())]).await?.unwrap_or_default();
    ensure!(strikes > swaps as f64, "only {strikes} calls trapped: this was no load");
    ensure!(last.files <= first.files + FILES, "file descriptors: {} and then {}", first.files, last.files);
    ensure!(last.maps <= first.maps + MAPS, "mappings: {} and then {}", first.maps, last.maps);
    ensure!(last.threads <= first.threads + THREADS, "threads: {} and then {}", first.threads, last.threads);
    let most = first.anonymous * GROWTH.0 + GROWTH.1;
    ensure!(last.anonymous <= most, "memory of its own: {:.1} MiB and then {:.1}", first.anonymous, last.anonymous);
    host.terminate(DEADLINE).await?;
    Ok(())
}

/// Waits until the newest revision of each plugin was told of everything.
async fn told(host: &Host, round: u64) -> Result<()> {
    until("all revisions serve, and have nothing to do", DEADLINE, async || {
        let text = host.metrics().await?;
        let tag = format!("revision=\"{}-", round + 1);
        let serving = text.lines().filter(|line| line.starts_with("wharf_plugin_info{") && line.contains(&tag)).count();
        let busy = text.lines().filter(|line| line.starts_with("workqueue_depth{") && !line.ends_with(" 0")).count();
        Ok((serving == PLUGINS && busy == 0).then_some(()))
    })
    .await
}

async fn look(host: &Host) -> Result<Look> {
    // What idles is given back a second after its last call; the host has nothing to do meanwhile.
    let quiet = async || Ok((host.metric("wharf_instances", &[]).await? == Some(0.0)).then_some(()));
    until("no instance is left", DEADLINE, quiet).await?;
    let process = Path::new("/proc").join(host.id().to_string());
    let status = fs::read_to_string(process.join("status"))?;
    let number = |name: &str| -> Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
        Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
    };
    Ok(Look {
        calls: host.metric("wharf_guest_calls_total", &[]).await?.unwrap_or_default() as u64,
        resident: number("VmRSS:")? / 1024.0,
        anonymous: number("RssAnon:")? / 1024.0,
        files: i64::try_from(fs::read_dir(process.join("fd"))?.count())?,
        maps: i64::try_from(fs::read_to_string(process.join("maps"))?.lines().count())?,
        threads: number("Threads:")? as i64,
    })
}

/// Another component and another configuration with each round.
fn put(plugins: &Path, plugin: usize, round: u64) -> Result<()> {
    let component = if round.is_multiple_of(2) { "probe.wasm" } else { "probe-v2.wasm" };
    let spec = json!({
        "component": {"file": component},
        "config": {"tag": format!("r{round}")},
        "limits": {"cpu": "100ms", "memory": "8Mi"},
        "rollout": {"replay": "all", "bake": "0s"},
        "grants": [{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}],
    });
    let document = json!({
        "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin",
        "metadata": {"name": format!("p{plugin}"), "namespace": "default"}, "spec": spec,
    });
    let fresh = plugins.join(format!(".p{plugin}"));
    fs::write(&fresh, document.to_string())?;
    fs::rename(&fresh, plugins.join(format!("p{plugin}.yaml"))).context("publish a document")
}
