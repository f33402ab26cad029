//! The two forms of an entry. Owns the steps between them: a key is *settled* when all there is
//! to say of it is that its plugin was told, with success, of what the store holds (`slots`);
//! else it has an entry of its own (`side`). Never decides about calls.

use std::hash::Hash;

use crate::diff::State;

use super::Ledger;
use super::entry::Entry;
use super::slots::{Settled, Slot};

/// A key, and what its store holds there.
#[derive(Debug)]
pub struct Here<'a, K, S> {
    /// Which key.
    pub key: &'a K,
    /// Where the store keeps the key's object, or kept it until the change that is told.
    /// `None` if it has no place: then the key is never settled, which costs memory only.
    pub slot: Option<Slot>,
    /// The object now, whether or not it matches.
    pub now: Option<&'a S>,
}

impl<K, S> Clone for Here<'_, K, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, S> Copy for Here<'_, K, S> {}

impl<S: State> Entry<S> {
    /// The entry of a settled key. If `state` is not the one that was told, somebody failed to
    /// tell of a change: what the plugin knows is not known any more, so it is told anew, as
    /// after a call that was interrupted.
    pub(super) fn unpacked(serial: u64, settled: Settled, state: S) -> Self {
        let told = settled.is(&state);
        let entry = Self::new(serial, settled.revision(), state);
        if told { entry } else { entry.interrupted() }
    }
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// The plugin is about to leave a store: gives the settled keys of its array entries of
    /// their own, so that they can be judged by what another store holds; enqueue all keys
    /// afterwards. `stored` is what the store holds, with the states that were observed last.
    /// Those that it does not name in that state stay until they are observed; says how many.
    ///
    /// Costs one entry for each key until it is settled elsewhere.
    pub fn unpack(&mut self, array: u32, stored: impl IntoIterator<Item = (K, Slot, S)>) -> usize {
        for (key, slot, state) in stored.into_iter().filter(|(_, slot, _)| slot.array == array) {
            if let Some(settled) = self.told(slot, &state) {
                self.slots.take(slot);
                self.open(key, settled, state);
            }
        }
        self.slots.leave(array)
    }

    /// The store changed `here`, and the plugin is to hear of it later, after the changes before it:
    /// a settled key gets an entry of its own, because its old state is known only now. Hand each
    /// such change to [`Self::observe`], without a slot, when its turn has come.
    pub fn lag(&mut self, here: Here<'_, K, S>, old: Option<&S>) {
        if let Some((settled, state)) = self.disturb(here, old) {
            self.open(here.key.clone(), settled, state);
        }
    }

    /// A settled key changes from `old` to what is there now: the slot is free, and what was
    /// known of the key is returned. What was told already changes nothing.
    pub(super) fn disturb(&mut self, here: Here<'_, K, S>, old: Option<&S>) -> Option<(Settled, S)> {
        let slot = here.slot?;
        let told = |now: &S| old.is_none_or(|old| old.uid() == now.uid() && old.resource_version() == now.resource_version());
        let settled = self.slots.get(slot).filter(|settled| !here.now.is_some_and(|now| settled.is(now) && told(now)))?;
        self.slots.take(slot);
        Some((settled, old.or(here.now)?.clone()))
    }

    /// Is the key settled, in just this state?
    pub(super) fn told(&self, slot: Slot, state: &S) -> Option<Settled> {
        self.slots.get(slot).filter(|settled| settled.is(state))
    }

    /// Gives a key that was settled an entry of its own.
    pub(super) fn open(&mut self, key: K, settled: Settled, state: S) -> &mut Entry<S> {
        let serial = self.next_serial();
        self.side.get_or(&key, || Entry::unpacked(serial, settled, state))
    }

    /// Tells the next entry from all others.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// Settles the key if nothing more is to be remembered of it.
    pub(super) fn settle(&mut self, here: Here<'_, K, S>) {
        let Here { key, slot: Some(slot), now: Some(now) } = here else { return };
        if let Some(settled) = self.side.get(key).and_then(|entry| entry.settled(now)) {
            self.side.remove(key);
            self.slots.put(slot, settled);
        }
    }
}
