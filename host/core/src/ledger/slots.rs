//! What is settled: the keys whose plugin was told, with success, of the very state that the
//! store holds. Owns the form in which that is kept, a few bytes in the slot that the store
//! gave the object. Never holds a key or a state: whoever asks has both from the store.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;

use crate::diff::State;

/// Where a store keeps an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    /// Which store, by a number that the caller chooses: a plugin may read from several.
    pub array: u32,
    /// Which place. No two objects of a store have the same one at a time. Memory goes by the
    /// highest, so a store hands out the smallest that is free.
    pub index: u32,
}

/// What is left of an entry when there is nothing to say but that its plugin was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    revision: NonZeroU32,
    print: u32,
}

impl Settled {
    /// Of a state that `revision` was told of. `None` for a number that does not fit: such an
    /// entry stays as it is.
    pub(super) fn new(revision: u64, state: &impl State) -> Option<Self> {
        let revision = u32::try_from(revision).ok().and_then(NonZeroU32::new)?;
        Some(Self { revision, print: print(state) })
    }

    /// Revision of the last success.
    pub(super) fn revision(self) -> u64 {
        u64::from(self.revision.get())
    }

    /// Is this the state that the plugin was told? One other state in four billion passes for
    /// it; that counts only where the ledger was not told of a change.
    pub(super) fn is(self, state: &impl State) -> bool {
        self.print == print(state)
    }
}

