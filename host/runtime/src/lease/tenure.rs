//! Who leads, and until when this host may act on it: what everybody looks at who delivers, writes
//! or shows something. Owns the arithmetic of the last renewal and the present moment, so that a
//! host that was frozen, or whose elector hangs, knows by itself that it leads no more. Never asks
//! the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::timing::Timing;

/// What is known of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    /// What this host is in it.
    pub phase: Phase,
    /// The holder of the lease as it was seen last.
    pub leader: Option<Arc<str>>,
}

/// What a host is in an election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It stands by.
    #[default]
    Waiting,
    /// It leads.
    Leading {
        /// Whose lease had run out; `None` if nobody held it.
        after: Option<Arc<str>>,
    },
    /// It takes part no more, and will not again.
    Over,
}

/// A host's part in the election, if there is one. Clones share it.
#[derive(Clone, Debug)]
pub struct Tenure(Option<Arc<Term>>);

#[derive(Debug)]
struct Term {
    origin: Instant,
    timing: Timing,
    /// When the request was sent that the server granted last, in nanoseconds since `origin`; or
    /// one of the two words below.
    granted: AtomicU64,
    /// The same, and it stays when the leadership is over.
    last: AtomicU64,
    leadership: watch::Sender<Leadership>,
    /// What a leader needs is ready.
    open: watch::Sender<bool>,
}

const NEVER: u64 = u64::MAX - 1;
const OVER: u64 = u64::MAX;

impl Tenure {
    /// Without an election: this host leads.
    pub fn always() -> Self {
        Self(None)
    }

    /// That of a candidate, which does not lead yet.
    pub(crate) fn elected(timing: Timing) -> Self {
        Self(Some(Arc::new(Term {
            origin: Instant::now(),
            timing,
            granted: AtomicU64::new(NEVER),
            last: AtomicU64::new(NEVER),
            leadership: watch::Sender::default(),
            open: watch::Sender::default(),
        })))
    }

    /// Is there an election?
    pub fn is_elected(&self) -> bool {
        self.0.is_some()
    }

    /// The election from now on; `None` without one.
    pub fn leadership(&self) -> Option<watch::Receiver<Leadership>> {
        self.0.as_ref().map(|term| term.leadership.subscribe())
    }

    /// May plugins be called? Once a leadership has run out this stays false, whatever the server
    /// says afterwards: who saw it has stopped.
    pub fn may_deliver(&self) -> bool {
        self.0.as_ref().is_none_or(|term| term.leads())
    }

    /// May what was begun still be written, to the cluster or to the checkpoint? Somebody else may
    /// lead soon after.
    pub fn may_act(&self) -> bool {
        self.0.as_ref().is_none_or(|term| term.until(Timing::acts).is_some_and(|until| Instant::now() < until))
    }

    /// Returns when what a leader needs is ready, and plugins may be called. Cancel safe.
    pub async fn opened(&self) {
        let Some(term) = &self.0 else { return };
        if term.open.subscribe().wait_for(|open| *open).await.is_err() {
            // The sender is here: this cannot come.
            std::future::pending::<()>().await;
        }
    }

