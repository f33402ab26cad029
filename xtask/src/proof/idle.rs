//! `cargo xtask proof idle`: what plugins cost that have nothing to do, how soon a host with very many of them is ready when
//! their components were compiled before, and what they hold right after their first calls. On the embedded API server, so
//! that nothing else takes part. Owns the experiment; figures are set beside their aims, and nothing fails for being large.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;
use wharf_testkit::{Cluster, Host, HostOptions, Kind, paths};

use super::peers;
use crate::step::{cargo, run as run_command, step};
use crate::{cluster, guests};

/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
/// Instances and code are kept for so long, which the defaults do for a minute each.
const KEPT: Duration = Duration::from_secs(5);
/// Nothing is left of either by then.
const REST: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(120);
const TENANTS: usize = 20;

struct Case {
    name: &'static str,
    guest: &'static str,
    plugins: usize,
    /// A component for each, of its own bytes.
    distinct: bool,
    aim: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "no plugin", guest: "label-guard", plugins: 0, distinct: false, aim: "" },
    Case { name: "1,000 of one Rust component", guest: "label-guard", plugins: 1000, distinct: false, aim: "" },
    Case {
        name: "1,000 of 1,000 Rust components",
        guest: "label-guard",
        plugins: 1000,
        distinct: true,
        aim: "at rest 64 MiB above none, ready in 1,000 ms",
    },
    Case { name: "100 of one C component", guest: "label-guard-c", plugins: 100, distinct: false, aim: "" },
    Case { name: "100 of one JavaScript component", guest: "label-guard-js", plugins: 100, distinct: false, aim: "" },
    Case { name: "100 of one Go component", guest: "label-guard-go", plugins: 100, distinct: false, aim: "" },
    Case { name: "100 of one Python component", guest: "label-guard-python", plugins: 100, distinct: false, aim: "" },
];

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, or does not come as it should.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(measure());
    }
    cluster::build(root)?;
    step("build the guests", || guests::build(root))?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let binary = paths::target().join("release").join("wharf");
    let me = std::env::current_exe().context("find this program")?;
    run_command(Command::new(me).args(["proof", "idle"]).env(INSIDE, "1").env("WHARF_BINARY", binary))
}

async fn measure() -> Result<()> {
    println!("==> MiB resident (of that not backed by files), and until a start from compiled components is ready");
    println!("    {:<34} {:>9} {:>18} {:>18} {:>18}", "", "ready ms", "after first calls", "at rest", "above none");
    let only = std::env::var("WHARF_IDLE").ok();
    let mut none = 0.0;
    for case in CASES.iter().filter(|case| case.plugins == 0 || only.as_deref().is_none_or(|only| case.name.contains(only))) {
        let Measured { ready, called, rest } = one(case).await.with_context(|| case.name.to_owned())?;
        if case.plugins == 0 {
            none = rest.all;
        }
        let memory = |memory: &Memory| format!("{:.1} ({:.1})", memory.all, memory.anonymous);
        println!("    {:<34} {ready:>9.0} {:>18} {:>18} {:>18.1} {}", case.name, memory(&called), memory(&rest), rest.all - none, case.aim);
    }
    Ok(())
}

struct Measured {
    /// Milliseconds.
    ready: f64,
    called: Memory,
    rest: Memory,
}

/// MiB.
struct Memory {
    all: f64,
    anonymous: f64,
}

async fn one(case: &Case) -> Result<Measured> {
    let cluster = Cluster::start_as(Kind::Embedded).await?;
    cluster.kubectl(&["create", "configmap", "watched", "--from-literal=value=1"], None).await?;
    let (plugins, data) = (TempDir::new()?, TempDir::new()?);
    let components = components(case, plugins.path())?;
    let cache = data.path().join("cwasm");
    if !components.is_empty() {
        let mut compile = Command::new(paths::wharf()?);
        compile.arg("compile").arg("--cache").arg(&cache).args(components.iter().map(|file| plugins.path().join(file)));
        ensure!(compile.stdout(std::process::Stdio::null()).status()?.success(), "the components were not compiled");
    }
    for number in 0..case.plugins {
        let component = components.get(number % components.len().max(1)).context("no component")?;
        let (name, namespace) = (format!("p{number}"), format!("team-{}", number % TENANTS));
        let spec = json!({
            "component": {"file": component},
            "subscribe": [{"name": "main", "apiVersion": "v1", "kind": "ConfigMap", "namespaces": ["default"]}],
            "grants": [
                {"cluster": {"apiVersion": "events.k8s.io/v1", "kind": "Event", "verbs": ["create"], "namespaces": ["*"]}},
                {"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"], "namespaces": ["*"]}},
            ],
            "config": {"requiredLabel": "owner"},
        });
        let metadata = json!({"name": name, "namespace": namespace});
        let document = json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": metadata, "spec": spec});
        fs::write(plugins.path().join(format!("{name}.yaml")), document.to_string())?;
    }
    let kept = format!("{}s", KEPT.as_secs());
    let config = data.path().join("host.yaml");
    let engine = json!({"keepInstances": kept, "keepCode": kept});
    let text = json!({"apiVersion": "config.wharf.dev/v1alpha1", "kind": "HostConfiguration", "engine": engine});
    fs::write(&config, text.to_string())?;
    let mut host = Host::start(HostOptions {
        plugins: plugins.path().to_owned(),
        kubeconfig: cluster.kubeconfig(),
        data: data.path().to_owned(),
        args: ["--log-level", "warn,wharf::host=info", "--config", &config.display().to_string()].map(str::to_owned).to_vec(),
    })?;
    host.ready().await?;
    let line = host.log().wait_for("the host is ready", 0, DEADLINE, |line| line.is("message", "host ready")).await?;
    let ready = line.text("duration_ms").parse().context("no duration")?;
    // Each is told of the one ConfigMap.
    let calls = case.plugins as f64;
    peers::wait("all plugins were called", async || {
        Ok(host.metric("controller_runtime_reconcile_total", &[]).await?.unwrap_or_default() >= calls)
    })
    .await?;
    let called = memory(host.id())?;
    sleep(REST).await;
    let rest = memory(host.id())?;
    let failures = host.metric("controller_runtime_reconcile_errors_total", &[]).await?.unwrap_or_default();
    ensure!(failures == 0.0, "calls have failed");
    host.terminate(DEADLINE).await?;
    Ok(Measured { ready, called, rest })
}

/// The components of a case: file names in the folder.
fn components(case: &Case, folder: &Path) -> Result<Vec<String>> {
    let wasm = fs::read(paths::guest(case.guest)?)?;
    let number = if case.distinct { case.plugins } else { case.plugins.min(1) };
    (0..number)
        .map(|i| {
            let file = format!("c{i}.wasm");
            let mut wasm = wasm.clone();
            // A custom section: other bytes, and thus code of its own.
            let name = format!("number-{i:06}");
            wasm.extend([0, u8::try_from(name.len() + 1)?, u8::try_from(name.len())?]);
            wasm.extend(name.as_bytes());
            fs::write(folder.join(&file), wasm)?;
            Ok(file)
        })
        .collect()
}

fn memory(pid: i32) -> Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).context("read the memory of a program")?;
    let mib = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_whitespace().nth(1));
        line.and_then(|kib| kib.parse::<f64>().ok()).map(|kib| kib / 1024.0).with_context(|| format!("no {name}"))
    };
    Ok(Memory { all: mib("VmRSS:")?, anonymous: mib("RssAnon:")? })
}
