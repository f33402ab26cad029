//! `workqueue_*`: the counters and histograms of client-go's workqueue, told by the queue
//! crate through its own trait. The gauges are pulled at each scrape (`pulled.rs`).

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::OfQueue;
use super::series::Series;
use super::{Metrics, buckets};

#[derive(Debug)]
pub(super) struct QueueMetrics {
    adds: Series<OfQueue, Counter>,
    queue_duration: Series<OfQueue, Histogram>,
    work_duration: Series<OfQueue, Histogram>,
    retries: Series<OfQueue, Counter>,
}

/// What one workqueue counts. Clones share the numbers; a removed plugin's go on counting
/// unseen.
#[derive(Clone, Debug)]
pub struct QueueCounters {
    adds: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    retries: Counter,
}

impl wharf_queue::QueueMetrics for QueueCounters {
    fn added(&self, entries: u64) {
        self.adds.inc_by(entries);
    }

    fn retried(&self) {
        self.retries.inc();
    }

    fn handed_out(&self, queued: Duration) {
        self.queue_duration.observe(queued.as_secs_f64());
    }

    fn worked(&self, took: Duration) {
        self.work_duration.observe(took.as_secs_f64());
    }
}

impl QueueMetrics {
    #[rustfmt::skip]
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        Self {
            adds: Series::register(r, x, "workqueue_adds", "Keys added to the workqueue", Counter::default),
            queue_duration: Series::register(r, x, "workqueue_queue_duration_seconds", "Time that a key waits in the workqueue", buckets::workqueue),
            work_duration: Series::register(r, x, "workqueue_work_duration_seconds", "Time that work on a key takes", buckets::workqueue),
            retries: Series::register(r, x, "workqueue_retries", "Keys put back for later", Counter::default),
        }
    }

    pub(super) fn remove(&self, name: &str) {
        self.adds.remove_where(|l| *l.name == *name);
        self.queue_duration.remove_where(|l| *l.name == *name);
        self.work_duration.remove_where(|l| *l.name == *name);
        self.retries.remove_where(|l| *l.name == *name);
    }
}

impl Metrics {
    /// The counters of a plugin's workqueue, at zero. Makes the plugin's other series too.
    pub fn queue(&self, plugin: &str) -> QueueCounters {
        self.add_plugin(plugin);
        let name: Arc<str> = plugin.into();
        let labels = OfQueue { name: Arc::clone(&name), controller: name };
        QueueCounters {
            adds: self.queue.adds.get(&labels),
            queue_duration: self.queue.queue_duration.get(&labels),
            work_duration: self.queue.work_duration.get(&labels),
            retries: self.queue.retries.get(&labels),
        }
    }
}
