//! Instances that wait for the next call of their revision. Owns who keeps one, for how long,
//! and who must give one up when somebody else needs its slot. Never runs a guest, and never
//! keeps an instance whose last call did not come back with an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
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
    /// The same by bench, and by tenant; no entry is empty.
    by_bench: HashMap<u64, VecDeque<u64>>,
    by_tenant: HashMap<Arc<str>, BTreeSet<u64>>,
    last: u64,
}

struct Idle {
    bench: u64,
    tenant: Arc<str>,
    since: Instant,
    instance: Instance,
}

impl State {
    /// Takes the instance out that has waited longest.
    fn pop_oldest(&mut self) -> Option<Instance> {
        let number = *self.all.first_key_value()?.0;
        self.remove(number)
    }

    /// Takes the oldest instance of the tenant out that has most of them: a tenant that has
    /// many costs nobody the one that is kept warm for another. Linear in the tenants.
    fn pop_of_richest(&mut self) -> Option<Instance> {
        let oldest = |numbers: &BTreeSet<u64>| numbers.first().copied();
        let richest = self.by_tenant.values().max_by_key(|numbers| (numbers.len(), Reverse(oldest(numbers))))?;
        let number = oldest(richest)?;
        self.remove(number)
    }

    /// Takes the oldest instance of this tenant out.
    fn pop_of(&mut self, tenant: &str) -> Option<Instance> {
        let number = *self.by_tenant.get(tenant)?.first()?;
        self.remove(number)
    }

    fn remove(&mut self, number: u64) -> Option<Instance> {
        let idle = self.all.remove(&number)?;
        if let Some(numbers) = self.by_bench.get_mut(&idle.bench) {
            numbers.retain(|n| *n != number);
            if numbers.is_empty() {
                self.by_bench.remove(&idle.bench);
            }
        }
        if let Some(numbers) = self.by_tenant.get_mut(&idle.tenant) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_tenant.remove(&idle.tenant);
            }
        }
        Some(idle.instance)
    }
}

impl IdleInstances {
    /// Throws away one instance, of the tenant that has most of them. False if there is none.
    pub(crate) fn evict(&self) -> bool {
        let evicted = self.state.lock().pop_of_richest();
        evicted.is_some()
    }

    /// Throws away one instance of this tenant. False if there is none.
    pub(crate) fn evict_of(&self, tenant: &str) -> bool {
        let evicted = self.state.lock().pop_of(tenant);
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
    tenant: Arc<str>,
    /// Dear to make, or wanted: they stay when the plugin has nothing to do.
    warm: bool,
    all: Arc<IdleInstances>,
}

impl Bench {
    pub(crate) fn new(all: &Arc<IdleInstances>, tenant: &str, warm: bool) -> Arc<Self> {
        let number = all.benches.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { number, tenant: tenant.into(), warm, all: Arc::clone(all) })
    }

    /// The instance that was used last: its memory is the warmest.
    pub(crate) fn take(&self) -> Option<Instance> {
        let mut state = self.all.state.lock();
        let last = *state.by_bench.get(&self.number)?.back()?;
        state.remove(last)
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
        let tenant = Arc::clone(&self.tenant);
        state.by_tenant.entry(Arc::clone(&tenant)).or_default().insert(number);
        state.all.insert(number, Idle { bench: self.number, tenant, since: Instant::now(), instance });
        state.by_bench.entry(self.number).or_default().push_back(number);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.state.lock().by_bench.get(&self.number).map_or(0, VecDeque::len)
    }

    /// What has idled for so long and is not to be kept warm is thrown away.
    pub(crate) fn rest(&self, since: Duration) {
        if !self.warm {
            self.clear(since);
        }
    }

    fn clear(&self, since: Duration) {
        let mut state = self.all.state.lock();
        let mut numbers = state.by_bench.get(&self.number).cloned().unwrap_or_default();
        numbers.retain(|number| state.all.get(number).is_some_and(|idle| idle.since.elapsed() >= since));
        let idle: Vec<_> = numbers.into_iter().filter_map(|number| state.remove(number)).collect();
        drop(state);
        drop(idle);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.clear(Duration::ZERO);
    }
}
