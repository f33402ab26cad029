//! Times from a writer to a handler. Owns the counters, by powers of two and 32 steps of each
//! (3 % wide); never allocates, so that measuring does not show in the memory that is measured.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

const STEPS: u64 = 32;
const BUCKETS: usize = 64 * STEPS as usize;

/// How many took how long, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Latencies([AtomicU64; BUCKETS]);

impl Default for Latencies {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }
}

impl Latencies {
    pub(crate) fn record(&self, nanoseconds: u64) {
        if let Some(bucket) = self.0.get(bucket(nanoseconds)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn reset(&self) {
        self.0.iter().for_each(|bucket| bucket.store(0, Ordering::Relaxed));
    }

    /// Number and quantiles, if there are any, in microseconds, as the peers in Go have them.
    pub(crate) fn summary(&self) -> Value {
        let counts: Vec<u64> = self.0.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return json!({"n": 0});
        }
        let quantile = |of: f64| {
            let mut left = (all as f64 * of).ceil() as u64;
            let at = counts.iter().position(|count| {
                left = left.saturating_sub(*count);
                left == 0
            });
            at.map_or(0.0, |at| middle(at as u64) / 1e3)
        };
        json!({"n": all, "p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99)})
    }
}

/// The power of two, and the five bits after the first.
fn bucket(nanoseconds: u64) -> usize {
    let value = nanoseconds.max(STEPS);
    let power = u64::from(value.ilog2());
    let step = (value >> (power - 5)) - STEPS;
    usize::try_from(power * STEPS + step).unwrap_or(usize::MAX)
}

fn middle(bucket: u64) -> f64 {
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    (power as f64).exp2() * (STEPS as f64 + step as f64 + 0.5) / STEPS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_step() {
        let latencies = Latencies::default();
        assert_eq!(latencies.summary(), json!({"n": 0}));
        (1..=1000).for_each(|n| latencies.record(n * 1000));
        let summary = latencies.summary();
        for (name, want) in [("p50", 500.0), ("p90", 900.0), ("p99", 990.0)] {
            let got = summary[name].as_f64().unwrap();
            assert!((got / want - 1.0).abs() < 0.04, "{name}: {got}");
        }
        latencies.reset();
        assert_eq!(latencies.summary()["n"], 0);
    }

    #[test]
    fn extremes_have_a_place() {
        assert!(bucket(0) < BUCKETS && bucket(u64::MAX) < BUCKETS);
    }
}
