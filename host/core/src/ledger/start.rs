//! A worker takes a key: the table is asked, and the attempt is noted before the call
//! starts. Owns that step; what the table says is `diff`'s.

use std::hash::Hash;

use crate::diff::{Decision, Dropped, Known, Planned, Rules, State, decide};
use crate::event::{Cause, Event, Removal};

use super::entry::Entry;
use super::marks::{Mark, MarkSet};
use super::{Here, Ledger, Time};

/// What a worker does with the key that it took.
#[derive(Debug)]
#[must_use]
pub enum Start<S> {
    /// Call the guest, then [`Ledger::finish`].
    Call(Call<S>),
    /// No call.
    Nothing {
        /// When to enqueue the key again; always later than the time of the start.
        next_due: Option<Time>,
        /// A change was dropped, by this filter.
        dropped: Option<Dropped>,
    },
    /// The filters must judge a change before anything can be decided; nothing has happened
    /// yet. Take the key once more with their answer.
    Judge {
        /// The state of the last call; `None`: there is nothing to compare with.
        old: Option<S>,
        /// The object now.
        new: S,
    },
    /// The entry was dropped without a call: take the key once more, at once.
    Again,
    /// The guest asked not to be called yet: enqueue the key again at that time.
    Held {
        /// Always later than the time of the start.
        until: Time,
    },
}

/// A call to make.
#[derive(Debug)]
pub struct Call<S> {
    /// Which function of the guest.
    pub event: Event,
    /// The object now; in `delete` its final state, as far as it is known.
    pub current: S,
    /// The state that the plugin was last told with success; `None` in `add`.
    pub previous: Option<S>,
    /// Why `delete` is called.
    pub removal: Removal,
    /// `delete` only: `current` may lack the last changes.
    pub final_state_unknown: bool,
    /// 1, plus the calls since the last success.
    pub attempt: u32,
    /// Set if only something due led to the call; else the caller knows why it enqueued
    /// the key. Of several marks the last one counts.
    pub cause: Option<Cause>,
    /// The marks that the call uses up.
    pub taken: MarkSet,
    /// A change was dropped by this filter; the call is made because it is due.
    pub dropped: Option<Dropped>,
    /// For [`Ledger::finish`].
    pub token: Token,
}

/// Names one call to [`Ledger::finish`]; its outcome counts once, and only for the entry
/// that it was made for.
#[derive(Debug)]
#[must_use]
pub struct Token {
    pub(super) serial: u64,
    pub(super) event: Event,
    pub(super) revision: u64,
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// A worker took the key; `revision` is the plugin's revision that would be called, counted
    /// from 1. There must be no other call for the key. Do not ask while the plugin sleeps.
    ///
    /// To this, a change of the store and its [`Self::observe`] must look like one step:
    /// with a state from before a change that was already observed (or the reverse) the
    /// final state of an object is lost.
    ///
    /// Costs one look-up for a settled key that stays so, else a few and an allocation or two.
    pub fn start(&mut self, here: Here<'_, K, S>, rules: &Rules<'_, S>, time: Time, revision: u64) -> Start<S> {
        let Here { key, now, .. } = here;
        if self.stays_settled(here, rules) {
            return Start::Nothing { next_due: None, dropped: None };
        }
        let (decision, next_due) = match self.side.get_mut(key) {
            None => (decide(None, now, rules, false), None),
            Some(entry) => {
                if let Some(until) = entry.held(time) {
                    return Start::Held { until };
                }
                if entry.parked().is_some() {
                    entry.marks.remove(Mark::Resync);
                }
                (decide(Some(&entry.known()), now, rules, entry.is_due(time)), entry.due)
            }
        };
        match (decision, now) {
            (Decision::Forget, _) => {
                self.side.remove(key);
                self.dirty.note(key);
                Start::Again
            }
            (Decision::Filter(by), Some(now)) => {
                let next_due = self.filter(key, now, revision);
                self.dirty.note(key);
                self.settle(here);
                Start::Nothing { next_due, dropped: Some(by) }
            }
            (Decision::Judge { old }, Some(now)) => Start::Judge { old, new: now.clone() },
            (Decision::Call(planned), _) => Start::Call(self.begin(key, planned, time, revision)),
            (Decision::Nothing | Decision::Filter(_) | Decision::Judge { .. }, _) => {
                self.settle(here);
                Start::Nothing { next_due, dropped: None }
            }
        }
    }

    /// Is the key settled, and is nothing to do? A settled key with something to do gets an
    /// entry of its own.
    fn stays_settled(&mut self, here: Here<'_, K, S>, rules: &Rules<'_, S>) -> bool {
        let Some((slot, now)) = here.slot.zip(here.now) else { return false };
        let Some(settled) = self.slots.get(slot) else { return false };
        if settled.is(now) {
            let known = Known { last: now, delivered: Some(now), tried: false, dying: false, tombstone: None };
            if matches!(decide(Some(&known), Some(now), rules, false), Decision::Nothing) {
                return true;
            }
        }
        self.slots.take(slot);
        self.open(here.key.clone(), settled, now.clone());
        false
    }

    /// A change to `now` was dropped. Returns the due time that stays.
    fn filter(&mut self, key: &K, now: &S, revision: u64) -> Option<Time> {
        match self.side.get_mut(key) {
            Some(entry) if !entry.dying => {
                entry.filter(now);
                entry.due
            }
            // Seen for the first time, or as if: a delete that was tried undid all before.
            _ => {
                let serial = self.next_serial();
                self.side.insert(key.clone(), Entry::new(serial, revision, now.clone()));
                None
            }
        }
    }

    /// Notes the attempt.
    fn begin(&mut self, key: &K, planned: Planned<S>, time: Time, revision: u64) -> Call<S> {
        let Planned { event, current, previous, removal, final_state_unknown, only_due, dropped } = planned;
        let serial = self.next_serial();
        let entry = self.side.get_or(key, || Entry::first_call(serial, current.clone()));
        let cause = only_due.then(|| entry.due_cause());
        if dropped.is_some() {
            entry.filter(&current);
        }
        match event {
            Event::Add | Event::Update => entry.begin(&current),
            Event::Delete => entry.dying = true,
        }
        entry.attempts = entry.attempts.saturating_add(1);
        entry.called_by = revision;
        // Due at once, should the call never end.
        entry.due = Some(time);
        self.dirty.note(key);
        Call {
            event,
            current,
            previous,
            removal,
            final_state_unknown,
            attempt: entry.attempts,
            cause,
            taken: entry.marks.take(),
            dropped,
            token: Token { serial: entry.serial, event, revision },
        }
    }
}
