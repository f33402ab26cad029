//! How far a plugin is on its way from a wish to a revision that has proved itself. Owns the steps
//! and their times, for status, log and metric; decides nothing.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::telemetry::metrics::Metrics;

/// A step, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The component's bytes are read.
    Read,
    /// They are compiled, or found in the cache.
    Compile,
    /// Imports are checked against grants.
    Check,
    /// The component is asked about its configuration, and what it wants.
    Probe,
    /// Kinds are looked up, and missing watches are started.
    Resolve,
    /// Its watches sync.
    Sync,
    /// It takes the place of the revision before.
    Swap,
    /// It is compared with the revision before.
    Bake,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 8] = [Self::Read, Self::Compile, Self::Check, Self::Probe, Self::Resolve, Self::Sync, Self::Swap, Self::Bake];

    /// The word in status, log and metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Compile => "compile",
            Self::Check => "check",
            Self::Probe => "probe",
            Self::Resolve => "resolve",
            Self::Sync => "sync",
            Self::Swap => "swap",
            Self::Bake => "bake",
        }
    }
}

/// The way of one plugin. Clones are handles to one.
#[derive(Clone)]
pub struct Progress {
    plugin: Arc<str>,
    metrics: Arc<Metrics>,
    at: Arc<Mutex<Option<(Step, Instant)>>>,
}

impl Progress {
    /// At no step.
    pub fn new(plugin: Arc<str>, metrics: Arc<Metrics>) -> Self {
        Self { plugin, metrics, at: Arc::default() }
    }

    /// A step begins, and with it the one before ends.
    pub fn begin(&self, step: Step) {
        self.turn(Some(step));
    }

    /// The way has ended, or was broken off.
    pub fn rest(&self) {
        self.turn(None);
    }

    /// The step under way, and for how long.
    pub fn now(&self) -> Option<(Step, Duration)> {
        self.at.lock().map(|(step, since)| (step, since.elapsed()))
    }

    fn turn(&self, next: Option<Step>) {
        let before = std::mem::replace(&mut *self.at.lock(), next.map(|step| (step, Instant::now())));
        if let Some((step, since)) = before {
            let took = since.elapsed();
            self.metrics.rollout_step(step.as_str(), took);
            let duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            tracing::debug!(target: "wharf::plugin", plugin = &*self.plugin, step = step.as_str(), duration_us, "rollout step ended");
        }
    }
}
