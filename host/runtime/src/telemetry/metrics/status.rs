//! `wharf_status_writes_total`: what came of writing the status of resources.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::labels::OfWrite;
use super::series::Series;

#[derive(Debug)]
pub(super) struct StatusMetrics {
    writes: Series<OfWrite, Counter>,
}

impl StatusMetrics {
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        let help = "Writes of the status of Plugin resources, by what became of them";
        Self { writes: Series::register(r, x, "wharf_status_writes", help, Counter::default) }
    }
}

impl Metrics {
    /// Counts a write: `ok`, `conflict`, `gone`, `forbidden` or `failed`.
    pub fn status_written(&self, result: &'static str) {
        self.status.writes.get(&OfWrite { result }).inc();
    }
}
