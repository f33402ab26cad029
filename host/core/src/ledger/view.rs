//! What people and status may see of the ledger. Owns the read-only view; changes nothing.

use std::hash::Hash;

use crate::diff::State;
use crate::reason::Reason;

use super::entry::{Entry, Parked};
use super::{Here, Ledger, Mark, Policy, Slot, Time};

/// One entry, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryView<'a> {
    /// The object's uid.
    pub uid: &'a str,
    /// The state that was last handed to `add` or `update`, or filtered.
    pub resource_version: &'a str,
    /// Calls since the last success; above 0 also while one runs.
    pub attempts: u32,
    /// Strikes since the last success.
    pub strikes: u32,
    /// `delete` was called and has not ended the entry (yet).
    pub deleting: bool,
    /// Set while the key is parked.
    pub parked: Option<Parked>,
    /// When it is due, if nothing happens before.
    pub due: Option<Time>,
    /// Not before this time, the guest said at its last failure.
    pub hold: Option<Time>,
    /// When the first call since the last success failed.
    pub failing_since: Option<Time>,
    /// Why the last call failed; `None` after a success.
    pub failure: Option<FailureView<'a>>,
}

/// A failed call, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureView<'a> {
    /// The CamelCase word.
    pub reason: &'a str,
    /// For people.
    pub message: &'a str,
}

/// What a failed key waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureState {
    /// It is not tried again by itself, or only after a long interval.
    Parked,
    /// Not before a time that the guest named, or for something that the host provides: nobody's
    /// fault.
    Waiting,
    /// It is tried again after the host's backoff.
    Retrying,
}

impl FailureState {
    /// The word used in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parked => "Parked",
            Self::Waiting => "Waiting",
            Self::Retrying => "Retrying",
        }
    }
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// The keys that are not settled, in no order. All others are in the stores.
    pub fn unsettled(&self) -> impl Iterator<Item = &K> {
        self.side.keys()
    }

    /// Is the key one of those?
    pub fn unsettled_has(&self, key: &K) -> bool {
        self.side.get(key).is_some()
    }

    /// Is the key due for nothing but an exchange of revisions? Without that it would be settled.
    pub fn only_reloads(&self, key: &K) -> bool {
        self.side.get(key).is_some_and(|entry| {
            let reload = entry.marks.pending().bits() == Mark::Reload.bit();
            reload && !entry.unfinished() && !entry.failing() && entry.tombstone().is_none()
        })
    }

    /// Number of keys that the plugin was told of, settled or not.
    pub fn len(&self) -> usize {
        self.side.len().saturating_add(self.slots.len())
    }

    /// Bytes that it takes, without the keys and states that it shares with the store. Linear in the keys, at 64 a step.
    pub fn bytes(&self) -> usize {
        self.side.bytes().saturating_add(self.slots.bytes())
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is a key settled in this slot? Then [`Self::observe`] must be told what happens there,
    /// even if the plugin reads from another store by now.
    pub fn holds(&self, slot: Slot) -> bool {
        self.slots.get(slot).is_some()
    }

    /// Number of keys that are parked.
    pub fn parked(&self) -> usize {
        self.side.parked()
    }

    /// Number of keys whose last call failed, parked ones included, and of deletes that were called
    /// and have not ended. All of them are kept, whatever their number.
    pub fn failing(&self) -> usize {
        self.side.failing()
    }

    /// Do so many keys fail that the plugin must not be told of an object that it was never
    /// called for? Whoever takes such a key looks at it again later. So what a plugin that never
    /// succeeds makes the host keep is bounded by this limit and by the objects that it was told of
    /// before, also if they are made and deleted for ever; and nothing is lost, because an object
    /// that was never told of is owed no `delete`.
    pub fn is_full(&self, policy: &Policy) -> bool {
        self.failing() >= policy.max_failing
    }

    /// The keys whose last call failed, in no order. Costs a walk over all that are not settled.
    pub fn failures(&self) -> impl Iterator<Item = (&K, EntryView<'_>)> {
        self.side.iter().filter(|(_, entry)| entry.trouble.is_some()).map(|(key, entry)| (key, EntryView::of(entry)))
    }

    /// Looks at one entry.
    pub fn entry<'a>(&'a self, here: Here<'a, K, S>) -> Option<EntryView<'a>> {
        if let Some(entry) = self.side.get(here.key) {
            return Some(EntryView::of(entry));
        }
        let (slot, now) = here.slot.zip(here.now)?;
        self.told(slot, now).map(|_| EntryView::told(now))
    }
}

impl<'a> EntryView<'a> {
    /// What the key waits for, if its last call failed.
    pub fn failure_state(&self, time: Time) -> Option<FailureState> {
        let failure = self.failure?;
        let waits = self.hold.is_some_and(|hold| hold > time) || Reason::named(failure.reason).is_some_and(Reason::is_excused);
        Some(match self.parked {
            Some(_) => FailureState::Parked,
            None if waits => FailureState::Waiting,
            None => FailureState::Retrying,
        })
    }

    fn told<S: State>(state: &'a S) -> Self {
        Self {
            uid: state.uid(),
            resource_version: state.resource_version(),
            attempts: 0,
            strikes: 0,
            deleting: false,
            parked: None,
            due: None,
            hold: None,
            failing_since: None,
            failure: None,
        }
    }

    fn of<S: State>(entry: &'a Entry<S>) -> Self {
        let trouble = entry.trouble.as_deref();
        Self {
            attempts: entry.attempts,
            strikes: trouble.map_or(0, |trouble| trouble.strikes),
            deleting: entry.dying,
            parked: entry.parked(),
            due: entry.due,
            hold: entry.hold(),
            failing_since: trouble.map(|trouble| trouble.since),
            failure: trouble.map(|trouble| FailureView { reason: &trouble.reason, message: &trouble.message }),
            ..Self::told(entry.last())
        }
    }
}
