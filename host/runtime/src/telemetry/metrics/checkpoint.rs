//! `wharf_checkpoint_*`: how often what plugins were told is written down, how long that takes,
//! and whether it works. Sizes are pulled at each scrape (`pulled.rs`).

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{Metrics, buckets};

#[derive(Debug)]
pub(super) struct CheckpointMetrics {
    commit_duration: Histogram,
    failures: Counter,
    set_aside: Counter,
}

impl CheckpointMetrics {
    #[rustfmt::skip]
    pub(super) fn new(r: &mut Registry) -> Self {
        let (commit_duration, failures, set_aside) = (buckets::commit(), Counter::default(), Counter::default());
        r.register("wharf_checkpoint_commit_duration_seconds", "Time to write down what plugins were told", commit_duration.clone());
        r.register("wharf_checkpoint_failures", "Times that this could not be written or read", failures.clone());
        r.register("wharf_checkpoint_set_aside", "Files that could not be read and were renamed", set_aside.clone());
        Self { commit_duration, failures, set_aside }
    }
}

impl Metrics {
    /// Counts one commit.
    pub fn checkpointed(&self, took: Duration) {
        self.checkpoint.commit_duration.observe(took.as_secs_f64());
    }

    /// Counts one that failed.
    pub fn checkpoint_failed(&self) {
        self.checkpoint.failures.inc();
    }

    /// Counts a file that was set aside.
    pub fn checkpoint_set_aside(&self) {
        self.checkpoint.set_aside.inc();
    }
}
