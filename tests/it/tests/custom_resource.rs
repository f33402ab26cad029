//! The custom resource as a real API server sees it. Owns the comparison of its definition with the
//! reader of Plugin documents, case by case: what one refuses the other refuses, and mostly in the
//! same words. Applies everything with a dry run; starts no host.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wharf_core::plugin::{Problem, custom_resource_definition, read_resource};
use wharf_testkit::{Cluster, Target, paths, until};

const CORPUS: &str = "host/core/src/plugin/tests";

/// Where the two differ, by the beginning of the case, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("/metadata/resourceVersion", "a server refuses it in a new object, and it is in every object that a host reads"),
    ("/metadata/namespace = \"\"", "a server takes the namespace from the URL"),
    ("/metadata/lables", "a server drops or refuses what metadata does not have, so that no host sees it"),
    ("/metadata/labels = {\"a\": true}", "likewise"),
    ("/spec/subscribe/0/filter = \"new", "only the host reads an expression"),
    ("/spec/subscribe/0/filter = \"object.spec =\"", "only the host reads an expression"),
];

async fn cluster() -> Result<Cluster> {
    let cluster = Cluster::start().await?;
    cluster.kubectl(&["create", "namespace", "team-a"], None).await?;
    cluster.api().apply(&custom_resource_definition()).await.context("install the definition")?;
    let target = plugin("any");
    until("the resource is served", Duration::from_secs(60), async || cluster.api().get(&target).await.map(|_| Some(()))).await?;
    Ok(cluster)
}

fn plugin(name: &str) -> Target {
    Target { api_version: "wharf.dev/v1alpha1".into(), kind: "Plugin".into(), namespace: "team-a".into(), name: name.into() }
}

