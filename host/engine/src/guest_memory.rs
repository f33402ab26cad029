//! The memory that the guests of all plugins may have together. Owns the account and who may take from it: one tenant never
//! all of it. Instances that idle are given up before anybody is refused. Never looks at what one instance may have; that is
//! the limiter's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::idle::IdleInstances;

/// The account of an engine.
pub(crate) struct GuestMemory {
    limit: u64,
    total: AtomicU64,
    /// What each tenant has; those without plugins leave with the next one that comes.
    tenants: Mutex<HashMap<Arc<str>, Weak<AtomicU64>>>,
    /// Its instances hold shares.
    idle: Weak<IdleInstances>,
}

/// What a tenant's instances take from and give back to.
#[derive(Clone)]
pub(crate) struct Share {
    memory: Arc<GuestMemory>,
    tenant: Arc<str>,
    held: Arc<AtomicU64>,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").field("tenant", &self.tenant).field("held", &self.held).finish_non_exhaustive()
    }
}

impl GuestMemory {
    /// With so many bytes; `None` is as many as they like.
    pub(crate) fn new(limit: Option<u64>, idle: &Arc<IdleInstances>) -> Arc<Self> {
        let (tenants, idle) = (Mutex::default(), Arc::downgrade(idle));
        Arc::new(Self { limit: limit.unwrap_or(u64::MAX), total: AtomicU64::new(0), tenants, idle })
    }

    /// What all have now.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The share of a tenant.
    pub(crate) fn share(self: &Arc<Self>, tenant: &str) -> Share {
        let mut tenants = self.tenants.lock();
        tenants.retain(|_, held| held.strong_count() > 0);
        let held = tenants.get(tenant).and_then(Weak::upgrade).unwrap_or_default();
        let tenant: Arc<str> = tenant.into();
        tenants.insert(Arc::clone(&tenant), Arc::downgrade(&held));
        Share { memory: Arc::clone(self), tenant, held }
    }
}

impl Share {
    /// The most that one tenant may have: eight ninths, as of instances. What is left is for those who have nothing.
    pub(crate) fn most(&self) -> u64 {
        self.memory.limit - self.memory.limit / 9
    }

    /// Takes so many bytes, or none if there are not so many.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        while !grow(&self.held, bytes, self.most()) {
            if !self.memory.idle.upgrade().is_some_and(|idle| idle.evict_of(&self.tenant)) {
                return false;
            }
        }
        while !grow(&self.memory.total, bytes, self.memory.limit) {
            if !self.memory.idle.upgrade().is_some_and(|idle| idle.evict()) {
                self.held.fetch_sub(bytes, Ordering::Relaxed);
                return false;
            }
        }
        true
    }

    /// Gives bytes back that were taken.
    pub(crate) fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.total.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What all guests may have, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.memory.limit
    }
}

fn grow(sum: &AtomicU64, bytes: u64, most: u64) -> bool {
    let grown = |had: u64| had.checked_add(bytes).filter(|sum| *sum <= most);
    sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_never_has_all_and_what_is_refused_is_not_counted() {
        let idle = Arc::default();
        let memory = GuestMemory::new(Some(900), &idle);
        let (one, same, other) = (memory.share("a"), memory.share("a"), memory.share("b"));
        assert!(one.take(500) && same.take(300) && !one.take(1));
        assert!(other.take(100) && !other.take(1));
        assert_eq!(memory.total(), 900);
        same.give(300);
        assert!(other.take(300) && !one.take(1));
        drop((one, same));
        // What instances of a plugin that is gone still have counts for all.
        assert!(memory.share("c").take(0) && !memory.share("c").take(1));
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let memory = GuestMemory::new(None, &Arc::default());
        let share = memory.share("a");
        assert!(share.take(1 << 50) && memory.total() == 1 << 50);
    }
}
