//! Rules about what a plugin that fails makes the host keep.

use super::bench::*;
use crate::diff::{EventSet, Rules, Verdict};
use crate::event::Event;
use crate::ledger::{FailureState, Finished, Here, Ledger, Mark, Policy, Start};
use crate::outcome::{Fault, Strike};
use crate::plugin::Replay;
use crate::reason::Reason;

fn permanent(message: &str) -> Finished {
    Finished::Permanent(Fault { reason: "Broken".into(), message: message.into(), retry_after: None })
}

/// A ledger of many keys, whose calls all end in one way.
struct Many {
    ledger: Ledger<u32, Obj>,
    policy: Policy,
}

impl Many {
    fn new(max_failing: usize) -> Self {
        Self { ledger: Ledger::new(), policy: Policy { max_failing, ..Policy::default() } }
    }

    /// What a worker does with a key; false if it is not taken now.
    fn work(&mut self, key: u32, now: Option<&Obj>, result: Finished) -> bool {
        let here = Here { key: &key, slot: None, now };
        if self.ledger.is_full(&self.policy) && self.ledger.entry(here).is_none() {
            return false;
        }
        let rules = Rules { matches: &|_: &Obj| true, events: EventSet::ALL, verdict: &|_, _| Verdict::Wanted };
        if let Start::Call(call) = self.ledger.start(here, &rules, secs(1), 1) {
            let _ = self.ledger.finish(here, call.token, result, secs(1), &self.policy, secs(2));
        }
        true
    }

    fn go(&mut self, key: u32) {
        self.ledger.observe(Here { key: &key, slot: None, now: None }, Some(&U1), None, true);
    }
}

#[test]
fn failing_keys_are_counted_while_they_fail() {
    let mut many = Many::new(10);
    for (key, result) in [(0, permanent("")), (1, retry()), (2, trap()), (3, Finished::Done), (4, Finished::RequeueAfter(secs(9)))] {
        assert!(many.work(key, Some(&U1), result));
    }
    assert_eq!((many.ledger.failing(), many.ledger.parked()), (3, 1));
    assert!(many.work(0, Some(&U2), Finished::Done) && many.work(1, Some(&U2), retry()));
    assert_eq!((many.ledger.failing(), many.ledger.parked()), (2, 0));
    many.go(3);
    assert!(many.work(3, None, Finished::RequeueAfter(secs(9))));
    assert_eq!(many.ledger.failing(), 3, "a delete that has not ended counts too");
    let mut keys: Vec<u32> = many.ledger.failures().map(|(key, _)| *key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [1, 2], "but it did not fail");
    let dropped = many.ledger.narrow([], &|_, _| true, &|_, _| false, &|_| Some(U2));
    assert_eq!((dropped.len(), many.ledger.failing(), many.ledger.parked()), (5, 0, 0));
}

#[test]
fn at_the_limit_no_further_object_is_told_of_and_nothing_is_dropped() {
    let mut many = Many::new(2);
    assert!(many.work(0, Some(&U1), Finished::Done));
    assert!(many.work(1, Some(&U1), trap()) && many.work(2, Some(&U1), permanent("why")));
    assert!(!many.work(3, Some(&U1), Finished::Done), "never told of: it waits");
    assert!(many.work(0, Some(&U2), permanent("not kept")), "told of before: it goes on");
    let view = many.ledger.entry(Here { key: &0, slot: None, now: None }).unwrap();
    assert_eq!(view.failure.map(|failure| (failure.reason, failure.message)), Some(("Broken", "")));
    let view = many.ledger.entry(Here { key: &2, slot: None, now: None }).unwrap();
    assert_eq!(view.failure.map(|failure| failure.message), Some("why"), "what was kept stays");
    // Objects that are made and deleted for ever leave nothing behind.
    for key in 100..200 {
        assert!(!many.work(key, Some(&U1), trap()));
        many.go(key);
        assert!(!many.work(key, None, trap()));
    }
    assert_eq!(many.ledger.len(), 3);
    // The deletes that are owed are made, and then there is room again.
    for key in [1, 2] {
        many.go(key);
        assert!(many.work(key, None, Finished::Done));
    }
    assert!(many.work(3, Some(&U1), Finished::Done));
}

#[test]
fn messages_are_cut() {
    let mut many = Many::new(10);
    assert!(many.work(0, Some(&U1), permanent(&"ü".repeat(5000))));
    let view = many.ledger.entry(Here { key: &0, slot: None, now: None }).unwrap();
    let message = view.failure.unwrap().message;
    assert!(message.len() <= 1024 + '…'.len_utf8() && message.ends_with("ü…"), "{}", message.len());
}

#[test]
fn failures_begin_with_the_first_one_since_a_success() {
    let mut bench = Bench::new();
    bench.set(Some(U1));
    for time in [3, 8] {
        bench.time = time;
        let _ = bench.run(retry());
        assert_eq!(bench.entry().failing_since, Some(secs(3)));
    }
    bench.time = 10;
    let _ = bench.run(Finished::Done);
    assert_eq!(bench.entry().failing_since, None);
}

#[test]
fn a_failed_key_is_parked_or_waits_or_is_tried_again() {
    let server = Finished::Waiting { reason: Reason::ServerUnavailable, message: String::new() };
    for (result, want) in [
        (permanent(""), FailureState::Parked),
        (Finished::Retry(fault(Some(8))), FailureState::Waiting),
        (server, FailureState::Waiting),
        (Finished::Strike(Strike { reason: Reason::DeadlineExceeded, message: String::new() }), FailureState::Retrying),
        (retry(), FailureState::Retrying),
    ] {
        let mut bench = Bench::new();
        bench.set(Some(U1));
        let _ = bench.run(result);
        assert_eq!(bench.entry().failure_state(secs(1)), Some(want));
    }
    let mut bench = Bench::new();
    bench.set(Some(U1));
    let _ = bench.run(Finished::Retry(fault(Some(8))));
    assert_eq!(bench.entry().failure_state(secs(8)), Some(FailureState::Retrying), "the time has come");
    bench.time = 8;
    let _ = bench.run(Finished::Done);
    assert_eq!(bench.entry().failure_state(secs(9)), None);
}

#[test]
fn a_new_revision_frees_parked_keys_unless_it_replays_nothing() {
    for (policy, freed) in [(Replay::All, true), (Replay::Failed, true), (Replay::None, false)] {
        for outcome in [permanent(""), trap()] {
            let mut bench = Bench::new();
            bench.set(Some(U1));
            for _ in 0..3 {
                let _ = bench.run(outcome.clone());
                bench.time += 2;
                if bench.entry().parked.is_some() {
                    break;
                }
            }
            assert!(bench.entry().parked.is_some());
            assert_eq!(bench.replay(policy).len(), usize::from(freed), "{policy:?}");
            bench.revision = 2;
            if freed {
                assert_eq!(bench.call().event, Event::Add);
            } else {
                bench.nothing();
                assert!(bench.mark(Mark::Manual));
                assert_eq!(bench.call().event, Event::Add);
            }
        }
    }
}