    /// Has [`Self::opened`] returned, or would it?
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|term| *term.open.borrow())
    }

    /// Is what hosts share this one's to write? Not before it leads, and not when another one may.
    pub fn owns(&self) -> bool {
        self.is_open() && self.may_act()
    }

    /// Who leads, in words.
    pub fn leader(&self) -> String {
        let leader = self.leadership().and_then(|now| now.borrow().leader.clone());
        leader.map_or_else(|| "no host leads".to_owned(), |leader| format!("{leader} leads"))
    }

    /// Plugins may be called from now on.
    pub(crate) fn open(&self) {
        if let Some(term) = &self.0 {
            term.open.send_replace(true);
        }
    }

    /// Returns when calls in flight must end, because the leadership is over and somebody else may
    /// lead soon. Without an election never. Cancel safe.
    pub async fn calls_over(&self) {
        self.over_and(Timing::calls).await;
    }

    /// Likewise for all that is written.
    pub async fn acts_over(&self) {
        self.over_and(Timing::acts).await;
    }

    /// Does this host believe that it leads, so long after its lease has run out? Then whoever
    /// should notice hangs.
    pub fn overdue(&self, tolerance: Duration) -> Option<Duration> {
        let term = self.0.as_ref().filter(|term| term.granted.load(Ordering::SeqCst) < NEVER)?;
        let over = Instant::now().saturating_duration_since(term.until(|timing| timing.lease)?);
        (over > tolerance).then_some(over)
    }

    /// The server has granted the lease by a request that was sent then. False if that is too
    /// long ago, or the leadership is over.
    pub(crate) fn grant(&self, since: Instant) -> bool {
        let Some(term) = &self.0 else { return true };
        let nanos = term.nanos(since);
        if Instant::now() >= since + term.timing.renew {
            return false;
        }
        let begin = |granted| (granted != OVER).then_some(nanos);
        let granted = term.granted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, begin).is_ok();
        if granted {
            term.last.store(nanos, Ordering::SeqCst);
        }
        granted
    }

    /// The leadership ends here if it is not renewed.
    pub(super) fn renew_until(&self) -> Option<Instant> {
        self.0.as_ref()?.until(|timing| timing.renew)
    }

    /// This host leads no more, and will not again.
    pub(super) fn end(&self) {
        if let Some(term) = &self.0 {
            term.granted.store(OVER, Ordering::SeqCst);
        }
        self.publish(|leadership| leadership.phase = Phase::Over);
    }

    /// Nothing is written any more: the lease is about to be somebody else's.
    pub(super) fn leave(&self) {
        if let Some(term) = &self.0 {
            term.last.store(NEVER, Ordering::SeqCst);
        }
    }

    /// Tells all who listen, if that changes anything.
    pub(super) fn publish(&self, change: impl FnOnce(&mut Leadership)) -> bool {
        let Some(term) = &self.0 else { return false };
        term.leadership.send_if_modified(|leadership| {
            let before = leadership.clone();
            change(leadership);
            *leadership != before
        })
    }

    async fn over_and(&self, then: fn(&Timing) -> Duration) {
        let Some(term) = &self.0 else { return std::future::pending().await };
        // The sender is here: there is no error.
        let _over = term.leadership.subscribe().wait_for(|leadership| leadership.phase == Phase::Over).await.is_ok();
        if let Some(until) = term.until(then) {
            sleep_until(until).await;
        }
    }
}

impl Term {
    fn leads(&self) -> bool {
        let granted = self.granted.load(Ordering::SeqCst);
        if granted >= NEVER {
            return false;
        }
        if Instant::now() < self.origin + Duration::from_nanos(granted) + self.timing.renew {
            return true;
        }
        // Renewed just now, or over: the elector cannot say otherwise any more.
        let renewed = self.granted.compare_exchange(granted, OVER, Ordering::SeqCst, Ordering::SeqCst);
        renewed.is_err_and(|now| now < NEVER)
    }

    /// So long after the last renewal; `None` if there was none.
    fn until(&self, time: impl FnOnce(&Timing) -> Duration) -> Option<Instant> {
        let last = self.last.load(Ordering::SeqCst);
        (last < NEVER).then(|| self.origin + Duration::from_nanos(last) + time(&self.timing))
    }

    fn nanos(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.origin).as_nanos();
        u64::try_from(nanos).unwrap_or(NEVER).min(NEVER - 1)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn who_is_frozen_knows_by_itself_that_it_leads_no_more() {
        let tenure = Tenure::elected(Timing::default());
        assert!(!tenure.may_deliver() && !tenure.may_act() && tenure.overdue(Duration::ZERO).is_none());
        assert!(tenure.grant(Instant::now()));
        advance(9 * SECOND).await;
        assert!(tenure.may_deliver());
        assert!(tenure.grant(Instant::now()));
        advance(10 * SECOND).await;
        assert!(!tenure.may_deliver() && tenure.may_act());
        assert!(!tenure.grant(Instant::now()), "who saw that it was over has stopped");
        assert!(!tenure.owns(), "it was not ready to lead");
        tenure.open();
        assert!(tenure.owns());
        advance(4 * SECOND).await;
        assert!(!tenure.may_act() && tenure.is_open() && !tenure.owns(), "before anybody else may lead");
    }

    #[tokio::test(start_paused = true)]
    async fn a_grant_that_comes_too_late_is_none() {
        let tenure = Tenure::elected(Timing::default());
        let sent = Instant::now();
        advance(10 * SECOND).await;
        assert!(!tenure.grant(sent) && !tenure.may_deliver());
        assert!(tenure.grant(Instant::now()), "the next one is good");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_end_before_writes_and_writes_before_the_lease() {
        let tenure = Tenure::elected(Timing::default());
        let start = Instant::now();
        assert!(tenure.grant(start));
        tenure.end();
        tenure.calls_over().await;
        let calls = start.elapsed();
        tenure.acts_over().await;
        assert!(calls > 10 * SECOND && calls < start.elapsed() && start.elapsed() < 15 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_election_everything_is_allowed_for_ever() {
        let tenure = Tenure::always();
        tenure.end();
        advance(1000 * SECOND).await;
        assert!(tenure.may_deliver() && tenure.may_act() && tenure.is_open() && tenure.overdue(Duration::ZERO).is_none());
        tenure.opened().await;
        assert!(tenure.leadership().is_none());
    }
}
