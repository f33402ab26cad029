//! A ledger that breaks one rule on purpose, or none: it perturbs what goes into the real
//! one and what comes out.

use wharf_core::event::Removal;
use wharf_core::ledger::{Finished, Ledger, Mark, Next, Policy, Start, Time, Token};
use wharf_core::plugin::Replay;
use wharf_core::{Event, EventSet, Rules};

use crate::object::{Key, Obj};
use crate::plugin::Running;

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The outcome of a call whose entry was dropped counts.
    Fence,
    /// Final states are not kept.
    Tombstones,
    /// What happens to a key during a call is not noted: the attempt came too late.
    Early,
    /// A plugin that sleeps notes nothing.
    Asleep,
    /// All objects of a name are one.
    Uid,
    /// Marks that come during a call are cleared with the others.
    Taken,
    /// A decision without a call forgets the due time.
    Rearm,
    /// An outcome's due time is forgotten.
    Due,
    /// `done` does not clear the due time.
    Cancel,
    /// A retry-after does not hold.
    Hold,
    /// A `delete` that was tried is always due.
    Quiet,
    /// Nothing is decided after a `delete`.
    Again,
    /// Narrowing drops nothing.
    Narrow,
    /// A rollback redelivers nothing.
    Withdrawn,
    /// A parked key is retried.
    Parked,
    /// Whoever is gone counts as replaced.
    Removal,
    /// `previous` is forgotten.
    Previous,
}

impl Broken {
    pub(crate) const ALL: [Self; 17] = {
        use Broken::*;
        [Fence, Tombstones, Early, Asleep, Uid, Taken, Rearm, Due, Cancel, Hold, Quiet, Again, Narrow, Withdrawn, Parked, Removal, Previous]
    };
}

/// What the world knows of a key and the ledger does not.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    pub(crate) busy: bool,
    pub(crate) asleep: bool,
}

pub(crate) struct Guarded {
    ledger: Ledger<Key, Obj>,
    broken: Option<Broken>,
}

impl Guarded {
    pub(crate) fn new(broken: Option<Broken>) -> Self {
        Self { ledger: Ledger::new(), broken }
    }

    pub(crate) fn real(&self) -> &Ledger<Key, Obj> {
        &self.ledger
    }

    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    pub(crate) fn observe(&mut self, key: Key, old: Option<&Obj>, new: Option<&Obj>, last: Option<&Obj>, known: bool, around: Around) {
        let went = old.is_some_and(|old| new.is_none_or(|new| new.uid != old.uid));
        if went && self.is(Broken::Tombstones) || around.busy && self.is(Broken::Early) || around.asleep && self.is(Broken::Asleep) {
            return;
        }
        self.ledger.observe(&key, old, new, last, known);
    }

    pub(crate) fn mark(&mut self, key: Key, mark: Mark, around: Around) -> bool {
        if around.busy && self.is(Broken::Taken) {
            return self.ledger.entry(&key).is_some();
        }
        self.ledger.mark(&key, mark)
    }

    pub(crate) fn start(&mut self, key: Key, now: Option<&Obj>, rules: &Rules<'_, Obj>, time: Time, revision: u64) -> Start<Obj> {
        if self.is(Broken::Quiet) && self.ledger.entry(&key).is_some_and(|entry| entry.deleting) {
            self.ledger.mark(&key, Mark::Manual);
        }
        let mut start = self.ledger.start(&key, now, rules, time, revision);
        if self.is(Broken::Hold) && matches!(start, Start::Held { .. }) {
            self.ledger.mark(&key, Mark::Manual);
            start = self.ledger.start(&key, now, rules, time, revision);
        }
        match &mut start {
            Start::Call(call) => {
                if self.is(Broken::Removal) && call.removal == Removal::Gone {
                    call.removal = Removal::Replaced;
                }
                if self.is(Broken::Previous) {
                    call.previous = None;
                }
            }
            Start::Nothing { next_due, .. } if self.is(Broken::Rearm) => *next_due = None,
            _ => {}
        }
        start
    }

    pub(crate) fn finish(&mut self, call: &Running, token: Token, end: Finished, time: Time, policy: &Policy, backoff: Time) -> Next {
        let end = match end {
            Finished::Done if self.is(Broken::Cancel) => Finished::RequeueAfter(backoff),
            Finished::Permanent(fault) if self.is(Broken::Parked) => Finished::Retry(fault),
            end => end,
        };
        let mut next = self.ledger.finish(&call.key, token, end.clone(), time, policy, backoff);
        if next.fenced && self.is(Broken::Fence) && call.event != Event::Delete {
            let rules = Rules { matches: &|_: &Obj| true, events: EventSet::ALL };
            if let Start::Call(again) = self.ledger.start(&call.key, Some(&call.current), &rules, time, call.revision) {
                next = self.ledger.finish(&call.key, again.token, end, time, policy, backoff);
            }
        }
        if self.is(Broken::Due) {
            next.due = None;
        }
        if self.is(Broken::Again) {
            next.again = false;
        }
        next
    }

    pub(crate) fn narrow(&mut self, matched: &dyn Fn(&Obj) -> bool, matches: &dyn Fn(&Obj) -> bool, now: &dyn Fn(&Key) -> Option<Obj>) {
        if !self.is(Broken::Narrow) {
            self.ledger.narrow(&|_, o| matched(o), &|_, o| matches(o), now);
        }
    }

    pub(crate) fn replay(&mut self, policy: Replay) -> Vec<Key> {
        self.ledger.replay(policy)
    }

    pub(crate) fn rollback(&mut self, bad: u64) -> Vec<Key> {
        if self.is(Broken::Withdrawn) { Vec::new() } else { self.ledger.rollback(bad) }
    }
}
