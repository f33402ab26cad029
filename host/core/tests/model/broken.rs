//! A ledger that breaks one rule on purpose, or none: it perturbs what goes into the real
//! one and what comes out.

use std::collections::HashSet;
use std::task::Waker;

use wharf_core::diff::Verdict::Wanted;
use wharf_core::event::Removal;
use wharf_core::ledger::{Finished, Here, Ledger, Mark, Next, Policy, Record, Slot, Start, Time, Token};
use wharf_core::plugin::Replay;
use wharf_core::{Event, EventSet, Rules};

use crate::object::{Key, Obj};
use crate::plugin::Running;
use crate::twin::Twin;
use crate::witness::Verdict;

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
    /// A settled key is not told of changes.
    Slots,
    /// Settled keys are forgotten when the plugin moves to another informer.
    Moving,
    /// Changes are compared with what was delivered, not with the last call.
    Base,
    /// Judgements of other changes are taken for that of this one.
    Stale,
    /// An own write counts whatever was before it.
    Chain,
    /// An own write is taken to be upon what the call was given.
    Applied,
    /// Keys are decided on while a write is in flight.
    Flight,
    /// Calls that have not succeeded are not written down.
    Attempts,
    /// Marks are not written down.
    Marks,
    /// Nobody remembers under which subscription a ledger was written.
    Scope,
    /// ... nor under which revision.
    Replay,
}

impl Broken {
    pub(crate) const ALL: [Self; 28] = {
        use Broken::*;
        [
            Fence, Tombstones, Early, Asleep, Uid, Taken, Rearm, Due, Cancel, Hold, Quiet, Again, Narrow, Withdrawn, Parked, Removal,
            Previous, Slots, Moving, Base, Stale, Chain, Applied, Flight, Attempts, Marks, Scope, Replay,
        ]
    };
}

/// What the world knows of a key and the ledger does not.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    pub(crate) busy: bool,
    pub(crate) asleep: bool,
}

type At<'a> = Here<'a, Key, Obj>;
type Stored = Vec<(Key, Slot, Obj)>;

/// How a subscription changes, and what the store holds.
pub(crate) struct Narrow<'a> {
    pub(crate) matched: &'a dyn Fn(&Key, &Obj) -> bool,
    pub(crate) matches: &'a dyn Fn(&Key, &Obj) -> bool,
    pub(crate) now: &'a dyn Fn(&Key) -> Option<Obj>,
}

fn tracked() -> Ledger<Key, Obj> {
    let mut ledger = Ledger::new();
    ledger.track(Waker::noop().clone());
    ledger
}

pub(crate) struct Guarded {
    ledger: Ledger<Key, Obj>,
    broken: Option<Broken>,
    /// Beside a ledger that is not broken.
    twin: Option<Twin>,
}

impl Guarded {
    pub(crate) fn new(broken: Option<Broken>) -> Self {
        Self { ledger: tracked(), broken, twin: broken.is_none().then(Twin::new) }
    }

    /// The host ends, and another one begins.
    pub(crate) fn restart(&mut self) {
        self.ledger = tracked();
        self.twin.iter_mut().for_each(Twin::restart);
    }

    pub(crate) fn restore(&mut self, here: At<'_>, bytes: &[u8], body: Option<&Obj>) -> Verdict {
        let Some(mut record) = Record::decode(bytes) else { return Err(format!("{}: a record that cannot be read", here.key)) };
        if self.is(Broken::Attempts) {
            if record.revision == 0 {
                return Ok(());
            }
            (record.tried, record.before, record.dying, record.tombstone) = (false, None, false, None);
        }
        let _open = self.ledger.restore(here, &record, body, &|version| Obj::bare(here.key, record.uid, version), &|_| None);
        if let Some(twin) = &mut self.twin {
            twin.restore(here, &record, body);
        }
        Ok(())
    }

    pub(crate) fn take_dirty(&mut self) -> HashSet<Key> {
        self.ledger.take_dirty()
    }

    pub(crate) fn real(&self) -> &Ledger<Key, Obj> {
        &self.ledger
    }

