//! `cargo xtask demo`: the main job on wharf's own API server or a real one, for people to watch. Owns the
//! play: events reach two plugins, which act; then one plugin's source is changed and
//! rebuilt while objects keep changing, and nothing is lost. How calls look on the
//! terminal is in `screen`, what a user types in `hands`, the changed plugin in `change`.

mod change;
mod hands;
mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Builder;
use wharf_testkit::{Cluster, Host, HostOptions, Kind, Line, Log, Stream, StreamOptions, Target, paths, scratch, until};

use self::hands::Hands;
use self::screen::Screen;
use crate::step::step;
use crate::{guests, setup};

const DEADLINE: Duration = Duration::from_secs(60);
const GUARD: &str = "default/label-guard";
const REPLICATOR: &str = "default/configmap-replicator";
const EXAMPLES: [&str; 2] = ["label-guard", "configmap-replicator"];

const SOURCE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: team-a
  labels: {owner: team-a, wharf.dev/replicate: 'true'}
  annotations: {wharf.dev/replicate-to: 'team-b,team-c'}
data: {colour: blue}
";

const NOTES: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: team-a}
data: {text: hello}
";

/// Shows the main job on an API server of this kind; with `keep` everything stays until Ctrl-C.
///
/// # Errors
/// If something does not come as it should.
pub(crate) fn run(root: &Path, kind: Kind, keep: bool) -> Result<()> {
    let start = Instant::now();
    match kind {
        Kind::Real => setup::all(root)?,
        Kind::Embedded => {
            setup::host(root)?;
            step("build the two plugins", || guests::build_named(root, &EXAMPLES))?;
        }
    }
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // Whatever ends it, the servers and the host are stopped on the way out.
    runtime.block_on(async {
        tokio::select! {
            done = Box::pin(play(root, kind, keep, start)) => done,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted.context("wait for Ctrl-C")?;
                println!("\nStopped.");
                Ok(())
            }
        }
    })
}

struct Demo {
    host: Host,
    cluster: Arc<Cluster>,
    hands: Hands,
    screen: Screen,
    plugins: PathBuf,
    // Last: it goes after those who write in it.
    home: TempDir,
}

async fn play(root: &Path, kind: Kind, keep: bool, start: Instant) -> Result<()> {
    let mut demo = Demo::start(root, kind).await?;
    demo.events().await?;
    let balance = demo.swap(root).await?;
    println!("\n==> summary");
    println!("    {}", demo.screen.summary());
    println!("    {balance}");
    println!("    {} s in all, with set-up", start.elapsed().as_secs());
    if keep {
        demo.stay().await?;
    }
    let code = demo.host.terminate(DEADLINE).await?;
    ensure!(code == Some(0), "the host ended with {code:?}\n{}", demo.host.log().tail());
    println!("    the host drained and ended with exit code 0");
    Ok(())
}

