//! Who computes next. Owns the accounts of groups and members, the lines of those who wait,
//! and the rule; polls nothing itself (that is `turn`).
//!
//! Each group has a virtual time: what its members have computed, divided by its weight; each
//! member has one within its group. The next turn goes to the least of both, after the turn
//! that is expected: so short turns come before long ones of somebody who has had the same.
//! Four details make that fair:
//!
//! 1. **No credit.** Who has wanted nothing begins at the virtual time of those who are served
//!    now, however little it had until then.
//! 2. **Paid in advance.** A turn counts as what is expected of it from its beginning, and as
//!    what it was from its end, so that of many turns that become free at once not all go to
//!    the same group. What is expected of a member is its last turn, or a whole quantum if it
//!    wanted to go on then.
//! 3. **Yielding is waiting.** Who ends a turn and wants the next lines up before that is
//!    given away, so that weights hold between any two.
//! 4. **Who is due need not wait for a long turn.** If somebody wants a turn who is before one
//!    of those who compute, they are asked to yield.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::level::Level;
use super::turn::{Meter, Seat, Turn};

/// Shares computing. Clones are handles to one.
///
/// Everything takes one short lock. A turn without anybody waiting costs three of them and
/// some arithmetic, about 0.1 µs; one that has to wait the logarithm of those who wait.
#[derive(Clone)]
pub struct Turns(Arc<Shared>);

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) quantum: Duration,
    /// Asks those who compute to yield.
    pub(super) hurry: Box<dyn Fn() + Send + Sync>,
}

/// A member of a group, for as long as this or a turn of it exists. Clones are the same member.
#[derive(Clone)]
pub struct Player(Arc<Who>);

/// The numbers of a member.
pub(super) struct Who {
    pub(super) turns: Arc<Shared>,
    group: usize,
    member: usize,
}

impl Turns {
    /// Lets at most `at_once` (at least 1) compute at the same time. `quantum` is what a long
    /// turn takes. `hurry` is told, under no lock, when it would be fair that those who compute
    /// yielded soon; it may do nothing, and should not do it for each time that it is told.
    pub fn new(at_once: usize, quantum: Duration, hurry: impl Fn() + Send + Sync + 'static) -> Self {
        let state = State { free: at_once.max(1), now: 0, waiting: 0, groups: Level::new(), computing: Vec::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), quantum, hurry: Box::new(hurry) }))
    }

    /// The member of this name. The group has `weight` times (at least 1) the turns of one of
    /// weight 1 while both want them; the last one to say so decides.
    pub fn player(&self, group: &str, weight: u32, member: &str) -> Player {
        let mut state = self.0.state.lock();
        let weight = u64::from(weight.max(1));
        let now = state.now;
        let group = state.groups.join(group, now, || Group { weight, active: 0, now: 0, members: Level::new() });
        let member = state.groups.get(group).map_or(0, |group| {
            group.weight = weight;
            let now = group.now;
            group.members.join(member, now, || Line { active: 0, seats: VecDeque::new(), expects: 0 })
        });
        Player(Arc::new(Who { turns: Arc::clone(&self.0), group, member }))
    }

    /// How many wait for a turn.
    pub fn waiting(&self) -> usize {
        self.0.state.lock().waiting
    }
}

impl Player {
    /// A future that polls `call` only when it is this member's turn. It wants its first turn
    /// at once, before it is polled. Calls of one member get their turns in the order in which
    /// they want them.
    ///
    /// What it has computed is told by `meter`, and nothing else counts: a call that sleeps
    /// has no turn. A call that is woken while it is polled wants its next turn when that
    /// ends: so it can give others theirs. Dropping the future gives its turn back.
    pub fn turns<F, M>(&self, call: F, meter: M) -> Turn<F, M>
    where
        F: Future + Unpin,
        M: Meter,
    {
        Turn::new(Seat::new(Arc::clone(&self.0)), call, meter)
    }