/// 32 bits of uid and resourceVersion.
fn print(state: &impl State) -> u32 {
    let mut hasher = DefaultHasher::new();
    state.uid().hash(&mut hasher);
    state.resource_version().hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// The settled ones of all stores.
#[derive(Debug, Default)]
pub(super) struct Slots {
    arrays: BTreeMap<u32, Array>,
    len: usize,
}

impl Slots {
    /// Number of settled keys.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes, allocated ones that are free included. Linear in the blocks of 64 keys.
    pub(super) fn bytes(&self) -> usize {
        let blocks = self.arrays.values().flat_map(|array| &array.blocks);
        blocks.map(|block| size_of::<Block>() + block.values.capacity() * size_of::<Settled>()).sum()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<Settled> {
        let (block, at) = place(slot.index);
        self.arrays.get(&slot.array)?.blocks.get(block)?.get(at)
    }

    pub(super) fn put(&mut self, slot: Slot, settled: Settled) {
        let (block, at) = place(slot.index);
        let blocks = &mut self.arrays.entry(slot.array).or_default().blocks;
        if blocks.len() <= block {
            blocks.resize_with(block.saturating_add(1), Block::default);
        }
        if let Some(block) = blocks.get_mut(block)
            && block.put(at, settled)
        {
            self.len = self.len.saturating_add(1);
        }
    }

    pub(super) fn take(&mut self, slot: Slot) -> Option<Settled> {
        let (block, at) = place(slot.index);
        let taken = self.arrays.get_mut(&slot.array)?.blocks.get_mut(block)?.take(at)?;
        self.len = self.len.saturating_sub(1);
        Some(taken)
    }

    /// Gives an array's memory back if nothing is in it. Returns how many are.
    pub(super) fn leave(&mut self, array: u32) -> usize {
        let left = self.arrays.get(&array).map_or(0, |array| array.blocks.iter().map(|block| block.values.len()).sum());
        if left == 0 {
            self.arrays.remove(&array);
        }
        left
    }
}

/// The settled ones of one store, by blocks of 64 slots. A slot without one costs half a byte:
/// a plugin that wants few objects of a large store pays for few.
#[derive(Debug, Default)]
struct Array {
    blocks: Vec<Block>,
}

#[derive(Debug, Default)]
struct Block {
    /// Which of the 64 slots have a value.
    taken: u64,
    /// Their values, in order.
    values: Vec<Settled>,
}

/// Free places that a block keeps, so that a key that comes and goes costs no allocation.
const SPARE: usize = 8;

impl Block {
    /// Where the value of a slot is, or would be.
    fn rank(&self, bit: u64) -> usize {
        (self.taken & bit.wrapping_sub(1)).count_ones() as usize
    }

    fn get(&self, bit: u64) -> Option<Settled> {
        if self.taken & bit == 0 { None } else { self.values.get(self.rank(bit)).copied() }
    }

    /// False if it replaced another.
    fn put(&mut self, bit: u64, settled: Settled) -> bool {
        let at = self.rank(bit);
        if self.taken & bit != 0 {
            self.values.get_mut(at).into_iter().for_each(|old| *old = settled);
            return false;
        }
        if self.values.len() == self.values.capacity() {
            self.values.reserve_exact(SPARE);
        }
        self.values.insert(at, settled);
        self.taken |= bit;
        true
    }

    fn take(&mut self, bit: u64) -> Option<Settled> {
        let taken = self.get(bit)?;
        self.values.remove(self.rank(bit));
        self.taken &= !bit;
        if self.values.is_empty() || self.values.capacity() >= self.values.len().saturating_add(2 * SPARE) {
            self.values.shrink_to_fit();
        }
        Some(taken)
    }
}

/// Block, and the slot's bit in it.
fn place(index: u32) -> (usize, u64) {
    ((index / u64::BITS) as usize, 1 << (index % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone)]
    struct Obj(&'static str, &'static str);

    impl State for Obj {
        fn uid(&self) -> &str {
            self.0
        }
        fn resource_version(&self) -> &str {
            self.1
        }
    }

    fn settled(revision: u32) -> Settled {
        Settled::new(u64::from(revision), &Obj("u", "1")).unwrap()
    }

    #[test]
    fn a_settled_key_costs_eight_bytes() {
        assert_eq!((size_of::<Settled>(), size_of::<Option<Settled>>(), size_of::<Block>()), (8, 8, 32));
    }

    #[test]
    fn it_knows_its_state_and_its_revision() {
        let told = settled(7);
        assert_eq!(told.revision(), 7);
        assert!(told.is(&Obj("u", "1")));
        // Uid and version are told apart, wherever one ends.
        assert!(!told.is(&Obj("u", "2")) && !told.is(&Obj("v", "1")) && !told.is(&Obj("u1", "")) && !told.is(&Obj("", "u1")));
    }

    #[test]
    fn a_revision_that_does_not_fit_is_not_kept_so() {
        for revision in [0, u64::from(u32::MAX) + 1, u64::MAX] {
            assert_eq!(Settled::new(revision, &Obj("u", "1")), None);
        }
        assert!(Settled::new(u64::from(u32::MAX), &Obj("u", "1")).is_some());
    }

    #[test]
    fn an_array_is_left_only_when_it_is_empty() {
        let mut slots = Slots::default();
        slots.put(Slot { array: 3, index: 100 }, settled(1));
        assert_eq!((slots.leave(3), slots.leave(4), slots.arrays.len()), (1, 0, 1));
        assert!(slots.take(Slot { array: 3, index: 100 }).is_some());
        assert_eq!((slots.leave(3), slots.arrays.len(), slots.len()), (0, 0, 0));
    }

    #[test]
    fn memory_goes_back_when_slots_become_free() {
        let mut slots = Slots::default();
        let all = (0..64).map(|index| Slot { array: 0, index });
        all.clone().for_each(|slot| slots.put(slot, settled(1)));
        all.clone().skip(1).for_each(|slot| assert!(slots.take(slot).is_some()));
        assert!(slots.arrays[&0].blocks[0].values.capacity() < 3 * SPARE);
        assert!(slots.take(Slot { array: 0, index: 0 }).is_some());
        assert_eq!(slots.arrays[&0].blocks[0].values.capacity(), 0);
    }

    proptest! {
        /// The arrays agree with a plain map over random histories.
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u8..3, 0u32..3, 0u32..200, 1u32..1000), 0..300)) {
            let (mut slots, mut model) = (Slots::default(), BTreeMap::new());
            for (action, array, index, revision) in steps {
                let slot = Slot { array, index };
                if action == 0 {
                    prop_assert_eq!(slots.take(slot), model.remove(&slot));
                } else {
                    slots.put(slot, settled(revision));
                    model.insert(slot, settled(revision));
                }
                prop_assert_eq!(slots.get(slot), model.get(&slot).copied());
                prop_assert_eq!(slots.len(), model.len());
            }
            for slot in (0..3).flat_map(|array| (0..256).map(move |index| Slot { array, index })) {
                prop_assert_eq!(slots.get(slot), model.get(&slot).copied());
            }
        }
    }
}
