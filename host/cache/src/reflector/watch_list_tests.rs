//! The rules for watches that begin with what exists, as tables.

use std::time::Duration;

use wharf_core::Reason;

use super::machine_tests::{Run, failure, list_failed, page};
use super::step::{End, Health, Input, Step, StoreCall};
use crate::classify::Class;
use crate::options::Options;

impl Run {
    /// In the first watch-list, which the server has accepted.
    fn initial() -> Self {
        let mut run = Self::with(Options::default());
        assert_eq!(run.next(Input::Resolved), "watch-list rv=");
        assert!(!run.machine.watching(run.now));
        run
    }

    /// The objects, then the end of them at version 10.
    fn shown() -> Self {
        let mut run = Self::initial();
        run.machine.seen("9", true).unwrap();
        run.machine.seen("3", true).unwrap();
        let said = run.machine.initial_end("10".into()).unwrap();
        assert_eq!(said, (StoreCall::Finish { resource_version: "10".into() }, Health::Synced));
        run
    }
}

/// After the end of what exists it is a watch as any other, and goes on as one.
#[test]
fn cw8_a_watch_that_is_complete_goes_on_as_a_watch() {
    let mut run = Run::shown();
    assert_eq!(run.ended_after(0, End::Closed), "watch rv=10 300s");
    let mut run = Run::shown();
    run.machine.seen("12", false).unwrap();
    assert_eq!(run.ended_after(90, End::Broken(failure(Class::Unreachable))), "watch rv=12 300s");
}

#[test]
fn cw3_without_the_option_there_are_lists() {
    let mut run = Run::with(Options { watch_list: false, ..Options::default() });
    assert_eq!(run.next(Input::Resolved), "list rv=0 limit=500");
}

/// What is asked, by what was seen.
#[test]
fn cw10_the_version_that_is_asked_for() {
    let mut run = Run::initial();
    run.machine.seen("9", true).unwrap();
    // What exists comes in no order: nothing is learnt of the version before its end.
    assert_eq!(run.ended_after(5, End::Closed), "800ms, watch-list rv=");
    let mut run = Run::shown();
    run.machine.seen("15", false).unwrap();
    assert_eq!(run.ended_after(5, End::Error(failure(Class::Expired))), "800ms, watch-list rv=15");
    assert_eq!(run.health, Health::Noted(failure(Class::Expired)));
    run.machine.watching(run.now);
    run.machine.seen("9", true).unwrap();
    run.machine.initial_end("20".into()).unwrap();
    assert_eq!(run.ended_after(5, End::Closed), "watch rv=20 300s");
    let mut run = Run::from(&Options::default(), "7");
    assert_eq!(run.next(Input::Resolved), "watch-list rv=7");
    let mut run = Run::from(&Options { watch_list: false, ..Options::default() }, "7");
    assert_eq!(run.next(Input::Resolved), "list rv=7");
}

/// How a watch ends that has not shown all: again, or a list at once.
#[test]
fn cw4_how_a_watch_ends_that_is_not_complete() {
    let refused = |class| End::Refused(failure(class));
    let error = |class| End::Error(failure(class));
    for (end, lasted, events, want, failing) in [
        (refused(Class::Invalid), 0, 0, "list rv=0 limit=500", false),
        (refused(Class::Forbidden), 0, 0, "list rv=0 limit=500", false),
        (refused(Class::NotFound), 0, 0, "list rv=0 limit=500", false),
        (refused(Class::Internal), 0, 0, "list rv=0 limit=500", false),
        (refused(Class::Other), 0, 0, "list rv=0 limit=500", false),
        (refused(Class::TooManyRequests), 0, 0, "800ms, watch-list rv=", true),
        (refused(Class::Unreachable), 0, 0, "800ms, watch-list rv=", true),
        (refused(Class::Expired), 0, 0, "watch-list rv=", false),
        (refused(Class::TooLarge), 0, 0, "watch-list rv=", false),
        (error(Class::TooManyRequests), 2, 1, "800ms, watch-list rv=", true),
        (error(Class::Expired), 2, 1, "watch-list rv=", false),
        (error(Class::Internal), 2, 1, "list rv=0 limit=500", false),
        (End::Undecodable(failure(Class::Undecodable)), 2, 1, "list rv=0 limit=500", false),
        (End::Silent, 75, 1, "list rv=0 limit=500", false),
        (End::Closed, 0, 0, "list rv=0 limit=500", false),
        (End::Closed, 0, 1, "800ms, watch-list rv=", true),
        (End::Closed, 9, 0, "800ms, watch-list rv=", true),
        (End::Broken(failure(Class::Unreachable)), 9, 1, "800ms, watch-list rv=", true),
    ] {
        let mut run = Run::initial();
        for _ in 0..events {
            run.machine.seen("9", true).unwrap();
        }
        assert_eq!(run.ended_after(lasted, end.clone()), want, "{end:?} after {lasted} s");
        assert_eq!(matches!(run.health, Health::Failing(_)), failing, "{end:?} after {lasted} s");
    }
}

/// A server that refuses for good is not asked again, until the kind is another one; one
/// that was only sick is.
#[test]
fn cw12_a_server_that_cannot_do_it_is_not_asked_again() {
    for (class, again) in [(Class::Invalid, "800ms, list rv=10"), (Class::Internal, "800ms, watch-list rv=10")] {
        let mut run = Run::initial();
        assert_eq!(run.ended_after(0, End::Refused(failure(class))), "list rv=0 limit=500");
        assert_eq!(run.next(page("10", None)), "watch rv=10 300s");
        assert_eq!(run.health, Health::Synced);
        run.machine.watching(run.now);
        assert_eq!(run.ended_after(9, End::Error(failure(Class::Expired))), again);
    }
    let mut run = Run::initial();
    run.ended_after(0, End::Refused(failure(Class::Invalid)));
    assert_eq!(run.next(list_failed(Class::NotFound)), "resolve fresh");
    assert_eq!(run.next(Input::Unresolved(failure(Class::NotFound))), "1000ms, resolve");
    assert_eq!(run.next(Input::Resolved), "watch-list rv=");
}

