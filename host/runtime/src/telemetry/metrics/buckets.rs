//! The histograms' bounds. Those of client-go and controller-runtime are theirs, so that
//! existing dashboards and alerts fit.

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// `workqueue_*_duration_seconds`: 10 ns to 1000 s.
pub(super) fn workqueue() -> Histogram {
    Histogram::new(exponential_buckets(1e-8, 10.0, 12))
}

/// `controller_runtime_reconcile_time_seconds`.
pub(super) fn reconcile() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0,
        3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
    ])
}

/// `rest_client_request_duration_seconds`.
pub(super) fn request() -> Histogram {
    Histogram::new([0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0])
}

/// Guest calls: 100 µs to 10 s, the default deadline.
pub(super) fn call() -> Histogram {
    Histogram::new([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

/// From a change to its call: 100 µs to 5 min.
pub(super) fn lag() -> Histogram {
    Histogram::new([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0])
}

/// Compile times: 10 ms to 60 s.
pub(super) fn compile() -> Histogram {
    Histogram::new([0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

/// Steps of a rollout: 100 µs to 1 h, the longest time to bake.
pub(super) fn rollout() -> Histogram {
    Histogram::new([0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 3600.0])
}

/// Commits of checkpoints: 500 µs to 10 s.
pub(super) fn commit() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

/// Memory of an instance: 64 KiB (one page) to 1 GiB.
pub(super) fn memory() -> Histogram {
    Histogram::new(exponential_buckets(65_536.0, 4.0, 8))
}
