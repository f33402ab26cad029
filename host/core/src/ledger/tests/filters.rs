//! Rules about dropped changes.

use super::bench::*;
use crate::diff::{Dropped, Verdict};
use crate::event::{Cause, Event, Removal};
use crate::ledger::{Finished, Mark, Start};

const DROPS: fn(Option<&Obj>, &Obj) -> Verdict = |_, _| Verdict::Dropped(Dropped::OnlyIfChanged);
const WANTS: fn(Option<&Obj>, &Obj) -> Verdict = |_, _| Verdict::Wanted;
const UNKNOWN: fn(Option<&Obj>, &Obj) -> Verdict = |_, _| Verdict::Unknown;

fn dropped(bench: &mut Bench) -> Option<Dropped> {
    match bench.start() {
        Start::Nothing { dropped, .. } => dropped,
        other => panic!("not nothing but {other:?}"),
    }
}

fn judge(bench: &mut Bench) -> (Option<Obj>, Obj) {
    match bench.start() {
        Start::Judge { old, new } => (old, new),
        other => panic!("nothing to judge but {other:?}"),
    }
}

#[test]
fn a_dropped_change_advances_what_is_judged_against_and_what_previous_shows() {
    let mut bench = Bench::delivered(U1);
    bench.verdict = DROPS;
    bench.set(Some(U2));
    assert_eq!(dropped(&mut bench), Some(Dropped::OnlyIfChanged));
    assert!(bench.settled());
    // Nothing is asked of it any more.
    bench.verdict = UNKNOWN;
    assert_eq!(dropped(&mut bench), None);
    bench.set(Some(U3));
    assert_eq!(judge(&mut bench), (Some(U2), U3));
    bench.verdict = WANTS;
    assert_eq!(bench.call().previous, Some(U2));
}

#[test]
fn while_a_failed_call_is_outstanding_previous_stays() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(retry());
    bench.verdict = DROPS;
    bench.set(Some(U3));
    assert_eq!(dropped(&mut bench), Some(Dropped::OnlyIfChanged));
    assert_eq!((bench.entry().resource_version, bench.entry().due), ("3", Some(secs(2))));
    // The retry that is due comes all the same.
    bench.time = 2;
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.attempt), (Event::Update, U3, Some(U1), 2));
    assert_eq!((call.cause, call.dropped), (Some(Cause::Retry), None));
}

#[test]
fn the_change_of_a_settled_key_is_judged_against_the_state_that_was_told() {
    let mut bench = Bench::delivered(U1);
    bench.verdict = UNKNOWN;
    assert!(bench.settled());
    bench.set(Some(U2));
    bench.set(Some(U3));
    // However often: nothing was decided yet.
    for _ in 0..3 {
        assert_eq!(judge(&mut bench), (Some(U1), U3));
    }
    bench.verdict = WANTS;
    assert_eq!(bench.call().previous, Some(U1));
}

#[test]
fn what_is_due_is_called_although_the_change_is_dropped() {
    let mut bench = Bench::delivered(U1);
    bench.verdict = DROPS;
    bench.set(Some(U2));
    assert!(bench.mark(Mark::Related));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous), (Event::Update, U2, Some(U2)));
    assert_eq!((call.cause, call.dropped), (Some(Cause::Related), Some(Dropped::OnlyIfChanged)));
}

#[test]
fn parked_until_a_change_that_the_filters_let_through() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U2));
    let _ = bench.run(Finished::Permanent(fault(None)));
    bench.verdict = DROPS;
    bench.set(Some(U3));
    assert_eq!(dropped(&mut bench), Some(Dropped::OnlyIfChanged));
    assert!(bench.entry().parked.is_some());
    bench.verdict = WANTS;
    assert!(bench.nothing().is_none());
    bench.set(Some(U2));
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous), (Event::Update, U2, Some(U1)));
    assert!(bench.entry().parked.is_some());
    let _ = bench.finish(call.token, Finished::Done);
    assert!(bench.settled());
}

#[test]
fn an_object_whose_first_sight_is_dropped_counts_as_told() {
    let mut bench = Bench::new();
    bench.verdict = DROPS;
    bench.set(Some(U1));
    assert_eq!(dropped(&mut bench), Some(Dropped::OnlyIfChanged));
    assert!(bench.settled());
    bench.verdict = UNKNOWN;
    bench.set(Some(U2));
    assert_eq!(judge(&mut bench), (Some(U1), U2));
    // Nobody filters its end.
    bench.set(None);
    let call = bench.call();
    assert_eq!((call.event, call.current, call.previous, call.removal), (Event::Delete, U2, Some(U1), Removal::Gone));
}

#[test]
fn after_a_tried_delete_there_is_nothing_to_compare_with() {
    let mut bench = Bench::delivered(U1);
    bench.set(Some(U4_Y));
    let call = bench.call();
    assert_eq!(call.event, Event::Delete);
    let _ = bench.finish(call.token, retry());
    bench.set(Some(U2));
    bench.verdict = UNKNOWN;
    assert_eq!(judge(&mut bench), (None, U2));
    bench.verdict = DROPS;
    assert_eq!(dropped(&mut bench), Some(Dropped::OnlyIfChanged));
    assert!(bench.settled(), "it starts anew");
}
