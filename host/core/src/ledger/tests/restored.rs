//! Rules about a key that an earlier host has left: when nothing is to be done of it.

use super::bench::*;
use crate::ledger::{Finished, Kept, Ledger, Record, Restored};

/// The digest of the values that count: U1 and U2 have the same.
fn values(state: &Obj) -> Option<[u8; 16]> {
    match *state {
        U1 | U2 => Some([1; 16]),
        U3 => Some([3; 16]),
        _ => None,
    }
}

/// What becomes of a key that was left after `outcome` for U1, now that the store holds `now`.
fn restored(outcome: Finished, known: bool, now: Option<Obj>) -> (Ledger<&'static str, Obj>, Restored) {
    let mut before = Bench::new();
    before.set(Some(U1));
    let _ = before.run(outcome);
    let Kept::Record(record) = before.ledger.record(Bench::at(before.slot, before.now.as_ref())) else { panic!("there is a record") };
    let record = Record { values: values(&U1).filter(|_| known), ..record };
    let mut ledger = Ledger::new();
    ledger.track(std::task::Waker::noop().clone());
    let slot = now.map(|_| SLOT);
    let restored = ledger.restore(Bench::at(slot, now.as_ref()), &record, None, &|_| U1, &values);
    (ledger, restored)
}

#[test]
fn a_state_whose_values_that_count_are_the_same_was_dropped() {
    let (mut ledger, became) = restored(Finished::Done, true, Some(U2));
    assert_eq!(became, Restored::Dropped);
    assert!(ledger.holds(SLOT) && ledger.unsettled().next().is_none());
    // It is another version than the one that was written down.
    assert!(ledger.take_dirty().contains("k"));
}

#[test]
fn what_was_told_is_settled_and_written_down_already() {
    let (mut ledger, became) = restored(Finished::Done, true, Some(U1));
    assert_eq!(became, Restored::Settled);
    assert!(ledger.take_dirty().is_empty());
}

#[test]
fn other_values_or_none_are_looked_at() {
    for (known, now) in [(true, Some(U3)), (true, Some(U4_Y)), (true, Some(V5)), (true, None), (false, Some(U2))] {
        assert_eq!(restored(Finished::Done, known, now).1, Restored::Open { changed: true }, "{known} {now:?}");
    }
}

#[test]
fn a_failed_call_is_not_made_good_by_values() {
    for outcome in [retry(), trap(), Finished::RequeueAfter(secs(9)), Finished::Permanent(fault(None))] {
        assert_eq!(restored(outcome.clone(), true, Some(U2)).1, Restored::Open { changed: true }, "{outcome:?}");
    }
}
