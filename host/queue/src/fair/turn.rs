//! A future that is polled only when it is its turn. Owns the states of a call between wanting
//! and computing, and the wake-ups; never decides who is next (that is `turns`).

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::turns::{Who, Wish};

/// Tells how much a call has computed, and hears how long it has waited.
pub trait Meter: Send + Sync + Unpin + 'static {
    /// Computed since the beginning; grows only while the call is polled.
    fn spent(&self) -> Duration;

    /// Has the call given its turn back though it wants to go on? Asked after each poll. A call
    /// that is woken while it is polled wants to go on too.
    fn yielded(&self) -> bool {
        false
    }

    /// It has waited so long for a turn, which begins now. Not called for turns that came at
    /// once.
    fn waited(&self, _long: Duration) {}
}

/// See [`Player::turns`](super::Player::turns).
#[must_use = "it computes nothing before it is polled"]
pub struct Turn<F, M> {
    seat: Arc<Seat>,
    /// The seat's, kept to save making it for each poll.
    waker: Waker,
    call: F,
    meter: M,
}

/// What a call has of the order of turns. Its lock is taken inside that of the accounts.
pub(super) struct Seat {
    pub(super) who: Arc<Who>,
    inner: Mutex<Inner>,
}

struct Inner {
    phase: Phase,
    /// Of whoever polls the turn; none before its first poll, which then needs no waking.
    waker: Option<Waker>,
    /// When it lined up.
    since: Option<Instant>,
    /// Not told to the meter yet.
    waited: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Sleeps.
    Resting,
    /// In line.
    Waiting,
    /// Has a turn, which begins with the next poll.
    Called,
    /// Is polled; and wants another turn after this one?
    Computing(bool),
    /// Ended, or dropped.
    Over,
}

impl<F: Future + Unpin, M: Meter> Turn<F, M> {
    pub(super) fn new(seat: Arc<Seat>, call: F, meter: M) -> Self {
        let waker = Waker::from(Arc::clone(&seat));
        // Before it is polled: whoever ends a turn until then sees that somebody waits.
        waker.wake_by_ref();
        Self { seat, waker, call, meter }
    }
}

impl<F: Future + Unpin, M: Meter> Future for Turn<F, M> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let Some(waited) = this.seat.begin(cx.waker()) else { return Poll::Pending };
        if !waited.is_zero() {
            this.meter.waited(waited);
        }
        let before = this.meter.spent();
        let poll = Pin::new(&mut this.call).poll(&mut Context::from_waker(&this.waker));
        let spent = this.meter.spent().saturating_sub(before);
        this.seat.end(spent, this.meter.yielded(), poll.is_ready());
        poll
    }
}

impl<F, M> Drop for Turn<F, M> {
    fn drop(&mut self) {
        self.seat.give_up();
    }
}

impl<F, M> fmt::Debug for Turn<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

impl Seat {
    pub(super) fn new(who: Arc<Who>) -> Arc<Self> {
        let inner = Inner { phase: Phase::Resting, waker: None, since: None, waited: Duration::ZERO };
        Arc::new(Self { who, inner: Mutex::new(inner) })
    }

    /// A poll: how long the turn was waited for, or `None` if there is none yet.
    fn begin(self: &Arc<Self>, waker: &Waker) -> Option<Duration> {
        let mut state = self.who.turns.state.lock();
        let mut inner = self.inner.lock();
        // Dropped after the locks.
        let old = match &inner.waker {
            Some(old) if old.will_wake(waker) => None,
            _ => inner.waker.replace(waker.clone()),
        };
        if inner.phase == Phase::Resting {
            // Polled though nobody woke it: it may be that what wakes it does so by its poller.
            inner.want(state.want(self) == Wish::Granted);
        }
        let called = inner.phase == Phase::Called;
        if called {
            inner.phase = Phase::Computing(false);
        }
        let waited = called.then(|| std::mem::take(&mut inner.waited));
        drop(inner);
        drop(state);
        drop(old);
        waited
    }

    /// The end of a poll that has computed so much.
    fn end(self: &Arc<Self>, spent: Duration, yielded: bool, over: bool) {
        let mut state = self.who.turns.state.lock();
        let mut inner = self.inner.lock();
        let more = !over && (yielded || inner.phase == Phase::Computing(true));
        state.settle(&self.who, spent, more);
        let old = if over {
            inner.phase = Phase::Over;
            state.rest(&self.who);
            inner.waker.take()
        } else if more {
            inner.want(false);
            state.line_up(self);
            None
        } else {
            inner.phase = Phase::Resting;
            state.rest(&self.who);
            None
        };
        drop(inner);
        let next = state.next().and_then(|next| next.called());
        drop(state);
        drop(old);
        let Some(next) = next else { return };
        if spent.saturating_mul(4) < self.who.turns.quantum {
            next.wake();
        } else {
            // As a task that yields is woken: after the runtime has looked after its timers,
            // which it would not do while tasks wake each other.
            let _pending = pin!(yield_now()).poll(&mut Context::from_waker(&next));
        }
    }

    /// It has a turn now; the waker of whoever must know.
    fn called(&self) -> Option<Waker> {
        let mut inner = self.inner.lock();
        inner.want(true);
        inner.waker.clone()
    }

    fn give_up(self: &Arc<Self>) {
        let mut state = self.who.turns.state.lock();
        let mut inner = self.inner.lock();
        let phase = std::mem::replace(&mut inner.phase, Phase::Over);
        let old = inner.waker.take();
        drop(inner);
        match phase {
            Phase::Resting | Phase::Over => {}
            Phase::Waiting => {
                state.leave_line(self);
                state.rest(&self.who);
            }
            Phase::Called | Phase::Computing(_) => {
                state.settle(&self.who, Duration::ZERO, false);
                state.rest(&self.who);
            }
        }
        let next = state.next().and_then(|next| next.called());
        drop(state);
        drop(old);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl Inner {
    /// It wants a turn, and has one or not.
    fn want(&mut self, has: bool) {
        if has {
            self.phase = Phase::Called;
            self.waited += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        } else {
            self.phase = Phase::Waiting;
            self.since = Some(Instant::now());
        }
    }
}

impl Wake for Seat {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.who.turns.state.lock();
        let mut inner = self.inner.lock();
        let (mut waker, mut hurry) = (None, false);
        match inner.phase {
            Phase::Resting => {
                let wish = state.want(self);
                inner.want(wish == Wish::Granted);
                hurry = wish == Wish::Due;
                if wish == Wish::Granted {
                    waker = inner.waker.clone();
                }
            }
            Phase::Computing(_) => inner.phase = Phase::Computing(true),
            Phase::Waiting | Phase::Called | Phase::Over => {}
        }
        drop(inner);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if hurry {
            (self.who.turns.hurry)();
        }
    }
}