    /// The member has computed outside of a turn, which counts as if it had had one.
    pub fn charge(&self, spent: Duration) {
        self.0.turns.state.lock().charge(&self.0, spent);
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("group", &self.0.group).field("member", &self.0.member).finish_non_exhaustive()
    }
}

impl Drop for Who {
    fn drop(&mut self) {
        let mut state = self.turns.state.lock();
        if let Some(group) = state.groups.get(self.group) {
            group.members.leave(self.member);
        }
        state.groups.leave(self.group);
    }
}

/// All accounts. While a turn is free, nobody waits.
pub(super) struct State {
    free: usize,
    /// The greatest virtual time at which a group was served.
    now: u64,
    waiting: usize,
    groups: Level<Group>,
    /// The turns that are not free.
    computing: Vec<Computing>,
}

struct Group {
    weight: u64,
    /// Seats that wait for a turn or have one.
    active: usize,
    now: u64,
    members: Level<Line>,
}

struct Line {
    active: usize,
    seats: VecDeque<Arc<Seat>>,
    /// What its next turn will take.
    expects: u64,
}

struct Computing {
    group: usize,
    member: usize,
    /// In advance, without the weight.
    paid: u64,
}

/// What becomes of a wish for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// It has one.
    Granted,
    /// It is in line.
    InLine,
    /// The same, and it is due.
    Due,
}

impl State {
    /// Wants a turn, after none was wanted.
    pub(super) fn want(&mut self, seat: &Arc<Seat>) -> Wish {
        let Who { group: g, member: m, .. } = *seat.who;
        let now = self.now;
        if let Some(group) = self.groups.get(g) {
            let inside = group.now;
            if let Some(line) = group.members.get(m) {
                line.active += 1;
                if line.active == 1 && group.members.had(m) < inside {
                    group.members.set(m, inside);
                }
            }
            group.active += 1;
            if group.active == 1 && self.groups.had(g) < now {
                self.groups.set(g, now);
            }
        }
        if self.free > 0 {
            self.serve(g, m);
            return Wish::Granted;
        }
        self.line_up(seat);
        if self.is_due(g, m) { Wish::Due } else { Wish::InLine }
    }

    /// Is a member that has lined up the next of all, and before one of those who compute?
    fn is_due(&mut self, g: usize, m: usize) -> bool {
        let group_will = self.groups.will(g);
        if self.groups.first() != Some(g) {
            return false;
        }
        let later = self.computing.iter().any(|other| other.group != g && self.groups.had(other.group) > group_will);
        let Some(group) = self.groups.get(g) else { return false };
        let members = &mut group.members;
        if members.first() != Some(m) || members.get(m).is_none_or(|line| line.seats.len() > 1) {
            return false;
        }
        let will = members.will(m);
        later || self.computing.iter().any(|other| other.group == g && other.member != m && members.had(other.member) > will)
    }

    /// Wants the next turn; before the one that ends is given away.
    pub(super) fn line_up(&mut self, seat: &Arc<Seat>) {
        let Who { group: g, member: m, .. } = *seat.who;
        self.waiting += 1;
        if let Some(group) = self.groups.get(g)
            && let Some(line) = group.members.get(m)
        {
            line.seats.push_back(Arc::clone(seat));
        }
        self.refresh(g, m);
    }

    /// Leaves the line, linear in the seats of the member that wait.
    pub(super) fn leave_line(&mut self, seat: &Arc<Seat>) {
        let Who { group: g, member: m, .. } = *seat.who;
        if let Some(group) = self.groups.get(g)
            && let Some(line) = group.members.get(m)
        {
            let before = line.seats.len();
            line.seats.retain(|other| !Arc::ptr_eq(other, seat));
            self.waiting -= before - line.seats.len();
        }
        self.refresh(g, m);
    }

