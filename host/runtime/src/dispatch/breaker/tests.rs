//! The breaker by itself: what opens it, how long it stays open, and what closes it.

use proptest::prelude::*;

use super::*;

const FIRST: Duration = Duration::from_secs(30);
const MAX: Duration = Duration::from_secs(1800);

fn call(key: u64, ended: Ended) -> Outcome {
    Outcome { key, ended, reason: Reason::Trap }
}

/// Counts calls that begin and end at once, of a plugin with so many keys; how often it opened.
fn count(breaker: &mut Breaker, all: usize, calls: &[(u64, Ended)]) -> usize {
    let mut opened = 0;
    for (key, ended) in calls {
        let pass = breaker.pass();
        let turned = breaker.count(pass, call(*key, *ended), all, Duration::ZERO, 0.0);
        breaker.give_back(pass);
        opened += usize::from(matches!(turned, Some(Turned::Opened { .. })));
    }
    opened
}

fn breaker() -> Breaker {
    Breaker::new(BreakerPolicy::default())
}

/// One that is open since 0.
fn open() -> Breaker {
    let mut breaker = breaker();
    assert_eq!(count(&mut breaker, 9, &[1, 2, 3, 1, 2].map(|key| (key, Ended::Struck))), 1);
    breaker
}

/// A trial at a time; what came of it.
fn trial(breaker: &mut Breaker, now: Duration, ended: Ended) -> Option<Turned> {
    assert_eq!(breaker.look(now), Some(Turned::Trying));
    let pass = breaker.pass();
    breaker.count(pass, call(1, ended), 9, now, 0.0)
}

#[test]
fn what_opens_it() {
    use Ended::{Excused, Failed, Struck, Well};
    let keys = |keys: &[u64], ended| keys.iter().map(|key| (*key, ended)).collect::<Vec<_>>();
    let poison = |times: u64, others: u64| -> Vec<(u64, Ended)> {
        (0..times).flat_map(|time| [(0, Struck)].into_iter().chain((1..=others).map(move |n| (10 + time * others + n, Well)))).collect()
    };
    let mixed = |keys: u64, every: u64| -> Vec<(u64, Ended)> {
        (0..54).map(|n| if n % every == 0 { (n / every % keys, Struck) } else { (100 + n, Well) }).collect()
    };
    for (what, all, calls, opens) in [
        ("five in a row of three keys", 100, keys(&[1, 2, 3, 1, 2], Struck), true),
        ("four", 100, keys(&[1, 2, 3, 4], Struck), false),
        ("two keys of many", 100, keys(&[1, 2].repeat(20), Struck), false),
        ("two keys, and there are no others", 2, keys(&[1, 2, 1, 2, 1], Struck), true),
        ("one key of two", 2, keys(&[1; 40], Struck), false),
        ("the only key", 1, keys(&[1; 5], Struck), true),
        ("what the guest says itself", 100, keys(&[1, 2, 3, 4, 5, 6, 7, 8], Failed), false),
        ("what nobody is to blame for", 100, keys(&[1, 2, 3, 4, 5, 6, 7, 8], Excused), false),
        ("that is not counted between", 100, vec![(1, Struck), (2, Struck), (9, Excused), (3, Struck), (4, Struck), (5, Struck)], true),
        ("a success between", 100, vec![(1, Struck), (2, Struck), (9, Well), (3, Struck), (4, Struck), (5, Struck)], false),
        ("a guest's word between", 100, vec![(1, Struck), (2, Struck), (9, Failed), (3, Struck), (4, Struck), (5, Struck)], false),
        ("one key beside others, each other call", 100, poison(40, 1), false),
        ("a quarter of fifty, of three keys", 100, mixed(3, 4), true),
        ("a quarter of fifty, of two keys", 100, mixed(2, 4), false),
        ("a fifth", 100, mixed(3, 5), false),
        ("a quarter of fewer", 100, mixed(3, 4).into_iter().take(44).collect(), false),
    ] {
        let mut breaker = breaker();
        assert_eq!(count(&mut breaker, all, &calls) > 0, opens, "{what}");
        assert_eq!(breaker.tripped().is_some(), opens, "{what}");
    }
    let never = BreakerPolicy { open_for: Duration::ZERO, ..BreakerPolicy::default() };
    assert_eq!(count(&mut Breaker::new(never), 100, &keys(&[1, 2, 3].repeat(40), Struck)), 0, "it is switched off");
}

