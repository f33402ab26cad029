//! A plugin whose calls strike as a whole is not called for a while. Owns when that is, for how long, and which
//! call is the trial; reads no clock and no random source, never sleeps, and holds nothing back itself (see `gate`).
//!
//! A strike is a call that trapped, or that the host ended. What a guest says of itself, that it failed, is none.
//! One key that strikes beside others that work is no trouble of the plugin: the ledger parks it. So the strikes must
//! come from several keys, or from all that there are.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::streak::{CALLS, KEYS};
use super::tally::Ended;

/// The last calls, of which no more than this part may strike, in percent.
const WINDOW: usize = 50;
const PERCENT: usize = 20;
/// A wait is longer by up to this part, so that plugins that open together do not return together.
const JITTER: f64 = 0.1;

/// How long an open breaker holds calls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// The first time; zero: it never opens.
    pub open_for: Duration,
    /// Doubled with each trial that strikes, at most to this.
    pub max_open_for: Duration,
}

impl Default for BreakerPolicy {
    /// 30 s, 30 minutes.
    fn default() -> Self {
        Self { open_for: Duration::from_secs(30), max_open_for: Duration::from_secs(30 * 60) }
    }
}

/// Times are the host's clock's.
#[derive(Debug)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    state: State,
    /// Grows whenever it opens, tries or closes. What a call of another epoch comes to says nothing any more.
    epoch: u64,
    /// The last calls while it is closed: the key of each that struck.
    calls: VecDeque<Option<u64>>,
    /// How the last strike that counted ended.
    struck: Reason,
    /// How long it was open last, and since when it is closed after that.
    wait: Duration,
    since: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open {
        until: Duration,
    },
    /// One call at a time; `trying`: one is on its way.
    HalfOpen {
        trying: bool,
    },
}

/// The right to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass(u64);

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Hash of its key.
    pub(super) key: u64,
    pub(super) ended: Ended,
    /// Of a strike.
    pub(super) reason: Reason,
}

/// What is to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    Opened { wait: Duration, reason: Reason },
    Trying,
    Closed,
}

/// A breaker that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tripped {
    /// Until when no call is made, since 1970. `None`: one call at a time is tried.
    pub until: Option<Duration>,
    /// How the last strike ended.
    pub reason: Reason,
}

impl Tripped {
    /// What that means, for people.
    pub fn message(&self, plugin: &PluginName) -> String {
        let then = match self.until {
            Some(until) => format!("it is not called until {}", time(until)),
            None => "one call is tried, and it is called again if that does not strike".to_owned(),
        };
        format!(
            "its calls trap or go beyond limits, the last of them with {}: {then}; `wharf get failures {plugin}` shows them",
            self.reason
        )
    }

    /// 0 closed, 1 half-open, 2 open, as in the metric.
    pub fn number(tripped: Option<Self>) -> u64 {
        tripped.map_or(0, |tripped| 1 + u64::from(tripped.until.is_some()))
    }
}

/// To the second.
fn time(since_1970: Duration) -> String {
    let time = SignedDuration::try_from(since_1970).ok().and_then(|time| Timestamp::from_duration(time).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

impl Breaker {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        let (state, struck) = (State::Closed, Reason::Other);
        Self { policy, state, epoch: 0, calls: VecDeque::new(), struck, wait: Duration::ZERO, since: None }
    }

    /// May a key be taken now?
    pub(super) fn lets_through(&self) -> bool {
        matches!(self.state, State::Closed | State::HalfOpen { trying: false })
    }

    /// Until when it is open.
    pub(super) fn until(&self) -> Option<Duration> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    pub(super) fn tripped(&self) -> Option<Tripped> {
        (self.state != State::Closed).then(|| Tripped { until: self.until(), reason: self.struck })
    }

    /// A key is taken.
    pub(super) fn pass(&mut self) -> Pass {
        if let State::HalfOpen { trying } = &mut self.state {
            *trying = true;
        }
        Pass(self.epoch)
    }

    /// Whoever had the right is through with its key. If that came to nothing, another key is the trial.
    pub(super) fn give_back(&mut self, pass: Pass) {
        if let State::HalfOpen { trying } = &mut self.state
            && pass.0 == self.epoch
        {
            *trying = false;
        }
    }

    /// A call has ended, of a plugin that was told of so many keys.
    pub(super) fn count(&mut self, pass: Pass, outcome: Outcome, all: usize, now: Duration, random: f64) -> Option<Turned> {
        if pass.0 != self.epoch || outcome.ended == Ended::Excused {
            return None;
        }
        let struck = outcome.ended == Ended::Struck;
        if struck {
            self.struck = outcome.reason;
        }
        match self.state {
            State::Closed => {
                if self.calls.len() == WINDOW {
                    self.calls.pop_front();
                }
                self.calls.push_back(struck.then_some(outcome.key));
                (struck && self.is_too_much(all)).then(|| self.open(now, random))
            }
            State::HalfOpen { .. } if struck => Some(self.open(now, random)),
            State::HalfOpen { .. } => {
                self.turn(State::Closed);
                self.since = Some(now);
                Some(Turned::Closed)
            }
            State::Open { .. } => None,
        }
    }

    /// Its time may be over.
    pub(super) fn look(&mut self, now: Duration) -> Option<Turned> {
        if self.until().is_some_and(|until| now >= until) { self.try_now() } else { None }
    }

    /// Whatever its time: the next call is a trial.
    pub(super) fn try_now(&mut self) -> Option<Turned> {
        self.until()?;
        self.turn(State::HalfOpen { trying: false });
        Some(Turned::Trying)
    }

    /// Something else serves: nothing of what was counts.
    pub(super) fn reset(&mut self) -> Option<Turned> {
        let was = self.state;
        self.turn(State::Closed);
        (self.wait, self.since) = (Duration::ZERO, None);
        (was != State::Closed).then_some(Turned::Closed)
    }

    fn is_too_much(&self, all: usize) -> bool {
        if self.policy.open_for.is_zero() {
            return false;
        }
        // Whoever is told of fewer keys cannot strike at more.
        let needed = KEYS.min(all as u64).max(1);
        let from_enough = |keys: BTreeSet<u64>| keys.len() as u64 >= needed;
        let (row, strikes) = (self.calls.iter().rev().map_while(|key| *key), self.calls.iter().flatten().copied());
        (row.clone().count() as u64 >= CALLS && from_enough(row.collect()))
            || (self.calls.len() == WINDOW && strikes.clone().count() * 100 > PERCENT * WINDOW && from_enough(strikes.collect()))
    }

    /// For as long as the first time if it was closed for at least as long as it was open before, else for twice as long.
    fn open(&mut self, now: Duration, random: f64) -> Turned {
        let quiet = self.since.is_some_and(|since| now.saturating_sub(since) >= self.wait);
        let wait = if quiet { Duration::ZERO } else { self.wait.saturating_mul(2) };
        self.wait = wait.clamp(self.policy.open_for, self.policy.max_open_for.max(self.policy.open_for));
        self.since = None;
        let wait = self.wait.saturating_add(self.wait.mul_f64(JITTER * random.clamp(0.0, 1.0)));
        self.turn(State::Open { until: now.saturating_add(wait) });
        Turned::Opened { wait, reason: self.struck }
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.epoch = self.epoch.wrapping_add(1);
        self.calls.clear();
    }
}

#[cfg(test)]
mod tests;
