//! What handlers count between two reports. Owns the counters; never allocates, so that
//! counting does not show in the memory that is measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::latency::Latencies;

/// Numbers of calls by kind, and the times of the first and the last update.
#[derive(Debug, Default)]
pub struct Counts {
    adds: AtomicU64,
    updates: AtomicU64,
    deletes: AtomicU64,
    first_update: AtomicU64,
    last_update: AtomicU64,
    calls: AtomicU64,
    last_call: AtomicU64,
    handled: Latencies,
    /// Sum of what `updated` was given: the handler has to read something of the object.
    stamps: AtomicU64,
}

impl Counts {
    /// An object came into being.
    pub fn added(&self) {
        self.adds.fetch_add(1, Ordering::Relaxed);
    }

    /// An object changed; takes the writer's time stamp, see [`timestamp`].
    pub fn updated(&self, stamp: u64) {
        let now = now();
        self.updates.fetch_add(1, Ordering::Relaxed);
        self.stamps.fetch_add(stamp, Ordering::Relaxed);
        let _later = self.first_update.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        self.last_update.store(now, Ordering::Relaxed);
    }

    /// A handler was called and has ended, for the state of an object that was written at this
    /// time; 0 if that is not known.
    pub fn handled(&self, stamp: u64) {
        let now = now();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.last_call.store(now, Ordering::Relaxed);
        if stamp > 0 {
            self.handled.record(now.saturating_sub(stamp));
        }
    }

    /// An object went away.
    pub fn deleted(&self) {
        self.deletes.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins to count anew.
    pub(crate) fn reset(&self) {
        let counters = [&self.adds, &self.updates, &self.deletes, &self.first_update, &self.last_update, &self.calls, &self.last_call];
        counters.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
        self.handled.reset();
    }

    pub(crate) fn report(&self, out: &mut Map<String, Value>) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let updates = read(&self.updates);
        out.insert("adds".into(), json!(read(&self.adds)));
        out.insert("updates".into(), json!(updates));
        out.insert("deletes".into(), json!(read(&self.deletes)));
        out.insert("calls".into(), json!(read(&self.calls)));
        out.insert("handled_latency_us".into(), self.handled.summary());
        let first = read(&self.first_update);
        if first > 0 {
            let window = Duration::from_nanos(read(&self.last_update).saturating_sub(first)).as_secs_f64();
            out.insert("updates_window_s".into(), json!(window));
            out.insert("updates_per_s".into(), json!(if window > 0.0 { updates as f64 / window } else { 0.0 }));
            let window = Duration::from_nanos(read(&self.last_call).saturating_sub(first)).as_secs_f64();
            out.insert("calls_window_s".into(), json!(window));
        }
    }
}

/// The number in the annotation `bench/ts` of an object's JSON; 0 if it has none.
pub fn timestamp(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
