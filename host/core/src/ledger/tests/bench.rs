//! A ledger with one key, and all that its steps need, in few words.

use crate::diff::{EventSet, Rules, State};
use crate::ledger::{Call, Finished, Ledger, Next, Policy, Start, Time, Token};
use crate::outcome::{Fault, Strike};
use crate::reason::Reason;

/// Uid, resourceVersion, label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Obj(&'static str, &'static str, char);

impl State for Obj {
    fn uid(&self) -> &str {
        self.0
    }
    fn resource_version(&self) -> &str {
        self.1
    }
}

pub(super) const U1: Obj = Obj("u", "1", 'x');
pub(super) const U2: Obj = Obj("u", "2", 'x');
pub(super) const U3: Obj = Obj("u", "3", 'x');
pub(super) const U4_Y: Obj = Obj("u", "4", 'y');
pub(super) const V5: Obj = Obj("v", "5", 'x');

pub(super) fn secs(n: u64) -> Time {
    Time::from_secs(n)
}

pub(super) fn fault(after: Option<u64>) -> Fault {
    Fault { reason: "Busy".into(), message: "later".into(), retry_after: after.map(secs) }
}

pub(super) fn retry() -> Finished {
    Finished::Retry(fault(None))
}

pub(super) fn trap() -> Finished {
    Finished::Strike(Strike { reason: Reason::Trap, message: "unreachable".into() })
}

/// A ledger with one key, a store of one object, a clock and a subscription for `x`.
pub(super) struct Bench {
    pub(super) ledger: Ledger<&'static str, Obj>,
    pub(super) now: Option<Obj>,
    pub(super) events: EventSet,
    pub(super) time: u64,
    pub(super) revision: u64,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self { ledger: Ledger::new(), now: None, events: EventSet::ALL, time: 0, revision: 1 }
    }

    /// A key whose `add` succeeded.
    pub(super) fn delivered(state: Obj) -> Self {
        let mut bench = Self::new();
        bench.set(Some(state));
        let _ = bench.run(Finished::Done);
        bench
    }

    pub(super) fn set(&mut self, new: Option<Obj>) {
        let old = std::mem::replace(&mut self.now, new);
        self.ledger.observe(&"k", old.as_ref(), new.as_ref(), None, true);
    }

    pub(super) fn start(&mut self) -> Start<Obj> {
        let rules = Rules { matches: &|o: &Obj| o.2 == 'x', events: self.events };
        self.ledger.start(&"k", self.now.as_ref(), &rules, secs(self.time), self.revision)
    }

    pub(super) fn call(&mut self) -> Call<Obj> {
        match self.start() {
            Start::Call(call) => call,
            other => panic!("no call but {other:?}"),
        }
    }

    pub(super) fn nothing(&mut self) -> Option<Time> {
        match self.start() {
            Start::Nothing { next_due, .. } => next_due,
            other => panic!("not nothing but {other:?}"),
        }
    }

    pub(super) fn finish(&mut self, token: Token, result: Finished) -> Next {
        let policy = Policy { strikes: 3, park: secs(100) };
        self.ledger.finish(&"k", token, result, secs(self.time), &policy, secs(2))
    }

    pub(super) fn run(&mut self, result: Finished) -> Next {
        let call = self.call();
        self.finish(call.token, result)
    }

    pub(super) fn narrow(&mut self, matches: char) -> usize {
        let now = self.now;
        self.ledger.narrow(&|_, o| o.2 == 'x', &|_, o| o.2 == matches, &|_| now)
    }
}
