//! Plays one scenario: sets the stage, takes the steps one after the other, and clears
//! everything away whatever happens. Owns the host, the proxy and the plugins folder of
//! the scenario; what a step does is in `steps`.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use wharf_testkit::{Call, Cluster, Host, HostOptions, Kind, Line, Proxy, Stream, paths, scratch, until};

use super::beside::Beside;
use super::model::{Plugin, Scenario};
use super::plugins_folder::PluginsFolder;

/// Everything that must come comes within this time, also on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// What the scenarios that are played on one API server share.
pub struct Shared {
    /// Which API server.
    pub kind: Kind,
    /// The cluster of all scenarios that do not ask for their own.
    pub cluster: Option<Arc<Cluster>>,
}

/// A scenario that is being played.
pub(super) struct Run {
    pub(super) namespace: String,
    pub(super) cluster: Arc<Cluster>,
    pub(super) proxy: Proxy,
    pub(super) host: Host,
    pub(super) folder: PluginsFolder,
    pub(super) stream: Option<Stream>,
    /// A command of `wharf` that goes on.
    pub(super) beside: Option<Beside>,
    /// How many calls of a (plugin, namespace, name) earlier steps have used up.
    pub(super) used: HashMap<[String; 3], usize>,
    options: HostOptions,
    sentinels: Vec<(String, Option<Value>)>,
    quiesced: u64,
    // Last: the host must be gone before its folders go.
    _home: TempDir,
}

/// Plays a scenario in a namespace of its own, which has the name of the file.
///
/// # Errors
/// The step that failed, why, and the end of the host's log; the whole log is in
/// `target/scenarios`, with the name of the API server if that is the embedded one.
pub async fn play(shared: &Shared, name: &str, text: &str) -> Result<()> {
    let scenario = Scenario::parse(text, name)?;
    let cluster = match &shared.cluster {
        Some(cluster) if !scenario.own_cluster => Arc::clone(cluster),
        _ => Arc::new(Cluster::start_as(shared.kind).await?),
    };
    let mut run = Run::start(name, &scenario, cluster).await?;
    let result = run.steps(&scenario).await;
    if result.is_err() {
        run.keep_log(&if shared.kind == Kind::Embedded { format!("{name}.embedded") } else { name.to_owned() })?;
    }
    result
}

impl Run {
    async fn start(name: &str, scenario: &Scenario, cluster: Arc<Cluster>) -> Result<Self> {
        let home = scratch("scenario")?;
        let mut namespaces = vec![name.to_owned()];
        namespaces.extend(scenario.namespaces.iter().map(|suffix| format!("{name}-{suffix}")));
        for namespace in &namespaces {
            cluster.api().apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await?;
        }
        for manifest in &scenario.before {
            cluster.api().apply(&in_namespace(manifest, name)).await?;
        }
        let mut folder = PluginsFolder::new(home.path(), scenario.folder)?;
        for plugin in &scenario.plugins {
            put(&mut folder, name, plugin)?;
        }
        folder.publish()?;
        let proxy = Proxy::start(cluster.address()).await?;
        let mut args = scenario.host_args.clone();
        if !scenario.host_config.is_empty() {
            let file = home.path().join("host.yaml");
            let mut config = scenario.host_config.clone();
            config.insert("apiVersion".into(), "config.wharf.dev/v1alpha1".into());
            config.insert("kind".into(), "HostConfiguration".into());
            fs::write(&file, serde_json::to_vec(&config)?).context("write the host's configuration")?;
            args.push(format!("--config={}", file.display()));
        }
        let options = HostOptions {
            plugins: folder.path().to_path_buf(),
            kubeconfig: home.path().join("kubeconfig"),
            data: home.path().join("data"),
            args,
        };
        fs::create_dir(&options.data).context("make the data folder")?;
        match &scenario.host_account {
            Some(account) => cluster.kubeconfig_as(&cluster.token(name, account).await?, proxy.address(), &options.kubeconfig)?,
            None => cluster.kubeconfig_through(proxy.address(), &options.kubeconfig)?,
        }
        let host = Host::start(options.clone())?;
        Ok(Self {
            namespace: name.to_owned(),
            cluster,
            proxy,
            host,
            folder,
            stream: None,
            beside: None,
            used: HashMap::new(),
            options,
            sentinels: Vec::new(),
            quiesced: 0,
            _home: home,
        })
    }

