//! The registry of all metrics. Owns the families, and which plugins have series.
//! Names, labels and buckets that client-go and controller-runtime have are theirs; the others
//! start with `wharf_`. Counting is done by `telemetry::events` and the adapters only.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

mod buckets;
mod checkpoint;
mod guest;
mod informer;
mod labels;
mod lease;
mod process;
mod pulled;
mod queue;
mod reconcile;
mod request;
mod rollout;
mod series;
mod status;

#[cfg(test)]
pub(super) mod golden;

use checkpoint::CheckpointMetrics;
use guest::GuestMetrics;
pub(super) use guest::{CallCount, CallResult, LogVerdict};
pub(super) use labels::kind_label;
use lease::LeaseMetrics;
pub use process::ProcessUsage;
pub use pulled::{CheckpointSample, InformerSample, LogSample, PluginSample, QueueSample, Snapshot};
use pulled::{Pulled, Source};
pub use queue::QueueCounters;
use request::RequestMetrics;
use rollout::RolloutMetrics;
use status::StatusMetrics;

/// Of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of a host.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    guest: GuestMetrics,
    queue: queue::QueueMetrics,
    informer: informer::InformerMetrics,
    request: RequestMetrics,
    compile_duration: Histogram,
    checkpoint: CheckpointMetrics,
    rollout: RolloutMetrics,
    lease: LeaseMetrics,
    status: StatusMetrics,
    pulled: Pulled,
}

impl Metrics {
    /// As [`Self::with_log_lines`], with the default of `ceilings.logLinesPerSecond`.
    pub fn new() -> Arc<Self> {
        Self::with_log_lines(500)
    }

    /// A registry with all families and no plugin; the guests of each may log so many lines in a second.
    pub fn with_log_lines(log_lines_per_second: u32) -> Arc<Self> {
        let (mut registry, refused) = (Registry::default(), Counter::default());
        let queue = queue::QueueMetrics::new(&mut registry, &refused);
        let guest = GuestMetrics::new(&mut registry, &refused, log_lines_per_second);
        let informer = informer::InformerMetrics::new(&mut registry, &refused);
        let (request, rollout) = (RequestMetrics::new(&mut registry, &refused), RolloutMetrics::new(&mut registry, &refused));
        let (lease, status) = (LeaseMetrics::new(&mut registry, &refused), StatusMetrics::new(&mut registry, &refused));
        let compile_duration = buckets::compile();
        registry.register("wharf_compile_duration_seconds", "Time to compile a component that no cache held", compile_duration.clone());
        registry.register("wharf_metric_series_refused", "Series not exposed because their family was full", refused);
        let (checkpoint, pulled) = (CheckpointMetrics::new(&mut registry), Pulled::new(&mut registry));
        process::register(&mut registry);
        Arc::new(Self { registry, guest, queue, informer, request, compile_duration, checkpoint, rollout, lease, status, pulled })
    }

    /// The exposition in OpenMetrics text format. Asks all sources of [`Metrics::on_scrape`].
    ///
    /// # Errors
    /// Never in practice.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut out = String::with_capacity(64 << 10);
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }

    /// Adds a source of numbers that others own, asked at each scrape. It must be quick, and should
    /// hold what it asks weakly: the registry lives as long as the host.
    pub fn on_scrape(&self, source: impl Fn(&mut Snapshot) + Send + Sync + 'static) {
        self.pulled.add(Source::new(source));
    }
}
