//! `wharf_rollout_*`: how long the steps from a document to a revision that has proved itself take.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::OfStep;
use super::series::Series;
use super::{Metrics, buckets};

#[derive(Debug)]
pub(super) struct RolloutMetrics {
    steps: Series<OfStep, Histogram>,
}

impl RolloutMetrics {
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        let help = "Time of a step on the way of a revision, by step";
        Self { steps: Series::register(r, x, "wharf_rollout_step_duration_seconds", help, buckets::rollout) }
    }
}

impl Metrics {
    /// Counts one compilation.
    pub fn compiled(&self, took: Duration) {
        self.compile_duration.observe(took.as_secs_f64());
    }

    /// Counts a step that has ended.
    pub fn rollout_step(&self, step: &'static str, took: Duration) {
        self.rollout.steps.get(&OfStep { step }).observe(took.as_secs_f64());
    }
}