    async fn steps(&mut self, scenario: &Scenario) -> Result<()> {
        self.host.ready().await?;
        for plugin in &scenario.plugins {
            self.decided(plugin, 0).await.with_context(|| format!("start of plugin {}", plugin.name))?;
        }
        for (index, step) in scenario.steps.iter().enumerate() {
            let debug = format!("{step:?}");
            let word = debug.split(['(', ' ', '{']).next().unwrap_or_default();
            self.step(step).await.with_context(|| format!("step {} ({word})", index + 1))?;
        }
        Ok(())
    }

    /// Full name of a plugin: in the scenario's namespace unless it says otherwise.
    pub(super) fn plugin(&self, name: &str) -> String {
        if name.contains('/') { name.to_owned() } else { format!("{}/{name}", self.namespace) }
    }

    /// Notes the files of a plugin.
    pub(super) fn put(&mut self, plugin: &Plugin) -> Result<()> {
        put(&mut self.folder, &self.namespace, plugin)
    }

    /// Waits until the host has taken a plugin into service or refused it, as expected.
    pub(super) async fn decided(&mut self, plugin: &Plugin, mark: usize) -> Result<()> {
        let name = self.plugin(&plugin.name);
        let Some(reason) = &plugin.refused else {
            self.serving(&name, mark).await?;
            self.sentinels.retain(|(known, _)| *known != name);
            self.sentinels.push((name, plugin.sentinel.clone()));
            return Ok(());
        };
        let file = format!("/{}.yaml", plugin.file.as_ref().unwrap_or(&plugin.name));
        let refused = |line: &Line| {
            // A document that cannot be read at all has no name, only a file.
            let ours = match line.text("message").as_str() {
                "plugin revision refused" => line.is("plugin", &name),
                "plugin document refused" => line.text("origin").ends_with(&file),
                _ => false,
            };
            ours && line.is("reason", reason)
        };
        self.host.log().wait_for(&format!("{name} is refused with {reason}"), mark, DEADLINE, refused).await?;
        Ok(())
    }

    /// Waits until a revision of a plugin serves.
    pub(super) async fn serving(&self, plugin: &str, mark: usize) -> Result<()> {
        let decided = |line: &Line| {
            let messages = ["plugin revision serving", "plugin revision refused", "plugin suspended"];
            line.is("plugin", plugin) && messages.iter().any(|message| line.is("message", message))
        };
        let line = self.host.log().wait_for(&format!("{plugin} serves"), mark, DEADLINE, decided).await?;
        ensure!(!line.is("message", "plugin revision refused"), "{plugin} was refused: {}: {}", line.text("reason"), line.text("error"));
        Ok(())
    }

    /// A plugin that was removed is not asked any more.
    pub(super) fn forget(&mut self, plugin: &str) {
        self.sentinels.retain(|(known, _)| known != plugin);
    }

    /// Starts a host again on the same folders.
    pub(super) async fn start_host(&mut self) -> Result<()> {
        self.host = Host::start(self.options.clone())?;
        self.used.clear();
        self.host.ready().await
    }

