//! The ledger: what one plugin was told about each of its keys, and what it is owed.
//!
//! Owns the entries and every step between them. Steps are in files by occasion: the
//! store changes (`observe` here), a worker takes a key (`start`), a call ends (`finish`),
//! the plugin changes (`change`). It reads no clock and no store: both are handed in. It
//! never keeps a queue; it says what to enqueue, and when.

mod change;
mod entry;
mod finish;
mod marks;
mod start;
mod view;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::diff::State;
use entry::Entry;

pub use entry::{Parked, ParkedBy};
pub use finish::{Finished, Next, Policy};
pub use marks::{Mark, MarkSet};
pub use start::{Call, Start, Token};
pub use view::{EntryView, FailureView};

/// Time since the host's start, from a clock that never goes back.
pub type Time = Duration;

/// One plugin's ledger.
///
/// There is an entry for each object that the plugin was called for (noted before the
/// call starts) or whose changes were dropped by a filter, until its `delete` has ended.
/// So it is bounded by the objects that match and the deletes that are owed. An entry
/// costs about 90 bytes plus the key.
#[derive(Debug)]
pub struct Ledger<K, S> {
    entries: HashMap<K, Entry<S>>,
    serial: u64,
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// An empty ledger.
    pub fn new() -> Self {
        Self { entries: HashMap::new(), serial: 0 }
    }

    /// The store changed under `key`, from `old` to `new`: notes the final state of an
    /// object that the plugin knows and that is gone or was replaced, once. Voids it if
    /// the same uid is back.
    ///
    /// `final_state` is what came with the delete (`None`: `old` stands in), and
    /// `final_known` whether that is surely the last state; false where the delete was
    /// missed. Must be told also while the plugin sleeps. Enqueue the key afterwards.
    ///
    /// To [`Self::start`], the change of the store and this call must look like one step.
    pub fn observe(&mut self, key: &K, old: Option<&S>, new: Option<&S>, final_state: Option<&S>, final_known: bool) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.observe(old, new, final_state, final_known);
        }
    }

    fn next_serial(&mut self) -> u64 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }
}

impl<K: Clone + Eq + Hash, S: State> Default for Ledger<K, S> {
    fn default() -> Self {
        Self::new()
    }
}
