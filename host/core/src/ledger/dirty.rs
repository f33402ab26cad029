//! Which keys changed since somebody last wrote the ledger down. Owns the set and the one
//! wake-up for its first key; never what is written (that is `persist`) nor when.

use std::collections::HashSet;
use std::hash::Hash;
use std::task::Waker;

use crate::diff::State;

use super::Ledger;

/// Nothing, unless somebody keeps a checkpoint. At most one entry per key of the ledger, and one
/// for each that left it since the last look.
#[derive(Debug)]
pub(super) struct Dirty<K> {
    keys: HashSet<K>,
    wake: Option<Waker>,
}

impl<K: Clone + Eq + Hash> Dirty<K> {
    pub(super) fn new() -> Self {
        Self { keys: HashSet::new(), wake: None }
    }

    /// What is to be remembered of a key changed.
    pub(super) fn note(&mut self, key: &K) {
        let Some(wake) = &self.wake else { return };
        if self.keys.is_empty() {
            wake.wake_by_ref();
        }
        if !self.keys.contains(key) {
            self.keys.insert(key.clone());
        }
    }

    pub(super) fn note_all<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>)
    where
        K: 'a,
    {
        keys.into_iter().for_each(|key| self.note(key));
    }
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// From now on notes which keys change, and wakes `wake` for the first one after each
    /// [`Self::take_dirty`]. Costs a look into a set for each step of a key, and that set's memory.
    pub fn track(&mut self, wake: Waker) {
        self.dirty.wake = Some(wake);
    }

    /// Has the key's [`Self::record`] changed since the last time?
    pub fn is_dirty(&self, key: &K) -> bool {
        self.dirty.keys.contains(key)
    }

    /// The keys whose [`Self::record`] changed since the last time.
    pub fn take_dirty(&mut self) -> HashSet<K> {
        std::mem::take(&mut self.dirty.keys)
    }

    /// Notes keys whose record is to be looked at once more.
    pub fn note_dirty<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>)
    where
        K: 'a,
    {
        self.dirty.note_all(keys);
    }
}
