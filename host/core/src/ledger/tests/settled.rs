//! Rules about the two forms of an entry: what is settled, what is not, and that nobody can
//! tell the difference.

use super::bench::*;
use crate::diff::EventSet;
use crate::event::{Cause, Event, Removal};
use crate::ledger::{EntryView, Finished, Mark, Slot, Start};
use crate::plugin::Replay;

const UPDATE_IS_DROPPED: [Event; 2] = [Event::Add, Event::Delete];

#[test]
fn settled_is_who_was_told_of_what_the_store_holds() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let call = bench.call();
    assert!(!bench.settled());
    let _ = bench.finish(call.token, Finished::Done);
    assert!(bench.settled());
    assert_eq!(bench.nothing(), None);
    let told = EntryView {
        uid: "u",
        resource_version: "1",
        attempts: 0,
        strikes: 0,
        deleting: false,
        parked: None,
        due: None,
        hold: None,
        failing_since: None,
        failure: None,
    };
    assert!(bench.settled() && bench.entry() == told);
}

#[test]
fn settled_is_not_who_is_owed_something() {
    let later = Finished::RequeueAfter(secs(9));
    for outcome in [later, retry(), trap(), Finished::Permanent(fault(None)), Finished::Cancelled] {
        let mut bench = Bench::new();
        bench.set(Some(U1));
        let _ = bench.run(outcome.clone());
        assert!(!bench.settled(), "{outcome:?}");
    }
}

#[test]
fn settled_is_not_who_was_told_of_an_older_state() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let call = bench.call();
    bench.set(Some(U2));
    let _ = bench.finish(call.token, Finished::Done);
    assert!(!bench.settled());
    assert_eq!(bench.call().previous, Some(U1));
}

#[test]
fn settled_is_not_who_has_a_mark_that_came_during_the_call() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let call = bench.call();
    assert!(bench.mark(Mark::Related));
    let _ = bench.finish(call.token, Finished::Done);
    assert!(!bench.settled());
    let _ = bench.run(Finished::Done);
    assert!(bench.settled());
}

#[test]
fn settled_again_after_a_dropped_change_that_later_shows_as_previous() {
    let mut bench = Bench::delivered(U1);
    bench.events = UPDATE_IS_DROPPED.into_iter().collect();
    bench.set(Some(U2));
    assert!(!bench.settled());
    assert!(matches!(bench.start(), Start::Nothing { dropped: Some(_), next_due: None }));
    assert!(bench.settled());
    bench.events = EventSet::ALL;
    bench.set(Some(U3));
    assert_eq!(bench.call().previous, Some(U2));
}

#[test]
fn settled_keys_keep_the_old_state_when_the_store_changes() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.attempt), (Event::Update, U2, Some(U1), 1));
}

#[test]
fn settled_keys_that_go_leave_their_slot_to_others() {
    let mut bench = Bench::delivered(U1);
    assert!(bench.ledger.holds(SLOT));
    bench.set(None);
    assert_eq!(bench.ledger.len(), 1);
    // Another object gets the slot, under the same key or not: nobody knows it.
    assert!(!bench.ledger.holds(SLOT));
    bench.set(Some(V5));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.removal), (Event::Delete, U1, Removal::Replaced));
}

#[test]
fn settled_keys_that_no_longer_match_get_their_delete() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U4_Y));
    let call = bench.call();
    assert_eq!((call.event, call.removal, call.previous), (Event::Delete, Removal::Unmatched, Some(U1)));
}

#[test]
fn settled_without_delete_is_forgotten_like_any_other() {
    let mut bench = Bench::delivered(U1);
    bench.events = [Event::Add, Event::Update].into_iter().collect();
    bench.set(Some(U4_Y));
    assert!(matches!(bench.start(), Start::Again));
    assert!(bench.ledger.is_empty());
}

#[test]
fn settled_stays_what_is_told_again() {
    let mut bench = Bench::delivered(U1);
    for old in [Some(U1), None] {
        bench.observe(old, None, true);
        assert!(bench.settled());
    }
}

#[test]
fn settled_keys_take_marks_and_settle_again() {
    let mut bench = Bench::delivered(U1);
    assert!(bench.mark(Mark::Manual));
    assert!(!bench.settled());
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.cause), (Event::Update, U1, Some(U1), Some(Cause::Manual)));
    let _ = bench.finish(call.token, Finished::Done);
    assert!(bench.settled());
}

#[test]
fn settled_keys_remember_their_revision() {
    let mut bench = Bench::delivered(U1);
    bench.revision = 2;
    bench.set(Some(U2));
    let _ = bench.run(Finished::Done);
    assert!(bench.settled());
    assert_eq!(bench.rollback(1), [""; 0]);
    assert!(bench.settled());
    assert_eq!(bench.rollback(2), ["k"]);
}

#[test]
fn settled_keys_are_replayed_only_by_the_policy_all() {
    let mut bench = Bench::delivered(U1);
    assert_eq!(bench.replay(Replay::Failed), [""; 0]);
    assert!(bench.settled());
    assert_eq!(bench.replay(Replay::All), ["k"]);
    assert_eq!(bench.call().cause, Some(Cause::Reload));
}