fn corpus(name: &str) -> Result<String> {
    let path = paths::root().join(CORPUS).join(name);
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

/// The good document with one value changed, for each line of a table.
fn cases(table: &str) -> Result<Vec<(String, Value)>> {
    let full: Value = serde_json::from_str(&corpus("full.json")?)?;
    let lines = table.lines().filter(|line| line.starts_with('/')).filter_map(|line| Some((line, line.split_once(" = ")?)));
    lines.map(|(line, (pointer, value))| Ok((line.to_owned(), with(full.clone(), pointer, serde_json::from_str(value)?)?))).collect()
}

fn with(mut document: Value, pointer: &str, value: Value) -> Result<Value> {
    let (parent, field) = pointer.rsplit_once('/').context("a pointer begins with a slash")?;
    match document.pointer_mut(parent).with_context(|| format!("{parent} is not there"))? {
        Value::Object(map) if value.is_null() => drop(map.remove(field)),
        Value::Object(map) => drop(map.insert(field.to_owned(), value)),
        Value::Array(items) => *items.get_mut(field.parse::<usize>()?).context("no such item")? = value,
        _ => anyhow::bail!("{parent} has no fields"),
    }
    Ok(document)
}

/// Is it said by the schema, and so in the server's own words?
fn structural(problem: &Problem) -> bool {
    // The last three are rules over a list, which cannot say where in it.
    const WORDS: [&str; 13] = [
        "is not known here",
        "expected ",
        "unknown field",
        "is not supported",
        "is not one of",
        "is missing",
        "is there twice",
        "items are too many",
        "a second subscription",
        "is no requirement of a selector",
        "is subscribed by",
        "no subscription here has the name",
        "is only cached",
    ];
    WORDS.iter().any(|word| problem.message.contains(word))
        || problem.pointer.ends_with("/concurrency")
        || problem.pointer.contains("fieldSelector")
}

#[tokio::test]
async fn the_definition_and_the_reader_refuse_the_same() -> Result<()> {
    let cluster = cluster().await?;
    let target = plugin("");
    let mut wrong = Vec::new();
    let mut words = 0;
    let mut examples = Vec::new();
    for folder in fs::read_dir(paths::root().join("plugins"))? {
        let path = folder?.path().join("plugin.yaml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let document: Value = serde_saphyr::from_str(&text)?;
        examples.push((path.display().to_string(), with(document, "/metadata/namespace", "team-a".into())?));
    }
    let good = examples.len() + 1;
    ensure!(good > 10, "only {good} examples");
    let all = examples.into_iter().chain(cases("/metadata/name = \"label-guard\"")?).chain(cases(&corpus("accepted.txt")?)?);
    for (case, document) in all.chain(cases(&corpus("read.txt")?)?) {
        if EXCEPTIONS.iter().any(|(exception, _)| case.starts_with(exception)) {
            continue;
        }
        let (reader, server) = (read_resource(&document).err(), cluster.api().judge(&target, &document).await?.err());
        match (&reader, &server) {
            (None, None) => {}
            (Some(problems), Some(answer)) => {
                // A server does not come to its rules if the structure is wrong.
                if problems.iter().any(structural) || answer.contains("some validation rules were not checked") {
                    continue;
                }
                words += 1;
                // Behind a colon the reader says more than a rule can.
                for said in problems.iter().filter_map(|problem| problem.message.split(": a ").next()?.split(": '").next()) {
                    if !answer.contains(said) {
                        wrong.push(format!("{case}\n  reader: {said}\n  server: {answer}"));
                    }
                }
            }
            _ => wrong.push(format!("{case}\n  reader: {reader:?}\n  server: {server:?}")),
        }
    }
    ensure!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
    ensure!(words > 30, "only {words} cases were compared by their words");
    cluster.stop().await
}

/// What a person does with it before any host runs.
#[tokio::test]
async fn kubectl_explains_lists_and_refuses() -> Result<()> {
    let cluster = cluster().await?;
    for (field, want) in [("plugins", "wharf runs as a WebAssembly component"), ("plugins.spec.limits", "Processor time of a call")] {
        // The server publishes what is explained a moment after it serves the kind.
        let explain = async || cluster.kubectl(&["explain", field], None).await.map(Some);
        let explained = until(&format!("{field} is explained"), Duration::from_secs(60), explain).await?;
        ensure!(explained.contains(want), "{field}: {want:?} is missing in:\n{explained}");
    }
    let manifest = json!({
        "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "guard", "namespace": "team-a"},
        "spec": {"component": {"file": "guard.wasm"}, "limits": {"cpu": "1s", "deadline": "2s"}},
    });
    cluster.kubectl(&["apply", "-f", "-"], Some(&manifest.to_string())).await?;
    for name in ["plg", "plugins", "wharf"] {
        let table = cluster.kubectl(&["get", name, "-n", "team-a"], None).await?;
        let head: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
        ensure!(head == ["NAME", "READY", "REVISION", "REASON", "DEGRADED", "AGE"] && table.contains("guard"), "{name}:\n{table}");
    }
    let status = json!({"status": {"revision": "1-abc", "conditions": [{
        "type": "Ready", "status": "True", "reason": "Serving", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let patch = ["patch", "plg", "guard", "-n", "team-a", "--type=merge", "-p"];
    cluster.kubectl(&[&patch[..], &[&status.to_string(), "--subresource=status"]].concat(), None).await?;
    let table = cluster.kubectl(&["get", "plg", "-n", "team-a", "--no-headers"], None).await?;
    ensure!(table.split_whitespace().take(4).eq(["guard", "True", "1-abc", "Serving"]), "{table}");
    cluster.kubectl(&["wait", "plg/guard", "-n", "team-a", "--for=condition=Ready", "--timeout=10s"], None).await?;
    for (spec, want) in [
        (json!({"limits": {"cpu": "3s", "deadline": "2s"}}), "cpu is longer than deadline and would never be reached"),
        (json!({"limits": {"memory": "512Mi"}}), "512Mi is more than 256Mi"),
        (json!({"limit": {}}), "unknown field \"spec.limit\""),
    ] {
        let mut wrong = manifest.clone();
        let fields = wrong["spec"].as_object_mut().context("the manifest has a spec")?;
        fields.extend(spec.as_object().cloned().unwrap_or_default());
        let refused = cluster.kubectl(&["apply", "-f", "-"], Some(&wrong.to_string())).await;
        let Err(error) = refused else { anyhow::bail!("{wrong} was taken") };
        ensure!(format!("{error:#}").contains(want), "{want:?} is missing in: {error:#}");
    }
    cluster.stop().await
}
