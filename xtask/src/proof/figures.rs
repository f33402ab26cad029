//! `cargo xtask proof figures`: what the host costs, measured on a release build against a
//! real API server: memory, latency, time of a swap. Owns the experiments; judges nothing.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;
use wharf_testkit::{Cluster, Host, HostOptions, Target, paths};

use crate::step::{cargo, run as run_command, step};
use crate::{cluster, guests};

const DEADLINE: Duration = Duration::from_secs(300);
/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
/// A host is left alone for so long before its memory is read.
const REST: Duration = Duration::from_secs(5);

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
    cluster::build(root)?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let binary = paths::target().join("release").join("wharf");
    let me = std::env::current_exe().context("find this program")?;
    run_command(Command::new(me).args(["proof", "figures"]).env(INSIDE, "1").env("WHARF_BINARY", binary))?;
    let guest = paths::guest("label-guard")?;
    let mut bench = cargo();
    bench.current_dir(root).args(["bench", "--package", "wharf-engine", "--bench", "calls", "--"]).arg(guest);
    step("guest calls with a fresh instance each, one guest thread", || run_command(&mut bench))
}

async fn measure() -> Result<()> {
    let cluster = Arc::new(Cluster::start().await?);
    let data = TempDir::new()?;
    idle(&cluster, &data).await?;
    latency(&cluster, &data).await?;
    swap(&cluster, &data).await?;
    pods(&cluster, &data).await
}

/// Memory with 0, 1 and 100 copies of a plugin, everything from the compile cache.
async fn idle(cluster: &Cluster, data: &TempDir) -> Result<()> {
    println!("==> memory of an idle host");
    // Once before: the next starts find the compiled component.
    let (mut host, _plugins) = start(cluster, data, &copies("label-guard", 1)).await?;
    host.terminate(DEADLINE).await?;
    for count in [0, 1, 100] {
        let (mut host, _plugins) = start(cluster, data, &copies("label-guard", count)).await?;
        sleep(REST).await;
        println!("    {count:>3} plugins: {:.1} MiB", mebibytes(&host).await?);
        host.terminate(DEADLINE).await?;
    }
    Ok(())
}

/// From the watch event to the start of the guest call, at 50 writes a second.
async fn latency(cluster: &Cluster, data: &TempDir) -> Result<()> {
    println!("==> added latency at 50 writes/s (watch event in the store to guest call)");
    let (mut host, _plugins) = start(cluster, data, &copies("label-guard", 1)).await?;
    cluster.kubectl(&["create", "namespace", "latency"], None).await?;
    for i in 0..20 {
        let labels = json!({"owner": "me"});
        cluster.api().apply(&config_map("latency", &format!("m{i}"), labels, json!({"value": "0"}))).await?;
    }
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    for i in 0..1500 {
        tick.tick().await;
        let target = Target::config_map("latency", &format!("m{}", i % 20));
        cluster.api().patch(&target, &json!({"data": {"value": i.to_string()}})).await?;
    }
    sleep(REST).await;
    let mut times: Vec<f64> = host
        .calls("default/plugin-0")
        .iter()
        .filter(|call| call.text("event") == "update" && call.text("cause") == "watch")
        .filter_map(|call| call.text("queued_ms").parse().ok())
        .collect();
    times.sort_by(f64::total_cmp);
    println!("    {} calls: p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms", times.len(), at(&times, 0.5), at(&times, 0.99), at(&times, 1.0));
    host.terminate(DEADLINE).await?;
    Ok(())
}

/// From the rename of a changed component into place to the first call of its revision.
async fn swap(cluster: &Cluster, data: &TempDir) -> Result<()> {
    println!("==> time of a swap, compiled component in the cache");
    let (mut host, plugins) = start(cluster, data, &copies("probe", 1)).await?;
    cluster.api().apply(&config_map("default", "swapped", json!({}), json!({"value": "1"}))).await?;
    let mut times = Vec::new();
    for round in 0..22 {
        let next = if round % 2 == 0 { "probe-v2" } else { "probe" };
        let fresh = plugins.path().join(".next");
        std::fs::copy(paths::guest(next)?, &fresh)?;
        let mark = host.log().len();
        let saved = SystemTime::now();
        std::fs::rename(&fresh, plugins.path().join("probe.wasm"))?;
        let serving = host.log().wait_for("the swap", mark, DEADLINE, |line| line.is("message", "plugin revision serving")).await?;
        let revision = serving.text("revision");
        let first = host
            .log()
            .wait_for("the first call", mark, DEADLINE, |line| line.is("message", "guest call finished") && line.is("revision", &revision))
            .await?;
        // The first two were compiled.
        if round >= 2 {
            times.push(milliseconds_of_day(&first.text("timestamp"))? - milliseconds_today(saved)?);
        }
        sleep(Duration::from_millis(300)).await;
    }
    times.sort_by(f64::total_cmp);
    println!("    {} swaps: median {:.0} ms, max {:.0} ms", times.len(), at(&times, 0.5), at(&times, 1.0));
    host.terminate(DEADLINE).await?;
    Ok(())
}

