//! A ledger with one key, and all that its steps need, in few words.

use crate::diff::{EventSet, Rules, State, Verdict};
use crate::ledger::{Call, EntryView, Finished, Here, Ledger, Mark, Next, Policy, Slot, Start, Time, Token};
use crate::outcome::{Fault, Strike};
use crate::plugin::Replay;
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

pub(super) const SLOT: Slot = Slot { array: 7, index: 130 };

/// A ledger with one key, a store of one object, a clock and a subscription for `x`.
pub(super) struct Bench {
    pub(super) ledger: Ledger<&'static str, Obj>,
    pub(super) now: Option<Obj>,
    /// Where the store keeps the object.
    pub(super) slot: Option<Slot>,
    pub(super) events: EventSet,
    /// What the filters say of a change.
    pub(super) verdict: fn(Option<&Obj>, &Obj) -> Verdict,
    pub(super) time: u64,
    pub(super) revision: u64,
}

impl Bench {
    pub(super) fn new() -> Self {
        let verdict = |_: Option<&Obj>, _: &Obj| Verdict::Wanted;
        Self { ledger: Ledger::new(), now: None, slot: Some(SLOT), events: EventSet::ALL, verdict, time: 0, revision: 1 }
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
        self.observe(old, None, true);
    }

    /// The store changed from `old` to what is there now.
    pub(super) fn observe(&mut self, old: Option<Obj>, final_state: Option<Obj>, final_known: bool) {
        self.ledger.observe(Self::at(self.slot, self.now.as_ref()), old.as_ref(), final_state.as_ref(), final_known);
    }

    /// All that the store holds.
    pub(super) fn stored(&self) -> Option<(&'static str, Slot, Obj)> {
        Some(("k", self.slot?, self.now?))
    }

    pub(super) fn entry(&self) -> EntryView<'_> {
        self.ledger.entry(Self::at(self.slot, self.now.as_ref())).unwrap()
    }

    pub(super) fn mark(&mut self, mark: Mark) -> bool {
        self.ledger.mark(Self::at(self.slot, self.now.as_ref()), mark)
    }

    pub(super) fn replay(&mut self, policy: Replay) -> Vec<&'static str> {
        self.ledger.replay(self.stored(), policy)
    }

    pub(super) fn rollback(&mut self, bad: u64) -> Vec<&'static str> {
        self.ledger.rollback(self.stored(), bad)
    }

    /// Is there nothing to remember but that the plugin was told?
    pub(super) fn settled(&self) -> bool {
        self.ledger.unsettled().next().is_none() && self.ledger.len() == 1
    }

    pub(super) fn start(&mut self) -> Start<Obj> {
        let rules = Rules { matches: &|o: &Obj| o.2 == 'x', events: self.events, verdict: &self.verdict };
        self.ledger.start(Self::at(self.slot, self.now.as_ref()), &rules, secs(self.time), self.revision)
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
        let policy = Policy { strikes: 3, park: secs(100), ..Policy::default() };
        self.ledger.finish(Self::at(self.slot, self.now.as_ref()), token, result, secs(self.time), &policy, secs(2))
    }

    pub(super) fn run(&mut self, result: Finished) -> Next {
        let call = self.call();
        self.finish(call.token, result)
    }

    pub(super) fn narrow(&mut self, matches: char) -> usize {
        let now = self.now;
        self.ledger.narrow(self.stored(), &|_, o| o.2 == 'x', &|_, o| o.2 == matches, &|_| now).len()
    }

    pub(super) fn at(slot: Option<Slot>, now: Option<&Obj>) -> Here<'_, &'static str, Obj> {
        Here { key: &"k", slot, now }
    }
}
