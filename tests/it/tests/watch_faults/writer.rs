//! Random writes straight at the API server, with no proxy in between. Owns what is written
//! and the books of it; what the handlers make of it is none of its business.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use wharf_testkit::{Cluster, Target};

use crate::model::Books;

const OBJECTS: u32 = 12;
/// Between two writes. A run is to have hundreds, not to be about speed.
const PACE: Duration = Duration::from_millis(40);
/// So long the API server may be away.
const AWAY: Duration = Duration::from_secs(90);
/// The label by which the narrower registration selects, and its value there.
pub(crate) const SIDE: (&str, &str) = ("side", "left");

/// A running writer.
pub(crate) struct Writer {
    stop: watch::Sender<bool>,
    written: watch::Receiver<u64>,
    task: Option<JoinHandle<Result<Written>>>,
}

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) books: Books,
    pub(crate) writes: u64,
    /// Writes whose answer was lost: they may have happened or not.
    pub(crate) unsure: u64,
}

impl Writer {
    /// Makes the namespace and a few objects, then goes on in the background.
    ///
    /// # Errors
    /// If the namespace cannot be made.
    pub(crate) async fn start(cluster: &Arc<Cluster>, namespace: &str, seed: u64) -> Result<Self> {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.api().apply(&manifest).await.context("make the run's namespace")?;
        let stop = watch::Sender::new(false);
        let (count, written) = watch::channel(0);
        let random = StdRng::seed_from_u64(seed);
        let mut pen = Pen { cluster: Arc::clone(cluster), namespace: namespace.to_owned(), random, written: Written::default() };
        for index in 0..OBJECTS / 2 {
            pen.put(index).await?;
        }
        let task = Some(tokio::spawn(pen.write(stop.subscribe(), count)));
        Ok(Self { stop, written, task })
    }

    /// Waits until so many more writes were made.
    ///
    /// # Errors
    /// If the writer has failed or is too slow.
    pub(crate) async fn more(&self, writes: u64) -> Result<()> {
        let mut written = self.written.clone();
        let end = *written.borrow() + writes;
        timeout(AWAY, written.wait_for(|written| *written >= end)).await.context("the writer is too slow")?.context("the writer failed")?;
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// That of the write that failed.
    pub(crate) async fn stop(&mut self) -> Result<Written> {
        self.stop.send_replace(true);
        self.task.take().context("the writer was stopped before")?.await.context("the writer broke off")?
    }
}

impl Drop for Writer {
    /// The run has failed.
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

struct Pen {
    cluster: Arc<Cluster>,
    namespace: String,
    random: StdRng,
    written: Written,
}

impl Pen {
    async fn write(mut self, stop: watch::Receiver<bool>, count: watch::Sender<u64>) -> Result<Written> {
        const MOST: u64 = 100_000;
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut answered = Instant::now();
        while !*stop.borrow() {
            pace.tick().await;
            ensure!(self.written.writes < MOST, "the writer was never stopped");
            match self.step().await {
                Ok(()) => answered = Instant::now(),
                // Away or about to go: whether the write has happened nobody says.
                Err(error) if answered.elapsed() > AWAY => return Err(error.context("no write has succeeded for long")),
                Err(_) => self.written.unsure += 1,
            }
            count.send_replace(self.written.writes);
        }
        Ok(self.written)
    }

    async fn step(&mut self) -> Result<()> {
        let index = self.random.random_range(0..OBJECTS);
        match self.random.random_range(0..10) {
            0..=6 => self.put(index).await,
            7..=8 => self.delete(index).await,
            _ => {
                self.delete(index).await?;
                self.put(index).await
            }
        }
    }

    /// Creates or changes an object.
    async fn put(&mut self, index: u32) -> Result<()> {
        self.written.writes += 1;
        let value = self.written.writes.to_string();
        let side = if self.random.random_bool(0.5) { SIDE.1 } else { "right" };
        // Some are so large that a connection is often cut inside one event.
        let size = if self.random.random_bool(0.2) { self.random.random_range(1..40_000) } else { 10 };
        let manifest = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": self.namespace, "name": name(index), "labels": {SIDE.0: side}},
            "data": {"value": value, "fill": "x".repeat(size)},
        });
        let answer = self.cluster.api().apply(&manifest).await?;
        let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned).context("the answer is no object");
        let state = (text("/metadata/uid")?, text("/metadata/resourceVersion")?);
        self.written.books.insert(state, format!("\"{value}\""));
        Ok(())
    }

    async fn delete(&mut self, index: u32) -> Result<()> {
        self.written.writes += 1;
        self.cluster.api().delete(&Target::config_map(&self.namespace, &name(index))).await?;
        Ok(())
    }
}

fn name(index: u32) -> String {
    format!("object-{index}")
}
