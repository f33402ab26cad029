//! Rules about states, uids, subscriptions and revisions.

use super::bench::*;
use crate::diff::EventSet;
use crate::event::{Cause, Event, Removal};
use crate::ledger::entry::Entry;
use crate::ledger::{Finished, Next, Start};
use crate::object::Object;
use crate::plugin::Replay;

#[test]
fn tried_a_change_is_judged_against_the_state_of_the_failed_call() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    assert_eq!(bench.run(retry()).due, Some(secs(2)));
    assert_eq!(bench.nothing(), Some(secs(2)));
    bench.set(Some(U3));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.attempt, call.cause), (Event::Update, U3, Some(U1), 2, None));
}

#[test]
fn tried_a_dropped_change_advances_what_is_judged_against() {
    let mut bench = Bench::delivered(U1);
    bench.events = [Event::Add, Event::Delete].into_iter().collect();
    bench.set(Some(U2));
    assert!(matches!(bench.start(), Start::Nothing { dropped: Some(_), .. }));
    assert!(matches!(bench.start(), Start::Nothing { dropped: None, .. }));
    bench.events = EventSet::ALL;
    bench.set(Some(U3));
    assert_eq!(bench.call().previous, Some(U2));
}

#[test]
fn uid_another_object_gets_delete_then_add() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let _ = bench.run(retry());
    bench.set(Some(V5));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.removal), (Event::Delete, U1, None, Removal::Replaced));
    let next = bench.finish(call.token, Finished::Done);
    assert_eq!(next, Next { due: None, again: true, parked: false, fenced: false });
    let call = bench.call();
    assert_eq!((call.event, call.current, call.attempt), (Event::Add, V5, 1));
}

#[test]
fn uid_a_tombstone_is_never_that_of_another_uid() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    bench.set(Some(V5));
    bench.set(None);
    let call = bench.call();
    assert_eq!((call.current, call.removal, call.final_state_unknown), (U2, Removal::Gone, false));
}

#[test]
fn uid_a_tombstone_of_another_uid_is_not_taken_even_if_its_own_is_missing() {
    let mut bench = Bench { slot: None, ..Bench::new() };
    bench.set(Some(U1));
    let _ = bench.run(Finished::Done);
    bench.now = Some(V5);
    bench.set(None);
    let call = bench.call();
    assert_eq!((call.current, call.final_state_unknown), (U1, true));
}

#[test]
fn uid_a_tombstone_is_noted_once() {
    let mut bench = Bench::delivered(U1);
    bench.now = None;
    bench.observe(Some(U1), Some(U2), true);
    bench.observe(Some(U1), None, false);
    let call = bench.call();
    assert_eq!((call.current, call.final_state_unknown), (U2, false));
}

#[test]
fn uid_a_final_state_of_another_uid_is_not_believed() {
    let mut bench = Bench::delivered(U1);
    bench.now = None;
    bench.observe(Some(U1), Some(V5), true);
    let call = bench.call();
    assert_eq!((call.current, call.final_state_unknown), (U1, true));
}

#[test]
fn uid_that_reappears_voids_the_tombstone() {
    let mut bench = Bench::delivered(U1);
    bench.set(None);
    bench.set(Some(U1));
    assert_eq!(bench.nothing(), None);
    bench.set(Some(U2));
    bench.set(None);
    assert_eq!(bench.call().current, U2);
}

#[test]
fn early_an_object_that_goes_during_a_failing_add_gets_its_delete() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let call = bench.call();
    bench.set(None);
    let _ = bench.finish(call.token, retry());
    let call = bench.call();
    assert_eq!((call.event, call.current, call.attempt), (Event::Delete, U1, 2));
    assert!(!bench.finish(call.token, Finished::Done).fenced);
    assert!(bench.ledger.is_empty());
}

#[test]
fn again_an_object_that_matches_again_after_a_failed_delete_gets_add() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U4_Y));
    let call = bench.call();
    assert_eq!((call.event, call.removal, call.current), (Event::Delete, Removal::Unmatched, U4_Y));
    assert!(bench.finish(call.token, retry()).again);
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!((call.event, call.previous), (Event::Add, None));
    let _ = bench.finish(call.token, retry());
    bench.time = 2;
    let call = bench.call();
    assert_eq!((call.event, call.previous, call.attempt), (Event::Add, None, 3));
    let _ = bench.finish(call.token, Finished::Done);
    bench.set(Some(U3));
    assert_eq!(bench.call().previous, Some(U2));
}

#[test]
fn fence_the_outcome_of_a_dropped_entry_is_thrown_away() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!(bench.narrow('y'), 1);
    let next = bench.finish(call.token, Finished::RequeueAfter(secs(9)));
    assert_eq!(next, Next { due: None, again: true, parked: false, fenced: true });
    assert!(bench.ledger.is_empty());
}

