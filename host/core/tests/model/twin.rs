//! A second ledger beside the real one that is never told of slots, so that every key has an
//! entry of its own: the two must agree in all that they say.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;

use wharf_core::Rules;
use wharf_core::ledger::{Call, Finished, Here, Ledger, Mark, Next, Policy, Record, Start, Time, Token};
use wharf_core::plugin::Replay;

use crate::broken::Narrow;
use crate::object::{Key, Obj};
use crate::witness::Verdict;

type Real = Ledger<Key, Obj>;
type At<'a> = Here<'a, Key, Obj>;

pub(crate) struct Twin {
    ledger: Real,
    tokens: HashMap<Key, Token>,
    differs: Option<String>,
}

impl Twin {
    pub(crate) fn new() -> Self {
        Self { ledger: Ledger::new(), tokens: HashMap::new(), differs: None }
    }

    pub(crate) fn observe(&mut self, here: At<'_>, old: Option<&Obj>, last: Option<&Obj>, known: bool) {
        self.ledger.observe(unslotted(here), old, last, known);
    }

    pub(crate) fn mark(&mut self, here: At<'_>, mark: Mark, real: bool) {
        let own = self.ledger.mark(unslotted(here), mark);
        self.agree("mark", real, own);
    }

    pub(crate) fn start(&mut self, here: At<'_>, rules: &Rules<'_, Obj>, time: Time, revision: u64, real: &Start<Obj>) {
        let own = self.ledger.start(unslotted(here), rules, time, revision);
        self.agree("start", said(real), said(&own));
        if let Start::Call(call) = own {
            self.tokens.insert(here.key, call.token);
        }
    }

    pub(crate) fn finish(&mut self, here: At<'_>, end: Finished, time: Time, policy: &Policy, backoff: Time, real: Next) {
        let Some(token) = self.tokens.remove(here.key) else { return };
        let own = self.ledger.finish(unslotted(here), token, end, time, policy, backoff);
        self.agree("finish", real, own);
    }

    pub(crate) fn narrow(&mut self, by: &Narrow<'_>, real: &[Key]) {
        let own = self.ledger.narrow([], by.matched, by.matches, by.now);
        self.agree("narrow", sorted(real), sorted(&own));
    }

    pub(crate) fn replay(&mut self, policy: Replay, real: &[Key]) {
        let own = self.ledger.replay([], policy);
        self.agree("replay", sorted(real), sorted(&own));
    }

    pub(crate) fn rollback(&mut self, bad: u64, real: &[Key]) {
        let own = self.ledger.rollback([], bad);
        self.agree("rollback", sorted(real), sorted(&own));
    }

    /// Do both know the same of these keys, and of no others?
    pub(crate) fn check<'a>(&mut self, real: &Real, places: impl Iterator<Item = At<'a>>) -> Verdict {
        self.agree("len", real.len(), self.ledger.len());
        self.agree("parked", real.parked(), self.ledger.parked());
        let mut parked = 0;
        for here in places {
            let (one, other) = (real.entry(here), self.ledger.entry(unslotted(here)));
            parked += usize::from(one.is_some_and(|entry| entry.parked.is_some()));
            if one != other {
                return Err(format!("{}: entry is {one:?}, and {other:?} without slots", here.key));
            }
        }
        self.agree("parked", real.parked(), parked);
        self.differs.take().map_or(Ok(()), Err)
    }

    pub(crate) fn restart(&mut self) {
        *self = Self::new();
    }

    pub(crate) fn restore(&mut self, here: At<'_>, record: &Record<'_>, body: Option<&Obj>) {
        let _open = self.ledger.restore(unslotted(here), record, body, &|version| Obj::bare(here.key, record.uid, version), &|_| None);
    }

    fn agree<T: PartialEq + Debug>(&mut self, what: &str, real: T, own: T) {
        if real != own {
            self.differs = Some(format!("{what} says {real:?}, and {own:?} without slots"));
        }
    }
}

fn unslotted(here: At<'_>) -> At<'_> {
    Here { slot: None, ..here }
}

fn sorted(keys: &[Key]) -> BTreeSet<Key> {
    keys.iter().copied().collect()
}

/// All of it but the token.
fn said(start: &Start<Obj>) -> String {
    let Start::Call(call) = start else { return format!("{start:?}") };
    let Call { event, current, previous, removal, final_state_unknown, attempt, cause, taken, dropped, token: _ } = call;
    format!("{:?}", (event, current, previous, removal, final_state_unknown, attempt, cause, taken, dropped))
}
