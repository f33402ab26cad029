//! `wharf get KIND` and `wharf watch KIND`, in all forms, next to what kubectl shows.

use std::process::Stdio;

use anyhow::{Result, ensure};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use wharf_testkit::{Cluster, Process, Signal, paths, until};

use crate::support::{LONG, Running, cluster_fields, kubeconfig, shown, wharf};

const OBJECTS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: team-a, labels: {app: web}}
data: {key: value}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: team-a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: team-b, labels: {app: web}}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: team-a}
stringData: {key: c3cret}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plugins.wharf.dev}
spec:
  group: wharf.dev
  scope: Namespaced
  names: {plural: plugins, singular: plugin, kind: Plugin}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
";

async fn start() -> Result<(Cluster, String)> {
    let cluster = Cluster::start().await?;
    for namespace in ["team-a", "team-b"] {
        cluster.kubectl(&["create", "namespace", namespace], None).await?;
    }
    cluster.kubectl(&["apply", "-f", "-"], Some(OBJECTS)).await?;
    let kubeconfig = cluster.kubeconfig().display().to_string();
    Ok((cluster, kubeconfig))
}

/// Names in the lines of a table, without ages, which grow.
fn columns(table: &str) -> Vec<String> {
    table
        .lines()
        .map(|line| line.rsplit_once("   ").map_or(line, |(rest, _)| rest).split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn get_in_every_form() -> Result<()> {
    let (cluster, config) = start().await?;
    let get = async |args: &[&str]| shown(&[&["get"], args, &["--kubeconfig", &config]].concat()).await;
    assert_eq!(get(&["cm", "-n", "team-a", "-o", "name"]).await?, "configmap/one\nconfigmap/two\n");
    assert_eq!(get(&["configmaps", "-A", "-l", "app=web", "-o", "name"]).await?, "configmap/one\nconfigmap/other\n");
    assert_eq!(get(&["cm", "-A", "--field-selector", "metadata.name=other", "-o", "name"]).await?, "configmap/other\n");
    assert_eq!(get(&["cm/two", "-n", "team-a", "-o", "name"]).await?, "configmap/two\n");
    assert_eq!(get(&["cm,secrets", "-n", "team-a", "-o", "name"]).await?, "configmap/one\nconfigmap/two\nsecret/hidden\n");
    assert_eq!(
        get(&["crds.v1.apiextensions.k8s.io", "-o", "name"]).await?,
        "customresourcedefinition.apiextensions.k8s.io/plugins.wharf.dev\n"
    );
    let table = get(&["cm", "-A", "-l", "app=web"]).await?;
    assert!(
        table.starts_with("NAMESPACE   NAME") && table.contains("\nteam-a      one ") && table.contains("\nteam-b      other "),
        "{table}"
    );
    let table = get(&["cm", "-n", "team-a"]).await?;
    assert!(columns(&table).iter().zip(["NAME", "one", "two"]).all(|(line, name)| line.starts_with(name)), "{table}");
    for args in [&["get", "cm", "one", "-n", "team-a", "-o", "json"][..], &["get", "cm", "-n", "team-b", "-o", "json"]] {
        let ours: Value = serde_json::from_str(&shown(&[args, &["--kubeconfig", &config]].concat()).await?)?;
        let theirs: Value = serde_json::from_str(&cluster.kubectl(args, None).await?)?;
        assert_eq!(ours, theirs, "{args:?}");
    }
    let yaml = get(&["cm", "one", "-n", "team-a", "-o", "yaml"]).await?;
    let value: Value = serde_saphyr::from_str(&yaml)?;
    assert_eq!(
        (&value["kind"], &value["data"]["key"], &value["metadata"]["managedFields"]),
        (&"ConfigMap".into(), &"value".into(), &Value::Null)
    );
    // The word of a host does not hide the kind.
    let said = wharf(&["get", "plugins.wharf.dev", "--kubeconfig", &config], &[]).await?;
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", "No resources found in default namespace.\n"));
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_allowed_is_said() -> Result<()> {
    let (cluster, config) = start().await?;
    cluster.kubectl(&["create", "serviceaccount", "nobody", "-n", "team-a"], None).await?;
    let token = cluster.token("team-a", "nobody").await?;
    let folder = tempfile::tempdir()?;
    let nobody = kubeconfig(folder.path(), "nobody", &cluster_fields(&cluster), &format!("token: '{token}'"))?;
    cluster.kubectl(&["create", "role", "reader", "-n", "team-a", "--verb=list,watch", "--resource=configmaps"], None).await?;
    let bound = ["create", "rolebinding", "reader", "-n", "team-a", "--role=reader", "--serviceaccount=team-a:reader"];
    cluster.kubectl(&bound, None).await?;
    cluster.kubectl(&["create", "serviceaccount", "reader", "-n", "team-a"], None).await?;
    let some = cluster.token("team-a", "reader").await?;
    let reader = kubeconfig(folder.path(), "reader", &cluster_fields(&cluster), &format!("token: '{some}'"))?;
    for (output, shown) in [("name", "configmap/one\nconfigmap/two\n"), ("table", "configmap/two")] {
        let said = wharf(&["get", "secrets,cm,services", "-n", "team-a", "-o", output, "--kubeconfig", &reader], &[]).await?;
        assert!(said.code == Some(1) && said.out.contains(shown), "what may be seen is shown: {said:?}");
        assert!(["refuses to list secrets", "refuses to list services"].iter().all(|word| said.err.contains(word)), "{said:?}");
    }
    for (args, words) in [
        (vec!["get", "cm", "one", "three", "-n", "team-a", "-o", "name", "--kubeconfig", &config], vec!["\"three\" not found"]),
        (vec!["watch", "cm", "three", "-n", "team-a", "--kubeconfig", &config], vec!["\"three\" not found"]),
        (vec!["get", "configmapz", "--kubeconfig", &config], vec!["no kind \"configmapz\"", "configmaps"]),
        (vec!["get", "cm", "-l", "a==b==c", "--kubeconfig", &config], vec!["configmaps", "selectors"]),
        (vec!["watch", "tokenreviews", "--kubeconfig", &config], vec!["no such verb"]),
        (vec!["get", "secrets", "-n", "team-a", "--kubeconfig", &nobody], vec!["Forbidden", "cannot list resource \"secrets\"", "--token"]),
        (vec!["watch", "secrets", "-n", "team-a", "--kubeconfig", &nobody], vec!["Forbidden", "secrets"]),
        (
            vec!["watch", "secrets", "-n", "team-a", "--raw", "--kubeconfig", &nobody],
            vec!["Forbidden", "cannot watch resource \"secrets\""],
        ),
    ] {
        let said = wharf(&args, &[]).await?;
        assert_eq!(said.code, Some(1), "{args:?}: {said:?}");
        assert!(words.iter().all(|word| said.err.contains(word)), "{args:?}: {said:?}");
        assert!(!said.err.contains(&token));
    }
    let said = wharf(&["get", "cm", "one", "three", "-n", "team-a", "-o", "name", "--kubeconfig", &config], &[]).await?;
    assert_eq!(said.out, "configmap/one\n", "what is there is shown");
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_the_list_and_then_each_change() -> Result<()> {
    let (cluster, config) = start().await?;
    let watch = |args: &[&str]| Running::start(&[&["watch", "cm", "-n", "team-a", "--kubeconfig", &config], args].concat());
    let mut table = watch(&[])?;
    let mut events = watch(&["-o", "json", "--output-watch-events", "--watch-only"])?;
    let mut names = watch(&["-o", "name", "-l", "app=web"])?;
    let mut raw = watch(&["--raw"])?;
    assert!(table.until("two").await?.starts_with("NAME   AGE\none "));
    assert_eq!(names.line().await?, "configmap/one");
    // It is open once it has sent what there is, so that nothing that follows is missed.
    for _ in ["one", "two"] {
        let event: Value = serde_json::from_str(&raw.line().await?)?;
        assert_eq!(event["type"], "ADDED", "{event}");
    }
    // `--watch-only` has nothing to show yet: a change is made until it is seen.
    until("the watch without a list is there", LONG, async || {
        cluster.kubectl(&["label", "cm", "two", "-n", "team-a", "--overwrite", "at=start"], None).await?;
        cluster.kubectl(&["label", "cm", "two", "-n", "team-a", "--overwrite", "at-"], None).await?;
        Ok(tokio::time::timeout(std::time::Duration::from_secs(2), events.until("\"type\"")).await.is_ok().then_some(()))
    })
    .await?;
    cluster.kubectl(&["create", "cm", "three", "-n", "team-a", "--from-literal=a=b"], None).await?;
    cluster.kubectl(&["label", "cm", "three", "-n", "team-a", "app=web"], None).await?;
    cluster.kubectl(&["delete", "cm", "three", "-n", "team-a", "--wait=false"], None).await?;
    for _ in 0..3 {
        table.until("three").await?;
    }
    let seen = events.until("{\"type\":\"DELETED\",\"object\":{").await?;
    assert!(seen.contains("{\"type\":\"ADDED\",") && seen.contains("\"name\":\"three\""), "{seen}");
    // Deleted, with its last state; and that of a narrower watch, too.
    assert_eq!((names.line().await?, names.line().await?), ("configmap/three".to_owned(), "configmap/three".to_owned()));
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        let event = loop {
            let event: Value = serde_json::from_str(&raw.line().await?)?;
            // The label of `two` from before comes and goes here, too.
            if event["object"]["metadata"]["name"] != "two" {
                break event;
            }
        };
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&kind.into(), &"three".into()));
        ensure!(event["object"]["metadata"]["managedFields"].is_array(), "raw is raw: {event}");
    }
    for mut running in [table, events, names, raw] {
        running.process.signal(Signal::Interrupt);
        assert_eq!(running.process.wait(LONG).await?.code(), Some(130));
    }
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_warnings_and_refusals_are_those_of_kubectl() -> Result<()> {
    let (cluster, config) = start().await?;
    // Next to kubectl, also where cells are empty and where the server warns.
    for args in [&["get", "endpoints", "-A"][..], &["get", "componentstatuses"], &["get", "cm,cm", "-A", "-n", "nobody"]] {
        let ours = wharf(&[args, &["--kubeconfig", &config]].concat(), &[]).await?;
        let theirs = cluster.kubectl(args, None).await?;
        // The server has some of them in no order.
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        assert_eq!((ours.code, sorted(columns(&ours.out))), (Some(0), sorted(columns(&theirs))), "{args:?}");
        let same = |text: &str| sorted(text.lines().map(str::to_owned).collect());
        assert!(
            args[1] != "componentstatuses" || same(&ours.out) == same(&theirs),
            "cells that are empty stay so: {:?} {theirs:?}",
            ours.out
        );
        assert_eq!(ours.err.matches("Warning: v1 ").count(), usize::from(!args[1].starts_with("cm")), "{ours:?}");
    }
    // One name for credentials that nobody knows, and another one for what is no API.
    let (server, ca) = (format!("https://{}", cluster.address()), cluster.certificate_authority().display().to_string());
    let plain = format!("http://{}", cluster.address());
    for (args, words) in [
        (
            vec!["-s", &server, "--certificate-authority", &ca, "--token", "wrong"],
            vec!["(Unauthorized)", "401", "hint: check the token, certificate"],
        ),
        (vec!["-s", &plain], vec!["no Kubernetes API (ServerUnavailable)", "https://"]),
        (vec!["-s", &server, "--token", "x"], vec!["error: the API server's certificate is not trusted", "hint: name the authority"]),
        (
            vec!["-s", &server, "--token-file", "/no/such"],
            vec!["error: the API server was not asked", "/no/such", "hint: check --token-file"],
        ),
        (vec!["-s", &server, "--certificate-authority", "/no/such"], vec!["error: the certificate authority /no/such", "hint: correct"]),
    ] {
        let said = wharf(&[&["get", "cm"], &args[..]].concat(), &[]).await?;
        assert!(said.code == Some(1) && words.iter().all(|word| said.err.contains(word)), "{args:?}: {said:?}");
    }
    // A kind that goes ends its watch, and not because of selectors.
    const PLUGIN: &str = "apiVersion: wharf.dev/v1alpha1\nkind: Plugin\nmetadata: {name: one, namespace: team-a}\n";
    until("the kind is served", LONG, async || Ok(cluster.kubectl(&["apply", "-f", "-"], Some(PLUGIN)).await.ok())).await?;
    let args = ["watch", "plugins.wharf.dev", "-A", "-o", "name", "--kubeconfig", &config];
    let mut watch = Process::spawn(&paths::wharf()?, args, Stdio::piped(), Stdio::piped())?;
    if let Some(out) = watch.child().stdout.as_mut() {
        // It has begun.
        out.read_u8().await?;
    }
    cluster.kubectl(&["delete", "crd", "plugins.wharf.dev"], None).await?;
    assert_eq!(watch.wait(LONG).await?.code(), Some(1));
    let mut said = String::new();
    if let Some(mut errors) = watch.child().stderr.take() {
        errors.read_to_string(&mut said).await?;
    }
    assert!(said.contains("does not serve plugins.wharf.dev any more (KindNotFound)") && !said.contains("selectors"), "{said}");
    cluster.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_pipe_ends_a_watch_quietly() -> Result<()> {
    let (cluster, config) = start().await?;
    let folder = tempfile::tempdir()?;
    let errors = folder.path().join("errors");
    let line = format!(
        "{{ {} watch cm -n team-a -o name --kubeconfig {config} 2>{}; echo $? >{}; }} | head -1",
        paths::wharf()?.display(),
        errors.display(),
        folder.path().join("code").display()
    );
    let mut shell = Process::spawn("/bin/sh".as_ref(), ["-c", &line], Stdio::null(), Stdio::inherit())?;
    // Nothing changes, and so nothing is written any more: it ends all the same.
    shell.wait(LONG).await?;
    assert_eq!(std::fs::read_to_string(folder.path().join("code"))?, "0\n");
    assert_eq!(std::fs::read_to_string(errors)?, "");
    cluster.stop().await
}
