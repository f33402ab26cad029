//! Instances that wait for the next call of their revision. Owns who keeps one, for how long,
//! and who must give one up when somebody else needs its slot. Never runs a guest, and never
//! keeps an instance whose last call did not come back with an answer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::instance::Instance;

/// All idle instances of an engine. One lock, taken twice in a call and never held while an
/// instance is dropped; bounded by the slots of the pool, since each instance holds some.
#[derive(Default)]
pub(crate) struct IdleInstances {
    state: Mutex<State>,
    /// The last bench that was made.
    benches: AtomicU64,
}

#[derive(Default)]
struct State {
    /// By the order in which they began to wait.
    all: BTreeMap<u64, Idle>,
    /// The same by bench; no entry is empty.
    by_bench: HashMap<u64, VecDeque<u64>>,
    last: u64,
}

struct Idle {
    bench: u64,
    since: Instant,
    instance: Instance,
}

impl State {
    /// Takes the instance out that has waited longest.
    fn pop_oldest(&mut self) -> Option<Instance> {
        let (number, idle) = self.all.pop_first()?;
        if let Some(numbers) = self.by_bench.get_mut(&idle.bench) {
            numbers.retain(|n| *n != number);
            if numbers.is_empty() {
                self.by_bench.remove(&idle.bench);
            }
        }
        Some(idle.instance)
    }
}

impl IdleInstances {
    /// Throws away the instance that has waited longest. False if there is none.
    pub(crate) fn evict(&self) -> bool {
        let evicted = self.state.lock().pop_oldest();
        evicted.is_some()
    }

    /// Throws away what has waited longer than `keep`.
    pub(crate) fn sweep(&self, keep: Duration) {
        let mut old = Vec::new();
        let mut state = self.state.lock();
        while state.all.first_key_value().is_some_and(|(_, idle)| idle.since.elapsed() >= keep) {
            old.extend(state.pop_oldest());
        }
        drop(state);
        drop(old);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.state.lock().all.len()).unwrap_or(u32::MAX)
    }
}

/// The idle instances of one revision; dropped with it, and they with it.
pub(crate) struct Bench {
    number: u64,
    /// Dear to make: they stay when the plugin has nothing to do.
    dear: bool,
    all: Arc<IdleInstances>,
}

impl Bench {
    pub(crate) fn new(all: &Arc<IdleInstances>, dear: bool) -> Arc<Self> {
        let number = all.benches.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { number, dear, all: Arc::clone(all) })
    }

    /// The instance that was used last: its memory is the warmest.
    pub(crate) fn take(&self) -> Option<Instance> {
        let mut state = self.all.state.lock();
        let numbers = state.by_bench.get_mut(&self.number)?;
        let last = numbers.pop_back();
        if numbers.is_empty() {
            state.by_bench.remove(&self.number);
        }
        state.all.remove(&last?).map(|idle| idle.instance)
    }

    /// Keeps an instance, unless `wanted` says, with the lock held, that somebody waits for its
    /// slot: whoever evicts after that has seen all that is kept.
    pub(crate) fn put(&self, instance: Instance, wanted: impl FnOnce() -> bool) {
        let mut state = self.all.state.lock();
        if wanted() {
            drop(state);
            drop(instance);
            return;
        }
        state.last = state.last.wrapping_add(1);
        let number = state.last;
        state.all.insert(number, Idle { bench: self.number, since: Instant::now(), instance });
        state.by_bench.entry(self.number).or_default().push_back(number);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.state.lock().by_bench.get(&self.number).map_or(0, VecDeque::len)
    }

    /// The plugin has nothing to do: what is cheap to make again is thrown away.
    pub(crate) fn rest(&self) {
        if !self.dear {
            self.clear();
        }
    }

    fn clear(&self) {
        let mut state = self.all.state.lock();
        let numbers = state.by_bench.remove(&self.number).unwrap_or_default();
        let idle: Vec<_> = numbers.iter().filter_map(|number| state.all.remove(number)).collect();
        drop(state);
        drop(idle);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.clear();
    }
}
