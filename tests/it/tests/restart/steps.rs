//! A host that is killed while it exchanges a revision, in each of the steps. Owns how a step is made to last until somebody
//! has seen it, so that the kill meets that step and no other, and what must serve afterwards.
//!
//! No step waits for a time. A component in a ConfigMap that the API server tells nothing of is *read* until it does, a large
//! one is *compiled* for long, a host whose log nobody takes stands still as soon as it *checks*, a guest that spins is
//! *probed*, a kind is *resolved* as long as the server says nothing, a watch *syncs* as long as it says no, a book that cannot be written
//! holds the *swap*, and what is on trial *bakes*.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;
use wharf_testkit::{Host, HostOptions, Proxy, paths, until};

use crate::judge::{Told, wrong};
use crate::lab::{DEADLINE, Lab};
use crate::run::{all_lines, quiet};

/// What the guest says of the revision that was good, and of the one that is exchanged for it.
const GOOD: &str = "v1";
const NEW: &str = "second";
/// Of the kind that cannot be read.
const GROUP: &str = "step.example.com";
/// Its name begins as the judge expects it.
const OBJECT: &str = "object-x";

/// One step, in a namespace of its own.
struct Scene<'a> {
    lab: &'a Lab,
    step: &'static str,
    namespace: String,
    plugin: String,
    proxy: Proxy,
    kubeconfig: PathBuf,
    told: Told,
}

