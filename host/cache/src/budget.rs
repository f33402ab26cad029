//! The memory that all stores of a hub may take together. Owns the account: what each store has,
//! and what one that is being filled is expected to need. Never asks a server, never drops an
//! object, and costs nothing per event: it adds up only when a first list wants to begin.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use wharf_core::Object;

use crate::store::Store;

/// What an object costs beside its JSON: its place, its key, the indexes, and what the allocator
/// leaves free (docs/sizing.md).
pub(crate) const BESIDE: u64 = 900;

/// What an object takes in memory, in bytes.
pub(crate) fn cost(object: &Object) -> u64 {
    object.json().len() as u64 + BESIDE
}

/// The account of a hub.
pub(crate) struct Budget {
    limit: Option<u64>,
    /// As many as there are informers; those whose store is gone leave with the next question.
    held: Mutex<HashMap<u32, Held>>,
}

struct Held {
    store: Weak<Store>,
    /// Until it is filled for the first time.
    expected: u64,
}

/// There is not enough left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// Bytes of all stores, at most.
    pub(crate) limit: u64,
    /// What others do not have of it.
    pub(crate) free: u64,
}

impl Budget {
    /// `limit` in bytes; `None` for no limit.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, held: Mutex::default() }
    }

    /// The limit; without one nobody need ask.
    pub(crate) const fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// What the stores of others leave of the limit.
    pub(crate) fn free(&self, id: u32) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(others(&mut self.held.lock(), id)))
    }

    /// What all stores have, or are expected to need.
    pub(crate) fn used(&self) -> u64 {
        // No informer has the number 0.
        others(&mut self.held.lock(), 0)
    }

    /// Sets aside what a store is expected to need, in one step with the question whether that fits.
    ///
    /// # Errors
    /// When it does not fit. Nothing is set aside then.
    pub(crate) fn set_aside(&self, id: u32, store: &Arc<Store>, expected: u64) -> Result<(), Short> {
        let Some(limit) = self.limit else { return Ok(()) };
        let mut held = self.held.lock();
        let free = limit.saturating_sub(others(&mut held, id));
        if expected > free {
            return Err(Short { limit, free });
        }
        held.insert(id, Held { store: Arc::downgrade(store), expected });
        Ok(())
    }

    /// Counts a store with what it has, without a question.
    pub(crate) fn count(&self, id: u32, store: &Arc<Store>) {
        if self.limit.is_some() {
            self.held.lock().entry(id).or_insert_with(|| Held { store: Arc::downgrade(store), expected: 0 });
        }
    }

    /// The store has been filled, or will not be: from now on it counts with what it has.
    pub(crate) fn filled(&self, id: u32) {
        if let Some(held) = self.held.lock().get_mut(&id) {
            held.expected = 0;
        }
    }
}

/// What all but this one have, or are expected to need.
fn others(held: &mut HashMap<u32, Held>, id: u32) -> u64 {
    held.retain(|_, held| held.store.strong_count() > 0);
    let others = held.iter().filter(|(other, _)| **other != id);
    others.map(|(_, held)| held.store.upgrade().map_or(0, |store| store.bytes() + store.len() as u64 * BESIDE).max(held.expected)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_free_again_with_its_store() {
        let budget = Budget::new(Some(100));
        let (one, two) = (Arc::new(Store::default()), Arc::new(Store::default()));
        budget.set_aside(1, &one, 60).unwrap();
        assert_eq!(budget.set_aside(2, &two, 41), Err(Short { limit: 100, free: 40 }));
        budget.set_aside(2, &two, 40).unwrap();
        // Asking again replaces what was set aside before.
        budget.set_aside(1, &one, 50).unwrap();
        assert_eq!((budget.free(1), budget.free(2), budget.free(3)), (60, 50, 10));
        // In vain it changes nothing.
        budget.set_aside(1, &one, 61).unwrap_err();
        assert_eq!(budget.free(3), 10);
        // A filled store counts with what it has.
        budget.filled(1);
        assert_eq!(budget.free(3), 60);
        drop(two);
        assert_eq!(budget.free(3), 100);
        Budget::new(None).set_aside(1, &one, u64::MAX).unwrap();
    }
}
