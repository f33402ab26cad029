//! What happens to many entries at once, or to one from outside: marks, a changed
//! subscription, a new revision, a withdrawn one. Owns which entries are meant; the keys
//! that it names are for the caller to enqueue.

use std::hash::Hash;

use crate::diff::State;
use crate::plugin::Replay;

use super::Ledger;
use super::entry::Entry;
use super::marks::Mark;

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// Makes a key due. False if the ledger does not have it, and then nothing is kept:
    /// the first sight of the key will do. Enqueue it either way.
    pub fn mark(&mut self, key: &K, mark: Mark) -> bool {
        let entry = self.entries.get_mut(key);
        entry.map(|entry| entry.marks.insert(mark)).is_some()
    }

    /// Makes all keys due, and names them.
    pub fn mark_all(&mut self, mark: Mark) -> Vec<K> {
        self.mark_if(mark, |_| true)
    }

    /// The subscription changed: drops the entries that the old one `matched` and the new
    /// one does not match, without a call, owed deletes too. `now` reads the store. Says
    /// how many were dropped. Enqueue all keys of ledger and store afterwards.
    ///
    /// To this, a change of the store and its [`Self::observe`] must look like one step.
    pub fn narrow(&mut self, matched: &dyn Fn(&K, &S) -> bool, matches: &dyn Fn(&K, &S) -> bool, now: &dyn Fn(&K) -> Option<S>) -> usize {
        let before = self.entries.len();
        self.entries.retain(|key, entry| {
            let here = now(key).filter(|now| now.uid() == entry.uid());
            let object = here.as_ref().or_else(|| entry.tombstone());
            !object.is_some_and(|object| matched(key, object) && !matches(key, object))
        });
        before.saturating_sub(self.entries.len())
    }

    /// A new revision or configuration is in service: makes due what the policy says, and
    /// names it.
    pub fn replay(&mut self, policy: Replay) -> Vec<K> {
        self.mark_if(Mark::Reload, |entry| match policy {
            Replay::All => true,
            Replay::Failed => entry.unfinished() || entry.parked().is_some(),
            Replay::None => false,
        })
    }

    /// The revision `bad` was withdrawn: makes due what it handled, failed or still has in
    /// flight, and names it.
    pub fn rollback(&mut self, bad: u64) -> Vec<K> {
        self.mark_if(Mark::Reload, |entry| entry.revision == bad || entry.called_by == bad && entry.unfinished())
    }

    fn mark_if(&mut self, mark: Mark, meant: impl Fn(&Entry<S>) -> bool) -> Vec<K> {
        let entries = self.entries.iter_mut().filter(|(_, entry)| meant(entry));
        entries
            .map(|(key, entry)| {
                entry.marks.insert(mark);
                key.clone()
            })
            .collect()
    }
}
