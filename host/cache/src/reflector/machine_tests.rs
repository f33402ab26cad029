//! The reflector's rules as tables: what happened, and what is done next.

use std::time::Duration;

use tokio::time::Instant;
use wharf_core::Reason;

use super::machine::Machine;
use super::step::{End, Health, Input, Step, StoreCall};
use crate::classify::{Class, Failure};
use crate::options::Options;

fn lists() -> Options {
    Options { watch_list: false, ..Options::default() }
}

/// A machine on a clock of its own.
pub(super) struct Run {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    pub(super) health: Health,
    pub(super) store: StoreCall,
}

impl Run {
    /// By lists, then watches.
    fn new() -> Self {
        Self::with(lists())
    }

    pub(super) fn with(options: Options) -> Self {
        Self::from(&options, "")
    }

    pub(super) fn from(options: &Options, rv: &str) -> Self {
        let machine = Machine::new(options, rv.into(), || 0.0);
        Self { machine, now: Instant::now(), health: Health::Unchanged, store: StoreCall::Nothing }
    }

    /// The next step as a short text; sleeps advance the clock and are shown too.
    pub(super) fn next(&mut self, input: Input) -> String {
        let decision = self.machine.next(input, self.now);
        (self.health, self.store) = (decision.health, decision.store);
        match decision.step {
            Step::Resolve { fresh } => format!("resolve{}", if fresh { " fresh" } else { "" }),
            Step::List(list) => {
                let part = |name: &str, value: Option<String>| value.map_or(String::new(), |value| format!(" {name}={value}"));
                let rv = part("rv", list.resource_version.map(String::from));
                format!("list{rv}{}{}", part("limit", list.limit.map(|l| l.to_string())), part("token", list.token.map(String::from)))
            }
            Step::Watch(watch) if watch.initial.is_some() => format!("watch-list rv={}", watch.resource_version),
            Step::Watch(watch) => format!("watch rv={} {}s", watch.resource_version, watch.timeout.as_secs()),
            Step::Sleep(time) => {
                self.now += time;
                format!("{}ms, {}", time.as_millis(), self.after(Input::Woke))
            }
        }
    }

    /// As `next`, but what was said before a sleep stays.
    fn after(&mut self, input: Input) -> String {
        let said = (self.health.clone(), self.store.clone());
        let step = self.next(input);
        (self.health, self.store) = said;
        step
    }

    /// Up to the watch at version 10.
    fn synced() -> Self {
        let mut run = Self::new();
        assert_eq!(run.next(Input::Resolved), "list rv=0 limit=500");
        assert_eq!(run.next(page("10", None)), "watch rv=10 300s");
        run.machine.watching(run.now);
        run
    }

    pub(super) fn ended_after(&mut self, seconds: u64, end: End) -> String {
        self.now += Duration::from_secs(seconds);
        self.next(Input::WatchEnded(end))
    }
}

pub(super) fn page(rv: &str, next: Option<&str>) -> Input {
    Input::Page { resource_version: rv.into(), next: next.map(Into::into) }
}

pub(super) fn failure(class: Class) -> Failure {
    Failure::new(class, "what: why")
}

pub(super) fn list_failed(class: Class) -> Input {
    Input::ListFailed(failure(class))
}

#[test]
fn cr1_the_second_list_asks_for_what_was_seen_last() {
    let mut run = Run::synced();
    assert_eq!((&run.health, &run.store), (&Health::Synced, &StoreCall::Finish { resource_version: "10".into() }));
    for (rv, added) in [("11", true), ("12", false), ("20", false)] {
        run.machine.seen(rv, added).unwrap();
    }
    assert_eq!(run.ended_after(5, End::Error(failure(Class::Expired))), "800ms, list rv=20");
    assert_eq!(run.health, Health::Noted(failure(Class::Expired)));
}

/// Also CR4: the newest state is asked for once, at once; then versions again.
#[test]
fn cr2_an_unavailable_version_is_asked_for_without_one() {
    for class in [Class::Expired, Class::TooLarge] {
        let mut run = Run::synced();
        assert_eq!(run.ended_after(5, End::Refused(failure(Class::Expired))), "800ms, list rv=10");
        assert_eq!(run.next(list_failed(class)), "list limit=500");
        assert_eq!(run.next(list_failed(class)), "1600ms, list limit=500");
        assert_eq!(run.next(page("30", None)), "watch rv=30 300s");
        assert_eq!(run.ended_after(0, End::Error(failure(Class::Other))), "3200ms, list rv=30");
    }
}

