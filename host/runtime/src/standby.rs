//! What a host does when it leads, and what must be over when it leads no more. Owns the order:
//! the lease, the checkpoint, then the plugins; and back. Never asks the server itself (`lease`), and
//! calls no plugin (`plugins`).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wharf_core::TargetKey;

use crate::app::HostFailure;
use crate::checkpoint::{Batch, Body, Checkpoint, FileStore, Header, OpenError, Saved, Store, StoreError, Usage};
use crate::clock::Clock;
use crate::config::Settings;
use crate::connect::instance_name;
use crate::lease::{ApiLeases, Candidate, Elector, Phase, Tenure};
use crate::ports::api::Api;
use crate::telemetry::events::{CheckpointFailed, CheckpointSetAside, CheckpointTakenOver};
use crate::telemetry::metrics::Metrics;

/// A file that is open still although the lease of its host has run out: that host is about to end,
/// or frozen.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often is looked whether it is free.
const LOOK: Duration = Duration::from_millis(50);

/// The candidate that a host is, if it takes part in an election, and what others know it by.
pub(crate) fn candidate(settings: &Settings, api: &Api, home: &str, clock: Clock, metrics: &Arc<Metrics>) -> (Option<Elector>, Tenure) {
    let election = &settings.election;
    if !election.enabled {
        return (None, Tenure::always());
    }
    let namespace = election.namespace.clone().unwrap_or_else(|| home.to_owned());
    let leases = Arc::new(ApiLeases::new(api.clone(), &namespace, &election.name));
    let candidate = Candidate {
        identity: format!("{}_{:016x}", instance_name(), rand::random::<u64>()).into(),
        namespace,
        name: election.name.clone(),
        labels: [("app.kubernetes.io/name".to_owned(), "wharf".to_owned())].into(),
        timing: election.timing,
        release: election.release,
    };
    let (elector, tenure) = Elector::new(candidate, leases, clock, Arc::clone(metrics));
    (Some(elector), tenure)
}

/// What plugins were told, in a file that is open as long as this host leads.
pub(crate) struct Books {
    pub(crate) checkpoint: Arc<Checkpoint>,
    file: Arc<FileStore>,
    folder: PathBuf,
    tenure: Tenure,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
    /// Nobody writes into the file any more.
    ended: CancellationToken,
}

impl Books {
    /// Not opened yet; `None` if nothing is to be kept.
    pub(crate) fn new(
        settings: &Settings,
        clock: Clock,
        metrics: &Arc<Metrics>,
        tenure: &Tenure,
        stop: CancellationToken,
    ) -> Option<Arc<Self>> {
        let kept = &settings.checkpoint;
        let file = Arc::new(FileStore::locked(&kept.directory.join("checkpoint.redb"), kept.max_bytes, kept.body_bytes));
        let guarded = Arc::new(Guarded { file: Arc::clone(&file), tenure: tenure.clone() });
        kept.enabled.then(|| {
            Arc::new(Self {
                checkpoint: Checkpoint::new(guarded, clock, Arc::clone(metrics)),
                file,
                folder: kept.directory.clone(),
                tenure: tenure.clone(),
                metrics: Arc::clone(metrics),
                stop,
                ended: CancellationToken::new(),
            })
        })
    }

    /// Opens the file, and writes into it from then on. If it cannot be used that is said, this start is a first start,
    /// and it is tried again with what there is to write.
    ///
    /// # Errors
    /// Another process has it open.
    pub(crate) async fn open(&self) -> anyhow::Result<()> {
        let file = Arc::clone(&self.file);
        self.opened(spawn_blocking(move || file.unlock()).await?)
    }

