//! The whole host with 1 and with 20 copies of a plugin on the same Pods: what a further
//! plugin costs where the ledger, the queue and the engine are there too. Owns this
//! experiment.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;
use wharf_testkit::{Host, HostOptions, paths};

use super::measure::{Figures, Runs};
use super::{NAMESPACES, aims};
use crate::proof::peers::{self, Source, wait};

const GUEST: &str = "probe";
const COPIES: [(usize, &str); 2] = [(1, "1 plugin"), (20, "20 plugins")];
const DEADLINE: Duration = Duration::from_secs(60);
/// A host is left alone for so long before its memory is read.
const REST: Duration = Duration::from_secs(5);

/// Measures and prints.
///
/// # Errors
/// If a host does not start, or does not deliver every Pod to every plugin.
pub(super) async fn measure(pods: u64, rounds: usize) -> Result<()> {
    println!("\n## A host with {pods} Pods, medians of {rounds} runs\n");
    let source = Source::start(&["-pods", &pods.to_string(), "-namespaces", NAMESPACES]).await?;
    let data = TempDir::new()?;
    // Once before: the next starts find the compiled component.
    run(&source, &data, 1, pods).await?;
    let mut runs = Runs::default();
    for _ in 0..rounds {
        for (copies, name) in COPIES {
            runs.add(name, run(&source, &data, copies, pods).await?);
        }
    }
    println!("| | RSS at rest, MiB | JSON in the cache, MiB | calls | CPU, s |\n|---|---|---|---|---|");
    let of = |name: &str, figure: &str| runs.median(name, figure).with_context(|| format!("the host has no {figure}"));
    for (_, name) in COPIES {
        let (rest, json) = (of(name, "rest")?, of(name, "json")?);
        println!("| {name} | {rest:.1} | {json:.1} | {:.0} | {:.1} |", of(name, "calls")?, of(name, "cpu")?);
    }
    let [one, twenty] = COPIES.map(|(_, name)| of(name, "rest"));
    aims::print_host(one?, twenty?);
    Ok(())
}

/// Starts a host, waits until everything was delivered, and lets it rest.
async fn run(source: &Source, data: &TempDir, copies: usize, pods: u64) -> Result<Figures> {
    let home = TempDir::new()?;
    let plugins = home.path().join("plugins");
    std::fs::create_dir(&plugins)?;
    std::fs::copy(paths::guest(GUEST)?, plugins.join("probe.wasm"))?;
    for i in 0..copies {
        std::fs::write(plugins.join(format!("{i}.yaml")), document(i))?;
    }
    let kubeconfig = home.path().join("kubeconfig");
    std::fs::write(&kubeconfig, peers::kubeconfig(&source.url()).to_string())?;
    // Not one log line for each call.
    let args = vec!["--log-level".into(), "info".into()];
    let mut host = Host::start(HostOptions { plugins, kubeconfig, data: data.path().to_owned(), args })?;
    host.ready().await?;
    let metric = async |name: &str| Ok::<_, anyhow::Error>(host.metric(name, &[]).await?.unwrap_or_default());
    let wanted = (copies as u64 * pods) as f64;
    wait("every Pod was delivered to every plugin", async || Ok(metric("wharf_ledger_entries").await? >= wanted)).await?;
    sleep(REST).await;
    let (entries, calls) = (metric("wharf_ledger_entries").await?, metric("wharf_guest_calls_total").await?);
    ensure!(entries == wanted && calls >= wanted, "{copies} plugins, {pods} Pods, but {entries} were delivered in {calls} calls");
    let figures = Figures::from([
        ("rest", metric("process_resident_memory_bytes").await? / 1_048_576.0),
        ("json", metric("wharf_informer_bytes").await? / 1_048_576.0),
        ("calls", calls),
        ("cpu", metric("process_cpu_seconds_total").await?),
    ]);
    host.terminate(DEADLINE).await?;
    Ok(figures)
}

fn document(number: usize) -> String {
    let spec = json!({
        "component": {"file": "probe.wasm"},
        "subscribe": [{"name": "main", "apiVersion": "v1", "kind": "Pod", "namespaces": ["*"]}],
        "grants": [{"cluster": {"apiVersion": "v1", "kind": "Pod", "verbs": ["get"], "namespaces": ["*"]}}],
        "config": {"apiVersion": "v1", "kind": "Pod"},
    });
    json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": format!("probe-{number}")}, "spec": spec}).to_string()
}
