//! The test cluster itself, for real.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wharf_testkit::{Api, Cluster, Process, Proxy, Target, paths, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_stops_and_keeps_its_data() -> Result<()> {
    let cluster = Cluster::start().await?;
    let api = cluster.api();
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "kept"}, "data": {"a": "1"}});
    let target = Target::of(&manifest)?;
    api.create(&manifest).await?;
    assert!(api.create(&manifest).await.is_err());
    api.patch(&target, &json!({"data": {"a": "2"}})).await?;

    let version = cluster.kubectl(&["version", "-o", "json"], None).await?;
    assert!(version.contains("v1.36"), "{version}");
    let printed = cluster.kubectl(&["get", "configmap", "kept", "-n", "default", "-o", "jsonpath={.data.a}"], None).await?;
    assert_eq!(printed, "2");

    let token = cluster
        .kubectl(&["create", "-f", "-"], Some("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: default}}"));
    assert!(token.await?.contains("created"));
    let token = cluster.token("default", "robot").await?;
    assert_eq!(token.split('.').count(), 3, "{token}");

    cluster.stop_api_server().await?;
    assert!(api.get(&target).await.is_err());
    cluster.start_api_server().await?;
    let kept = api.get(&target).await?.unwrap_or_default();
    assert_eq!(kept.pointer("/data/a"), Some(&json!("2")));

    assert!(api.delete(&target).await?);
    assert!(!api.delete(&target).await?);
    assert_eq!(api.get(&target).await?, None);
    cluster.stop().await
}

/// Without a watch cache a watch ends with etcd's history; a killed server comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgets_what_is_compacted() -> Result<()> {
    let cluster = Cluster::start().await?;
    cluster.kill_api_server().await?;
    cluster.start_api_server_with(&["--watch-cache-sizes=configmaps#0"]).await?;
    let api = cluster.api();
    let manifest = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "a"}, "data": {"a": value}});
    let first = api.apply(&manifest("1")).await?;
    let version = first.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    for value in ["2", "3"] {
        api.apply(&manifest(value)).await?;
    }
    let path = format!("/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&resourceVersion={version}");
    let events = api.raw(&path).await?;
    assert_eq!(events.matches("MODIFIED").count(), 2, "{events}");
    assert!(cluster.compact().await? > version.parse()?);
    let events = api.raw(&path).await?;
    assert!(events.contains("\"code\":410") && !events.contains("MODIFIED"), "{events}");
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_watches_and_goes_through_a_proxy() -> Result<()> {
    let cluster = Cluster::start().await?;
    let proxy = Proxy::start(cluster.address()).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    cluster.kubeconfig_through(proxy.address(), &kubeconfig)?;
    let through = Api::new(&kubeconfig).await?;
    assert!(!through.list("v1", "Namespace", "").await?.is_empty());
    proxy.cut();
    assert!(through.list("v1", "Namespace", "").await.is_err());
    proxy.restore();
    assert!(!through.list("v1", "Namespace", "").await?.is_empty());

    let before = cluster.api().watches("", "events").await?;
    let api = cluster.api();
    let becomes = |want: u64| {
        until("the API server's own count of watches", Duration::from_secs(20), async move || {
            let count = api.watches("", "events").await?;
            ensure!(count == want, "it is {count}, wanted {want}");
            Ok(Some(()))
        })
    };
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let args = ["--kubeconfig", &kubeconfig, "get", "events", "-A", "-w"];
    let kubectl = Process::spawn(&paths::cluster_tool("kubectl")?, args, Stdio::null(), Stdio::null())?;
    becomes(before + 1).await?;
    drop(kubectl);
    becomes(before).await?;
    cluster.stop().await
}