    /// The same for a new leader. A file that the one before has open still, although its lease has run out (`after`), is
    /// taken over.
    async fn open_after(&self, after: bool) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while self.tenure.may_deliver() {
            let late = Instant::now() >= end;
            match self.open().await {
                Err(error) if late && after => {
                    CheckpointTakenOver { folder: &self.folder, error: &error.to_string() }.emit();
                    let file = Arc::clone(&self.file);
                    return self.opened(spawn_blocking(move || file.take_over()).await?);
                }
                Err(_) if !late => sleep(LOOK).await,
                opened => return opened,
            }
        }
        Ok(())
    }

    fn opened(&self, opened: Result<Option<String>, OpenError>) -> anyhow::Result<()> {
        match opened {
            Ok(None) => {}
            Ok(Some(error)) => CheckpointSetAside { error: &error, directory: &self.folder }.emit(&self.metrics),
            Err(error @ OpenError::InUse(_)) => return Err(error.into()),
            // What cannot be opened now is opened by the first commit that can.
            Err(error) => CheckpointFailed { error: &error.to_string(), first: true }.emit(&self.metrics),
        }
        // However it ends.
        let (write, ended) = (Arc::clone(&self.checkpoint).run(self.stop.clone()), self.ended.clone().drop_guard());
        tokio::spawn(async move {
            write.await;
            drop(ended);
        });
        Ok(())
    }

    /// Writes what is left, as long as that is this host's to write, and closes the file.
    async fn close(&self) {
        self.stop.cancel();
        if self.tenure.owns() {
            tokio::select! {
                // A failure was told of; the last commit before it stands.
                _written = self.checkpoint.commit() => {}
                () = self.tenure.acts_over() => {}
            }
        }
        let file = Arc::clone(&self.file);
        // It does not panic.
        let _closed = spawn_blocking(move || file.lock()).await.is_ok();
    }
}

/// The parts of a host that begin and end with its leadership.
pub(crate) struct Standby {
    books: Option<Arc<Books>>,
    elector: Option<JoinHandle<()>>,
    stop: CancellationToken,
    /// Ends only with a failure.
    lead: JoinHandle<HostFailure>,
}

impl Standby {
    /// Runs for the lease, if there is an election.
    pub(crate) fn start(elector: Option<Elector>, tenure: Tenure, books: Option<Arc<Books>>) -> Self {
        let stop = CancellationToken::new();
        let lead = tokio::spawn(lead(tenure, books.clone()));
        let elector = elector.map(|elector| tokio::spawn(elector.run(stop.clone())));
        Self { books, elector, stop, lead }
    }

    /// Waits until this host can lead no more, or writes down no more what plugins were told. Cancel safe; not to be asked
    /// again then.
    pub(crate) async fn failed(&mut self) -> HostFailure {
        let unwritten = async {
            match &self.books {
                Some(books) => books.ended.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = &mut self.lead => ended.unwrap_or_else(|error| HostFailure::Defect(error.into())),
            () = unwritten => HostFailure::Defect(anyhow::anyhow!("what writes the checkpoint has ended")),
        }
    }

    /// After the last call has ended: writes what is left, then gives the lease back.
    pub(crate) async fn end(self) {
        self.lead.abort();
        if let Some(books) = &self.books {
            books.close().await;
        }
        self.stop.cancel();
        if let Some(elector) = self.elector {
            // It says itself what it could not do.
            let _ended = elector.await.is_ok();
        }
    }
}

/// From standing by to leading, once. Returns why this host can lead no more.
async fn lead(tenure: Tenure, books: Option<Arc<Books>>) -> HostFailure {
    let Some(mut leadership) = tenure.leadership() else { return std::future::pending().await };
    let phase = leadership.wait_for(|now| now.phase != Phase::Waiting).await.map(|now| now.phase.clone());
    if let Ok(Phase::Leading { after }) = phase {
        if let Some(books) = books
            && let Err(error) = books.open_after(after.is_some()).await
        {
            return HostFailure::InUse(error);
        }
        if tenure.may_deliver() {
            tenure.open();
        }
        // The sender lives in `tenure`: either way it is over.
        let _over = leadership.wait_for(|now| now.phase == Phase::Over).await.is_ok();
    }
    HostFailure::LeaseLost
}

/// The file, into which nothing is written when this host leads no more.
struct Guarded {
    file: Arc<FileStore>,
    tenure: Tenure,
}

impl Guarded {
    fn writable(&self) -> Result<&FileStore, StoreError> {
        let late = || StoreError("this host leads no more, another one may".to_owned());
        self.tenure.may_act().then_some(&*self.file).ok_or_else(late)
    }
}

impl Store for Guarded {
    fn load(&self, plugin: &str) -> Result<Option<Saved>, StoreError> {
        self.file.load(plugin)
    }

    fn bodies(&self, plugin: &str, keys: &[TargetKey]) -> Result<HashMap<TargetKey, Body>, StoreError> {
        self.file.bodies(plugin, keys)
    }

    fn commit(&self, batches: &[Batch], now: Duration) -> Result<Usage, StoreError> {
        self.writable()?.commit(batches, now)
    }

    fn plugins(&self) -> Result<Vec<(String, Header)>, StoreError> {
        self.file.plugins()
    }

    fn forget(&self, plugin: &str) -> Result<Usage, StoreError> {
        self.writable()?.forget(plugin)
    }
}
