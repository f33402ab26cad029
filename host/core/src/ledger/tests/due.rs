//! Rules about marks, times, holding and parking.

use super::bench::*;
use crate::event::{Cause, Event};
use crate::ledger::{FailureView, Finished, Mark, Next, Parked, ParkedBy, Start, Time};
use crate::reason::Reason;

#[test]
fn quiet_a_delete_that_was_tried_is_called_again_only_when_due() {
    let mut bench = Bench::delivered(U1);
    bench.set(None);
    let _ = bench.run(retry());
    assert_eq!(bench.nothing(), Some(secs(2)));
    bench.time = 2;
    let call = bench.call();
    assert_eq!((call.event, call.cause, call.attempt), (Event::Delete, Some(Cause::Retry), 2));
}

#[test]
fn quiet_requeue_from_delete_calls_delete_again() {
    let mut bench = Bench::delivered(U1);
    bench.set(None);
    assert_eq!(bench.run(Finished::RequeueAfter(secs(9))).due, Some(secs(9)));
    assert_eq!(bench.nothing(), Some(secs(9)));
    bench.time = 9;
    let call = bench.call();
    assert_eq!((call.event, call.current, call.cause), (Event::Delete, U1, Some(Cause::Requeue)));
}

#[test]
fn taken_marks_that_come_during_a_call_stay() {
    let mut bench = Bench::delivered(U1);
    assert!(bench.mark(Mark::Related));
    let call = bench.call();
    assert_eq!(call.cause, Some(Cause::Related));
    assert!(call.taken.contains(Mark::Related));
    assert!(bench.mark(Mark::Related));
    let _ = bench.finish(call.token, Finished::Done);
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous), (Event::Update, U1, Some(U1)));
    let _ = bench.finish(call.token, Finished::Done);
    assert_eq!(bench.nothing(), None);
}

#[test]
fn taken_a_decision_without_a_call_keeps_what_is_due() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::RequeueAfter(secs(9)));
    for time in [1, 5] {
        bench.time = time;
        assert_eq!(bench.nothing(), Some(secs(9)));
    }
    bench.time = 9;
    assert_eq!(bench.call().cause, Some(Cause::Requeue));
}

#[test]
fn a_mark_without_an_entry_is_not_kept() {
    let mut bench = Bench::new();
    assert!(!bench.mark(Mark::Manual));
    bench.set(Some(U1));
    let call = bench.call();
    assert!(call.taken.is_empty() && call.cause.is_none());
}

#[test]
fn mark_all_names_all_keys() {
    let mut bench = Bench::delivered(U1);
    assert_eq!(bench.ledger.mark_all(bench.stored(), Mark::Resync), ["k"]);
    assert_eq!(bench.call().cause, Some(Cause::Resync));
}

#[test]
fn cancel_the_outcome_replaces_the_due_time() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::RequeueAfter(secs(9)));
    bench.set(Some(U3));
    assert_eq!(bench.run(Finished::Done).due, None);
    bench.time = 9;
    assert_eq!(bench.nothing(), None);
}

#[test]
fn hold_holds_for_every_reason_but_reload_and_manual() {
    for (mark, held) in [(Mark::Resync, true), (Mark::Related, true), (Mark::Reload, false), (Mark::Manual, false)] {
        let mut bench = Bench::delivered(U1);
        bench.set(Some(U2));
        assert_eq!(bench.run(Finished::Retry(fault(Some(8)))).due, Some(secs(8)));
        bench.set(Some(U3));
        assert!(matches!(bench.start(), Start::Held { until } if until == secs(8)));
        bench.mark(mark);
        assert_eq!(matches!(bench.start(), Start::Held { .. }), held, "{mark:?}");
    }
}

#[test]
fn hold_ends_at_its_time() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::Retry(fault(Some(8))));
    bench.time = 8;
    assert_eq!(bench.call().cause, Some(Cause::Retry));
}

#[test]
fn hold_is_gone_with_the_next_outcome() {
    for outcome in [retry(), trap(), Finished::Permanent(fault(None))] {
        let mut bench = Bench::delivered(U1);
        bench.set(Some(U2));
        let _ = bench.run(Finished::Retry(fault(Some(8))));
        bench.mark(Mark::Manual);
        let _ = bench.run(outcome);
        bench.set(Some(U3));
        assert_eq!(bench.call().current, U3);
    }
}

#[test]
fn hold_does_not_come_from_the_hosts_own_backoff() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(retry());
    bench.set(Some(U3));
    assert_eq!(bench.call().current, U3);
}

#[test]
fn parked_by_permanent_ignores_resync_and_time() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let next = bench.run(Finished::Permanent(fault(None)));
    assert_eq!((next.due, next.parked), (None, true));
    let view = bench.entry();
    assert_eq!(view.parked, Some(Parked { by: ParkedBy::Permanent, since: secs(0) }));
    assert_eq!(view.failure, Some(FailureView { reason: "Busy", message: "later" }));
    bench.mark(Mark::Resync);
    bench.time = 10_000;
    assert_eq!(bench.nothing(), None);
}

#[test]
fn parked_keys_are_freed_by_a_change_and_by_all_marks_but_resync() {
    for mark in [None, Some(Mark::Related), Some(Mark::Manual), Some(Mark::Reload)] {
        let mut bench = Bench::delivered(U1);
        bench.set(Some(U2));
        let _ = bench.run(Finished::Permanent(fault(None)));
        match mark {
            Some(mark) => assert!(bench.mark(mark)),
            None => bench.set(Some(U3)),
        }
        assert_eq!(bench.call().cause, mark.map(Mark::cause));
    }
}

#[test]
fn parked_by_strikes_is_tried_again_after_the_long_interval() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    for (strikes, due, parked) in [(1, 2, false), (2, 4, false), (3, 104, true), (4, 204, true)] {
        let next = bench.run(trap());
        assert_eq!((next.due, next.parked), (Some(secs(due)), parked));
        assert_eq!(bench.entry().strikes, strikes);
        bench.time = due;
    }
    let _ = bench.run(Finished::Done);
    let view = bench.entry();
    assert_eq!((view.strikes, view.attempts, view.parked, view.failure), (0, 0, None, None));
}

#[test]
fn parked_waiting_for_the_host_is_no_strike() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    for _ in 0..9 {
        let next = bench.run(Finished::Waiting { reason: Reason::ServerUnavailable, message: "no answer".into() });
        assert!(!next.parked && next.due == Some(secs(bench.time + 2)));
        bench.time += 2;
    }
    let view = bench.entry();
    assert_eq!((view.strikes, view.attempts, view.failure.unwrap().reason), (0, 9, "ServerUnavailable"));
}

#[test]
fn permanent_from_delete_ends_it() {
    let mut bench = Bench::delivered(U1);
    bench.set(None);
    assert_eq!(bench.run(Finished::Permanent(fault(None))), Next { due: None, again: true, parked: false, fenced: false });
    assert!(bench.ledger.is_empty());
}

#[test]
fn cancelled_calls_stay_due_with_their_marks() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::Retry(fault(Some(8))));
    bench.mark(Mark::Manual);
    let next = bench.run(Finished::Cancelled);
    assert_eq!((next.due, next.parked, next.fenced), (Some(secs(0)), false, false));
    let call = bench.call();
    assert_eq!((call.attempt, call.cause, call.previous), (3, Some(Cause::Manual), Some(U1)));
}

#[test]
fn times_near_the_end_of_the_clock_do_not_overflow() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    bench.time = u64::MAX;
    assert_eq!(bench.run(Finished::RequeueAfter(Time::MAX)).due, Some(Time::MAX));
}
