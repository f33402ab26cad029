//! The ledger: what one plugin was told about each of its keys, and what it is owed.
//!
//! Owns the entries and every step between them. Steps are in files by occasion: the
//! store changes (`observe` here), a worker takes a key (`start`), a call ends (`finish`),
//! the plugin changes (`change`), a key is as it should be (`settle`), a host ends and another
//! one begins (`persist`). It reads no clock and no store: both are handed in. It never keeps a queue; it says what to enqueue, and when.

mod change;
mod dirty;
mod entry;
mod finish;
mod marks;
mod persist;
mod record;
mod settle;
mod side;
mod slots;
mod start;
mod view;

#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::time::Duration;

use crate::diff::State;
use dirty::Dirty;
use side::Side;
use slots::Slots;

pub use entry::{Parked, ParkedBy};
pub use finish::{Finished, Next, Policy};
pub use marks::{Mark, MarkSet};
pub use persist::{Kept, Restored};
pub use record::{Record, RecordedFailure};
pub use settle::Here;
pub use slots::Slot;
pub use start::{Call, Start, Token};
pub use view::{EntryView, FailureState, FailureView};

/// Time on the host's clock, which never goes back while the host runs. Where a ledger is to
/// outlive its host, the clocks of both must tell the time of day.
pub type Time = Duration;

/// One plugin's ledger.
///
/// It knows each object that the plugin was called for (noted before the call starts) or
/// whose changes were dropped by a filter, until its `delete` has ended. So it is bounded by
/// the objects that match and the deletes that are owed.
///
/// A key whose plugin was told of what the store holds, and owes and is owed nothing, is
/// *settled*: that costs 8 bytes in the slot that the store gave the object, and half a byte for
/// each slot that other objects have. Any other key has an entry of about 150 bytes, its key
/// included, and keeps alive the states that it needs.
///
/// For a settled key it has neither key nor state: functions that look at all keys are handed
/// `stored`: key, slot and object of all that the stores hold, as observed last. A settled key that
/// is not named in that state is left as it is: its [`Self::observe`] is yet to come.
#[derive(Debug)]
pub struct Ledger<K, S> {
    side: Side<K, S>,
    slots: Slots,
    dirty: Dirty<K>,
    serial: u64,
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// An empty ledger.
    pub fn new() -> Self {
        Self { side: Side::new(), slots: Slots::default(), dirty: Dirty::new(), serial: 0 }
    }

    /// The store changed `here`, from `old` to what is there now: notes the final state of an
    /// object that the plugin knows and that is gone or was replaced, once. Voids it if
    /// the same uid is back. This is the only time at which the old state of a settled key is
    /// known, and after a removal another object may get the slot: tell of every change.
    ///
    /// `final_state` is what came with the delete (`None`: `old` stands in), and
    /// `final_known` whether that is surely the last state; false where the delete was
    /// missed. Must be told also while the plugin sleeps. Enqueue the key afterwards.
    ///
    /// To [`Self::start`], the change of the store and this call must look like one step.
    pub fn observe(&mut self, here: Here<'_, K, S>, old: Option<&S>, final_state: Option<&S>, final_known: bool) {
        let entry = match self.disturb(here, old) {
            Some((settled, state)) => Some(self.open(here.key.clone(), settled, state)),
            None => self.side.get_mut(here.key),
        };
        if entry.is_some_and(|entry| entry.observe(old, here.now, final_state, final_known)) {
            self.dirty.note(here.key);
        }
    }
}

impl<K: Clone + Eq + Hash, S: State> Default for Ledger<K, S> {
    fn default() -> Self {
        Self::new()
    }
}
