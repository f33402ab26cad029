//! Where the objects of a store lie: a dense array of numbered slots. Owns the numbers;
//! never knows a name.

use std::collections::BTreeSet;
use std::sync::Arc;

use wharf_core::Object;

/// Least number of places by which the array grows.
const GROWTH: usize = 64;

/// Objects by slot. A slot is held for as long as its key is in the store; the smallest
/// free one is given out next, and the array ends after the last one that is held.
#[derive(Debug, Default)]
pub(super) struct Slots {
    entries: Vec<Option<Entry>>,
    /// The slots below the array's end that nobody holds.
    free: BTreeSet<u32>,
}

#[derive(Debug)]
struct Entry {
    object: Arc<Object>,
    /// The full list, or the time after it, in which the object was last seen.
    generation: u64,
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Arc<Object>> {
        self.entry(slot).map(|entry| &entry.object)
    }

    /// All objects with their slots, in the order of the slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<Object>)> {
        (0..).zip(&self.entries).filter_map(|(slot, entry)| entry.as_ref().map(|entry| (slot, &entry.object)))
    }

    pub(super) fn generation(&self, slot: u32) -> Option<u64> {
        self.entry(slot).map(|entry| entry.generation)
    }

    pub(super) fn set_generation(&mut self, slot: u32, generation: u64) {
        if let Some(Some(entry)) = self.entries.get_mut(slot as usize) {
            entry.generation = generation;
        }
    }

    /// Puts an object into the smallest free slot.
    pub(super) fn insert(&mut self, object: Arc<Object>, generation: u64) -> u32 {
        let entry = Some(Entry { object, generation });
        if let Some(slot) = self.free.pop_first()
            && let Some(place) = self.entries.get_mut(slot as usize)
        {
            *place = entry;
            return slot;
        }
        if self.entries.len() == self.entries.capacity() {
            // By an eighth instead of doubling: the array is long and its end mostly unused.
            self.entries.reserve_exact(GROWTH.max(self.entries.len() / 8));
        }
        self.entries.push(entry);
        // Memory for 2^32 objects does not exist.
        u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
    }

    /// Puts another object into a slot that is held; returns the one that was there.
    pub(super) fn replace(&mut self, slot: u32, object: Arc<Object>, generation: u64) -> Option<Arc<Object>> {
        let place = self.entries.get_mut(slot as usize)?;
        place.replace(Entry { object, generation }).map(|entry| entry.object)
    }

    /// Frees a slot.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Arc<Object>> {
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.free.insert(slot);
        while self.entries.last().is_some_and(Option::is_none) {
            self.entries.pop();
            self.free.pop_last();
        }
        if self.entries.capacity() > GROWTH && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.len() * 2);
        }
        Some(entry.object)
    }

    fn entry(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(slot as usize)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::object;
    use proptest::prelude::*;

    #[test]
    fn the_smallest_free_slot_is_given_out() {
        let mut slots = Slots::default();
        let put = |slots: &mut Slots, name| slots.insert(object("a", name, "1"), 1);
        assert_eq!([put(&mut slots, "0"), put(&mut slots, "1"), put(&mut slots, "2"), put(&mut slots, "3")], [0, 1, 2, 3]);
        slots.remove(2);
        slots.remove(0);
        assert_eq!([put(&mut slots, "x"), put(&mut slots, "y"), put(&mut slots, "z")], [0, 2, 4]);
    }

    #[test]
    fn an_emptied_array_gives_its_memory_back() {
        let mut slots = Slots::default();
        for number in 0..1000 {
            slots.insert(object("a", &number.to_string(), "1"), 1);
        }
        for slot in 0..1000 {
            slots.remove(slot);
        }
        assert_eq!((slots.len(), slots.entries.len(), slots.free.len()), (0, 0, 0));
        assert!(slots.entries.capacity() <= GROWTH, "{}", slots.entries.capacity());
    }

    proptest! {
        /// As many slots as objects; no number beyond the most objects there were at a time.
        #[test]
        fn numbers_stay_dense(steps in proptest::collection::vec((any::<bool>(), 0u32..12), 0..120)) {
            let (mut slots, mut held, mut most) = (Slots::default(), BTreeSet::new(), 0);
            for (put, slot) in steps {
                if put {
                    let smallest = (0..).find(|slot| !held.contains(slot)).unwrap();
                    prop_assert_eq!(slots.insert(object("a", "x", "1"), 1), smallest);
                    held.insert(smallest);
                } else {
                    prop_assert_eq!(slots.remove(slot).is_some(), held.remove(&slot));
                }
                most = most.max(held.len());
                prop_assert_eq!(slots.len(), held.len());
                prop_assert!(slots.entries.len() <= most);
                prop_assert_eq!(slots.iter().map(|(slot, _)| slot).collect::<BTreeSet<_>>(), held.clone());
            }
        }
    }
}
