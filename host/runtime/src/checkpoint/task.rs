//! When checkpoints are written: all plugins' changes together, shortly after the first of them.
//! Owns the task, what it does when the disk fails, and how long something is kept of plugins that
//! are in no source any more.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard, Notify};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wharf_core::TargetKey;

use super::header::Header;
use super::store::{Batch, Body, Saved, Store, StoreError, Usage};
use crate::clock::Clock;
use crate::telemetry::events::{CheckpointFailed, CheckpointFull};
use crate::telemetry::metrics::Metrics;

/// From the first change to the commit that takes it, and all that came since. With the commit
/// itself this is less than the 100 ms that are promised, unless the disk is slow.
const GATHER: Duration = Duration::from_millis(50);

/// Last states that one commit may take, as JSON: compressing them costs more than all the rest, and
/// a state that is a little older is as good.
const BODIES: usize = 256 << 10;
/// The last commit, which nobody waits for but the process that ends.
const LAST_BODIES: usize = 64 << 20;

/// Last words of sources that are kept while the disk fails. Of the oldest of more the store keeps
/// what it had before: a host that begins with it tells some of it again.
const RETIRED: usize = 1024;

/// After a failure: this long, doubled each time, up to half a minute.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// What is kept of a plugin that is in no source, so that a folder which is empty for a while
/// costs nothing.
const KEEP_ABSENT: Duration = Duration::from_secs(24 * 3600);
/// How often that is looked at.
const SWEEP: Duration = Duration::from_secs(600);

/// Something whose changes are written: a plugin's dispatcher.
pub trait Source: Send + Sync {
    /// What changed since the last time, if anything, with last states of at most about so many
    /// bytes, which are taken off; others come the next time. Must not wait.
    fn collect(&self, bodies: &mut usize) -> Option<Batch>;

    /// A batch was not written: its keys have changed still.
    fn give_back(&self, batch: &Batch);
}

/// The checkpoints of all plugins.
pub struct Checkpoint {
    store: Arc<dyn Store>,
    clock: Clock,
    metrics: Arc<Metrics>,
    signal: Arc<Signal>,
    inner: Mutex<Inner>,
    /// One commit at a time, and none while something is read that it would change.
    turn: AsyncMutex<()>,
}

#[derive(Default)]
struct Inner {
    sources: Vec<Weak<dyn Source>>,
    /// Last words of sources that have ended.
    retired: Vec<Batch>,
    /// The plugins that there are, once the sources of plugins were read.
    present: Option<BTreeSet<String>>,
    usage: Usage,
    failing: bool,
}

/// Wakes the task.
struct Signal(Notify);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl Checkpoint {
    /// Checkpoints in a store. Nothing is written before [`Self::run`].
    pub fn new(store: Arc<dyn Store>, clock: Clock, metrics: Arc<Metrics>) -> Arc<Self> {
        let signal = Arc::new(Signal(Notify::new()));
        Arc::new(Self { store, clock, metrics, signal, inner: Mutex::default(), turn: AsyncMutex::new(()) })
    }