    /// Waits until plugins have seen all changes so far and have nothing to do: a sentinel
    /// written now has been handled, and the queue is empty.
    pub(super) async fn quiesce(&mut self, plugins: &[String]) -> Result<()> {
        let wanted: Vec<String> = plugins.iter().map(|name| self.plugin(name)).collect();
        let asked: Vec<_> = self.sentinels.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)).cloned().collect();
        for (plugin, manifest) in asked {
            self.quiesced += 1;
            let name = format!("sentinel-{}", self.quiesced);
            let manifest = sentinel(manifest, &self.namespace, &name);
            self.cluster.api().apply(&manifest).await.context("write the sentinel")?;
            let seen = |calls: &[Call]| calls.iter().any(|call| call.text("name") == name && call.succeeded()).then_some(());
            self.host.wait_calls(&format!("{plugin} handles {name}"), &plugin, DEADLINE, seen).await?;
            let host = &self.host;
            until(&format!("the queue of {plugin} is empty"), DEADLINE, async || {
                let queues = host.get("queues").await?;
                // Keys that wait for a time (requeue, backoff) do not count.
                let busy = queue(&queues, &plugin, "ready")? + queue(&queues, &plugin, "processing")?;
                Ok((busy == 0).then_some(()))
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until a plugin has a call in flight.
    pub(super) async fn busy(&self, plugin: &str) -> Result<()> {
        let plugin = self.plugin(plugin);
        let what = format!("{plugin} has a call in flight");
        until(&what, DEADLINE, async || Ok((queue(&self.host.get("queues").await?, &plugin, "processing")? > 0).then_some(()))).await
    }

    fn keep_log(&self, name: &str) -> Result<()> {
        let folder = paths::target().join("scenarios");
        fs::create_dir_all(&folder).context("make the folder for logs")?;
        let lines: Vec<String> = self.host.log().since(0).iter().map(|line| Value::Object(line.fields().clone()).to_string()).collect();
        fs::write(folder.join(format!("{name}.log")), lines.join("\n")).context("keep the host's log")
    }
}

/// A manifest with the scenario's namespace, if it names none. `""` means cluster scope.
pub(super) fn in_namespace(manifest: &Value, namespace: &str) -> Value {
    let mut manifest = manifest.clone();
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("namespace").or_insert_with(|| namespace.into());
        if metadata.get("namespace") == Some(&json!("")) {
            metadata.remove("namespace");
        }
    }
    manifest
}

fn sentinel(manifest: Option<Value>, namespace: &str, name: &str) -> Value {
    let manifest = manifest.unwrap_or_else(|| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"do": "done"}}));
    let mut manifest = manifest;
    if let Some(fields) = manifest.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".into(), name.into());
        }
    }
    in_namespace(&manifest, namespace)
}

fn put(folder: &mut PluginsFolder, namespace: &str, plugin: &Plugin) -> Result<()> {
    let file = plugin.file.as_ref().unwrap_or(&plugin.name);
    if let Some(guest) = &plugin.guest {
        let path = paths::guest(guest)?;
        folder.put(format!("{}.wasm", plugin.name), fs::read(&path).with_context(|| format!("read {}", path.display()))?);
    }
    let text = plugin.text.clone().unwrap_or_else(|| {
        let mut spec: Map<String, Value> = plugin.spec.clone();
        spec.entry("component").or_insert_with(|| json!({"file": format!("{}.wasm", plugin.name)}));
        // JSON is YAML.
        json!({
            "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin",
            "metadata": {"name": plugin.name, "namespace": namespace}, "spec": spec,
        })
        .to_string()
    });
    folder.put(format!("{file}.yaml"), text.into_bytes());
    Ok(())
}

/// A number of a plugin's row of `wharf get queues`.
fn queue(queues: &Value, plugin: &str, field: &str) -> Result<u64> {
    let Some(rows) = queues.as_array() else { bail!("wharf get queues printed no list: {queues}") };
    let row = rows.iter().find(|row| row.get("plugin").and_then(Value::as_str) == Some(plugin));
    let row = row.with_context(|| format!("wharf get queues does not know {plugin}: {queues}"))?;
    row.get(field).and_then(Value::as_u64).with_context(|| format!("the row has no {field}: {row}"))
}
