//! The steps about plugins that are custom resources, and about components in ConfigMaps. Owns what
//! they write to the API server, and how they wait for what the host makes of it.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tokio::process::Command;
use wharf_testkit::{Line, Target, paths, until};

use super::model::{Component, Plugin};
use super::run::{DEADLINE, Run};

const API_VERSION: &str = "wharf.dev/v1alpha1";
const KEY: &str = "component.wasm";

impl Run {
    /// Installs what `wharf crd` prints, and waits until it is served.
    pub(super) async fn install_crd(&self) -> Result<()> {
        let output = Command::new(paths::wharf()?).arg("crd").stdin(Stdio::null()).output().await.context("run wharf crd")?;
        ensure!(output.status.success(), "wharf crd: {}", String::from_utf8_lossy(&output.stderr));
        let definition: Value = serde_saphyr::from_str(&String::from_utf8_lossy(&output.stdout)).context("read what wharf crd prints")?;
        self.cluster.api().apply(&definition).await?;
        let any = self.resource("any");
        until("the custom resource is served", DEADLINE, async || self.cluster.api().get(&any).await.map(|_| Some(()))).await
    }

    /// Applies a plugin, its component before it.
    pub(super) async fn apply_plugin(&mut self, plugin: &Plugin) -> Result<()> {
        let mark = self.host.log().len();
        if let Some(guest) = &plugin.guest {
            let component = Component { name: plugin.name.clone(), key: KEY.to_owned(), guest: guest.clone() };
            self.apply_component(&component).await?;
        }
        let mut spec: Map<String, Value> = plugin.spec.clone();
        spec.entry("component").or_insert_with(|| json!({"configMap": {"name": plugin.name, "key": KEY}}));
        let resource = json!({
            "apiVersion": API_VERSION, "kind": "Plugin", "metadata": {"name": plugin.name, "namespace": self.namespace}, "spec": spec,
        });
        self.cluster.api().apply(&resource).await?;
        self.decided(plugin, mark).await
    }

    /// Deletes a plugin's resource.
    pub(super) async fn delete_plugin(&mut self, plugin: &str) -> Result<()> {
        let mark = self.host.log().len();
        ensure!(self.cluster.api().delete(&self.resource(plugin)).await?, "{plugin} is not there");
        let name = self.plugin(plugin);
        self.forget(&name);
        let removed = |line: &Line| line.is("message", "plugin removed") && line.is("plugin", &name);
        self.host.log().wait_for(&format!("{name} is removed"), mark, DEADLINE, removed).await.map(drop)
    }

    /// Writes a component into a ConfigMap.
    pub(super) async fn apply_component(&self, component: &Component) -> Result<()> {
        let path = paths::guest(&component.guest)?;
        let bytes = std::fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": component.name, "namespace": self.namespace},
            "binaryData": {&component.key: STANDARD.encode(bytes)},
        });
        self.cluster.api().apply(&config_map).await.map(drop)
    }

    fn resource(&self, name: &str) -> Target {
        Target { api_version: API_VERSION.into(), kind: "Plugin".into(), namespace: self.namespace.clone(), name: name.into() }
    }
}
