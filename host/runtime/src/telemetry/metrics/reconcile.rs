//! `controller_runtime_*`: guest calls in the words of controller-runtime, so that its
//! dashboards and alerts fit. One plugin is one controller.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use wharf_core::Reason;

use super::buckets;
use super::guest::CallResult;
use super::labels::{OfController, OfReconcile};
use super::series::Series;

#[derive(Debug)]
pub(super) struct ReconcileMetrics {
    total: Series<OfReconcile, Counter>,
    errors: Series<OfController, Counter>,
    terminal: Series<OfController, Counter>,
    panics: Series<OfController, Counter>,
    timeouts: Series<OfController, Counter>,
    time: Series<OfController, Histogram>,
}

/// The handles of one plugin.
#[derive(Debug)]
pub(super) struct ReconcileCounters {
    success: Counter,
    error: Counter,
    requeue: Counter,
    requeue_after: Counter,
    errors: Counter,
    terminal: Counter,
    panics: Counter,
    timeouts: Counter,
    time: Histogram,
}

impl ReconcileMetrics {
    #[rustfmt::skip]
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        Self {
            total: Series::register(r, x, "controller_runtime_reconcile", "Guest calls per controller and result", Counter::default),
            errors: Series::register(r, x, "controller_runtime_reconcile_errors", "Guest calls that failed", Counter::default),
            terminal: Series::register(r, x, "controller_runtime_terminal_reconcile_errors", "Guest calls that failed for good", Counter::default),
            panics: Series::register(r, x, "controller_runtime_reconcile_panics", "Guest calls that trapped", Counter::default),
            timeouts: Series::register(r, x, "controller_runtime_reconcile_timeouts", "Guest calls that were over their deadline or processor time", Counter::default),
            time: Series::register(r, x, "controller_runtime_reconcile_time_seconds", "Time of a guest call", buckets::reconcile),
        }
    }

    pub(super) fn controller(&self, name: &Arc<str>) -> ReconcileCounters {
        let labels = OfController { controller: Arc::clone(name) };
        let result = |result| self.total.get(&OfReconcile { controller: Arc::clone(name), result });
        ReconcileCounters {
            success: result("success"),
            error: result("error"),
            requeue: result("requeue"),
            requeue_after: result("requeue_after"),
            errors: self.errors.get(&labels),
            terminal: self.terminal.get(&labels),
            panics: self.panics.get(&labels),
            timeouts: self.timeouts.get(&labels),
            time: self.time.get(&labels),
        }
    }

    pub(super) fn remove(&self, name: &str) {
        self.total.remove_where(|l| *l.controller == *name);
        for family in [&self.errors, &self.terminal, &self.panics, &self.timeouts] {
            family.remove_where(|l| *l.controller == *name);
        }
        self.time.remove_where(|l| *l.controller == *name);
    }
}

impl ReconcileCounters {
    pub(super) fn count(&self, result: CallResult, took: Duration) {
        self.time.observe(took.as_secs_f64());
        match result {
            CallResult::Done => self.success.inc(),
            CallResult::RequeueAfter => self.requeue_after.inc(),
            // The host is stopping: no failure of the plugin.
            CallResult::Strike(Reason::Cancelled) => self.requeue.inc(),
            CallResult::Retry => self.failed(),
            CallResult::Permanent => {
                self.terminal.inc();
                self.failed()
            }
            CallResult::Strike(reason) => {
                match reason {
                    Reason::Trap | Reason::StackOverflow => self.panics.inc(),
                    Reason::DeadlineExceeded | Reason::CpuExceeded => self.timeouts.inc(),
                    _ => 0,
                };
                self.failed()
            }
        };
    }

    fn failed(&self) -> u64 {
        self.errors.inc();
        self.error.inc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc5_timeouts_are_calls_that_were_over_their_time() {
        let mut registry = Registry::default();
        let metrics = ReconcileMetrics::new(&mut registry, &Counter::default());
        let counters = metrics.controller(&"team-a/guard".into());
        for (result, timeouts, panics, errors) in [
            (CallResult::Done, 0, 0, 0),
            (CallResult::RequeueAfter, 0, 0, 0),
            (CallResult::Retry, 0, 0, 1),
            (CallResult::Permanent, 0, 0, 1),
            (CallResult::Strike(Reason::Trap), 0, 1, 1),
            (CallResult::Strike(Reason::StackOverflow), 0, 1, 1),
            (CallResult::Strike(Reason::MemoryExceeded), 0, 0, 1),
            (CallResult::Strike(Reason::DeadlineExceeded), 1, 0, 1),
            (CallResult::Strike(Reason::CpuExceeded), 1, 0, 1),
            (CallResult::Strike(Reason::Cancelled), 0, 0, 0),
        ] {
            let now = || (counters.timeouts.get(), counters.panics.get(), counters.errors.get());
            let before = now();
            counters.count(result, Duration::from_millis(1));
            let after = now();
            assert_eq!((after.0 - before.0, after.1 - before.1, after.2 - before.2), (timeouts, panics, errors), "{result:?}");
        }
    }
}
