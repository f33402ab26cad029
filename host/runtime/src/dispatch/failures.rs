//! The failed keys of one plugin, and calling them again at an operator's wish. Owns the copy for
//! people, bounded in rows; the ledger owns the failures.

use std::collections::BinaryHeap;
use std::time::Duration;

use wharf_core::ledger::{EntryView, FailureState, Here, Mark, ParkedBy};
use wharf_core::{Cause, TargetKey, printable};

use super::dispatcher::{Dispatcher, State};
use super::history::What;
use super::subscribed::Present;

/// The failed keys of one plugin, in order.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    /// The first ones.
    pub rows: Vec<Failed>,
    /// So many more there are.
    pub more: usize,
}

/// One failed key. Times are since the host's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which key.
    pub key: TargetKey,
    /// What it waits for.
    pub state: FailureState,
    /// Why it is parked.
    pub parked: Option<ParkedBy>,
    /// The CamelCase word.
    pub reason: String,
    /// For people; control characters are escaped.
    pub message: String,
    /// Strikes since the last success.
    pub strikes: u32,
    /// Calls since the last success.
    pub attempts: u32,
    /// When the first of these calls failed.
    pub since: Duration,
    /// When it is tried again by itself.
    pub due: Option<Duration>,
}

/// What became of the wish to call a key again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// It is queued, with cause `manual`.
    Queued,
    /// The plugin was never called for it: there is nothing to do again.
    NeverCalled,
}

impl Dispatcher {
    /// The failed keys in the order of kind, namespace and name, at most `max` of them. Costs a
    /// walk over all keys that are not settled, under the plugin's lock.
    pub fn failures(&self, max: usize) -> Failures {
        let now = self.shared.clock.now();
        // Nothing is tried before.
        let opens = self.tripped().and_then(|tripped| tripped.until).unwrap_or_default();
        let state = self.state.lock();
        let (mut first, mut all): (BinaryHeap<&TargetKey>, usize) = (BinaryHeap::new(), 0);
        for (key, _) in state.ledger.failures() {
            all = all.saturating_add(1);
            if first.len() < max {
                first.push(key);
            } else if let Some(mut last) = first.peek_mut()
                && key < *last
            {
                *last = key;
            }
        }
        let keys = first.into_sorted_vec().into_iter();
        let mut rows: Vec<Failed> =
            keys.filter_map(|key| failed(key, state.ledger.entry(Here { key, slot: None, now: None })?, now)).collect();
        rows.iter_mut().filter_map(|row| row.due.as_mut()).for_each(|due| *due = opens.max(*due));
        let more = all.saturating_sub(rows.len());
        Failures { rows, more }
    }

    /// Makes a key due because an operator asks for it: neither a parked key nor one that holds back
    /// waits any longer. A plugin that cannot be called now is called as soon as it can.
    pub fn retry(&self, key: &TargetKey) -> Retried {
        let retried = self.ask_again(key);
        if retried == Retried::Queued {
            self.try_now();
        }
        retried
    }

    fn ask_again(&self, key: &TargetKey) -> Retried {
        let marked = self.state.lock().ask(key);
        if !marked {
            return Retried::NeverCalled;
        }
        self.note(key, What::Asked);
        self.enqueue(key.clone(), Cause::Manual);
        Retried::Queued
    }

    /// The same for all failed keys. Returns their number.
    pub fn retry_failed(&self) -> usize {
        let keys: Vec<TargetKey> = self.state.lock().ledger.failures().map(|(key, _)| key.clone()).collect();
        let queued = keys.iter().filter(|key| self.ask_again(key) == Retried::Queued).count();
        // Once: a breaker that each key would try is tried with one.
        if queued > 0 {
            self.try_now();
        }
        queued
    }
}

impl State {
    fn ask(&mut self, key: &TargetKey) -> bool {
        let present = self.subscribed.object(key);
        // What is about to be announced may be at another place by then.
        let told = matches!(present, Present::Settled(_));
        let found = present.latest();
        let slot = found.as_ref().filter(|_| told).map(|found| found.slot);
        self.ledger.mark(Here { key, slot, now: found.as_ref().map(|found| &found.object) }, Mark::Manual)
    }
}

fn failed(key: &TargetKey, entry: EntryView<'_>, now: Duration) -> Option<Failed> {
    let failure = entry.failure?;
    Some(Failed {
        key: key.clone(),
        state: entry.failure_state(now)?,
        parked: entry.parked.map(|parked| parked.by),
        reason: printable(failure.reason),
        message: printable(failure.message),
        strikes: entry.strikes,
        attempts: entry.attempts,
        since: entry.failing_since.unwrap_or(now),
        due: entry.due,
    })
}
