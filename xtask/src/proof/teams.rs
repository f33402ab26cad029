//! `cargo xtask proof teams`: twenty teams with a plugin each on one host, beside twenty operators on
//! controller-runtime, each in a namespace of its own, on one real API server: memory, watches,
//! processor. Then how long swaps take (`swaps`). Owns the experiments; figures are set beside
//! their aims, and nothing fails for being slow.

mod swaps;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{interval, sleep};
use wharf_testkit::{Cluster, Host, HostOptions, Target, paths};

use super::peers::{self, Peer};
use crate::step::{cargo, run as run_command, step};
use crate::{cluster, guests};

/// Set for the run that measures; the first one only builds.
const INSIDE: &str = "WHARF_PROOF_INSIDE";
const TEAMS: usize = 20;
/// Pods of a team, and as many ConfigMaps.
const OBJECTS: usize = 100;
/// Changes while the processor is measured, and how many a second.
const UPDATES: (usize, u64) = (1000, 50);
/// Everything is left alone for so long before its memory is read.
const REST: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(300);

/// Builds what is needed, then measures in a process that uses the release binary.
///
/// # Errors
/// If something cannot be built, or does not come as it should.
pub(crate) fn run(root: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_some() {
        step("build the guests", || guests::build(root))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        return runtime.block_on(async {
            let cluster = Cluster::start().await?;
            beside_operators(&cluster).await?;
            swaps::measure(&cluster).await
        });
    }
    cluster::build(root)?;
    peers::build(root)?;
    step("build the host in release", || run_command(cargo().current_dir(root).args(["build", "--release", "--package", "wharf"])))?;
    let binary = paths::target().join("release").join("wharf");
    let me = std::env::current_exe().context("find this program")?;
    run_command(Command::new(me).args(["proof", "teams"]).env(INSIDE, "1").env("WHARF_BINARY", binary))
}

/// What a set of programs costs.
struct Cost {
    rss: f64,
    /// Memory that they would give back: pages that programs share count for none.
    private: f64,
    watches: u64,
    /// Processor seconds for the updates.
    cpu: f64,
    /// ... of the API server.
    server_cpu: f64,
}

async fn beside_operators(cluster: &Cluster) -> Result<()> {
    println!("==> {TEAMS} teams, each with {OBJECTS} Pods and {OBJECTS} ConfigMaps in a namespace of its own");
    for team in 0..TEAMS {
        objects(cluster, team).await?;
    }
    let operators = operators(cluster).await?;
    let host = host(cluster).await?;
    println!("    {:<34} {:>8} {:>12} {:>8} {:>22}", "", "RSS MiB", "private MiB", "watches", "CPU s/1,000 changes");
    for (name, cost) in [("operators, controller-runtime", &operators), ("plugins on one host", &host)] {
        println!(
            "    {:<34} {:>8.0} {:>12.0} {:>8} {:>8.2} and {:>5.2} of the API server",
            format!("{TEAMS} {name}"),
            cost.rss,
            cost.private,
            cost.watches,
            cost.cpu,
            cost.server_cpu
        );
    }
    println!("    {:<34} {:>7.0}x", "", operators.rss / host.rss);
    println!("    aims: 45 MiB or less, 2 watches");
    Ok(())
}

async fn operators(cluster: &Cluster) -> Result<Cost> {
    let before = watches(cluster).await?;
    let config = cluster.kubeconfig();
    let config = config.to_str().context("a path is not UTF-8")?;
    let mut operators = Vec::new();
    for team in 0..TEAMS {
        let program = peers::programs().join("operator");
        operators.push(Peer::start(&program, &["-kubeconfig", config, "-namespace", &namespace(team)])?);
    }
    for operator in &mut operators {
        operator.synced().await?;
    }
    sleep(REST).await;
    let pids: Vec<i32> = operators.iter().map(Peer::id).collect();
    let cost = cost(cluster, before, &pids).await?;
    let mut handled = 0.0;
    for operator in &mut operators {
        handled += peers::number(&operator.report().await?, "calls")?;
    }
    ensure!(handled as usize >= TEAMS * 2 * OBJECTS, "the operators have not reconciled everything: {handled}");
    Ok(cost)
}

