//! Is a new revision worse than the one before it? Owns the rules of comparing the numbers of
//! their calls; never decides what follows.
//!
//! Three signs, each of them compared with the revision that was good, so that a plugin that has
//! always had trouble can be exchanged too: strikes, failed calls, and how long calls take. None
//! of them counts before there are so many calls that it can be no accident.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wharf_core::Reason;

use crate::dispatch::Numbers;

/// Strikes from which on they count.
const STRIKES: u64 = 3;
/// Calls from which on a revision is known: failures and times count of those that are.
const CALLS: u64 = 20;
/// The part of calls that may fail more than before, in percent.
const FAILURES: u64 = 25;
/// How many times as long calls may take, and how much longer at least.
const SLOWER: (u32, Duration) = (5, Duration::from_millis(20));

/// In what a new revision is worse; for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// More of its calls trap or go beyond a limit.
    Strikes(Numbers, Numbers),
    /// More of its calls fail.
    Failures(Numbers, Numbers),
    /// Its calls take longer.
    Slower(Numbers, Numbers),
    /// Its breaker opened; how the last of its strikes ended.
    Breaker(Reason),
}

/// What is known of the last revision that was good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Good {
    identity: String,
    numbers: Numbers,
}

impl Good {
    /// A revision that was good has served, with these numbers. If it is the one of before, which came back, it goes
    /// on where it was: what it did since may be too little to compare with. One that has done too little at all counts
    /// together with those before.
    pub fn served(&mut self, identity: &str, numbers: Numbers) {
        let goes_on = self.identity == identity || numbers.calls < CALLS;
        let before = if goes_on { self.numbers } else { Numbers::default() };
        *self = Self { identity: identity.to_owned(), numbers: before + numbers };
    }

    /// Its numbers; none are known of a plugin's first revision.
    pub fn numbers(&self) -> Numbers {
        self.numbers
    }
}

