//! What a queue tells about itself. Owns the words, which are those behind client-go's
//! `workqueue_*` metrics; never a registry, a name or a label.
//!
//! Counts and durations are pushed when they happen ([`QueueMetrics`]). Gauges change
//! with the clock even while nothing happens, so they are pulled when somebody looks
//! ([`Stats`]); nothing ticks.

use std::sync::Arc;
use std::time::Duration;

/// Hears what happens in one queue; each method does nothing by default.
///
/// Calls come from the threads that use the queue, never under its lock. They must not
/// block.
pub trait QueueMetrics: Send + Sync + 'static {
    /// New entries: `workqueue_adds_total`. An add that collapses into an entry counts
    /// no more; a delayed key counts when it becomes ready.
    fn added(&self, _entries: u64) {}

    /// A delayed or rate-limited add was asked for: `workqueue_retries_total`.
    fn retried(&self) {}

    /// A key was handed out this long after it became ready:
    /// `workqueue_queue_duration_seconds`.
    fn handed_out(&self, _queued: Duration) {}

    /// The work on a key took this long: `workqueue_work_duration_seconds`.
    fn worked(&self, _took: Duration) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl QueueMetrics for NoMetrics {}

impl<M: QueueMetrics + ?Sized> QueueMetrics for Arc<M> {
    fn added(&self, entries: u64) {
        (**self).added(entries);
    }

    fn retried(&self) {
        (**self).retried();
    }

    fn handed_out(&self, queued: Duration) {
        (**self).handed_out(queued);
    }

    fn worked(&self, took: Duration) {
        (**self).worked(took);
    }
}

/// A queue at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys that could be handed out now: `workqueue_depth`. A key in work that was added
    /// again is not among them.
    pub depth: usize,
    /// Those of them with a priority below 0, so that a depth can be told by two classes
    /// whatever priorities there are.
    pub low: usize,
    /// Keys that wait for their time.
    pub waiting: usize,
    /// Keys in work.
    pub processing: usize,
    /// Keys with failures that are not forgotten.
    pub failing: usize,
    /// The age of all work in progress, summed: `workqueue_unfinished_work_seconds`.
    pub unfinished: Duration,
    /// The age of the oldest work in progress:
    /// `workqueue_longest_running_processor_seconds`.
    pub longest_running: Duration,
    /// Nothing is handed out until `resume`.
    pub paused: bool,
    /// The queue was shut down.
    pub shut_down: bool,
}