#[test]
fn fence_an_entry_of_the_same_key_is_told_apart() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let old = bench.call();
    bench.narrow('y');
    let new = bench.call();
    assert!(bench.finish(old.token, trap()).fenced);
    assert!(!bench.finish(new.token, Finished::Done).fenced);
    assert_eq!(bench.entry().strikes, 0);
}

#[test]
fn withdrawn_a_rollback_redelivers_what_the_revision_handled() {
    let mut bench = Bench::delivered(U1);
    assert_eq!(bench.rollback(2), [""; 0]);
    assert_eq!(bench.rollback(1), ["k"]);
    assert_eq!(bench.call().cause, Some(Cause::Reload));
}

#[test]
fn withdrawn_a_rollback_redelivers_what_the_revision_failed_or_has_in_flight() {
    let mut bench = Bench::delivered(U1);
    bench.revision = 2;
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!(bench.rollback(2), ["k"]);
    // The mark came after the start, so the success does not use it up.
    let _ = bench.finish(call.token, Finished::Done);
    assert_eq!(bench.call().cause, Some(Cause::Reload));

    let mut bench = Bench::delivered(U1);
    bench.revision = 2;
    bench.set(None);
    let _ = bench.run(retry());
    assert_eq!(bench.rollback(2), ["k"]);
    assert_eq!(bench.call().event, Event::Delete);
}

#[test]
fn withdrawn_a_later_success_of_another_revision_is_left_alone() {
    let mut bench = Bench::delivered(U1);
    bench.revision = 2;
    bench.set(Some(U2));
    let _ = bench.run(Finished::Done);
    assert_eq!(bench.rollback(1), [""; 0]);
}

#[test]
fn narrow_drops_only_what_matched_and_no_longer_does() {
    let mut bench = Bench::delivered(U1);
    assert_eq!(bench.narrow('x'), 0);
    assert_eq!(bench.ledger.len(), 1);
    assert_eq!(bench.narrow('y'), 1);
    assert!(bench.ledger.is_empty());
}

#[test]
fn narrow_keeps_a_delete_that_the_old_subscription_owes() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U4_Y));
    assert_eq!(bench.narrow('z'), 0);
    assert_eq!(bench.call().removal, Removal::Unmatched);
}

#[test]
fn narrow_drops_owed_deletes_too() {
    let mut bench = Bench::delivered(U1);
    bench.set(None);
    assert_eq!(bench.narrow('y'), 1);
    assert_eq!(bench.nothing(), None);
}

#[test]
fn replay_goes_by_the_policy() {
    let mut done = Bench::delivered(U1);
    assert_eq!(done.replay(Replay::None), [""; 0]);
    assert_eq!(done.replay(Replay::Failed), [""; 0]);
    assert_eq!(done.replay(Replay::All), ["k"]);
    for failed in [retry(), Finished::Permanent(fault(None))] {
        let _ = done.run(failed);
        assert_eq!(done.replay(Replay::Failed), ["k"]);
        assert_eq!(done.replay(Replay::None), [""; 0]);
    }
    assert_eq!(done.call().cause, Some(Cause::Reload));
}

#[test]
fn kinds_an_entry_made_by_a_filter_counts_as_delivered() {
    let mut bench = Bench::new();
    bench.events = [Event::Update, Event::Delete].into_iter().collect();
    bench.set(Some(U1));
    assert!(matches!(bench.start(), Start::Nothing { dropped: Some(_), next_due: None }));
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!((call.event, call.previous), (Event::Update, Some(U1)));
}

#[test]
fn kinds_a_dropped_change_keeps_the_due_time() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::RequeueAfter(secs(9)));
    bench.events = [Event::Add, Event::Delete].into_iter().collect();
    bench.set(Some(U3));
    assert!(matches!(bench.start(), Start::Nothing { dropped: Some(_), next_due } if next_due == Some(secs(9))));
    bench.time = 9;
    let call = bench.call();
    assert_eq!((call.event, call.previous, call.cause), (Event::Update, Some(U3), Some(Cause::Requeue)));
}

#[test]
fn kinds_without_delete_an_entry_goes_silently_and_the_key_is_decided_again() {
    let mut bench = Bench::delivered(U1);
    bench.events = [Event::Add, Event::Update].into_iter().collect();
    bench.set(Some(V5));
    assert!(matches!(bench.start(), Start::Again));
    assert_eq!(bench.call().event, Event::Add);
}

#[test]
fn asleep_tombstones_are_recorded_and_judged_later() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    bench.set(None);
    bench.set(Some(V5));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.removal), (Event::Delete, U2, Removal::Replaced));
}

#[test]
fn an_entry_is_small() {
    assert!(size_of::<Entry<std::sync::Arc<str>>>() <= 112);
    assert!(size_of::<Entry<std::sync::Arc<Object>>>() <= 96);
}
