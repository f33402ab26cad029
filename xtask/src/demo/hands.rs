//! The hands of the demo: what a user types, shown and done. On a real API server that is kubectl; on wharf's own, which needs no other
//! tool, objects are applied directly and looked at with `wharf get`. Owns the difference between the two.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::process::Command;
use wharf_testkit::{Cluster, Kind, Target, paths};

/// Somebody at a terminal.
pub(super) struct Hands {
    cluster: Arc<Cluster>,
    kubeconfig: PathBuf,
}

impl Hands {
    pub(super) fn new(cluster: &Arc<Cluster>) -> Self {
        Self { cluster: Arc::clone(cluster), kubeconfig: cluster.kubeconfig() }
    }

    /// Applies the objects of a text.
    pub(super) async fn apply(&self, text: &str) -> Result<()> {
        if self.cluster.kind() == Kind::Real {
            return self.kubectl("apply --filename -", Some(text)).await;
        }
        println!("apply:");
        for line in text.lines() {
            println!("  | {line}");
        }
        self.apply_silently(text).await
    }

    /// The same without a word.
    pub(super) async fn apply_silently(&self, text: &str) -> Result<()> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("read the manifest")?;
        for document in documents.iter().filter(|document| !document.is_null()) {
            self.cluster.api().apply(document).await?;
        }
        Ok(())
    }

    /// Deletes a ConfigMap of team-a.
    pub(super) async fn delete(&self, name: &str) -> Result<()> {
        if self.cluster.kind() == Kind::Real {
            return self.kubectl(&format!("delete configmap {name} --namespace team-a"), None).await;
        }
        println!("delete ConfigMap team-a/{name}");
        ensure!(self.cluster.api().delete(&Target::config_map("team-a", name)).await?, "ConfigMap team-a/{name} was not there");
        Ok(())
    }

    /// Shows objects: `get` and what stands behind it, which kubectl and wharf share.
    pub(super) async fn get(&self, arguments: &str) -> Result<()> {
        if self.cluster.kind() == Kind::Real {
            return self.kubectl(&format!("get {arguments}"), None).await;
        }
        println!("$ wharf get {arguments}");
        let mut command = Command::new(paths::wharf()?);
        command.arg("get").args(arguments.split(' ')).arg("--kubeconfig").arg(&self.kubeconfig);
        let output = command.output().await.context("run wharf get")?;
        ensure!(output.status.success(), "wharf get {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
        say(&String::from_utf8_lossy(&output.stdout));
        Ok(())
    }

    /// Runs kubectl and shows the command and what it says.
    async fn kubectl(&self, command: &str, stdin: Option<&str>) -> Result<()> {
        println!("$ kubectl {command}");
        for line in stdin.unwrap_or_default().lines() {
            println!("  | {line}");
        }
        let words: Vec<&str> = command.split(' ').collect();
        say(&self.cluster.kubectl(&words, stdin).await?);
        Ok(())
    }
}

fn say(said: &str) {
    println!("{}", if said.trim().is_empty() { "No resources found" } else { said.trim_end() });
}