impl Demo {
    async fn start(root: &Path, kind: Kind) -> Result<Self> {
        println!("==> start {}", if kind == Kind::Real { "etcd and kube-apiserver" } else { "wharf apiserver" });
        let cluster = Arc::new(Cluster::start_as(kind).await?);
        let hands = Hands::new(&cluster);
        println!("    ready on {}", cluster.address());
        let home = scratch("demo")?;
        let plugins = home.path().join("plugins");
        let data = home.path().join("data");
        for folder in [&plugins, &data] {
            fs::create_dir(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        for name in ["team-a", "team-b", "team-c"] {
            cluster.api().apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await?;
        }
        for name in EXAMPLES {
            let folder = root.join("plugins").join(name);
            let rbac = folder.join("rbac.yaml");
            hands.apply_silently(&fs::read_to_string(&rbac).with_context(|| format!("read {}", rbac.display()))?).await?;
            let (document, component) = (folder.join("plugin.yaml"), paths::guest(name)?);
            fs::copy(&component, plugins.join(format!("{name}.wasm"))).with_context(|| format!("copy {}", component.display()))?;
            fs::copy(&document, plugins.join(format!("{name}.yaml"))).with_context(|| format!("copy {}", document.display()))?;
        }
        println!("==> wharf run --plugins-dir {}", plugins.display());
        let options = HostOptions { plugins: plugins.clone(), kubeconfig: cluster.kubeconfig(), data, args: Vec::new() };
        let host = Host::start(options)?;
        let screen = Screen::follow(host.log().clone());
        host.ready().await?;
        for plugin in [GUARD, REPLICATOR] {
            serving(host.log(), plugin, 0).await?;
        }
        Ok(Self { host, cluster, hands, screen, plugins, home })
    }

    /// Objects are made, and what the plugins write is shown.
    async fn events(&self) -> Result<()> {
        println!("\n==> a ConfigMap without the label `owner`: label-guard reports it");
        let mark = self.host.log().len();
        self.hands.apply(&NOTES.replace("NAME", "notes")).await?;
        self.handled(GUARD, "notes", mark).await?;
        self.event("notes").await?;

        println!("\n==> a ConfigMap to replicate: configmap-replicator writes two copies");
        let mark = self.host.log().len();
        self.hands.apply(SOURCE).await?;
        self.handled(REPLICATOR, "settings", mark).await?;
        self.hands.get("configmaps --all-namespaces --selector wharf.dev/replica-of").await?;

        println!("\n==> it is deleted: the copies go as well");
        let mark = self.host.log().len();
        self.hands.delete("settings").await?;
        self.handled(REPLICATOR, "settings", mark).await?;
        let copy = Target::config_map("team-b", "settings");
        until("the copy is gone", DEADLINE, async || Ok(self.cluster.api().get(&copy).await?.is_none().then_some(()))).await?;
        self.hands.get("configmaps --all-namespaces --selector wharf.dev/replica-of").await
    }

    /// The plugin's source changes while its objects do.
    async fn swap(&mut self, root: &Path) -> Result<String> {
        println!("\n==> a stream of 20 changes a second, and meanwhile label-guard's source is changed and rebuilt");
        let manifest = json!({"metadata": {"labels": {"owner": "team-c"}}});
        let options = StreamOptions {
            namespace: "team-c".to_owned(),
            objects: 10,
            per_second: 20,
            // label-guard does not ask for deletes.
            delete_every: 0,
            manifest: manifest.as_object().cloned().unwrap_or_default(),
        };
        let mut stream = Stream::start(Arc::clone(&self.cluster), options);
        stream.more(20).await?;
        let component = change::rebuild(root).await?;
        let (mark, saved) = (self.host.log().len(), Instant::now());
        let staged = self.home.path().join("label-guard.wasm");
        fs::copy(&component, &staged).with_context(|| format!("copy {}", component.display()))?;
        fs::rename(&staged, self.plugins.join("label-guard.wasm")).context("publish the new component")?;
        println!("    saved as {}", self.plugins.join("label-guard.wasm").display());
        let revision = serving(self.host.log(), GUARD, mark).await?.text("revision");
        let took = saved.elapsed();
        stream.more(60).await?;
        let books = stream.finish().await?;

        println!("\n==> the next event is handled by revision {revision}");
        let mark = self.host.log().len();
        self.hands.apply(&NOTES.replace("NAME", "more-notes")).await?;
        let call = self.handled(GUARD, "more-notes", mark).await?;
        ensure!(call.is("revision", &revision), "it was handled by revision {}", call.text("revision"));
        self.event("more-notes").await?;

        // more-notes came after all of the stream and was handled; give the rest its turn.
        let plugin = GUARD.to_owned();
        until("label-guard is at rest", DEADLINE, async || {
            let queues = self.host.get("queues").await?;
            let row = queues.as_array().into_iter().flatten().find(|row| row.get("plugin") == Some(&json!(plugin)));
            let zero = |field: &str| row.and_then(|row| row.get(field)) == Some(&json!(0));
            Ok((zero("ready") && zero("processing")).then_some(()))
        })
        .await?;
        let problems = books.problems(&self.host.calls(GUARD));
        if !problems.is_empty() {
            bail!("{} writes during the swap:\n  {}", books.writes, problems.join("\n  "));
        }
        Ok(format!(
            "{} writes while {GUARD} was swapped: 0 lost, 0 doubled; {} ms from the saved file to the new revision in service",
            books.writes,
            took.as_millis()
        ))
    }

    async fn stay(&self) -> Result<()> {
        println!("\nEverything stays. In another terminal:\n");
        println!("  export KUBECONFIG={}", self.cluster.kubeconfig().display());
        let wharf = paths::wharf()?;
        println!("  export PATH={}:{}:$PATH", paths::cluster_tools().display(), wharf.parent().unwrap_or(Path::new("")).display());
        println!("  kubectl create configmap mine --namespace team-a");
        println!("  wharf get plugins --data-dir {}", self.home.path().join("data").display());
        println!("\nThe plugins are in {}; replace a file and see. Ctrl-C ends it all.", self.plugins.display());
        // Ctrl-C drops this future, and with it all that it holds.
        std::future::pending().await
    }

    /// Shows the Event about a ConfigMap of team-a, as soon as it is there.
    async fn event(&self, name: &str) -> Result<()> {
        let about = |event: &serde_json::Value| event.pointer("/involvedObject/name") == Some(&json!(name));
        until("the Event", DEADLINE, async || Ok(self.cluster.api().list("v1", "Event", "team-a").await?.iter().any(about).then_some(())))
            .await?;
        self.hands.get(&format!("events --namespace team-a --field-selector involvedObject.name={name}")).await
    }

    /// Waits until a plugin has handled an object of team-a with success.
    async fn handled(&self, plugin: &str, name: &str, mark: usize) -> Result<Arc<Line>> {
        let handled = |line: &Line| {
            line.is("message", "guest call finished") && line.is("plugin", plugin) && line.is("name", name) && line.is("outcome", "done")
        };
        self.host.log().wait_for(&format!("{plugin} handles {name}"), mark, DEADLINE, handled).await
    }
}

async fn serving(log: &Log, plugin: &str, mark: usize) -> Result<Arc<Line>> {
    let serving = |line: &Line| line.is("message", "plugin revision serving") && line.is("plugin", plugin);
    log.wait_for(&format!("{plugin} serves"), mark, DEADLINE, serving).await
}
