//! The stream of changes: ConfigMaps that are written, and sometimes deleted, at a steady rate. Owns the
//! pace and the books; knows nothing of hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use wharf_testkit::{Cluster, Target};

/// Requests at once.
const WRITERS: u64 = 8;
const OBJECTS: u64 = 1000;
/// Every so many changes is a delete.
const DELETES: u64 = 20;

/// What was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// Last uid and resourceVersion by name.
    pub(crate) live: BTreeMap<String, (String, String)>,
    /// Uids that were deleted.
    pub(crate) gone: BTreeSet<String>,
    pub(crate) writes: u64,
}

/// Changes that go on.
pub(crate) struct Stream {
    stop: watch::Sender<bool>,
    written: Arc<AtomicU64>,
    begun: Instant,
    writers: JoinSet<Result<Books>>,
}

impl Stream {
    /// Begins, with so many changes a second as far as the server takes them.
    pub(crate) fn start(cluster: &Arc<Cluster>, namespace: &str, rate: u64) -> Self {
        let (stop, written) = (watch::Sender::new(false), Arc::new(AtomicU64::new(0)));
        let mut writers = JoinSet::new();
        for number in 0..WRITERS {
            let writer = Writer { number, cluster: Arc::clone(cluster), namespace: namespace.to_owned(), books: Books::default() };
            writers.spawn(writer.write(rate, stop.subscribe(), Arc::clone(&written)));
        }
        Self { stop, written, begun: Instant::now(), writers }
    }

    /// How many changes were made, and in which time.
    pub(crate) fn written(&self) -> (u64, Duration) {
        (self.written.load(Ordering::Relaxed), self.begun.elapsed())
    }

    /// Waits for the end of a writer: until they are told to end none does but by an error. Cancel safe.
    pub(crate) async fn breaks(&mut self) -> Error {
        match self.writers.join_next().await {
            Some(Ok(Err(error))) => error.context("a writer ended"),
            Some(Err(error)) => Error::new(error).context("a writer broke off"),
            Some(Ok(Ok(_))) | None => anyhow!("a writer ended, and nobody told it to"),
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// That of the write that failed.
    pub(crate) async fn finish(mut self) -> Result<Books> {
        self.stop.send_replace(true);
        let mut all = Books::default();
        while let Some(books) = self.writers.join_next().await {
            let books = books.context("a writer broke off")??;
            all.live.extend(books.live);
            all.gone.extend(books.gone);
            all.writes += books.writes;
        }
        Ok(all)
    }
}

/// One of several, each with objects of its own.
struct Writer {
    number: u64,
    cluster: Arc<Cluster>,
    namespace: String,
    books: Books,
}

impl Writer {
    async fn write(mut self, rate: u64, stop: watch::Receiver<bool>, written: Arc<AtomicU64>) -> Result<Books> {
        let mut pace = interval(Duration::from_secs(WRITERS) / u32::try_from(rate).context("a rate")?.max(1));
        // A server that was slow for a moment is not asked for less afterwards.
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while !*stop.borrow() {
            pace.tick().await;
            self.change().await?;
            written.fetch_add(1, Ordering::Relaxed);
        }
        Ok(self.books)
    }

    async fn change(&mut self) -> Result<()> {
        let count = self.books.writes;
        let name = format!("object-{}-{}", self.number, count % (OBJECTS / WRITERS));
        self.books.writes += 1;
        let target = Target::config_map(&self.namespace, &name);
        let data = json!({"value": count.to_string()});
        let api = self.cluster.api();
        let answer = match self.books.live.get(&name) {
            Some(_) if count.is_multiple_of(DELETES) => {
                ensure!(api.delete(&target).await?, "somebody else deleted {name}");
                self.books.gone.extend(self.books.live.remove(&name).map(|(uid, _)| uid));
                return Ok(());
            }
            Some(_) => api.patch(&target, &json!({"data": data})).await?,
            None => {
                let metadata = json!({"namespace": self.namespace, "name": name});
                api.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})).await?
            }
        };
        let field = |pointer| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned).context("the answer is no object");
        self.books.live.insert(name, (field("/metadata/uid")?, field("/metadata/resourceVersion")?));
        Ok(())
    }
}