    /// Does it know what a ledger without slots knows?
    pub(crate) fn check<'a>(&mut self, places: impl Iterator<Item = At<'a>>) -> Verdict {
        self.twin.as_mut().map_or(Ok(()), |twin| twin.check(&self.ledger, places))
    }

    pub(crate) fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    pub(crate) fn observe(&mut self, here: At<'_>, old: Option<&Obj>, last: Option<&Obj>, known: bool, around: Around) {
        let went = old.is_some_and(|old| here.now.is_none_or(|new| new.uid != old.uid));
        if went && self.is(Broken::Tombstones) || around.busy && self.is(Broken::Early) || around.asleep && self.is(Broken::Asleep) {
            return;
        }
        let slot = here.slot.filter(|_| !self.is(Broken::Slots));
        self.ledger.observe(Here { slot, ..here }, old, last, known);
        if let Some(twin) = &mut self.twin {
            twin.observe(here, old, last, known);
        }
    }

    pub(crate) fn mark(&mut self, here: At<'_>, mark: Mark, around: Around) -> bool {
        if around.busy && self.is(Broken::Taken) {
            return self.ledger.entry(here).is_some();
        }
        let before = self.is(Broken::Marks).then(|| self.ledger.take_dirty());
        let known = self.ledger.mark(here, mark);
        if let Some(before) = before {
            self.ledger.take_dirty();
            self.ledger.note_dirty(&before);
        }
        if let Some(twin) = &mut self.twin {
            twin.mark(here, mark, known);
        }
        known
    }

    pub(crate) fn start(&mut self, here: At<'_>, rules: &Rules<'_, Obj>, time: Time, revision: u64) -> Start<Obj> {
        if self.is(Broken::Quiet) && self.ledger.entry(here).is_some_and(|entry| entry.deleting) {
            self.ledger.mark(here, Mark::Manual);
        }
        let mut start = self.ledger.start(here, rules, time, revision);
        if let Some(twin) = &mut self.twin {
            twin.start(here, rules, time, revision, &start);
        }
        if self.is(Broken::Hold) && matches!(start, Start::Held { .. }) {
            self.ledger.mark(here, Mark::Manual);
            start = self.ledger.start(here, rules, time, revision);
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

    pub(crate) fn finish(
        &mut self,
        here: At<'_>,
        (call, token): (&Running, Token),
        end: Finished,
        time: Time,
        policy: &Policy,
        backoff: Time,
    ) -> Next {
        let end = match end {
            Finished::Done if self.is(Broken::Cancel) => Finished::RequeueAfter(backoff),
            Finished::Permanent(fault) if self.is(Broken::Parked) => Finished::Retry(fault),
            end => end,
        };
        let mut next = self.ledger.finish(here, token, end.clone(), time, policy, backoff);
        if let Some(twin) = &mut self.twin {
            twin.finish(here, end.clone(), time, policy, backoff, next);
        }
        if next.fenced && self.is(Broken::Fence) && call.event != Event::Delete {
            let rules = Rules { matches: &|_: &Obj| true, events: EventSet::ALL, verdict: &|_, _| Wanted };
            let current = Here { now: Some(&call.current), ..here };
            if let Start::Call(again) = self.ledger.start(current, &rules, time, call.revision) {
                next = self.ledger.finish(here, again.token, end, time, policy, backoff);
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

    pub(crate) fn narrow(&mut self, stored: Stored, by: &Narrow<'_>) {
        if self.is(Broken::Narrow) {
            return;
        }
        let keys = self.ledger.narrow(stored, by.matched, by.matches, by.now);
        if let Some(twin) = &mut self.twin {
            twin.narrow(by, &keys);
        }
    }

    pub(crate) fn replay(&mut self, stored: Stored, policy: Replay) -> Vec<Key> {
        let keys = self.ledger.replay(stored, policy);
        if let Some(twin) = &mut self.twin {
            twin.replay(policy, &keys);
        }
        keys
    }

    pub(crate) fn rollback(&mut self, stored: Stored, bad: u64) -> Vec<Key> {
        if self.is(Broken::Withdrawn) {
            return Vec::new();
        }
        let keys = self.ledger.rollback(stored, bad);
        if let Some(twin) = &mut self.twin {
            twin.rollback(bad, &keys);
        }
        keys
    }

    /// The plugin leaves an informer. Returns how many settled keys are left behind.
    pub(crate) fn unpack(&mut self, informer: usize, stored: Stored) -> usize {
        if self.is(Broken::Moving) { 0 } else { self.ledger.unpack(informer as u32, stored) }
    }
}