/// Memory with 10,000 Pods of about 8 KB in the cache.
async fn pods(cluster: &Arc<Cluster>, data: &TempDir) -> Result<()> {
    const PODS: usize = 10_000;
    println!("==> memory with {PODS} Pods");
    cluster.kubectl(&["create", "namespace", "pods"], None).await?;
    let mut tasks = JoinSet::new();
    for worker in 0..8 {
        let cluster = Arc::clone(cluster);
        tasks.spawn(async move {
            for i in (worker..PODS).step_by(8) {
                cluster.api().create(&pod(i)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let spec = json!({
        "component": {"file": "probe.wasm"},
        "subscribe": [{"name": "main", "apiVersion": "v1", "kind": "Pod", "namespaces": ["*"]}],
        "grants": [{"cluster": {"apiVersion": "v1", "kind": "Pod", "verbs": ["get"], "namespaces": ["*"]}}],
        "config": {"apiVersion": "v1", "kind": "Pod"},
    });
    let plugin = Plugins { guest: "probe", documents: vec![document("pods", &spec)] };
    let (mut host, _plugins) = start(cluster, data, &plugin).await?;
    let wanted = PODS as f64;
    let all = async {
        while host.metric("wharf_ledger_entries", &[]).await? != Some(wanted) {
            sleep(Duration::from_millis(200)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(DEADLINE, all).await.context("not all Pods were delivered")??;
    sleep(REST).await;
    let bytes = host.metric("wharf_informer_bytes", &[]).await?.unwrap_or_default();
    let raw = cluster.api().raw("/api/v1/namespaces/pods/pods/p0").await?;
    let without = bytes / wanted;
    println!("    a Pod: {} bytes of JSON, {without:.0} without managedFields", raw.len());
    println!("    the host: {:.1} MiB, of which {:.1} MiB are the cached JSON", mebibytes(&host).await?, bytes / 1048576.0);
    host.terminate(DEADLINE).await?;
    Ok(())
}

struct Plugins {
    guest: &'static str,
    documents: Vec<String>,
}

fn copies(guest: &'static str, count: usize) -> Plugins {
    let spec = json!({
        "component": {"file": format!("{guest}.wasm")},
        "subscribe": [{"name": "main", "namespaces": ["*"]}],
        "grants": [{"cluster": {"apiVersion": "events.k8s.io/v1", "kind": "Event", "verbs": ["create"], "namespaces": ["*"]}}],
    });
    Plugins { guest, documents: (0..count).map(|i| document(&format!("plugin-{i}"), &spec)).collect() }
}

fn document(name: &str, spec: &Value) -> String {
    json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": name}, "spec": spec}).to_string()
}

async fn start(cluster: &Cluster, data: &TempDir, plugins: &Plugins) -> Result<(Host, TempDir)> {
    let folder = TempDir::new()?;
    for (i, document) in plugins.documents.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{i}.yaml")), document)?;
    }
    let wasm = format!("{}.wasm", plugins.guest);
    std::fs::copy(paths::guest(plugins.guest)?, folder.path().join(wasm))?;
    let host = Host::start(HostOptions {
        plugins: folder.path().to_owned(),
        kubeconfig: cluster.kubeconfig(),
        data: data.path().to_owned(),
        args: Vec::new(),
    })?;
    host.ready().await?;
    let serving = host.log().since(0).iter().filter(|line| line.is("message", "plugin revision serving")).count();
    ensure!(serving == plugins.documents.len(), "not all plugins serve:\n{}", host.log().tail());
    Ok((host, folder))
}

async fn mebibytes(host: &Host) -> Result<f64> {
    let bytes = host.metric("process_resident_memory_bytes", &[]).await?;
    Ok(bytes.context("the host does not tell its memory")? / 1048576.0)
}

fn config_map(namespace: &str, name: &str, labels: Value, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name, "labels": labels}, "data": data})
}

/// About 8 KB with the managedFields that the server adds.
fn pod(i: usize) -> Value {
    let env: Vec<Value> =
        (0..40).map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value of setting {n} of pod {i}")})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "pods", "name": format!("p{i}"), "labels": {"app": format!("app-{}", i % 50), "tier": "back"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/team/service:1.2.3", "env": env, "ports": [{"containerPort": 8080}]}]},
    })
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// Milliseconds since midnight of a timestamp like `2026-11-29T20:46:54.690737Z`.
fn milliseconds_of_day(timestamp: &str) -> Result<f64> {
    let time = timestamp.split_once('T').map(|(_, time)| time.trim_end_matches('Z')).context("no timestamp")?;
    let mut total = 0.0;
    for part in time.split(':') {
        total = total * 60.0 + part.parse::<f64>().with_context(|| format!("read {timestamp}"))?;
    }
    ensure!(total < 86_400.0, "{timestamp} is no time of day");
    Ok(total * 1000.0)
}

fn milliseconds_today(time: SystemTime) -> Result<f64> {
    let seconds = time.duration_since(UNIX_EPOCH)?.as_secs_f64();
    Ok(seconds % 86_400.0 * 1000.0)
}
