//! Documents in numbers, and at a pace, that nobody means well with: the work stays bounded, each
//! plugin has its own reason, and its neighbours are called as ever.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use wharf_testkit::{Cluster, Host, HostOptions, Line, paths, until};

const DEADLINE: Duration = Duration::from_secs(180);
/// Broken plugins at once.
const BROKEN: usize = 1000;
/// Times that a document is replaced, and how soon one after the other.
const FLAPS: usize = 400;
const FLAP: Duration = Duration::from_millis(10);

struct Lab {
    cluster: Cluster,
    host: Host,
    plugins: TempDir,
    _data: TempDir,
}

impl Lab {
    /// A host with one good plugin, `default/good`, and what `prepare` puts beside it.
    async fn start(prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let cluster = Cluster::start().await?;
        let (plugins, data) = (TempDir::new()?, TempDir::new()?);
        fs::copy(paths::guest("probe")?, plugins.path().join("probe.wasm"))?;
        save(plugins.path(), "good", &document("good", "probe.wasm", "good"))?;
        prepare(plugins.path())?;
        let (folder, kubeconfig) = (plugins.path().to_owned(), cluster.kubeconfig());
        let config = data.path().join("host.yaml");
        let settings = "apiVersion: config.wharf.dev/v1alpha1\nkind: HostConfiguration\nceilings: {pluginsPerTenant: 2000}\n";
        fs::write(&config, settings).context("write the host's configuration")?;
        let args = vec![format!("--config={}", config.display())];
        let host = Host::start(HostOptions { plugins: folder, kubeconfig, data: data.path().to_owned(), args })?;
        Ok(Self { cluster, host, plugins, _data: data })
    }

    async fn set(&self, name: &str, value: &str) -> Result<()> {
        let metadata = json!({"namespace": "default", "name": name});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}});
        self.cluster.api().apply(&object).await.map(drop)
    }

    /// Waits until a plugin was told of an object's value.
    async fn told(&self, plugin: &str, name: &str, value: &str) -> Result<()> {
        let what = format!("{plugin} is told of {name} with {value}");
        let told = |call: &wharf_testkit::Call| call.text("name") == name && call.text("value") == value && call.succeeded();
        self.host.wait_calls(&what, &format!("default/{plugin}"), DEADLINE, |calls| calls.iter().any(told).then_some(())).await
    }

    fn lines(&self, message: &str, plugin: &str) -> usize {
        let lines = self.host.log().since(0);
        lines.iter().filter(|line| line.is("message", message) && line.is("plugin", plugin)).count()
    }

    async fn end(mut self) -> Result<()> {
        let code = self.host.terminate(DEADLINE).await?;
        ensure!(code == Some(0), "the host ended with {code:?}");
        self.cluster.stop().await
    }
}

fn document(name: &str, component: &str, tag: &str) -> String {
    let grants = json!([{"cluster": {"apiVersion": "v1", "kind": "ConfigMap", "verbs": ["get"]}}]);
    let spec = json!({"component": {"file": component}, "config": {"tag": tag}, "rollout": {"bake": "0s"}, "grants": grants});
    json!({"apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": name}, "spec": spec}).to_string()
}

/// Replaces a file in one step.
fn save(folder: &Path, name: &str, text: &str) -> Result<()> {
    let next = folder.join(format!(".{name}"));
    fs::write(&next, text)?;
    fs::rename(next, folder.join(format!("{name}.yaml"))).with_context(|| format!("replace {name}.yaml"))
}

fn state<'a>(plugins: &'a Value, name: &str) -> Option<&'a Value> {
    plugins.as_array()?.iter().find(|row| row.get("name").is_some_and(|found| found == name))
}

/// A thousand plugins whose components are no components: each is refused by its name, once, and the
/// one that is good serves and is called. One of them that is repaired serves.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_broken_plugins_at_once() -> Result<()> {
    let lab = Lab::start(|folder| {
        for i in 0..BROKEN {
            // Different bytes, so that none is known from another.
            fs::write(folder.join(format!("b{i}.wasm")), format!("\0asm no component {i}"))?;
            save(folder, &format!("b{i}"), &document(&format!("b{i}"), &format!("b{i}.wasm"), "broken"))?;
        }
        Ok(())
    })
    .await?;
    lab.host.ready().await?;
    lab.set("x", "1").await?;
    lab.told("good", "x", "1").await?;
    let refused = until("every broken plugin is refused", DEADLINE, async || {
        let plugins = lab.host.get("plugins").await?;
        let rows = plugins.as_array().context("no rows")?;
        let refused = |row: &&Value| row.to_string().contains("ComponentInvalid");
        Ok((rows.iter().filter(refused).count() == BROKEN).then_some(rows.len()))
    });
    assert_eq!(refused.await?, BROKEN + 1);
    assert_eq!(lab.lines("plugin revision refused", "default/b7"), 1, "said once");
    save(lab.plugins.path(), "b7", &document("b7", "probe.wasm", "repaired"))?;
    lab.told("b7", "x", "1").await?;
    lab.set("x", "2").await?;
    lab.told("good", "x", "2").await?;
    lab.end().await
}

/// A document that is replaced every 10 ms, sometimes by something that cannot be read: only some of
/// its states are looked at, the last one serves, and a neighbour is told of every value meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_flaps() -> Result<()> {
    let lab = Lab::start(|folder| save(folder, "flaps", &document("flaps", "probe.wasm", "first"))).await?;
    lab.host.ready().await?;
    lab.set("x", "0").await?;
    lab.told("flaps", "x", "0").await?;
    let mut pace = tokio::time::interval(FLAP);
    for flap in 0..FLAPS {
        pace.tick().await;
        let text = match flap % 5 {
            0 => "kind: [".to_owned(),
            1 => document("flaps", "nowhere.wasm", "none"),
            _ => document("flaps", "probe.wasm", &format!("flap-{flap}")),
        };
        save(lab.plugins.path(), "flaps", &text)?;
        if flap % 100 == 50 {
            let value = flap.to_string();
            lab.set("x", &value).await?;
            lab.told("good", "x", &value).await?;
        }
    }
    let mark = lab.host.log().len();
    save(lab.plugins.path(), "flaps", &document("flaps", "probe.wasm", "last"))?;
    // Its own replay says which revision it is.
    let last = |line: &Line| line.is("target", "guest") && line.is("plugin", "default/flaps") && line.text("fields").contains("\"last\"");
    lab.host.log().wait_for("the last document serves", mark, DEADLINE, last).await?;
    let rows = lab.host.get("plugins").await?;
    let row = state(&rows, "flaps").context("the plugin is gone")?;
    ensure!(row.to_string().contains("Serving"), "{row}");
    let swaps = lab.lines("plugin revision serving", "default/flaps");
    ensure!(swaps < FLAPS / 2, "{swaps} of {FLAPS} states were staged");
    assert_eq!(lab.lines("plugin revision serving", "default/good"), 1, "the neighbour is left alone");
    lab.end().await
}
