//! `delivery: every-event`: the changes that a plugin was not told of yet, in their order.
//!
//! Owns the changes of the keys that lag behind the store, in a `DeltaFifo` that is bounded in
//! bytes. When a key's turn comes, is the work queue's to say; which call a change leads to, the
//! table's. Where changes were given up (the bound, a restart) the table takes over: it tells of
//! the difference to the next change of the key, or to what the store holds now. For lack of room the
//! key that has the most is given up first: a key that is stuck costs the others nothing.

use std::sync::Arc;

use wharf_cache::Change;
use wharf_core::ledger::{Finished, Here, Next, Start, Time};
use wharf_core::{Cause, Event, Object, TargetKey};
use wharf_queue::{Delta, DeltaFifo, DeltaOptions, Evicted, Popped};

use super::dispatcher::State;
use super::judge::{self, Judged};
use super::passed::Passed;
use super::subscribed::Subscribed;

/// The bytes of changes that a plugin may have before it: their JSON and a little more.
pub(super) const BACKLOG: usize = 16 << 20;
/// So many changes that need no call are passed over before somebody else gets the lock.
const IN_A_TURN: usize = 256;

/// One change of one object, as the store announced it.
#[derive(Clone, Debug)]
pub(super) struct Step(Arc<Seen>);

#[derive(Debug)]
struct Seen {
    key: TargetKey,
    old: Option<Arc<Object>>,
    new: Option<Arc<Object>>,
    final_state: Option<Arc<Object>>,
    final_known: bool,
    cause: Cause,
}

impl Step {
    /// What is there for the plugin after this change; in no place of the store, which is ahead.
    fn here<'a>(&'a self, key: &'a TargetKey) -> Here<'a, TargetKey, Arc<Object>> {
        Here { key, slot: None, now: self.0.new.as_ref() }
    }

    /// Why it was announced.
    pub(super) fn cause(&self) -> Cause {
        self.0.cause
    }

    /// What was there after this change.
    pub(super) fn now(&self) -> Option<&Arc<Object>> {
        self.0.new.as_ref()
    }

    fn bytes(&self) -> usize {
        let shown = self.0.new.as_ref().or(self.0.final_state.as_ref());
        shown.map_or(0, |object| object.json().len())
    }
}

/// The changes that one plugin was not told of yet.
#[derive(Debug)]
pub(super) struct Every(DeltaFifo<TargetKey, Step>);

/// Changes of one key that are not told any more: its order has a gap. They keep objects alive, which
/// may be many: let go of them under no lock, or see `passed::let_go`.
pub(super) type GivenUp = Evicted<TargetKey, Step>;

impl Every {
    /// No change, and room for so many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self(DeltaOptions::new(limit, |step: &Step| step.0.key.clone(), Step::bytes).build())
    }

    /// Notes a change behind those that the key has already. Where there is no room for it, keys are
    /// given up until there is, those that have the most first. Quick: it costs the logarithm of the keys,
    /// for the change and for each key given up, and lets go of no object.
    pub(super) fn note(&self, key: &TargetKey, change: &Change<'_>, cause: Cause) -> Vec<GivenUp> {
        let step = Step(Arc::new(Seen {
            key: key.clone(),
            old: change.old.cloned(),
            new: change.new.cloned(),
            final_state: change.final_state.cloned(),
            final_known: change.final_known,
            cause,
        }));
        // It has no transformer, is never closed, and never refuses anything else.
        self.0.update_evicting(step).unwrap_or_default()
    }

    /// The changes that a key has before it, for the worker that has the key; until that is dropped
    /// nobody else gets them. What was not completed stays.
    pub(super) fn of(&self, key: &TargetKey) -> Option<Lag> {
        self.0.try_pop_oldest(key).map(Lag)
    }

    /// Gives up the changes of a key. One that is in work stays so.
    pub(super) fn give_up(&self, key: &TargetKey) -> Option<GivenUp> {
        self.0.evict(key)
    }

    /// The bytes of all changes.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// What a key in work has before it. Only the oldest change is taken out, so that the others can be
