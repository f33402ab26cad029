//! What people and status may see of the ledger. Owns the read-only view; changes nothing.

use std::hash::Hash;

use crate::diff::State;

use super::entry::Parked;
use super::{Ledger, Time};

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

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// All keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.keys()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Is there no entry?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Looks at one entry.
    pub fn entry(&self, key: &K) -> Option<EntryView<'_>> {
        self.entries.get(key).map(|entry| EntryView {
            uid: entry.uid(),
            resource_version: entry.last().resource_version(),
            attempts: entry.attempts,
            strikes: entry.trouble.as_ref().map_or(0, |trouble| trouble.strikes),
            deleting: entry.dying,
            parked: entry.parked(),
            due: entry.due,
            failure: entry.trouble.as_ref().map(|trouble| FailureView { reason: &trouble.reason, message: &trouble.message }),
        })
    }
}
