//! Instances that wait for the next call of their revision. Owns who keeps one, for how long,
//! and who must give one up when somebody else needs its slot. Never runs a guest, and never
//! keeps an instance whose last call did not come back with an answer.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::instance::Instance;

/// All idle instances of an engine, by the revision that has them.
#[derive(Default)]
pub(crate) struct IdleInstances {
    /// Every bench with something on it, once, roughly by how long it has been so. At most one
    /// entry per revision that ever had an idle instance and is still in use.
    benches: Mutex<VecDeque<Weak<Bench>>>,
}

impl IdleInstances {
    /// Throws away one of the instances that have waited longest. False if there is none.
    pub(crate) fn evict(&self) -> bool {
        while let Some(bench) = self.pop() {
            let (evicted, more) = bench.remove_oldest();
            if more {
                self.list(&bench);
            }
            if evicted.is_some() {
                return true;
            }
        }
        false
    }

    /// Throws away what has waited longer than `keep`.
    pub(crate) fn sweep(&self, keep: Duration) {
        let benches: Vec<_> = self.benches.lock().iter().filter_map(Weak::upgrade).collect();
        for bench in benches {
            bench.remove_older(keep);
        }
    }

    /// How many there are. Costs a walk over the revisions that have some.
    pub(crate) fn count(&self) -> u32 {
        let benches: Vec<_> = self.benches.lock().iter().filter_map(Weak::upgrade).collect();
        benches.iter().map(|bench| u32::try_from(bench.len()).unwrap_or(u32::MAX)).sum()
    }

    fn pop(&self) -> Option<Arc<Bench>> {
        let mut benches = self.benches.lock();
        while let Some(bench) = benches.pop_front() {
            if let Some(bench) = bench.upgrade() {
                return Some(bench);
            }
        }
        None
    }

    fn list(&self, bench: &Arc<Bench>) {
        self.benches.lock().push_back(Arc::downgrade(bench));
    }
}

/// The idle instances of one revision; at most as many as it has calls at the same time.
pub(crate) struct Bench {
    /// Dear to make: it stays when the plugin has nothing to do.
    dear: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the time since which they wait.
    idle: VecDeque<(Instant, Instance)>,
    /// Nothing is kept any more.
    closed: bool,
    /// The engine knows that there is something.
    listed: bool,
}

impl Bench {
    pub(crate) fn new(dear: bool) -> Arc<Self> {
        Arc::new(Self { dear, state: Mutex::default() })
    }

    /// The instance that was used last: its memory is the warmest.
    pub(crate) fn take(&self) -> Option<Instance> {
        self.state.lock().idle.pop_back().map(|(_, instance)| instance)
    }

    /// Keeps an instance, unless the revision is gone.
    pub(crate) fn put(self: &Arc<Self>, instance: Instance, all: &IdleInstances) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            drop(instance);
            return;
        }
        state.idle.push_back((Instant::now(), instance));
        if !std::mem::replace(&mut state.listed, true) {
            drop(state);
            all.list(self);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().idle.len()
    }

    /// The plugin has nothing to do: what is cheap to make again is thrown away.
    pub(crate) fn rest(&self) {
        if !self.dear {
            let idle = std::mem::take(&mut self.state.lock().idle);
            drop(idle);
        }
    }

    /// The revision is gone: nothing is kept, also what is in use now.
    pub(crate) fn close(&self) {
        let idle = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        drop(idle);
    }

    /// Only for who has just taken it off the engine's list; says whether it belongs there.
    fn remove_oldest(&self) -> (Option<Instance>, bool) {
        let mut state = self.state.lock();
        let oldest = state.idle.pop_front().map(|(_, instance)| instance);
        state.listed = !state.idle.is_empty();
        (oldest, state.listed)
    }

    fn remove_older(&self, keep: Duration) {
        let mut old = Vec::new();
        let mut state = self.state.lock();
        while state.idle.front().is_some_and(|(since, _)| since.elapsed() >= keep) {
            old.extend(state.idle.pop_front());
        }
        drop(state);
        drop(old);
    }
}