impl<'a> Scene<'a> {
    /// A plugin of which one revision will be good, and a host's account that may do no more than it needs.
    async fn new(lab: &'a Lab, step: &'static str) -> Result<Self> {
        let (namespace, plugin) = lab.plugin(&format!("in-{step}")).await?;
        let meta = |name: &str| json!({"name": name, "namespace": namespace});
        let role = |kind: &str, name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        let rules = json!([{"apiGroups": ["", GROUP], "resources": ["configmaps", "widgets"], "verbs": ["get", "list", "watch"]}]);
        for object in [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("host")}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta("maps"), "rules": rules}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta("maps"), "roleRef": role("Role", "maps"),
                "subjects": [{"kind": "ServiceAccount", "name": "host", "namespace": namespace}]}),
        ] {
            lab.cluster.api().apply(&object).await?;
        }
        let proxy = Proxy::start(lab.cluster.address()).await?;
        let kubeconfig = lab.data().join(format!("{step}.kubeconfig"));
        lab.cluster.kubeconfig_as(&lab.cluster.token(&namespace, "host").await?, proxy.address(), &kubeconfig)?;
        Ok(Self { lab, step, namespace, plugin, proxy, kubeconfig, told: Told::default() })
    }

    fn start(&self) -> Result<Host> {
        // A host that is held by its log must be held by this line, and answer all the same.
        let others = if self.step == "check" { "error" } else { "info,wharf::checkpoint=debug" };
        let levels = ["--log-level", &format!("{others},guest=info,wharf::call=debug,wharf::plugin=debug")];
        crate::start(HostOptions {
            plugins: self.lab.plugins(),
            kubeconfig: self.kubeconfig.clone(),
            data: self.lab.data().join(self.step),
            args: levels.map(str::to_owned).to_vec(),
        })
    }

    /// Brings the revision that will be met in the step.
    fn bring(&self, spec: &Value) -> Result<()> {
        let document = json!({
            "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "probe", "namespace": self.namespace}, "spec": spec,
        });
        self.lab.file("plugins/probe.next", &document.to_string())?;
        fs::rename(self.lab.plugins().join("probe.next"), self.lab.plugins().join("probe.yaml")).context("publish the document")
    }

    /// Makes the step last, brings the revision, and returns when the host is in the step.
    async fn meet(&self, host: &Host) -> Result<()> {
        let grants = json!([{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}]);
        let file = json!({"file": "probe.wasm"});
        // What is worse with it, or lacks, is what a host meets again after a restart.
        let spec = match self.step {
            "read" => {
                self.proxy.hang();
                json!({"component": {"configMap": {"name": "parts", "key": "a.wasm"}}, "grants": grants})
            }
            "compile" | "check" => {
                fs::copy(paths::guest("conformance-go")?, self.lab.plugins().join("large.wasm")).context("copy the guest")?;
                json!({"component": {"file": "large.wasm"}})
            }
            "probe" => {
                json!({"component": file, "grants": grants, "config": {"describe": "loop"}, "limits": {"cpu": "5s", "deadline": "10s"}})
            }
            "resolve" => {
                self.proxy.hang();
                let also = json!({"name": "classes", "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"});
                json!({"component": file, "grants": grants, "config": {"also": [also]}})
            }
            "sync" => {
                self.unreadable_kind().await?;
                let also = json!({"name": "widgets", "apiVersion": format!("{GROUP}/v2"), "kind": "Widget"});
                json!({"component": file, "grants": grants, "config": {"tag": NEW, "also": [also]}})
            }
            _ => json!({"component": file, "grants": grants, "config": {"tag": NEW}, "rollout": {"replay": "none", "bake": "1h"}}),
        };
        if self.step == "swap" {
            let made = Command::new("mkfifo").arg(self.unwritable()).status().await.context("run mkfifo")?;
            ensure!(made.success(), "mkfifo: {made}");
        }
        self.bring(&spec)?;
        if self.step == "check" {
            self.reaches(host, "compile").await?;
            host.hold_at_next_line()?;
        }
        self.reaches(host, self.step).await
    }

    /// A kind of which the API server can hand out no object, since it finds nobody who converts it.
    async fn unreadable_kind(&self) -> Result<()> {
        let version = |name: &str, storage: bool| {
            json!({"name": name, "served": true, "storage": storage,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
        };
        let nobody = json!({"strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}});
        let kind = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("widgets.{GROUP}")},
            "spec": {
                "group": GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "conversion": nobody, "versions": [version("v1", true), version("v2", false)],
            },
        });
        self.lab.cluster.api().apply(&kind).await?;
        let object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Widget", "metadata": {"name": "w", "namespace": self.namespace}});
        until("the kind", DEADLINE, async || self.lab.cluster.api().create(&object).await.map(Some)).await.map(drop)
    }

    /// The file in whose place the host writes the book of the plugin.
    fn unwritable(&self) -> PathBuf {
        self.lab.data().join(self.step).join("revisions").join(format!("{}.probe.new", self.namespace))
    }

    async fn reaches(&self, host: &Host, step: &str) -> Result<()> {
        until(&format!("the step {step}"), DEADLINE, async || {
            let rows = host.get("plugins").await?;
            let row = rows.get(0).cloned().unwrap_or_default();
            ensure!(row.get("step").and_then(Value::as_str) == Some(step), "it is {row}");
            Ok(Some(()))
        })
        .await
    }

    /// What hinders the host goes away, and nothing that it was told of is lost: what it had written down counts.
    async fn killed(&mut self, mut host: Host) -> Result<()> {
        host.kill().await?;
        self.told.killed(&all_lines(&host).await, &self.plugin);
        self.proxy.restore();
        match fs::remove_file(self.unwritable()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("remove the pipe"),
            _ => Ok(()),
        }
    }

    /// A host starts, and the revision that must serve is called for the next change, and for no other.
    async fn goes_on(&self, version: &str, value: u64) -> Result<Host> {
        let host = self.start()?;
        self.changes(&host, version, value).await?;
        let problems = wrong(&self.told.with(&host.log().since(0), &self.plugin));
        ensure!(problems.is_empty(), "{}", problems.join("\n"));
        Ok(host)
    }

    async fn changes(&self, host: &Host, version: &str, value: u64) -> Result<()> {
        self.lab.write(&self.namespace, OBJECT, "done", value).await?;
        let value = value.to_string();
        host.wait_calls(&format!("a call for {value}"), &self.plugin, DEADLINE, |calls| {
            calls.iter().any(|call| call.succeeded() && call.text("value") == value && call.text("version") == version).then_some(())
        })
        .await?;
        quiet(host, &self.plugin).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_kill_in_any_step_of_a_swap_the_last_good_revision_serves() -> Result<()> {
    let lab = Lab::new().await?;
    for step in ["read", "compile", "check", "probe", "resolve", "sync", "swap", "bake"] {
        let played = async {
            let mut scene = Scene::new(&lab, step).await?;
            let host = scene.start()?;
            scene.changes(&host, GOOD, 1).await?;
            scene.meet(&host).await?;
            scene.killed(host).await?;
            if matches!(step, "swap" | "bake") {
                // It was taken into service, and nothing speaks against it.
                let host = scene.goes_on(NEW, 2).await?;
                scene.killed(host).await?;
                scene.bring(&json!({"component": {"file": "none.wasm"}}))?;
            }
            scene.goes_on(GOOD, 3).await.map(drop)
        };
        played.await.with_context(|| format!("killed in the step {step}"))?;
    }
    Ok(())
}