    /// What wakes the task, for a ledger.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.signal))
    }

    /// From now on writes a source's changes, until it is dropped.
    pub fn add(&self, source: Weak<dyn Source>) {
        self.inner.lock().sources.push(source);
    }

    /// Takes what is left of a source that ends, when no commit is under way. None begins before
    /// what is returned is dropped.
    ///
    /// Cancel safe in that nothing is taken then.
    pub async fn retire(&self, source: &dyn Source) -> MutexGuard<'_, ()> {
        let turn = self.turn.lock().await;
        // While nothing can be written, versions have to do: they are small.
        let last = source.collect(&mut if self.failing() { 0 } else { LAST_BODIES });
        {
            let mut inner = self.inner.lock();
            inner.retired.extend(last);
            let surplus = inner.retired.len().saturating_sub(RETIRED);
            inner.retired.drain(..surplus);
        }
        self.signal.0.notify_one();
        turn
    }

    /// The sources of plugins were read: these are all that there are, so what is kept of others
    /// may go one day.
    pub fn present(&self, plugins: BTreeSet<String>) {
        self.inner.lock().present = Some(plugins);
    }

    /// How much is kept.
    pub fn usage(&self) -> Usage {
        self.inner.lock().usage
    }

    /// Did the last write fail?
    pub fn failing(&self) -> bool {
        self.inner.lock().failing
    }

    /// What is kept of a plugin, after everything that is known of it was written.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn load(self: &Arc<Self>, plugin: &str) -> Result<Option<Saved>, StoreError> {
        // By itself, because a commit that is left halfway forgets what it has collected. Whether
        // it works shows when the store is read.
        let commit = tokio::spawn({
            let checkpoint = Arc::clone(self);
            async move { checkpoint.commit().await }
        });
        let _written = commit.await;
        let plugin = plugin.to_owned();
        self.reading(move |store| store.load(&plugin)).await
    }

    /// Last states of some keys, where they were kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn bodies(self: &Arc<Self>, plugin: &str, keys: Vec<TargetKey>) -> Result<HashMap<TargetKey, Body>, StoreError> {
        let plugin = plugin.to_owned();
        self.reading(move |store| store.bodies(&plugin, &keys)).await
    }

    /// Writes until stopped; then the caller ends with [`Self::commit`].
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut pause, mut retry, mut swept) = (GATHER, FIRST_RETRY, Instant::now());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.signal.0.notified() => {}
                () = tokio::time::sleep_until(swept + SWEEP) => {
                    swept = Instant::now();
                    self.sweep().await;
                    continue;
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(pause) => {}
            }
            let started = Instant::now();
            if self.commit().await {
                // A slow disk is left alone for as long as it has worked, and once more.
                (pause, retry) = (GATHER.max(2 * started.elapsed()), FIRST_RETRY);
            } else {
                (pause, retry) = (retry, (2 * retry).min(LAST_RETRY));
                self.signal.0.notify_one();
            }
        }
    }

    /// Writes what changed. False if that failed: then it is all still to be written. Not cancel
    /// safe.
    pub async fn commit(self: &Arc<Self>) -> bool {
        let _turn = self.turn.lock().await;
        let (sources, retired) = {
            let mut inner = self.inner.lock();
            inner.sources.retain(|source| source.strong_count() > 0);
            // Each in its turn comes first.
            let turn = usize::from(inner.sources.len() > 1);
            inner.sources.rotate_left(turn);
            (inner.sources.clone(), std::mem::take(&mut inner.retired))
        };
        // What a reader of the log sees before this line is in this commit.
        tracing::debug!(target: "wharf::checkpoint", "checkpoint begun");
        // Many keys at once take their time, which is nobody else's.
        let collecting = tokio::task::spawn_blocking(move || collect(&sources));
        // It does not panic, and nobody aborts it.
        let collected = collecting.await.unwrap_or_default();
        if retired.is_empty() && collected.is_empty() {
            return true;
        }
        let ended = retired.len();
        let (owners, fresh): (Vec<_>, Vec<_>) = collected.into_iter().unzip();
        let batches: Arc<Vec<Batch>> = Arc::new(retired.into_iter().chain(fresh).collect());
        let (written, now) = (Arc::clone(&batches), self.clock.now());
        let started = Instant::now();
        match self.blocking(move |store| store.commit(&written, now)).await {
            Ok(usage) => {
                let took = started.elapsed();
                self.metrics.checkpointed(took);
                self.good(usage);
                let duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                tracing::debug!(target: "wharf::checkpoint", keys = usage.keys, duration_us, "checkpoint written");
                true
            }
            Err(error) => {
                let mut rest = batches.iter();
                self.inner.lock().retired.extend(rest.by_ref().take(ended).cloned());
                for (source, batch) in owners.iter().zip(rest) {
                    source.give_back(batch);
                }
                self.bad(&error);
                false
            }
        }
    }

    /// Forgets plugins that have been away for long.
    async fn sweep(self: &Arc<Self>) {
        let Some(present) = self.inner.lock().present.clone() else { return };
        let now = self.clock.now();
        match self.reading(move |store| sweep(store, &present, now)).await {
            Ok(Some(usage)) => self.good(usage),
            Ok(None) => {}
            Err(error) => self.bad(&error),
        }
    }

    fn good(&self, usage: Usage) {
        let before = {
            let mut inner = self.inner.lock();
            inner.failing = false;
            std::mem::replace(&mut inner.usage, usage)
        };
        if usage.left_out > 0 && before.left_out == 0 {
            CheckpointFull { keys: usage.keys, bytes: usage.bytes }.emit();
        }
    }

    fn bad(&self, error: &StoreError) {
        let first = !std::mem::replace(&mut self.inner.lock().failing, true);
        CheckpointFailed { error: &error.0, first }.emit(&self.metrics);
    }

    /// Asks the store when nothing is being written.
    async fn reading<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _turn = self.turn.lock().await;
        self.blocking(ask).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.store);
        let asked = tokio::task::spawn_blocking(move || ask(&*store)).await;
        asked.unwrap_or_else(|error| Err(StoreError(format!("the store broke off: {error}"))))
    }
}

/// What changed of all sources, each with its owner.
fn collect(sources: &[Weak<dyn Source>]) -> Vec<(Arc<dyn Source>, Batch)> {
    let mut bodies = BODIES;
    let owned = sources.iter().filter_map(Weak::upgrade);
    owned.filter_map(|source| source.collect(&mut bodies).map(|batch| (source, batch))).collect()
}

fn sweep(store: &dyn Store, present: &BTreeSet<String>, now: Duration) -> Result<Option<Usage>, StoreError> {
    let (mut batches, mut usage) = (Vec::new(), None);
    for (plugin, header) in store.plugins()? {
        let absent_since = match (present.contains(&plugin), header.absent_since) {
            (true, None) => continue,
            (true, Some(_)) => None,
            (false, None) => Some(now),
            (false, Some(since)) if now.saturating_sub(since) > KEEP_ABSENT => {
                usage = Some(store.forget(&plugin)?);
                continue;
            }
            (false, Some(_)) => continue,
        };
        batches.push(Batch { plugin: plugin.into(), header: Some(Header { absent_since, ..header }), changes: Vec::new() });
    }
    Ok(if batches.is_empty() { usage } else { Some(store.commit(&batches, now)?) })
}

#[cfg(test)]
mod tests;