#[test]
fn the_time_doubles_with_each_trial_that_strikes_up_to_the_most() {
    let mut breaker = open();
    let mut waits = Vec::new();
    let mut since = Duration::ZERO;
    for _ in 0..9 {
        let until = breaker.until().unwrap();
        waits.push((until - since).as_secs());
        assert_eq!(breaker.look(until - Duration::from_millis(1)), None);
        assert!(!breaker.lets_through());
        assert!(matches!(trial(&mut breaker, until, Ended::Struck), Some(Turned::Opened { .. })));
        since = until;
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
}

#[test]
fn the_time_starts_over_after_it_was_closed_for_as_long() {
    let strikes = [1, 2, 3, 1, 2].map(|key| (key, Ended::Struck));
    for (closed, then) in [(29, 60), (30, 30)] {
        let mut breaker = open();
        assert_eq!(trial(&mut breaker, FIRST, Ended::Well), Some(Turned::Closed));
        assert_eq!(breaker.tripped(), None);
        let now = FIRST + Duration::from_secs(closed);
        for (key, ended) in strikes {
            let pass = breaker.pass();
            breaker.count(pass, call(key, ended), 9, now, 0.0);
        }
        assert_eq!(breaker.until(), Some(now + Duration::from_secs(then)));
    }
    // Something else serves.
    let mut breaker = open();
    assert!(matches!(trial(&mut breaker, FIRST, Ended::Struck), Some(Turned::Opened { .. })));
    assert_eq!(breaker.reset(), Some(Turned::Closed));
    assert_eq!((breaker.reset(), count(&mut breaker, 9, &strikes), breaker.until()), (None, 1, Some(FIRST)));
}

#[test]
fn one_call_is_tried_and_it_may_come_to_nothing() {
    let mut breaker = open();
    assert_eq!(breaker.look(FIRST), Some(Turned::Trying));
    for _ in 0..3 {
        assert!(breaker.lets_through());
        let pass = breaker.pass();
        assert!(!breaker.lets_through(), "one at a time");
        assert_eq!(breaker.count(pass, call(1, Ended::Excused), 9, FIRST, 0.0), None);
        breaker.give_back(pass);
    }
    let pass = breaker.pass();
    assert_eq!(breaker.count(pass, call(1, Ended::Failed), 9, FIRST, 0.0), Some(Turned::Closed), "it is no strike");
}

#[test]
fn calls_of_before_say_nothing() {
    let mut breaker = breaker();
    let before = breaker.pass();
    assert_eq!(count(&mut breaker, 9, &[1, 2, 3, 1, 2].map(|key| (key, Ended::Struck))), 1);
    let until = breaker.until();
    for ended in [Ended::Struck, Ended::Well] {
        assert_eq!(breaker.count(before, call(7, ended), 9, Duration::from_secs(1), 0.0), None);
        assert_eq!(breaker.until(), until);
    }
    breaker.look(FIRST);
    let trial = breaker.pass();
    for ended in [Ended::Struck, Ended::Well] {
        assert_eq!(breaker.count(before, call(7, ended), 9, FIRST, 0.0), None);
    }
    breaker.give_back(before);
    assert!(!breaker.lets_through(), "the trial is on its way");
    breaker.try_now();
    assert!(!breaker.lets_through(), "and is waited for");
    assert_eq!(breaker.count(trial, call(1, Ended::Well), 9, FIRST, 0.0), Some(Turned::Closed));
}

#[test]
fn plugins_do_not_return_together() {
    for (random, wait) in [(0.0, 30.0), (0.5, 31.5), (1.0, 33.0)] {
        let mut breaker = breaker();
        for key in 0..5 {
            let pass = breaker.pass();
            breaker.count(pass, call(key, Ended::Struck), 9, Duration::ZERO, random);
        }
        assert_eq!(breaker.until(), Some(Duration::from_secs_f64(wait)));
    }
}

#[test]
fn people_are_told() {
    let name = PluginName::new("a", "b").unwrap();
    let open = Tripped { until: Some(Duration::from_secs(1_700_000_000)), reason: Reason::Trap };
    assert!(open.message(&name).contains("it is not called until 2023-11-14T22:13:20Z"), "{}", open.message(&name));
    let half = Tripped { until: None, ..open };
    assert_eq!([None, Some(half), Some(open)].map(Tripped::number), [0, 1, 2]);
}

proptest! {
    /// Whatever happens: while it is open nothing passes, while it is half open one at a time does, no wait is outside of
    /// what the policy says, and from wherever it is a trial that ends well closes it.
    #[test]
    fn it_always_comes_back(steps in prop::collection::vec((0u8..6, 0u64..4, 0u64..4000), 0..200)) {
        let mut breaker = breaker();
        let mut now = Duration::ZERO;
        let mut flying: Vec<(Pass, u64)> = Vec::new();
        for (what, key, seconds) in steps {
            match what {
                0 | 1 if breaker.lets_through() => flying.push((breaker.pass(), key)),
                2 if !flying.is_empty() => {
                    let (pass, key) = flying.remove(key as usize % flying.len());
                    let turned = breaker.count(pass, call(key, Ended::Struck), 4, now, 0.5);
                    breaker.give_back(pass);
                    if let Some(Turned::Opened { wait, .. }) = turned {
                        prop_assert!(wait >= FIRST && wait <= MAX.mul_f64(1.0 + JITTER));
                        prop_assert!(!breaker.lets_through());
                    }
                }
                3 if !flying.is_empty() => {
                    let (pass, key) = flying.remove(key as usize % flying.len());
                    breaker.count(pass, call(key, Ended::Well), 4, now, 0.5);
                    breaker.give_back(pass);
                }
                4 => {
                    breaker.try_now();
                }
                5 => {
                    now += Duration::from_secs(seconds);
                    breaker.look(now);
                }
                _ => {}
            }
            if breaker.tripped().is_some() {
                let trials = flying.iter().filter(|(pass, _)| pass.0 == breaker.epoch).count();
                prop_assert!(trials <= 1);
                prop_assert_eq!(breaker.lets_through(), trials == 0 && breaker.until().is_none());
            } else {
                prop_assert!(breaker.lets_through());
            }
        }
        breaker.try_now();
        for (pass, _) in flying {
            breaker.give_back(pass);
        }
        let pass = breaker.pass();
        breaker.count(pass, call(0, Ended::Well), 4, now, 0.5);
        prop_assert_eq!(breaker.tripped(), None);
    }
}
