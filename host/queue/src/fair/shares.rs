//! Equal things that are held for long, shared max-min. Owns who holds how many, the lines of
//! those who wait, and the rule; never takes anything away from anybody.
//!
//! What becomes free goes to the group that holds least for its weight, in it to the member
//! that holds least, and there to whoever came first. As nobody is robbed, a group that holds
//! too much shrinks only as it gives back. So the more a group holds, the more it must leave: an
//! eighth of what it then has, for its weight, and never the last, which is kept for a group that
//! holds none. A crowd of one group takes eight ninths of all, and the others find the rest free.
//!
//! Nobody is overtaken by somebody who wants less: who is next and does not fit is waited for.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::level::Level;

/// Keeps fractions of a thing apart where weights divide.
const SCALE: u64 = 1 << 16;

/// Who has taken so many must have left one free.
const LEAVES_ONE_OF: u64 = 8;

/// Shares things. Clones are handles to one.
///
/// Everything takes one short lock. Taking and giving back cost constant time while nobody
/// waits, else the logarithm of those who do.
#[derive(Clone)]
pub struct Shares(Arc<Mutex<State>>);

/// A member of a group, for as long as this or a share of it exists. Clones are the same member.
#[derive(Clone)]
pub struct Holder(Arc<Who>);

/// A number of things that are held; dropping it gives them back.
#[must_use = "dropping a share gives it back"]
pub struct Share {
    who: Arc<Who>,
    amount: u32,
}

/// Waits for a share. Dropping it ends the waiting, and gives back what has come meanwhile.
#[must_use = "it wants nothing before it is polled"]
pub struct Acquire {
    who: Arc<Who>,
    amount: u32,
    request: Option<Arc<Request>>,
}

/// What is shared at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharesStats {
    /// Things that nobody holds.
    pub free: u32,
    /// Those who wait.
    pub waiting: usize,
}

struct Who {
    shares: Arc<Mutex<State>>,
    group: usize,
    member: usize,
}

struct State {
    free: u32,
    total: u32,
    /// Kept for a group that holds none.
    spare: u32,
    waiting: usize,
    groups: Level<Group>,
}

struct Group {
    weight: u64,
    held: u32,
    members: Level<VecDeque<Arc<Request>>>,
}

struct Request {
    amount: u32,
    /// Its lock is taken inside that of the state.
    inner: Mutex<Asked>,
}

enum Asked {
    Waiting(Waker),
    Granted,
    /// Taken, or given up.
    Over,
}

impl Shares {
    /// So many things (at least 1).
    pub fn new(total: u32) -> Self {
        let total = total.max(1);
        Self(Arc::new(Mutex::new(State { free: total, total, spare: 0, waiting: 0, groups: Level::new() })))
    }

    /// The member of this name. The group may hold `weight` times (at least 1) of what one of
    /// weight 1 holds while both want more; the last one to say so decides. `most` is the most
    /// that it takes in one share: so many are kept for a group that holds none.
    pub fn holder(&self, group: &str, weight: u32, member: &str, most: u32) -> Holder {
        let mut state = self.0.lock();
        state.spare = state.spare.max(most).min(state.total);
        let weight = u64::from(weight.max(1));
        let group = state.groups.join(group, 0, || Group { weight, held: 0, members: Level::new() });
        let member = state.groups.get(group).map_or(0, |group| {
            group.weight = weight;
            group.members.join(member, 0, VecDeque::new)
        });
        Holder(Arc::new(Who { shares: Arc::clone(&self.0), group, member }))
    }

    /// Does somebody wait because too little is free, and not because of the part of its group?
    pub fn short(&self) -> bool {
        let state = self.0.lock();
        state.waiting > 0 && state.free < state.spare.saturating_mul(2)
    }

    /// What is shared now.
    pub fn stats(&self) -> SharesStats {
        let state = self.0.lock();
        SharesStats { free: state.free, waiting: state.waiting }
    }
}

impl Holder {
    /// Waits for a share of so many, at most all that there are. Cancel safe.
    pub fn acquire(&self, amount: u32) -> Acquire {
        Acquire { who: Arc::clone(&self.0), amount, request: None }
    }
}

