//! `cargo xtask proof languages`: what the same plugin costs in each language, and how many
//! events a second it handles beside a native operator on client-go, fed by the same server in
//! the same run. Owns the experiment; judges nothing.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;
use wharf_testkit::{Host, HostOptions, free_port, paths};

use crate::guests;
use crate::step::{cargo, run as run_command, step};

const GUESTS: [&str; 6] = ["label-guard", "label-guard-go", "label-guard-python", "label-guard-js", "label-guard-ts", "label-guard-c"];
/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
const OBJECTS: u64 = 10_000;
const EVENTS: u64 = 100_000;
const ROUNDS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(300);
/// How often a counter is looked at: the error of a time that is measured by it.
const LOOK: Duration = Duration::from_millis(20);

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, or does not come as it should.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(measure());
    }
    step("build the guests", || guests::build(root))?;
    step("build the peers", || {
        let peers = root.join("tests/bench/peers");
        run_command(Command::new("go").current_dir(peers).args(["build", "-o"]).arg(programs()).arg("./cmd/..."))
    })?;
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

fn programs() -> PathBuf {
    paths::target().join("peers/")
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
    let source = Source::start(false).await?;
    let server = format!("http://127.0.0.1:{}", source.port);
    let mut peer = Running::start(Command::new(programs().join("clientgo-typed")).args(["-server", &server, "-encoding", "protobuf"]))?;
    let (mut reports, log) = (lines(peer.0.stdout.take())?, lines(peer.0.stderr.take())?);
    for line in log {
        if line?.starts_with("synced") {
            break;
        }
    }
    sleep(Duration::from_secs(2)).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let report = |reports: &mut Lines| -> Result<Value> {
            peer.signal()?;
            Ok(serde_json::from_str(&reports.next().context("the peer has ended")??)?)
        };
        report(&mut reports)?;
        let started = Instant::now();
        source.push().await?;
        // Its own clock says when the last call was; it is over long before this.
        sleep(Duration::from_secs(3)).await;
        let waited = started.elapsed();
        let report = report(&mut reports)?;
        let number = |name: &str| report.get(name).and_then(Value::as_f64).with_context(|| format!("the report has no {name}"));
        ensure!(number("updates")? as u64 == EVENTS, "not all events arrived in {waited:?}: {report}");
        let seconds = number("calls_window_s")?;
        rounds.push(Figures {
            events: EVENTS as f64 / seconds,
            calls: number("calls")? / seconds,
            cpu: number("cpu_s")? * 100_000.0 / EVENTS as f64,
            memory: number("rss_kib")? / 1024.0,
        });
    }
    median(rounds)
}

async fn wharf(guest: &str) -> Result<Figures> {
    let source = Source::start(true).await?;
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
    std::fs::write(&kubeconfig, kubeconfig_for(source.port).to_string())?;
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
        source.push().await?;
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

async fn wait(what: &str, done: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + DEADLINE;
    while !done().await? {
        ensure!(Instant::now() < end, "in vain: {what}");
        sleep(LOOK).await;
    }
    Ok(())
}

fn kubeconfig_for(port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    })
}

/// A program that ends when it is dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Self(command.spawn().with_context(|| format!("start {}", command.get_program().display()))?))
    }

    /// Asks a peer for a report.
    fn signal(&self) -> Result<()> {
        run_command(Command::new("kill").args(["-USR1", &self.0.id().to_string()]))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

type Lines = std::io::Lines<BufReader<Box<dyn std::io::Read + Send>>>;

fn lines(stream: Option<impl std::io::Read + Send + 'static>) -> Result<Lines> {
    let stream: Box<dyn std::io::Read + Send> = Box::new(stream.context("the program has no output")?);
    Ok(BufReader::new(stream).lines())
}

/// The server that all of them read from.
struct Source {
    port: u16,
    _process: Running,
}

impl Source {
    async fn start(as_config_maps: bool) -> Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(programs().join("fakeserver"));
        command.args(["-listen", &format!("127.0.0.1:{port}"), "-pods", &OBJECTS.to_string()]);
        if as_config_maps {
            command.arg("-as-configmaps");
        }
        let mut process = Running::start(&mut command)?;
        for line in lines(process.0.stderr.take())? {
            if line?.contains("Pods of") {
                break;
            }
        }
        // The line comes before it listens.
        wait("the server listens", async || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())).await?;
        Ok(Self { port, _process: process })
    }

    /// Sends the events; returns when they are sent.
    async fn push(&self) -> Result<()> {
        let url = format!("http://127.0.0.1:{}/bench/push?events={EVENTS}", self.port);
        let output = tokio::process::Command::new("curl").args(["-sf", "-XPOST", &url]).output().await.context("run curl")?;
        ensure!(output.status.success(), "the server did not push");
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(answer.get("watches") == Some(&json!(1)), "not one watch is open: {answer}");
        Ok(())
    }
}