#[test]
fn settled_needs_a_slot() {
    let mut bench = Bench { slot: None, ..Bench::new() };
    bench.set(Some(U1));
    let _ = bench.run(Finished::Done);
    assert_eq!((bench.ledger.unsettled().count(), bench.ledger.len(), bench.nothing()), (1, 1, None));
    // Once it has one, the next look settles it.
    bench.slot = Some(SLOT);
    assert_eq!((bench.nothing(), bench.settled()), (None, true));
}

#[test]
fn unpacked_keys_are_judged_by_another_store() {
    let other = Slot { array: 8, index: 0 };
    let mut bench = Bench::delivered(U1);
    assert_eq!(bench.ledger.unpack(other.array, bench.stored()), 0);
    assert!(bench.settled());
    assert_eq!(bench.ledger.unpack(SLOT.array, bench.stored()), 0);
    assert!(!bench.settled() && bench.ledger.len() == 1);
    // The same state is there: settled by the next look.
    bench.slot = Some(other);
    assert_eq!((bench.nothing(), bench.settled()), (None, true));
    // A newer one is there: a change like any other.
    assert_eq!(bench.ledger.unpack(other.array, bench.stored()), 0);
    (bench.slot, bench.now) = (Some(SLOT), Some(U2));
    let call = bench.call();
    assert_eq!((call.event, call.previous), (Event::Update, Some(U1)));
}

/// The store has a change that is about to be told: nothing is done to the key by a state that
/// the plugin was not told of, and the change itself finds all in place.
#[test]
fn in_flight_changes_wait_for_their_observe() {
    let mut bench = Bench::delivered(U1);
    bench.now = Some(U4_Y);
    assert_eq!(bench.ledger.mark_all(bench.stored(), Mark::Resync), [""; 0]);
    assert_eq!((bench.rollback(1), bench.mark(Mark::Manual)), (vec![], false));
    assert_eq!(bench.narrow('y'), 0);
    assert_eq!(bench.ledger.unpack(SLOT.array, bench.stored()), 1);
    bench.observe(Some(U1), None, true);
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous), (Event::Delete, U4_Y, Some(U1)));
    assert_eq!(bench.ledger.unpack(SLOT.array, bench.stored()), 0);
}

/// Somebody forgot to tell of a change. What the plugin knows is lost, but the object is not.
#[test]
fn untold_changes_are_told_anew() {
    let mut bench = Bench::delivered(U1);
    bench.now = Some(U2);
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous), (Event::Add, U2, None));
    let _ = bench.finish(call.token, Finished::Done);
    assert!(bench.settled());

    bench.now = Some(U3);
    bench.set(None);
    let call = bench.call();
    assert_eq!((call.event, call.current, call.removal), (Event::Delete, U3, Removal::Gone));
}

#[test]
fn counts_are_kept() {
    let mut bench = Bench::delivered(U1);
    assert_eq!((bench.ledger.len(), bench.ledger.parked()), (1, 0));
    bench.set(Some(U2));
    for _ in 0..2 {
        let _ = bench.run(Finished::Permanent(fault(None)));
        assert_eq!((bench.ledger.len(), bench.ledger.parked()), (1, 1));
        assert!(bench.mark(Mark::Manual));
    }
    let _ = bench.run(Finished::Done);
    assert_eq!((bench.ledger.len(), bench.ledger.parked()), (1, 0));
    // Parked entries that are dropped, deleted or forgotten do not count.
    bench.set(Some(U3));
    let _ = bench.run(Finished::Permanent(fault(None)));
    assert_eq!((bench.narrow('y'), bench.ledger.len(), bench.ledger.parked()), (1, 0, 0));
    let _ = bench.run(Finished::Permanent(fault(None)));
    bench.set(None);
    assert_eq!(bench.ledger.parked(), 1);
    let _ = bench.run(Finished::Done);
    assert_eq!((bench.ledger.len(), bench.ledger.parked()), (0, 0));
}

/// A plugin that is told of each change lags behind the store: what it was told last is kept, and
/// each change is judged against the one before.
#[test]
fn lagging_keys_are_told_of_each_change_in_turn() {
    let mut bench = Bench::delivered(U1);
    for (old, new) in [(U1, U2), (U2, U3)] {
        bench.ledger.lag(Bench::at(Some(SLOT), Some(&new)), Some(&old));
    }
    bench.ledger.lag(Bench::at(Some(SLOT), None), Some(&U3));
    assert!(!bench.ledger.holds(SLOT) && bench.ledger.len() == 1);
    bench.slot = None;
    for (old, new) in [(U1, U2), (U2, U3)] {
        bench.now = Some(new);
        bench.observe(Some(old), None, true);
        let call = bench.call();
        assert_eq!((call.event, call.current, call.previous), (Event::Update, new, Some(old)));
        let _ = bench.finish(call.token, Finished::Done);
    }
    bench.now = None;
    bench.observe(Some(U3), Some(U3), true);
    let call = bench.call();
    assert_eq!((call.event, call.removal, call.final_state_unknown), (Event::Delete, Removal::Gone, false));
    let _ = bench.finish(call.token, Finished::Done);
    assert!(bench.ledger.is_empty());
}