async fn host(cluster: &Cluster) -> Result<Cost> {
    let before = watches(cluster).await?;
    let folder = TempDir::new()?;
    std::fs::copy(paths::guest("probe")?, folder.path().join("probe.wasm"))?;
    for team in 0..TEAMS {
        let spec = json!({
            "component": {"file": "probe.wasm"},
            "grants": [{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}],
            "config": {"apiVersion": "v1", "kind": "Pod", "also": [{"name": "second", "apiVersion": "v1", "kind": "ConfigMap"}]},
        });
        let namespace = namespace(team);
        let metadata = json!({"name": "team", "namespace": namespace});
        let document = json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": metadata, "spec": spec});
        std::fs::write(folder.path().join(format!("{namespace}.yaml")), document.to_string())?;
    }
    let data = TempDir::new()?;
    let start = || -> Result<Host> {
        Host::start(HostOptions {
            plugins: folder.path().to_owned(),
            kubeconfig: cluster.kubeconfig(),
            data: data.path().to_owned(),
            // The lines of calls are what tests need, not what a host in service writes.
            args: ["--log-level", "warn,wharf::host=info"].map(str::to_owned).to_vec(),
        })
    };
    // Compiles; the operators' code is compiled before as well.
    let mut first = start()?;
    first.ready().await?;
    first.terminate(DEADLINE).await?;
    std::fs::remove_dir_all(data.path().join("revisions")).ok();
    let mut host = start()?;
    host.ready().await?;
    let all = (TEAMS * 2 * OBJECTS) as f64;
    peers::wait("all objects are delivered", async || Ok(host.metric("wharf_ledger_entries", &[]).await? >= Some(all))).await?;
    sleep(REST).await;
    let cost = cost(cluster, before, &[host.id()]).await?;
    let failures = host.metric("controller_runtime_reconcile_errors_total", &[]).await?.unwrap_or_default();
    ensure!(failures == 0.0, "calls have failed");
    host.terminate(DEADLINE).await?;
    Ok(cost)
}

async fn cost(cluster: &Cluster, before: u64, pids: &[i32]) -> Result<Cost> {
    let (mut rss, mut private) = (0.0, 0.0);
    for pid in pids {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context("read the memory of a program")?;
        rss += sum(&text, "Rss:");
        private += sum(&text, "Private_");
    }
    let watches = watches(cluster).await?.saturating_sub(before);
    let server = cluster.api_server_id().await.context("the API server does not run")?;
    let at = |pids: &[i32]| pids.iter().map(|pid| seconds(*pid)).sum::<Result<f64>>();
    let (own, servers) = (at(pids)?, at(&[server])?);
    let mut tick = interval(Duration::from_secs(1) / u32::try_from(UPDATES.1)?);
    for update in 0..UPDATES.0 {
        tick.tick().await;
        let target = Target::config_map(&namespace(update % TEAMS), &format!("m{}", update / TEAMS % OBJECTS));
        cluster.api().patch(&target, &json!({"data": {"value": update.to_string()}})).await?;
    }
    sleep(Duration::from_secs(2)).await;
    Ok(Cost { rss, private, watches, cpu: at(pids)? - own, server_cpu: at(&[server])? - servers })
}

/// MiB of all lines that begin so.
fn sum(smaps: &str, name: &str) -> f64 {
    let lines = smaps.lines().filter(|line| line.starts_with(name));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum::<f64>() / 1024.0
}

/// Processor time of a process so far.
fn seconds(pid: i32) -> Result<f64> {
    Ok(peers::ticks(pid)? as f64 / 100.0)
}

async fn watches(cluster: &Cluster) -> Result<u64> {
    Ok(cluster.api().watches("", "pods").await? + cluster.api().watches("", "configmaps").await?)
}

fn namespace(team: usize) -> String {
    format!("team-{team:02}")
}

async fn objects(cluster: &Cluster, team: usize) -> Result<()> {
    let namespace = namespace(team);
    cluster.kubectl(&["create", "namespace", &namespace], None).await?;
    for i in 0..OBJECTS {
        let metadata =
            |name: String| json!({"namespace": namespace, "name": name, "labels": {"app.kubernetes.io/instance": format!("app-{i}")}});
        let containers = json!([{"name": "main", "image": "example.com/team/service:1.2.3", "ports": [{"containerPort": 8080}]}]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(format!("p{i}")), "spec": {"containers": containers}});
        cluster.api().create(&pod).await?;
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(format!("m{i}")), "data": {"value": "x".repeat(500)}});
        cluster.api().create(&map).await?;
    }
    Ok(())
}

/// One Plugin document as JSON, which is YAML too.
fn document(name: &str, spec: &Value) -> String {
    json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": name}, "spec": spec}).to_string()
}