/// Also CR26: the token expires, so everything is asked for whole, at the same version;
/// if that is gone too, without a version.
#[test]
fn cr3_an_expired_token_is_followed_by_one_whole_list() {
    let mut run = Run::with(Options { always_paginate: true, page_size: 4, ..lists() });
    assert_eq!(run.next(Input::Resolved), "list rv=0 limit=4");
    assert_eq!(run.next(page("10", None)), "watch rv=10 300s");
    assert_eq!(run.ended_after(5, End::Refused(failure(Class::Expired))), "800ms, list rv=10 limit=4");
    assert_eq!(run.next(page("10", Some("t"))), "list limit=4 token=t");
    assert_eq!(run.next(list_failed(Class::Expired)), "list rv=10");
    assert_eq!(run.next(list_failed(Class::Expired)), "list limit=4");
    assert_eq!(run.next(page("11", Some("u"))), "list limit=4 token=u");
    assert_eq!(run.next(list_failed(Class::Expired)), "list");
    assert_eq!(run.next(page("12", None)), "watch rv=12 300s");
}

#[test]
fn cr5_when_a_limit_is_sent() {
    let mut run = Run::new();
    assert_eq!(run.next(Input::Resolved), "list rv=0 limit=500");
    assert_eq!(run.next(page("10", Some("t"))), "list limit=500 token=t");
    assert_eq!(run.next(page("10", None)), "watch rv=10 300s");
    // The server paged a list from version 0: it has no cache, so pages are right always.
    assert_eq!(run.ended_after(5, End::Error(failure(Class::Expired))), "800ms, list rv=10 limit=500");
    assert_eq!(Run::synced().ended_after(5, End::Error(failure(Class::Expired))), "800ms, list rv=10");
}

/// Also CR10, CR12, CR24, CR25: whether there is a list, a wait, a failure.
#[test]
fn cr6_how_a_watch_ends() {
    let refused = |class| End::Refused(failure(class));
    let error = |class| End::Error(failure(class));
    for (end, lasted, events, want, failing) in [
        (End::Closed, 0, 1, "watch rv=10 300s", false),
        (End::Closed, 1, 0, "watch rv=10 300s", false),
        (End::Closed, 0, 0, "800ms, list rv=10", true),
        (End::Silent, 315, 0, "watch rv=10 300s", false),
        (End::Broken(failure(Class::Unreachable)), 3, 0, "watch rv=10 300s", false),
        (End::Broken(failure(Class::Unreachable)), 0, 0, "800ms, list rv=10", true),
        (refused(Class::Unreachable), 0, 0, "800ms, watch rv=10 300s", true),
        (refused(Class::TooManyRequests), 0, 0, "800ms, watch rv=10 300s", true),
        (refused(Class::Expired), 0, 0, "800ms, list rv=10", false),
        (refused(Class::Forbidden), 0, 0, "800ms, list rv=10", true),
        (refused(Class::NotFound), 0, 0, "resolve fresh", false),
        (refused(Class::Internal), 0, 0, "800ms, list rv=10", true),
        (refused(Class::Other), 0, 0, "800ms, list rv=10", true),
        (error(Class::Expired), 3, 1, "800ms, list rv=10", false),
        (error(Class::TooManyRequests), 3, 1, "800ms, watch rv=10 300s", false),
        (error(Class::Internal), 3, 1, "800ms, list rv=10", true),
        (error(Class::Other), 3, 1, "800ms, list rv=10", true),
        (End::Undecodable(failure(Class::Undecodable)), 3, 1, "800ms, list rv=10", true),
    ] {
        let mut run = Run::synced();
        for _ in 0..events {
            run.machine.seen("10", false).unwrap();
        }
        assert_eq!(run.ended_after(lasted, end.clone()), want, "{end:?} after {lasted} s");
        assert_eq!(matches!(run.health, Health::Failing(_)), failing, "{end:?} after {lasted} s");
    }
}

/// The window's own table is in `backoff`.
#[test]
fn cr13_internal_errors_are_retried_at_once_within_their_window() {
    let mut run = Run::with(Options { internal_error_window: Duration::from_secs(30), ..lists() });
    run.next(Input::Resolved);
    run.next(page("10", None));
    for _ in 0..31 {
        assert_eq!(run.ended_after(1, End::Error(failure(Class::Internal))), "watch rv=10 300s");
    }
    assert_eq!(run.ended_after(1, End::Error(failure(Class::Internal))), "800ms, list rv=10");
}