/// Compares a new revision with the one before it, of which nothing may be known.
pub fn worse(old: Numbers, new: Numbers) -> Option<Worse> {
    let known = old.calls >= CALLS;
    // Twice as many are no accident, whatever there were before; also if they are less than one in a hundred. But what
    // cannot be compared may have been so always, unless every other call strikes.
    let part = |of: u64, calls: u64| u128::from(of) * u128::from(calls.max(1));
    let more = part(new.strikes, old.calls) > 2 * part(old.strikes, new.calls);
    if new.strikes >= STRIKES && more && (known || new.strikes >= new.calls.div_ceil(2)) {
        return Some(Worse::Strikes(old, new));
    }
    if !known || new.calls < CALLS {
        return None;
    }
    if new.percent(new.failures) >= old.percent(old.failures) + FAILURES {
        return Some(Worse::Failures(old, new));
    }
    let slower = new.mean() > old.mean() * SLOWER.0 && new.mean() > old.mean() + SLOWER.1;
    slower.then_some(Worse::Slower(old, new))
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strikes(old, new) => write!(
                f,
                "{} of its {} calls trapped or went beyond a limit ({}% of those of the revision before)",
                new.strikes,
                new.calls,
                old.percent(old.strikes)
            ),
            Self::Failures(old, new) => write!(
                f,
                "{} of its {} calls failed ({}% of those of the revision before)",
                new.failures,
                new.calls,
                old.percent(old.failures)
            ),
            Self::Breaker(last) => {
                write!(f, "so many of its calls trapped or went beyond a limit that its breaker opened, the last of them with {last}")
            }
            Self::Slower(old, new) => {
                write!(f, "its calls take {} ms ({} ms with the revision before)", new.mean().as_millis(), old.mean().as_millis())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(calls: u64, failures: u64, strikes: u64, mean_ms: u64) -> Numbers {
        Numbers { calls, failures, strikes, micros: calls * mean_ms * 1000 }
    }

    #[test]
    fn strikes_count_from_the_third_on() {
        let old = numbers(1000, 0, 0, 1);
        assert_eq!(worse(old, numbers(2, 2, 2, 1)), None);
        assert!(matches!(worse(old, numbers(3, 3, 3, 1)), Some(Worse::Strikes(..))));
        assert!(matches!(worse(Numbers::default(), numbers(3, 3, 3, 1)), Some(Worse::Strikes(..))));
        // Few of many, but there were none before.
        assert!(matches!(worse(old, numbers(100, 3, 3, 1)), Some(Worse::Strikes(..))));
        assert!(matches!(worse(old, numbers(5000, 3, 3, 1)), Some(Worse::Strikes(..))));
    }

    #[test]
    fn who_has_always_had_trouble_is_not_worse() {
        let old = numbers(1000, 800, 500, 1);
        assert_eq!(worse(old, numbers(100, 80, 50, 1)), None);
        assert_eq!(worse(old, numbers(100, 100, 90, 1)), None);
    }

    #[test]
    fn failures_count_from_twenty_calls_on() {
        let old = numbers(1000, 100, 0, 1);
        assert_eq!(worse(old, numbers(19, 19, 0, 1)), None);
        assert_eq!(worse(old, numbers(100, 34, 0, 1)), None);
        assert!(matches!(worse(old, numbers(100, 35, 0, 1)), Some(Worse::Failures(..))));
    }

    #[test]
    fn times_count_if_both_have_called() {
        let old = numbers(100, 0, 0, 10);
        assert_eq!(worse(old, numbers(20, 0, 0, 50)), None);
        assert!(matches!(worse(old, numbers(20, 0, 0, 51)), Some(Worse::Slower(..))));
        assert_eq!(worse(numbers(19, 0, 0, 1), numbers(20, 0, 0, 5000)), None);
        // Much longer than nearly nothing is still nearly nothing.
        assert_eq!(worse(numbers(100, 0, 0, 1), numbers(20, 0, 0, 20)), None);
    }

    #[test]
    fn one_that_comes_back_for_a_moment_is_known_still() {
        let mut good = Good::default();
        good.served("a", numbers(100, 0, 0, 10));
        good.served("a", numbers(3, 0, 0, 10));
        assert_eq!(good.numbers(), numbers(103, 0, 0, 10));
        assert!(matches!(worse(good.numbers(), numbers(20, 0, 0, 400)), Some(Worse::Slower(..))));
        // Too little by itself.
        good.served("b", numbers(3, 0, 0, 10));
        assert!(matches!(worse(good.numbers(), numbers(20, 0, 0, 400)), Some(Worse::Slower(..))));
        // Enough, and as slow.
        good.served("c", numbers(20, 0, 0, 400));
        assert_eq!(worse(good.numbers(), numbers(20, 0, 0, 400)), None);
    }

    #[test]
    fn what_is_usual_is_no_sign_if_it_is_not_known() {
        for unknown in [Numbers::default(), numbers(19, 0, 0, 1)] {
            assert_eq!(worse(unknown, numbers(100, 25, 0, 1)), None);
            assert_eq!(worse(unknown, numbers(10_000, 3, 3, 1)), None);
            // But who strikes nearly always is found out.
            assert!(matches!(worse(unknown, numbers(3, 3, 3, 1)), Some(Worse::Strikes(..))));
            assert!(matches!(worse(unknown, numbers(101, 51, 51, 1)), Some(Worse::Strikes(..))));
        }
        // As before, as far as one can see.
        assert_eq!(worse(numbers(3, 3, 3, 1), numbers(3, 3, 3, 1)), None);
    }

    #[test]
    fn people_are_told_in_numbers() {
        let text = worse(Numbers::default(), numbers(4, 3, 3, 2)).unwrap().to_string();
        assert_eq!(text, "3 of its 4 calls trapped or went beyond a limit (0% of those of the revision before)");
    }
}
