//! `cargo xtask proof languages`: what the same plugin costs in each language, and how many
//! events a second it handles beside a native operator on client-go, fed by the same server in
//! the same run. Owns the experiment; judges nothing.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;
use wharf_testkit::{Host, HostOptions, paths};

use super::peers::{self, Peer, Source, number, wait};
use crate::guests;
use crate::step::{cargo, run as run_command, step};

const GUESTS: [&str; 6] = ["label-guard", "label-guard-go", "label-guard-python", "label-guard-js", "label-guard-ts", "label-guard-c"];
/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
const OBJECTS: u64 = 10_000;
const EVENTS: u64 = 100_000;
const ROUNDS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(300);

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, or does not come as it should.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        step("build the guests", || guests::build(root))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(measure());
    }
    peers::build(root)?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let binary = paths::target().join("release").join("wharf");
    let me = std::env::current_exe().context("find this program")?;
    run_command(Command::new(me).args(["proof", "languages"]).env(INSIDE, "1").env("WHARF_BINARY", binary))?;
    let mut bench = cargo();
    bench.current_dir(root).args(["bench", "--package", "wharf-engine", "--bench", "calls", "--"]);
    for guest in GUESTS {
        bench.arg(paths::guest(guest)?);
    }
    step("calls of the engine alone, one guest thread", || run_command(&mut bench))
}

async fn measure() -> Result<()> {
    println!("==> {EVENTS} events of {OBJECTS} objects, pushed as fast as they are read; median of {ROUNDS} rounds");
    println!("    {:<20} {:>12} {:>12} {:>14} {:>10}", "", "events/s", "calls/s", "CPU s/100k", "RSS MiB");
    let native = native().await?;
    println!("    {:<20} {native}", "client-go, protobuf");
    for guest in GUESTS {
        let figures = wharf(guest).await?;
        println!("    {guest:<20} {figures}   {:.2} x client-go", figures.events / native.events);
    }
    Ok(())
}

/// Of one program.
#[derive(Clone, Copy)]
struct Figures {
    /// Events a second, from the first that is sent to the end of the last call.
    events: f64,
    calls: f64,
    cpu: f64,
    memory: f64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>12.0} {:>12.0} {:>14.2} {:>10.1}", self.events, self.calls, self.cpu, self.memory)
    }
}

fn median(mut rounds: Vec<Figures>) -> Result<Figures> {
    rounds.sort_by(|a, b| a.events.total_cmp(&b.events));
    rounds.get(rounds.len() / 2).copied().context("there was no round")
}

async fn native() -> Result<Figures> {
    let source = Source::start(&["-pods", &OBJECTS.to_string()]).await?;
    let url = source.url();
    let mut peer = Peer::start(&peers::programs().join("clientgo-typed"), &["-server", &url, "-encoding", "protobuf"])?;
    peer.synced().await?;
    sleep(Duration::from_secs(2)).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        peer.report().await?;
        let started = Instant::now();
        source.push(EVENTS).await?;
        // Its own clock says when the last call was; it is over long before this.
        sleep(Duration::from_secs(3)).await;
        let waited = started.elapsed();
        let report = peer.report().await?;
        ensure!(number(&report, "updates")? as u64 == EVENTS, "not all events arrived in {waited:?}: {report}");
        let seconds = number(&report, "calls_window_s")?;
        rounds.push(Figures {
            events: EVENTS as f64 / seconds,
            calls: number(&report, "calls")? / seconds,
            cpu: number(&report, "cpu_s")? * 100_000.0 / EVENTS as f64,
            memory: number(&report, "rss_kib")? / 1024.0,
        });
    }
    median(rounds)
}

async fn wharf(guest: &str) -> Result<Figures> {
    let source = Source::start(&["-pods", &OBJECTS.to_string(), "-as-configmaps"]).await?;
    let home = TempDir::new()?;
    let plugins = home.path().join("plugins");
    std::fs::create_dir(&plugins)?;
    std::fs::copy(paths::guest(guest)?, plugins.join("guard.wasm"))?;
    let document = json!({
        "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "guard"},
        "spec": {
            "component": {"file": "guard.wasm"},
            "subscribe": [{"name": "main", "namespaces": ["*"]}],
            "grants": [{"cluster": {"apiVersion": "events.k8s.io/v1", "kind": "Event", "verbs": ["create"], "namespaces": ["*"]}}],
            "limits": {"memory": "64Mi", "cpu": "2s"},
            "config": {"requiredLabel": "app.kubernetes.io/instance"},
        },
    });
    std::fs::write(plugins.join("guard.yaml"), document.to_string())?;
    let kubeconfig = home.path().join("kubeconfig");
    std::fs::write(&kubeconfig, peers::kubeconfig(&source.url()).to_string())?;
    let data = home.path().join("data");
    std::fs::create_dir(&data)?;
    // Not one log line for each call: the peer writes none either.
    let args = vec!["--log-level".into(), "info".into()];
    let mut host = Host::start(HostOptions { plugins, kubeconfig, data, args })?;
    host.ready().await?;
    let calls = async || Ok::<_, anyhow::Error>(host.metric("wharf_guest_calls_total", &[]).await?.unwrap_or_default());
    let cpu = async || host.metric("process_cpu_seconds_total", &[]).await?.context("the host does not tell its processor time");
    wait("the first list is handled", async || Ok(calls().await? >= OBJECTS as f64)).await?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        sleep(Duration::from_secs(2)).await;
        let read = async || Ok::<_, anyhow::Error>(host.metric("wharf_informer_watch_events_total", &[]).await?.unwrap_or_default());
        let (calls_before, cpu_before, read_before, started) = (calls().await?, cpu().await?, read().await?, Instant::now());
        source.push(EVENTS).await?;
        wait("all events are handled", async || {
            let all = read().await? - read_before >= EVENTS as f64;
            let depth = host.metric("workqueue_depth", &[]).await?.unwrap_or_default();
            let running = host.metric("wharf_instances", &[("state".into(), "running".into())]).await?.unwrap_or_default();
            Ok(all && depth + running < 0.5)
        })
        .await?;
        let seconds = started.elapsed().as_secs_f64();
        rounds.push(Figures {
            events: EVENTS as f64 / seconds,
            calls: (calls().await? - calls_before) / seconds,
            cpu: (cpu().await? - cpu_before) * 100_000.0 / EVENTS as f64,
            memory: host.metric("process_resident_memory_bytes", &[]).await?.unwrap_or_default() / 1048576.0,
        });
    }
    host.terminate(DEADLINE).await?;
    median(rounds)
}