    /// A turn has ended after so much computing; `more` if another one is wanted at once.
    pub(super) fn settle(&mut self, who: &Who, spent: Duration, more: bool) {
        let Who { group: g, member: m, ref turns } = *who;
        let Some(at) = self.computing.iter().position(|turn| (turn.group, turn.member) == (g, m)) else { return };
        let paid = self.computing.swap_remove(at).paid;
        self.free += 1;
        let had = self.groups.had(g);
        let Some(group) = self.groups.get(g) else { return };
        let (spent, weight) = (nanos(spent), group.weight);
        let inside = group.members.had(m);
        group.members.set(m, inside.saturating_sub(paid).saturating_add(spent));
        if let Some(line) = group.members.get(m) {
            line.expects = if more { nanos(turns.quantum) } else { spent };
        }
        self.groups.set(g, had.saturating_sub(paid / weight).saturating_add(spent / weight));
        self.refresh(g, m);
    }

    /// Something was computed without a turn. Who wants nothing begins where it would if it did; and
    /// where nobody else has waited, nobody has lost anything: as with turns, that leaves no debt
    /// beyond this once.
    fn charge(&mut self, who: &Who, spent: Duration) {
        let Who { group: g, member: m, .. } = *who;
        let had = self.groups.had(g);
        if self.waiting == 0 {
            self.now = self.now.max(had);
        }
        let (now, idle) = (self.now, self.waiting == 0);
        let Some(group) = self.groups.get(g) else { return };
        if idle {
            group.now = group.now.max(group.members.had(m));
        }
        let (spent, weight) = (nanos(spent), group.weight);
        let begins = if group.active == 0 { now } else { 0 };
        let had_inside = group.members.had(m);
        let begins_inside = if group.members.get(m).is_some_and(|line| line.active == 0) { group.now } else { 0 };
        group.members.set(m, had_inside.max(begins_inside).saturating_add(spent));
        self.groups.set(g, had.max(begins).saturating_add(spent / weight));
        self.refresh(g, m);
    }

    /// Wants nothing any more.
    pub(super) fn rest(&mut self, who: &Who) {
        let Some(group) = self.groups.get(who.group) else { return };
        group.active -= 1;
        if let Some(line) = group.members.get(who.member) {
            line.active -= 1;
        }
    }

    /// Gives a free turn to whoever is next.
    pub(super) fn next(&mut self) -> Option<Arc<Seat>> {
        if self.free == 0 {
            return None;
        }
        let g = self.groups.first()?;
        let members = &mut self.groups.get(g)?.members;
        let m = members.first()?;
        let seat = members.get(m)?.seats.pop_front()?;
        self.waiting -= 1;
        self.serve(g, m);
        self.refresh(g, m);
        Some(seat)
    }

    fn serve(&mut self, g: usize, m: usize) {
        self.free -= 1;
        let had = self.groups.had(g);
        self.now = self.now.max(had);
        let Some(group) = self.groups.get(g) else { return };
        let (weight, inside) = (group.weight, group.members.had(m));
        let paid = group.members.get(m).map_or(0, |line| line.expects);
        group.now = group.now.max(inside);
        group.members.serve(m, inside.saturating_add(paid));
        self.groups.serve(g, had.saturating_add(paid / weight));
        self.computing.push(Computing { group: g, member: m, paid });
    }

    /// Puts a member, and with it its group, where it belongs among those who want.
    fn refresh(&mut self, g: usize, m: usize) {
        let Some(group) = self.groups.get(g) else { return };
        let (weight, members) = (group.weight, &mut group.members);
        match members.get(m) {
            Some(line) if !line.seats.is_empty() => {
                let expects = line.expects;
                members.want(m, expects);
            }
            _ => members.rest(m),
        }
        match members.first() {
            Some(first) => {
                let expects = members.get(first).map_or(0, |line| line.expects);
                self.groups.want(g, expects / weight);
            }
            None => self.groups.rest(g),
        }
    }
}

/// Nanoseconds of computing last for 500 years of one processor.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
