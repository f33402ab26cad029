//! Random histories, and making a failing one short.

use std::fmt;

use wharf_core::plugin::Replay;

use crate::object::Key;
use crate::rng::Rng;

/// One step. A step that does not apply does nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Create(Key, char, u64),
    Spec(Key, u64),
    Status(Key, u64),
    Label(Key, char),
    Remove(Key),
    /// The watch hands over its next event.
    Deliver,
    /// The watch breaks: what happens until the relist is missed.
    Cut,
    Relist,
    Start(usize),
    Finish(usize, usize, End),
    /// The guest of a running call writes to its object.
    Write(usize, usize, u64),
    /// The guest of a running call writes to any object.
    Reach(usize, usize, Key, u64),
    /// The answers to a plugin's writes arrive.
    Answer(usize),
    Tick(u64),
    Swap(usize, Replay),
    Rollback(usize),
    Subscribe(usize, &'static str),
    Revoke(usize),
    Grant(usize),
    Resync(usize),
    Related(usize, Key),
    Manual(usize, Key),
    /// Another informer serves the plugin.
    Move(usize),
    /// What the ledgers know is written down.
    Flush,
    /// The host ends without a word, and another one begins.
    Crash,
    /// Likewise, with another revision or subscription.
    OfflineSwap(usize, Replay),
    OfflineSubscribe(usize, &'static str),
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Requeue,
    Retry,
    RetryAfter,
    Permanent,
    Trap,
    Waiting,
    Cancelled,
}

impl End {
    pub(crate) fn good(self) -> bool {
        matches!(self, Self::Done | Self::Requeue)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- {self:?}")
    }
}

/// Most happens to one key.
const OFTEN: [Key; 4] = ["a", "a", "b", "c"];
const ENDS: [End; 11] = {
    use End::*;
    [Done, Done, Done, Done, Requeue, Retry, RetryAfter, Permanent, Trap, Waiting, Cancelled]
};

type Make = fn(&mut Rng) -> Op;

/// Steps with their weights; a plugin is 0 or 1.
const STEPS: [(u64, Make); 27] = [
    (60, |r| Op::Create(r.one(&OFTEN), r.one(&['x', 'x', 'y']), r.below(3))),
    (40, |r| Op::Remove(r.one(&OFTEN))),
    (80, |r| Op::Spec(r.one(&OFTEN), r.below(3))),
    (40, |r| Op::Status(r.one(&OFTEN), r.below(99))),
    (50, |r| Op::Label(r.one(&OFTEN), r.one(&['x', 'y']))),
    (300, |_| Op::Deliver),
    (10, |_| Op::Cut),
    (30, |_| Op::Relist),
    (400, |r| Op::Start(r.below(2) as usize)),
    (300, |r| Op::Finish(r.below(2) as usize, r.below(3) as usize, r.one(&ENDS))),
    (80, |r| Op::Write(r.below(2) as usize, r.below(3) as usize, 100 + r.below(99))),
    (150, |r| Op::Reach(r.below(2) as usize, r.below(3) as usize, r.one(&OFTEN), 100 + r.below(99))),
    (20, |r| Op::Answer(r.below(2) as usize)),
    (80, |r| Op::Tick(1 + r.below(6))),
    (15, |r| Op::Swap(r.below(2) as usize, r.one(&[Replay::All, Replay::Failed, Replay::None]))),
    (15, |r| Op::Rollback(r.below(2) as usize)),
    (10, |r| Op::Subscribe(r.below(2) as usize, r.one(&["x", "y", "xy"]))),
    (10, |r| Op::Revoke(r.below(2) as usize)),
    (20, |r| Op::Grant(r.below(2) as usize)),
    (10, |r| Op::Resync(r.below(2) as usize)),
    (20, |r| Op::Related(r.below(2) as usize, r.one(&OFTEN))),
    (10, |r| Op::Manual(r.below(2) as usize, r.one(&OFTEN))),
    (20, |r| Op::Move(r.below(2) as usize)),
    (40, |_| Op::Flush),
    (20, |_| Op::Crash),
    (5, |r| Op::OfflineSwap(r.below(2) as usize, r.one(&[Replay::All, Replay::Failed, Replay::None]))),
    (5, |r| Op::OfflineSubscribe(r.below(2) as usize, r.one(&["x", "y", "xy"]))),
];

/// The history of a seed. Each has its own stress: the weights vary.
pub(crate) fn generate(seed: u64, steps: usize) -> Vec<Op> {
    let mut rng = Rng::new(!seed);
    let weighted: Vec<(u64, Make)> = STEPS.iter().map(|(weight, make)| (weight * rng.one(&[1, 10, 10, 40]), *make)).collect();
    let total = weighted.iter().map(|(weight, _)| weight).sum();
    (0..steps)
        .map(|_| {
            let mut at = rng.below(total);
            let (_, make) = weighted.iter().find(|(weight, _)| at.checked_sub(*weight).map(|rest| at = rest).is_none()).unwrap();
            make(&mut rng)
        })
        .collect()
}

/// Takes steps away while the history still fails.
pub(crate) fn shrink(mut ops: Vec<Op>, fails: impl Fn(&[Op]) -> bool) -> Vec<Op> {
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut from = ops.len();
        while from > 0 {
            from = from.saturating_sub(size);
            let mut less = ops.clone();
            less.drain(from..(from + size).min(ops.len()));
            if fails(&less) {
                ops = less;
                from = from.min(ops.len());
            }
        }
        size /= 2;
    }
    ops
}