impl Future for Acquire {
    type Output = Share;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Share> {
        let this = &mut *self;
        let mut wakers = Vec::new();
        let granted = {
            let mut state = this.who.shares.lock();
            let request = this.request.get_or_insert_with(|| {
                let amount = this.amount.min(state.total);
                let request = Arc::new(Request { amount, inner: Mutex::new(Asked::Waiting(cx.waker().clone())) });
                state.line_up(&this.who, &request);
                wakers = state.hand_out();
                request
            });
            let mut asked = request.inner.lock();
            match &mut *asked {
                Asked::Waiting(waker) => {
                    waker.clone_from(cx.waker());
                    None
                }
                Asked::Granted => {
                    *asked = Asked::Over;
                    Some(request.amount)
                }
                Asked::Over => None,
            }
        };
        // Its own among them does no harm.
        wakers.into_iter().for_each(Waker::wake);
        granted.map_or(Poll::Pending, |amount| Poll::Ready(Share { who: Arc::clone(&this.who), amount }))
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let mut state = self.who.shares.lock();
        let asked = std::mem::replace(&mut *request.inner.lock(), Asked::Over);
        let wakers = match asked {
            Asked::Over => return,
            Asked::Waiting(_) => {
                state.leave_line(&self.who, &request);
                state.hand_out()
            }
            Asked::Granted => state.give_back(&self.who, request.amount),
        };
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let wakers = self.who.shares.lock().give_back(&self.who, self.amount);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Who {
    fn drop(&mut self) {
        let mut state = self.shares.lock();
        if let Some(group) = state.groups.get(self.group) {
            group.members.leave(self.member);
        }
        state.groups.leave(self.group);
        // The last group may have all.
        let wakers = state.hand_out();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn line_up(&mut self, who: &Who, request: &Arc<Request>) {
        self.waiting += 1;
        self.groups.want(who.group, 0);
        if let Some(group) = self.groups.get(who.group) {
            group.members.want(who.member, 0);
            if let Some(line) = group.members.get(who.member) {
                line.push_back(Arc::clone(request));
            }
        }
    }

    /// Linear in the requests of the member that wait.
    fn leave_line(&mut self, who: &Who, request: &Arc<Request>) {
        let Some(group) = self.groups.get(who.group) else { return };
        let Some(line) = group.members.get(who.member) else { return };
        let before = line.len();
        line.retain(|other| !Arc::ptr_eq(other, request));
        self.waiting -= before - line.len();
        if line.is_empty() {
            group.members.rest(who.member);
        }
        if group.members.first().is_none() {
            self.groups.rest(who.group);
        }
    }

    fn give_back(&mut self, who: &Who, amount: u32) -> Vec<Waker> {
        self.free += amount;
        self.count(who.group, who.member, |held| held - amount);
        self.hand_out()
    }

    /// Gives what is free to those who are next; the wakers of those who must know.
    fn hand_out(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(waker) = self.next() {
            wakers.push(waker);
        }
        wakers
    }

    fn next(&mut self) -> Option<Waker> {
        let (free, spare, alone) = (self.free, self.spare, self.groups.len() == 1);
        let g = self.groups.first()?;
        let group = self.groups.get(g)?;
        let m = group.members.first()?;
        let line = group.members.get(m)?;
        let amount = line.front()?.amount;
        let left = free.checked_sub(amount)?;
        let must_leave = u64::from(group.held + amount) / (LEAVES_ONE_OF * group.weight);
        if group.held > 0 && !alone && u64::from(left) < must_leave.max(spare.into()) {
            return None;
        }
        let request = line.pop_front()?;
        if line.is_empty() {
            group.members.rest(m);
        }
        if group.members.first().is_none() {
            self.groups.rest(g);
        }
        self.waiting -= 1;
        self.free = left;
        self.count(g, m, |held| held + amount);
        match std::mem::replace(&mut *request.inner.lock(), Asked::Granted) {
            Asked::Waiting(waker) => Some(waker),
            // Those are in no line.
            Asked::Granted | Asked::Over => None,
        }
    }

    fn count(&mut self, g: usize, m: usize, change: impl Fn(u32) -> u32) {
        let Some(group) = self.groups.get(g) else { return };
        let (before, weight) = (group.held, group.weight);
        group.held = change(before);
        let (after, member) = (group.held, group.members.had(m));
        let member = u32::try_from(member).map_or(0, change);
        if after > before {
            group.members.serve(m, u64::from(member));
            self.groups.serve(g, u64::from(after) * SCALE / weight);
        } else {
            group.members.set(m, u64::from(member));
            self.groups.set(g, u64::from(after) * SCALE / weight);
        }
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("stats", &self.stats()).finish()
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder").field("group", &self.0.group).field("member", &self.0.member).finish_non_exhaustive()
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share").field("amount", &self.amount).finish_non_exhaustive()
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("amount", &self.amount).finish_non_exhaustive()
    }
}
