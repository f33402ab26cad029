//! What happens to many entries at once, or to one from outside: marks, a changed
//! subscription, a new revision, a withdrawn one. Owns which entries are meant; the keys
//! that it names are for the caller to enqueue.

use std::hash::Hash;

use crate::diff::State;
use crate::plugin::Replay;

use super::entry::Entry;
use super::marks::Mark;
use super::{Here, Ledger, Slot};

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// Makes a key due. False if the ledger does not have it, and then nothing is kept:
    /// the first sight of the key will do. Enqueue it either way.
    pub fn mark(&mut self, here: Here<'_, K, S>, mark: Mark) -> bool {
        let Here { key, slot, now } = here;
        if let Some(entry) = self.side.get_mut(key) {
            entry.marks.insert(mark);
        } else {
            let Some((slot, now)) = slot.zip(now) else { return false };
            let Some(settled) = self.told(slot, now) else { return false };
            self.slots.take(slot);
            self.open(key.clone(), settled, now.clone()).marks.insert(mark);
        }
        // The next pass over everything comes by itself.
        if mark != Mark::Resync {
            self.dirty.note(key);
        }
        true
    }

    /// Makes all keys due, and names them. Each gets an entry of its own until it was called.
    pub fn mark_all(&mut self, stored: impl IntoIterator<Item = (K, Slot, S)>, mark: Mark) -> Vec<K> {
        self.side.reserve(self.slots.len());
        self.mark_if(stored, mark, |_| true)
    }

    /// The subscription changed: drops the entries that the old one `matched` and the new
    /// one does not match, without a call, owed deletes too, and names them. `now` reads the
    /// store that the old subscription was served from, and `stored` is all of it. Enqueue all
    /// keys of ledger and store afterwards.
    ///
    /// To this, a change of the store and its [`Self::observe`] must look like one step.
    pub fn narrow(
        &mut self,
        stored: impl IntoIterator<Item = (K, Slot, S)>,
        matched: &dyn Fn(&K, &S) -> bool,
        matches: &dyn Fn(&K, &S) -> bool,
        now: &dyn Fn(&K) -> Option<S>,
    ) -> Vec<K> {
        let leaves = |key: &K, object: &S| matched(key, object) && !matches(key, object);
        let mut dropped = self.side.drop_if(|key, entry| {
            let here = now(key).filter(|now| now.uid() == entry.uid());
            here.as_ref().or_else(|| entry.tombstone()).is_some_and(|object| leaves(key, object))
        });
        for (key, slot, state) in stored {
            // Also if a change is still to be observed: then it finds nothing to tell of.
            if self.slots.get(slot).is_some() && leaves(&key, &state) {
                self.slots.take(slot);
                dropped.push(key);
            }
        }
        self.dirty.note_all(&dropped);
        dropped
    }

    /// A new revision or configuration is in service: makes due what the policy says, and
    /// names it. Looks at what is stored only for [`Replay::All`], which costs what
    /// [`Self::mark_all`] costs.
    pub fn replay(&mut self, stored: impl IntoIterator<Item = (K, Slot, S)>, policy: Replay) -> Vec<K> {
        match policy {
            Replay::All => self.mark_all(stored, Mark::Reload),
            Replay::Failed => self.mark_if([], Mark::Reload, |entry| entry.unfinished() || entry.parked().is_some()),
            Replay::None => Vec::new(),
        }
    }

    /// The revision `bad` was withdrawn: makes due what it handled, failed or still has in
    /// flight, and names it.
    pub fn rollback(&mut self, stored: impl IntoIterator<Item = (K, Slot, S)>, bad: u64) -> Vec<K> {
        self.mark_if(stored, Mark::Reload, |entry| entry.revision == bad || entry.called_by == bad && entry.unfinished())
    }

    fn mark_if(&mut self, stored: impl IntoIterator<Item = (K, Slot, S)>, mark: Mark, meant: impl Fn(&Entry<S>) -> bool) -> Vec<K> {
        let mut marked = Vec::new();
        for (key, entry) in self.side.iter_mut().filter(|(_, entry)| meant(entry)) {
            entry.marks.insert(mark);
            marked.push(key.clone());
        }
        for (key, slot, state) in stored {
            let Some(settled) = self.told(slot, &state) else { continue };
            let mut entry = Entry::unpacked(self.next_serial(), settled, state);
            if meant(&entry) {
                entry.marks.insert(mark);
                self.slots.take(slot);
                self.side.insert(key.clone(), entry);
                marked.push(key);
            }
        }
        self.dirty.note_all(&marked);
        marked
    }
}
