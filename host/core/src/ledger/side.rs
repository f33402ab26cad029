//! The entries that are not settled, by key. Owns their count, how many of them are parked or
//! failing, and giving memory back when many have gone; never what is in an entry.

use std::collections::HashMap;
use std::hash::Hash;

use crate::diff::State;

use super::entry::Entry;

#[derive(Debug)]
pub(super) struct Side<K, S> {
    entries: HashMap<K, Entry<S>>,
    parked: usize,
    failing: usize,
}

impl<K: Clone + Eq + Hash, S: State> Side<K, S> {
    pub(super) fn new() -> Self {
        Self { entries: HashMap::new(), parked: 0, failing: 0 }
    }

    /// So many are about to come.
    pub(super) fn reserve(&mut self, more: usize) {
        self.entries.reserve(more);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of the table, without what its entries point to.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity().saturating_mul(size_of::<(K, Entry<S>)>() + 1)
    }

    /// Number of entries that are parked.
    pub(super) fn parked(&self) -> usize {
        self.parked
    }

    /// Number of entries that are failing, as of the last call of each that ended.
    pub(super) fn failing(&self) -> usize {
        self.failing
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &Entry<S>)> {
        self.entries.iter()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.keys()
    }

    pub(super) fn get(&self, key: &K) -> Option<&Entry<S>> {
        self.entries.get(key)
    }

    /// For changes that neither park an entry nor free it; those are [`Self::update`]'s.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut Entry<S>> {
        self.entries.get_mut(key)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut Entry<S>)> {
        self.entries.iter_mut()
    }

    /// Changes one entry in any way.
    pub(super) fn update<T>(&mut self, key: &K, change: impl FnOnce(&mut Entry<S>) -> T) -> Option<T> {
        let entry = self.entries.get_mut(key)?;
        let before = (usize::from(entry.parked().is_some()), usize::from(entry.counted));
        let out = change(entry);
        entry.counted = entry.failing();
        self.parked = self.parked.saturating_add(usize::from(entry.parked().is_some())).saturating_sub(before.0);
        self.failing = self.failing.saturating_add(usize::from(entry.counted)).saturating_sub(before.1);
        Some(out)
    }

    /// Puts in an entry, in place of the one that may be there.
    pub(super) fn insert(&mut self, key: K, mut entry: Entry<S>) {
        entry.counted = entry.failing();
        self.parked = self.parked.saturating_add(usize::from(entry.parked().is_some()));
        self.failing = self.failing.saturating_add(usize::from(entry.counted));
        if let Some(old) = self.entries.insert(key, entry) {
            self.count_out(&old);
        }
    }

    /// The entry of a key, or a new one that is not parked.
    pub(super) fn get_or(&mut self, key: &K, new: impl FnOnce() -> Entry<S>) -> &mut Entry<S> {
        self.entries.entry(key.clone()).or_insert_with(new)
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<Entry<S>> {
        let old = self.entries.remove(key)?;
        self.count_out(&old);
        self.shrink();
        Some(old)
    }

    /// Drops the entries that are meant, and names them.
    pub(super) fn drop_if(&mut self, meant: impl Fn(&K, &Entry<S>) -> bool) -> Vec<K> {
        let mut dropped = Vec::new();
        let (mut parked, mut failing) = (self.parked, self.failing);
        self.entries.retain(|key, entry| {
            let goes = meant(key, entry);
            if goes {
                dropped.push(key.clone());
                parked = parked.saturating_sub(usize::from(entry.parked().is_some()));
                failing = failing.saturating_sub(usize::from(entry.counted));
            }
            !goes
        });
        (self.parked, self.failing) = (parked, failing);
        self.shrink();
        dropped
    }

    fn count_out(&mut self, entry: &Entry<S>) {
        self.parked = self.parked.saturating_sub(usize::from(entry.parked().is_some()));
        self.failing = self.failing.saturating_sub(usize::from(entry.counted));
    }

    /// A pass over everything makes the map large once; it must not stay so. The cost is that
    /// of the many removals before it.
    fn shrink(&mut self) {
        let (len, capacity) = (self.entries.len(), self.entries.capacity());
        if capacity > 64 && len < capacity / 8 {
            self.entries.shrink_to(len.saturating_mul(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Obj;

    impl State for Obj {
        fn uid(&self) -> &str {
            "u"
        }
        fn resource_version(&self) -> &str {
            "1"
        }
    }

    #[test]
    fn memory_goes_back_when_many_have_gone() {
        let mut side = Side::new();
        for key in 0..10_000 {
            side.insert(key, Entry::new(0, 1, Obj));
        }
        for key in 0..10_000 {
            assert!(side.remove(&key).is_some());
        }
        assert!(side.entries.capacity() < 128, "{}", side.entries.capacity());
        side.reserve(10_000);
        assert_eq!(side.drop_if(|_, _| true), [0; 0]);
        assert!(side.entries.capacity() < 128, "{}", side.entries.capacity());
    }
}
