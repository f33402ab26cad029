//! The folders and the cluster that hosts come and go on. Owns what survives a host, and how one
//! is started; never what happens in between.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use wharf_testkit::{Call, Cluster, Host, HostOptions, paths, scratch};

/// Everything that must come comes within this time, also on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// One cluster, one plugins folder, one data folder.
pub(crate) struct Lab {
    pub(crate) cluster: Cluster,
    home: TempDir,
}

impl Lab {
    /// An empty one.
    ///
    /// # Errors
    /// If the cluster does not come up.
    pub(crate) async fn new() -> Result<Self> {
        let home = scratch("kill")?;
        for name in ["plugins", "data"] {
            fs::create_dir(home.path().join(name)).context("make a folder")?;
        }
        Ok(Self { cluster: Cluster::start().await?, home })
    }

    /// Puts the plugin `probe` of a namespace of its own into the folder, in place of the one
    /// before. Returns namespace and full name.
    ///
    /// # Errors
    /// If the guest was not built.
    pub(crate) async fn plugin(&self, namespace: &str) -> Result<(String, String)> {
        self.cluster.api().apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await?;
        fs::copy(paths::guest("probe")?, self.home.path().join("plugins/probe.wasm")).context("copy the guest")?;
        let document = json!({
            "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "probe", "namespace": namespace},
            "spec": {
                "component": {"file": "probe.wasm"},
                "grants": [{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}],
            },
        });
        self.file("plugins/probe.yaml", &document.to_string())?;
        Ok((namespace.to_owned(), format!("{namespace}/probe")))
    }

    /// Writes a file; returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<String> {
        let path = self.home.path().join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path.display().to_string())
    }

    /// The folder that hosts read plugins from.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.home.path().join("plugins")
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// A host on these folders.
    ///
    /// # Errors
    /// If it was not built.
    pub(crate) fn start(&self, args: &[&str]) -> Result<Host> {
        self.start_in("data", args)
    }

    /// The same with a data folder of its own.
    ///
    /// # Errors
    /// If it was not built.
    pub(crate) fn start_in(&self, data: &str, args: &[&str]) -> Result<Host> {
        let levels = ["--log-level", "info,wharf::call=debug,wharf::checkpoint=debug"];
        crate::start(HostOptions {
            plugins: self.home.path().join("plugins"),
            kubeconfig: self.cluster.kubeconfig(),
            data: self.home.path().join(data),
            args: levels.iter().chain(args).map(|arg| (*arg).to_owned()).collect(),
        })
    }

    /// Makes or changes a ConfigMap with a word for the probe. Returns uid and version.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub(crate) async fn write(&self, namespace: &str, name: &str, word: &str, value: u64) -> Result<(String, String)> {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name},
            "data": {"do": word, "value": value.to_string()},
        });
        let written = self.cluster.api().apply(&object).await?;
        let field = |pointer| written.pointer(pointer).and_then(Value::as_str).map(str::to_owned).context("the answer is no object");
        Ok((field("/metadata/uid")?, field("/metadata/resourceVersion")?))
    }

    /// Waits until a plugin was called for an object, for a reason.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) async fn called(&self, host: &Host, plugin: &str, name: &str, cause: &str) -> Result<()> {
        let seen = |calls: &[Call]| calls.iter().any(|call| call.text("name") == name && call.text("cause") == cause).then_some(());
        host.wait_calls(&format!("a call for {name} because of {cause}"), plugin, DEADLINE, seen).await
    }
}