/// Also CR11: failures of lists wait longer and longer, and a success does not reset that.
#[test]
fn cr23_waits_grow_over_failed_lists() {
    let mut run = Run::new();
    run.next(Input::Resolved);
    let waits: Vec<_> = (0..6).map(|_| run.next(list_failed(Class::Internal))).collect();
    let want = ["800ms", "1600ms", "3200ms", "6400ms", "12800ms", "15000ms"].map(|wait| format!("{wait}, list rv=0 limit=500"));
    assert_eq!(waits, want);
    run.next(page("10", None));
    assert_eq!(run.ended_after(60, End::Refused(failure(Class::Other))), "15000ms, list rv=10");
    run.next(page("10", None));
    assert_eq!(run.ended_after(121, End::Refused(failure(Class::Other))), "800ms, list rv=10");
}

#[test]
fn cr15_watches_last_between_one_and_two_times_the_setting() {
    for (random, want) in [((|| 0.0) as fn() -> f64, 300.0), (|| 0.5, 450.0), (|| 0.999_999, 599.9997)] {
        let mut machine = Machine::new(&lists(), Box::default(), random);
        let decision = machine.next(page("10", None), Instant::now());
        assert!(matches!(decision.step, Step::Watch(watch) if (watch.timeout.as_secs_f64() - want).abs() < 0.001), "{want}");
    }
}

#[test]
fn cr16_a_watch_from_no_version_learns_it_from_the_first_change() {
    let mut run = Run::new();
    run.next(Input::Resolved);
    assert_eq!(run.next(page("", None)), "watch rv= 300s");
    run.machine.seen("30", true).unwrap();
    run.machine.seen("10", true).unwrap();
    assert_eq!(run.ended_after(2, End::Closed), "watch rv= 300s");
    run.machine.seen("40", false).unwrap();
    run.machine.seen("41", true).unwrap();
    assert_eq!(run.ended_after(2, End::Closed), "watch rv=41 300s");
}

/// A kind that is not there sleeps; a kind that goes takes its objects along once
/// discovery confirms it; a 404 that it does not confirm is a failure like others.
#[test]
fn kinds_come_and_go() {
    let mut run = Run::new();
    let gone = || Input::Unresolved(failure(Class::NotFound));
    for wait in [1, 2, 4, 8, 10, 10] {
        assert_eq!(run.next(gone()), format!("{wait}000ms, resolve"));
        assert_eq!((&run.health, &run.store), (&Health::Sleeping(failure(Class::NotFound)), &StoreCall::Vanish));
    }
    assert_eq!(run.next(Input::Resolved), "list rv=0 limit=500");
    run.next(page("10", None));
    assert_eq!(run.ended_after(9, End::Refused(failure(Class::NotFound))), "resolve fresh");
    assert_eq!(run.next(Input::Resolved), "800ms, list rv=10");
    assert!(matches!(run.health, Health::Failing(_)));
    assert_eq!(run.next(list_failed(Class::NotFound)), "resolve fresh");
    assert_eq!(run.next(Input::Unresolved(failure(Class::Unreachable))), "1600ms, resolve");
    assert_eq!(run.store, StoreCall::Nothing);
    assert_eq!(run.next(gone()), "1000ms, resolve");
    assert_eq!(run.store, StoreCall::Vanish);
    assert_eq!(run.next(Input::Resolved), "list rv=0 limit=500");
    // The new kind is not made to wait for the failures of the old one.
    assert_eq!(run.next(list_failed(Class::TooManyRequests)), "800ms, list rv=0 limit=500");
}

/// A list that works does not heal an informer whose watch is refused.
#[test]
fn a_refused_watch_keeps_failing_until_it_is_accepted() {
    let mut run = Run::synced();
    run.ended_after(5, End::Refused(failure(Class::Forbidden)));
    assert_eq!(run.health, Health::Failing(failure(Class::Forbidden)));
    run.next(page("10", None));
    assert_eq!(run.health, Health::Unchanged);
    assert!(run.machine.watching(run.now));
    assert!(!run.machine.watching(run.now));
}

/// The reasons that relists are counted under.
#[test]
fn relists_say_why() {
    for (class, want) in [
        (Class::Expired, Reason::WatchExpired),
        (Class::Unauthorized, Reason::Unauthorized),
        (Class::Forbidden, Reason::Forbidden),
        (Class::Undecodable, Reason::Undecodable),
        (Class::Internal, Reason::ServerUnavailable),
    ] {
        let mut run = Run::synced();
        run.machine.next(Input::WatchEnded(End::Error(failure(class))), run.now);
        let decision = run.machine.next(Input::Woke, run.now);
        assert!(matches!(decision.step, Step::List(list) if list.reason == want && list.first), "{class:?}");
    }
}