/// given up also while a call runs.
#[derive(Debug)]
pub(super) struct Lag(Popped<TargetKey, Step>);

impl Lag {
    /// The change in work.
    fn step(&self) -> Option<Step> {
        self.0.oldest().and_then(Delta::object).cloned()
    }

    /// Goes through the changes up to the first that needs a call, or that has to wait for one.
    /// `None` if none of them does: the plugin was told of all that was announced. What it passes
    /// over is `passed`.
    pub(super) fn start(
        mut self,
        state: &mut State,
        subscribed: &Arc<Subscribed>,
        key: &TargetKey,
        judged: Option<&Judged>,
        (now, revision): (Time, u64),
        passed: &mut Passed,
    ) -> Option<Started> {
        let State { ledger, own, .. } = state;
        let verdict = |old: Option<&Arc<Object>>, new: &Arc<Object>| judge::verdict(subscribed, key, own, judged, (old, new));
        for _ in 0..IN_A_TURN {
            if !self.0.take_next() {
                return None;
            }
            let step = self.step()?;
            let here = step.here(key);
            let Seen { old, final_state, final_known, cause, .. } = &*step.0;
            ledger.observe(here, old.as_ref(), final_state.as_ref(), *final_known);
            let start = subscribed.with_rules(key, &verdict, |rules| ledger.start(here, rules, now, revision));
            // A call for this change has failed: the next one waits for it.
            let failing = ledger.entry(here).is_some_and(|entry| entry.due.is_some() && (entry.attempts > 0 || entry.deleting));
            match start {
                // Its entry was dropped: the same change is decided once more.
                Start::Again => {}
                Start::Nothing { dropped, .. } if dropped.is_some() || !failing => {
                    self.0.complete_oldest();
                    let matches = dropped.is_none() && step.now().is_some_and(|now| subscribed.matches(key, now));
                    passed.over(step, matches, dropped);
                }
                start => return Some(Started { start, cause: *cause, lag: self }),
            }
        }
        Some(Started { start: Start::Again, cause: Cause::Watch, lag: self })
    }

    /// The call for the oldest change ended. `store` is what the store holds, if the plugin was
    /// told of it. A change that succeeded, or that is of no use to try again, is not told again;
    /// the change of an object's `delete` only once nothing has come in its place.
    pub(super) fn finish<'k>(
        mut self,
        event: Event,
        finished: &Finished,
        store: Here<'k, TargetKey, Arc<Object>>,
        finish: impl FnOnce(Here<'_, TargetKey, Arc<Object>>) -> Next,
    ) -> Next {
        let Some(step) = self.step() else { return finish(store) };
        let seen = step.here(store.key);
        let same = |a: &Arc<Object>, b: &Arc<Object>| a.uid() == b.uid() && a.resource_version() == b.resource_version();
        let caught_up = store.slot.is_some() && store.now.zip(seen.now).is_some_and(|(a, b)| same(a, b));
        let next = finish(if caught_up { store } else { seen });
        let succeeded = matches!(finished, Finished::Done | Finished::RequeueAfter(_));
        let ended = match event {
            Event::Add | Event::Update => succeeded || matches!(finished, Finished::Permanent(_)),
            Event::Delete => matches!(finished, Finished::Done | Finished::Permanent(_)) && seen.now.is_none(),
        };
        // Fenced: the key has left the subscription, and what it had before it was given up then.
        if ended || next.fenced {
            self.0.complete_oldest();
        }
        Next { again: next.again || (ended && !caught_up), ..next }
    }
}

/// What came of a key's changes: a call for one of them, or a reason to wait.
pub(super) struct Started {
    pub(super) start: Start<Arc<Object>>,
    pub(super) cause: Cause,
    pub(super) lag: Lag,
}