/// A version that the server does not have is given up for one attempt, at once; after that
/// there are waits.
#[test]
fn cw9_an_unavailable_version_is_given_up_once() {
    for class in [Class::Expired, Class::TooLarge] {
        let mut run = Run::shown();
        assert_eq!(run.ended_after(5, End::Error(failure(Class::Expired))), "800ms, watch-list rv=10");
        assert_eq!(run.ended_after(0, End::Refused(failure(class))), "watch-list rv=");
        assert_eq!(run.ended_after(0, End::Refused(failure(class))), "1600ms, watch-list rv=");
        run.machine.watching(run.now);
        run.machine.initial_end("5".into()).unwrap();
        assert_eq!(run.ended_after(5, End::Error(failure(Class::Expired))), "3200ms, watch-list rv=5");
    }
}

/// A server that never reaches the version that it asks for itself has another trouble: a list tells which.
#[test]
fn a_server_that_cannot_fill_its_cache_is_asked_for_a_list() {
    let mut run = Run::initial();
    let behind = || End::Error(failure(Class::TooLarge));
    for want in ["watch-list rv=", "800ms, watch-list rv=", "list limit=500"] {
        assert_eq!(run.ended_after(3, behind()), want);
    }
    assert_eq!(run.next(list_failed(Class::Internal)), "1600ms, watch-list rv=");
    assert_eq!(run.health, Health::Failing(failure(Class::Internal)));
    // The next time it is given a moment again.
    for want in ["3200ms, watch-list rv=", "list limit=500"] {
        assert_eq!(run.ended_after(3, behind()), want);
    }
}

/// A server that is busy is asked again, later and later; in the end for pages.
#[test]
fn cw6_a_busy_server_is_asked_again_and_then_for_a_list() {
    for end in [End::Refused(failure(Class::TooManyRequests)), End::Broken(failure(Class::Unreachable))] {
        let mut run = Run::initial();
        for wait in [800, 1600, 3200, 6400] {
            run.machine.watching(run.now);
            run.machine.seen("9", true).unwrap();
            assert_eq!(run.ended_after(2, end.clone()), format!("{wait}ms, watch-list rv="));
        }
        run.machine.watching(run.now);
        assert_eq!(run.ended_after(2, end), "list rv=0 limit=500");
        // The next time is a first time again.
        assert_eq!(run.next(list_failed(Class::Other)), "12800ms, watch-list rv=");
        assert_eq!(run.ended_after(2, End::Refused(failure(Class::TooManyRequests))), "15000ms, watch-list rv=");
    }
    // A server that is away has refused nothing: no end to patience.
    let mut run = Run::initial();
    for _ in 0..9 {
        assert!(run.ended_after(0, End::Refused(failure(Class::Unreachable))).ends_with("ms, watch-list rv="));
    }
}

/// A watch-list that is accepted has not healed anything; its end has.
#[test]
fn cw1_a_failing_watch_is_healed_by_the_end_of_what_exists() {
    let mut run = Run::shown();
    assert_eq!(run.ended_after(9, End::Closed), "watch rv=10 300s");
    assert_eq!(run.ended_after(0, End::Refused(failure(Class::Other))), "800ms, watch-list rv=10");
    assert!(matches!(run.health, Health::Failing(_)));
    assert!(!run.machine.watching(run.now));
    assert_eq!(run.machine.initial_end("11".into()).unwrap().1, Health::Synced);
    run.ended_after(9, End::Closed);
    assert!(!run.machine.watching(run.now), "nothing is left to be healed");
}

/// The server goes back in time: not believed, and asked again in another way.
#[test]
fn versions_that_go_back_are_not_believed() {
    let mut run = Run::shown();
    let failure = run.machine.seen("9", false).unwrap_err();
    assert_eq!((failure.class, &*failure.message), (Class::Undecodable, "the watch went back from version 10 to 9"));
    assert_eq!(run.ended_after(1, End::Undecodable(failure)), "800ms, watch-list rv=10");
    run.machine.watching(run.now);
    let failure = run.machine.initial_end("8".into()).unwrap_err();
    assert_eq!(&*failure.message, "the watch began at version 8, though 10 was asked for");
    assert_eq!(run.ended_after(1, End::Undecodable(failure)), "list rv=10");
    assert_eq!(run.next(page("8", None)), "list limit=500");
    assert!(matches!(&run.health, Health::Noted(failure) if &*failure.message == "the list is of version 8, though 10 was asked for"));
    assert_eq!(run.store, StoreCall::Nothing);
    assert_eq!(run.next(page("8", None)), "watch rv=8 300s");
    // Versions that are no numbers say nothing about their order.
    for version in ["7a", "b", "10", "x/1"] {
        run.machine.seen(version, false).unwrap();
    }
}

/// What begins a full state says why.
#[test]
fn watch_lists_say_why() {
    let mut run = Run::shown();
    run.now += Duration::from_secs(5);
    run.machine.next(Input::WatchEnded(End::Error(failure(Class::Expired))), run.now);
    let decision = run.machine.next(Input::Woke, run.now);
    assert!(matches!(decision.step, Step::Watch(watch) if watch.initial == Some(Reason::WatchExpired)));
}
