//! What a candidate asks the server next, and what the answer makes it: one attempt to get or keep
//! the lease. Pure: it is told what was answered and what time it is.
//!
//! Two rules keep two candidates from leading at once. Another's lease is over when it has not
//! changed for its duration *as this candidate has seen it*: times that others have written are
//! never compared with a clock. And one's own lease counts from the moment at which the request was
//! *sent* that renewed it, which is never after the moment at which others can have seen it.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

use super::record::{Labels, Lease};
use super::server::LeaseError;
use super::timing::Timing;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Get,
    Create(Lease),
    Update(Lease),
}

/// What comes after an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    Ask(Ask),
    /// The lease is this candidate's, by a request that was sent at this time.
    Held {
        since: Instant,
    },
    /// It is somebody else's.
    Others,
    /// It is nobody's any more: only after [`Machine::release`].
    Released,
    /// Nobody knows.
    Failed(LeaseError),
}

/// The time, by the clock that never goes back and by that of the day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) at: Instant,
    pub(super) wall: Timestamp,
}

/// Who a candidate is, and what it wants.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) identity: Arc<str>,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) labels: Labels,
    pub(super) timing: Timing,
}

/// The lease as it was seen last.
struct Observed {
    lease: Lease,
    /// When its last change was seen.
    at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    /// Renewing what was written last, without a look.
    Fast,
    Look,
    Write,
    LookToRelease,
    Release,
}

/// One candidate.
pub(super) struct Machine {
    who: Who,
    observed: Option<Observed>,
    step: Step,
    /// When the request was sent that is under way.
    sent: Option<Instant>,
    /// Did the server grant the last write, so far as is known?
    holds: bool,
    /// May some write have come through?
    wrote: bool,
    /// Whose lease was over when this candidate took it.
    before: Option<Arc<str>>,
    slow_path: bool,
}

impl Machine {
    pub(super) fn new(who: Who) -> Self {
        Self { who, observed: None, step: Step::Idle, sent: None, holds: false, wrote: false, before: None, slow_path: false }
    }

    /// Begins an attempt. One that is under way is forgotten, whatever comes of it.
    pub(super) fn begin(&mut self, now: Now) -> Ask {
        let renewable = self.observed.as_ref().filter(|seen| self.holds && self.is_mine(&seen.lease) && !self.is_over(seen, now.at));
        match renewable.map(|seen| seen.lease.clone()) {
            Some(lease) => {
                self.step = Step::Fast;
                Ask::Update(self.write(lease, now))
            }
            None => self.look(Step::Look),
        }
    }

    /// Begins to give the lease back, if it is this candidate's.
    pub(super) fn release(&mut self) -> Ask {
        self.holds = false;
        self.look(Step::LookToRelease)
    }

    /// The answer to what was asked last.
    pub(super) fn answer(&mut self, answer: Result<Lease, LeaseError>, now: Now) -> Next {
        match (self.step, answer) {
            (Step::Fast | Step::Write, Ok(lease)) => self.granted(lease, now),
            // It may have been changed by somebody who is no candidate, or this very request may
            // have come through before.
            (Step::Fast, Err(_)) => {
                self.slow_path = true;
                Next::Ask(self.look(Step::Look))
            }
            (Step::Look, Ok(lease)) => self.looked(lease, now),
            (Step::Look, Err(LeaseError::NotFound)) => {
                self.step = Step::Write;
                self.before = None;
                let fresh = Lease::new(&self.who.namespace, &self.who.name);
                Next::Ask(Ask::Create(self.write(fresh, now)))
            }
            (Step::LookToRelease, Ok(lease)) if self.is_mine(&lease) => {
                self.step = Step::Release;
                Next::Ask(Ask::Update(lease.released(now.wall).labelled(&self.who.labels)))
            }
            (Step::LookToRelease, Ok(lease)) => {
                self.see(lease, now);
                self.end(Next::Others)
            }
            (Step::LookToRelease, Err(LeaseError::NotFound)) => self.end(Next::Released),
            (Step::Release, Ok(lease)) => {
                self.see(lease, now);
                self.end(Next::Released)
            }
            (Step::Release, Err(LeaseError::Conflict)) => Next::Ask(self.look(Step::LookToRelease)),
            (Step::Look | Step::Write | Step::LookToRelease | Step::Release, Err(error)) => self.end(Next::Failed(error)),
            // Nothing was asked.
            (Step::Idle, Ok(_)) => Next::Others,
            (Step::Idle, Err(error)) => Next::Failed(error),
        }
    }

    /// The holder that was seen last.
    pub(super) fn holder(&self) -> Option<Arc<str>> {
        let holder = self.observed.as_ref()?.lease.holder();
        (!holder.is_empty()).then(|| holder.into())
    }

    /// Whose lease was over when this candidate took it; `None` if it was given back, or new.
    pub(super) fn before(&self) -> Option<Arc<str>> {
        self.before.clone()
    }

    /// May this candidate be the holder, even if it never heard so?
    pub(super) fn may_hold(&self) -> bool {
        self.wrote
    }

    /// Did a renewal need a look since the last time this was asked?
    pub(super) fn took_slow_path(&mut self) -> bool {
        std::mem::take(&mut self.slow_path)
    }

    fn looked(&mut self, lease: Lease, now: Now) -> Next {
        self.see(lease, now);
        let Some(seen) = &self.observed else { return self.end(Next::Others) };
        let (mine, led) = (self.is_mine(&seen.lease), !seen.lease.holder().is_empty());
        if led && !mine && !self.is_over(seen, now.at) {
            self.holds = false;
            return self.end(Next::Others);
        }
        let lease = seen.lease.clone();
        self.before = (led && !mine).then(|| lease.holder().into());
        self.step = Step::Write;
        Next::Ask(Ask::Update(self.write(lease, now)))
    }

    fn granted(&mut self, lease: Lease, now: Now) -> Next {
        self.see(lease, now);
        self.holds = true;
        // Never later than the request: others may have seen the answer first.
        let since = self.sent.unwrap_or(now.at);
        self.end(Next::Held { since })
    }

    /// Notes what the server has. Somebody who touches a label has renewed nothing.
    fn see(&mut self, lease: Lease, now: Now) {
        let unchanged = self.observed.as_ref().filter(|seen| seen.lease.spec() == lease.spec());
        let at = unchanged.map_or(now.at, |seen| seen.at);
        self.observed = Some(Observed { lease, at });
    }

    /// The lease with this candidate as its holder, about to be sent.
    fn write(&mut self, lease: Lease, now: Now) -> Lease {
        self.sent = Some(now.at);
        self.wrote = true;
        lease.held(&self.who.identity, self.who.timing.lease, now.wall).labelled(&self.who.labels)
    }

    fn look(&mut self, step: Step) -> Ask {
        self.step = step;
        Ask::Get
    }

    fn end(&mut self, next: Next) -> Next {
        self.step = Step::Idle;
        next
    }

    fn is_mine(&self, lease: &Lease) -> bool {
        lease.holder() == &*self.who.identity
    }

    /// Has the lease not changed for as long as its holder has promised to renew it?
    fn is_over(&self, seen: &Observed, now: Instant) -> bool {
        now.saturating_duration_since(seen.at) >= seen.lease.duration().unwrap_or(self.who.timing.lease)
    }
}
