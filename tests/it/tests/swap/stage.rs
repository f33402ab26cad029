//! The host whose plugin is exchanged, and the folder that it reads. Owns how a revision is brought, and how one learns
//! what became of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;
use wharf_testkit::{Cluster, Host, HostOptions, Kind, Line, Log, paths, scratch};

use crate::candidate::{Candidate, JUNK, Outcome};
use crate::witness::Witness;

/// Everything that must come comes within this time, also on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
const NAMESPACE: &str = "swap";
const NAME: &str = "probe";
/// What the host says of revisions.
const NEWS: [&str; 3] = ["plugin revision serving", "plugin revision refused", "plugin revision withdrawn"];

/// A host with one plugin.
pub(crate) struct Stage {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) witness: Arc<Mutex<Witness>>,
    pub(crate) host: Host,
    news: mpsc::Receiver<Arc<Line>>,
    home: TempDir,
}

impl Stage {
    /// The first revision serves.
    ///
    /// # Errors
    /// If anything of that does not come.
    pub(crate) async fn new(kind: Kind) -> Result<Self> {
        let cluster = Arc::new(Cluster::start_as(kind).await?);
        cluster.api().apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).await?;
        let home = scratch("swap")?;
        let plugins = home.path().join("plugins");
        fs::create_dir(&plugins).context("make a folder")?;
        for guest in ["probe", "probe-v2"] {
            fs::copy(paths::guest(guest)?, plugins.join(format!("{guest}.wasm"))).with_context(|| format!("copy {guest}"))?;
        }
        fs::write(plugins.join(JUNK), "no component").context("write junk")?;
        let first = Candidate { number: 0, broken: None };
        put(&plugins, &first)?;
        // Each call is a line, which must not be dropped.
        let settings = home.path().join("host.yaml");
        let ceilings = json!({"logLinesPerSecond": 100_000});
        let configuration = json!({"apiVersion": "config.wharf.dev/v1alpha1", "kind": "HostConfiguration", "ceilings": ceilings});
        fs::write(&settings, configuration.to_string()).context("write the configuration")?;
        let args = vec!["--config".to_owned(), settings.display().to_string()];
        let host = Host::start(HostOptions { plugins, kubeconfig: cluster.kubeconfig(), data: home.path().join("data"), args })?;
        let witness = Arc::new(Mutex::new(Witness::new(&format!("{NAMESPACE}/{NAME}"))));
        let (tell, news) = mpsc::channel(1024);
        tokio::spawn(read(host.log().clone(), Arc::clone(&witness), tell));
        let mut stage = Self { cluster, witness, host, news, home };
        stage.becomes(first).await?;
        Ok(stage)
    }

    pub(crate) fn namespace(&self) -> &'static str {
        NAMESPACE
    }

    /// Brings a revision, and waits until the host has made of it what it must.
    ///
    /// # Errors
    /// If it makes something else of it.
    pub(crate) async fn bring(&mut self, candidate: Candidate) -> Result<()> {
        // What was said of the one before.
        while self.news.try_recv().is_ok() {}
        put(&self.home.path().join("plugins"), &candidate)?;
        self.becomes(candidate).await.with_context(|| format!("{candidate:?}"))
    }

    async fn becomes(&mut self, candidate: Candidate) -> Result<()> {
        let [serving, refused, withdrawn] = NEWS;
        match candidate.outcome() {
            Outcome::Serves => self.next(serving, "").await,
            Outcome::Refused(reason) => self.next(refused, reason).await,
            Outcome::Withdrawn => {
                self.next(serving, "").await?;
                self.next(withdrawn, "RolledBack").await?;
                self.next(refused, "RolledBack").await?;
                self.next(serving, "").await
            }
        }
    }

    async fn next(&mut self, message: &str, reason: &str) -> Result<()> {
        let Ok(line) = timeout(DEADLINE, self.news.recv()).await else { bail!("{message}: not within {DEADLINE:?}") };
        let line = line.with_context(|| format!("{message}: the host has ended"))?;
        ensure!(line.is("message", message) && line.is("reason", reason), "expected {message} {reason}: {:?}", line.fields());
        Ok(())
    }

    /// Is there nothing to do any more?
    ///
    /// # Errors
    /// If the host does not say.
    pub(crate) async fn quiet(&self) -> Result<bool> {
        let queues = self.host.get("queues").await?;
        let number = |field: &str| queues.get(0).and_then(|row| row.get(field)).and_then(Value::as_u64).unwrap_or(1);
        Ok(number("ready") + number("processing") == 0)
    }
}

/// Shows the witness everything, and tells what is said of revisions.
async fn read(log: Log, witness: Arc<Mutex<Witness>>, tell: mpsc::Sender<Arc<Line>>) {
    while let Some(lines) = log.take().await {
        for line in lines {
            witness.lock().see(&line);
            if NEWS.iter().any(|message| line.is("message", message)) && tell.send(line).await.is_err() {
                return;
            }
        }
    }
}

fn put(plugins: &Path, candidate: &Candidate) -> Result<()> {
    let fresh = plugins.join(".next");
    fs::write(&fresh, candidate.document(NAMESPACE, NAME).to_string()).context("write a document")?;
    fs::rename(&fresh, plugins.join("probe.yaml")).context("publish a document")
}
