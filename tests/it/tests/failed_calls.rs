//! A failed call from a running host to a desk: what the host has kept is printed by `wharf get
//! failedcalls`, and `wharf invoke --call` makes it again, with the same end.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use wharf_testkit::{Cluster, Host, HostOptions, paths, until};

const DEADLINE: Duration = Duration::from_secs(120);

const DOCUMENT: &str = "apiVersion: wharf.dev/v1alpha1
kind: Plugin
metadata: {name: probe}
spec:
  component: {file: probe.wasm}
  grants: [{cluster: {apiVersion: v1, kind: ConfigMap, verbs: [get]}}]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_is_made_again_at_a_desk() -> Result<()> {
    let cluster = Cluster::start().await?;
    let (plugins, data, desk) = (TempDir::new()?, TempDir::new()?, TempDir::new()?);
    fs::copy(paths::guest("probe")?, plugins.path().join("probe.wasm"))?;
    fs::write(plugins.path().join("probe.yaml"), DOCUMENT)?;
    let config = data.path().join("host.yaml");
    fs::write(&config, "apiVersion: config.wharf.dev/v1alpha1\nkind: HostConfiguration\nfailures: {keptCalls: 2}\n")?;
    let args = vec![format!("--config={}", config.display())];
    let folders = (plugins.path().to_owned(), data.path().to_owned());
    let mut host = Host::start(HostOptions { plugins: folders.0, kubeconfig: cluster.kubeconfig(), data: folders.1, args })?;
    host.ready().await?;

    for (name, value) in [("trapping", "trap"), ("parked", "permanent"), ("good", "done")] {
        let metadata = json!({"namespace": "default", "name": name, "labels": {"a": "b"}});
        cluster
            .api()
            .apply(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"do": value, "value": "1"}}))
            .await?;
        let call = host.wait_calls(name, "default/probe", DEADLINE, |calls| calls.iter().find(|call| call.text("name") == name).cloned());
        let call = call.await?;
        ensure!(!call.text("host_calls").is_empty() && call.succeeded() == (value == "done"), "{call:?}");
        if value == "done" {
            continue;
        }
        let asked: Vec<String> = ["get", "failedcalls", "probe", &format!("cm/{name}"), "-o", "json"].map(str::to_owned).into();
        let printed = until("the call is kept", DEADLINE, async || {
            let (code, out, err) = host.wharf(&asked).await?;
            ensure!(code == 0, "{code}: {out}{err}");
            Ok(Some(out))
        });
        let printed = printed.await?;
        let kept: Value = serde_json::from_str(&printed)?;
        ensure!(kept["name"] == name && kept["input"]["object"]["metadata"]["labels"]["a"] == "b", "{kept:#}");
        fs::write(desk.path().join("call.json"), &printed)?;
        let invoked = Command::new(paths::wharf()?)
            .args(["invoke", "probe.wasm", "-o", "json", "--no-cache", "--plugin", "probe.yaml", "--call"])
            .arg(desk.path().join("call.json"))
            .current_dir(plugins.path())
            .output()?;
        let again: Value =
            serde_json::from_slice(&invoked.stdout).with_context(|| String::from_utf8_lossy(&invoked.stderr).into_owned())?;
        ensure!(invoked.status.code() == Some(1), "{again:#}");
        assert_eq!([&again["result"]["kind"], &again["result"]["reason"]], [&kept["outcome"], &kept["reason"]], "{again:#}");
        assert_eq!(again["result"]["message"], kept["message"]);
        assert_eq!([&again["event"], &again["cause"], &again["attempt"]], ["event", "cause", "attempt"].map(|field| &kept["input"][field]));
        assert_eq!(again["usage"]["hostCallsBy"], kept["usage"]["hostCallsBy"]);
    }

    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (code, out, _) = host.wharf(&words(&["get", "failedcalls", "probe"])).await?;
    ensure!(code == 0 && out.contains("ConfigMap/default/trapping") && out.contains("ConfigMap/default/parked"), "{out}");
    let (code, _, err) = host.wharf(&words(&["get", "failedcalls", "probe", "cm/good"])).await?;
    ensure!(code == 1 && err.contains("no failed call of default/probe for ConfigMap default/good is kept"), "{err}");
    let (code, _, err) = host.wharf(&words(&["get", "failedcalls"])).await?;
    ensure!(code == 2 && err.contains("of one plugin"), "{err}");
    host.terminate(DEADLINE).await?;
    cluster.stop().await
}
