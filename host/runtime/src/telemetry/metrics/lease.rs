//! `leader_election_*`: who leads, as client-go counts it. Without an election there is no series.

use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::labels::OfLease;
use super::series::Series;

#[derive(Debug)]
pub(super) struct LeaseMetrics {
    leads: Series<OfLease, Gauge>,
    slow_paths: Series<OfLease, Counter>,
}

impl LeaseMetrics {
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        let help = "1 if this host leads by the lease of this name, 0 if it stands by";
        let leads = Series::register(r, x, "leader_election_master_status", help, Gauge::default);
        let help = "Renewals of a lease that needed a look at it first";
        let slow_paths = Series::register(r, x, "leader_election_slowpath", help, Counter::default);
        Self { leads, slow_paths }
    }
}

impl Metrics {
    /// Notes whether this host leads.
    pub fn leads(&self, lease: &str, leads: bool) {
        let name: Arc<str> = lease.into();
        self.lease.leads.get(&OfLease { name: Arc::clone(&name) }).set(leads.into());
        // There from the start, so that rates can be taken.
        self.lease.slow_paths.get(&OfLease { name });
    }

    /// Counts a renewal that needed a look.
    pub fn lease_slow_path(&self, lease: &str) {
        self.lease.slow_paths.get(&OfLease { name: lease.into() }).inc();
    }
}
