//! The queue that producers and workers share. Owns the lock around the sets and the
//! wake-ups; never decides where a key goes (that is `state`).
//!
//! How no wake-up is lost without a task of the queue's own:
//!
//! 1. A worker asks to be notified before it looks, and sleeps until a wake-up or the
//!    first due time that it saw. A wake-up between the look and the sleep is kept.
//! 2. A change that leaves a key available wakes one worker, so a worker that takes one of
//!    several keys wakes the next. Tokio hands on the wake-up of a worker that is dropped
//!    before it ran.
//! 3. What concerns every sleeper wakes all: an earlier due time, pause, resume, the end.
//!
//! [`Shared::change`] is the only way to the sets, and derives these wake-ups from what it
//! finds before and after a change; no operation can forget one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use crate::find::Found;
use crate::state::{State, Taken};
use crate::{Add, ExponentialPerKey, Item, Key, NoMetrics, QueueMetrics, RateLimiter, Ready, Stats};

/// A workqueue of keys; clones are handles to one queue.
///
/// All methods but `get` and `shut_down_with_drain` return at once and may be called from
/// any thread, inside a runtime or not. They take one short lock and cost the logarithm
/// of the queued or waiting keys: less than a microsecond with ten thousand of them.
pub struct WorkQueue<K: Key> {
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K: Key> WorkQueue<K> {
    /// A queue with client-go's backoff (5 ms to 1000 s) that reports to nobody. The name
    /// is for people and metrics.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self::with(name, ExponentialPerKey::default(), NoMetrics)
    }

    /// A queue with a rate limiter and metrics of its own.
    pub fn with(name: impl Into<Arc<str>>, limiter: impl RateLimiter<K>, metrics: impl QueueMetrics) -> Self {
        Self {
            shared: Arc::new(Shared {
                name: name.into(),
                state: Mutex::new(State::new()),
                available: Notify::new(),
                settled: Notify::new(),
                limiter: Box::new(limiter),
                metrics: Box::new(metrics),
            }),
        }
    }

    /// Sets how long a key may be ready before its age counts as much as its priority
    /// ([`DEFAULT_AGEING`], 30 seconds, unless set): from then on every other hand-out goes to
    /// the key that is ready for the longest time, whatever its priority. The crate's head
    /// states what follows.
    ///
    /// Zero lets priority and age take turns always; [`Duration::MAX`] lets keys of a low
    /// priority starve.
    ///
    /// [`DEFAULT_AGEING`]: crate::DEFAULT_AGEING
    #[must_use]
    pub fn with_ageing(self, ageing: Duration) -> Self {
        self.shared.change(|state, _| state.ageing = ageing);
        self
    }

    /// The name given at the start.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Wants `key` to be worked on as soon as possible, with priority 0.
    ///
    /// Does nothing if the key is queued already or the queue is shut down. If it waits
    /// for its time, it becomes ready and the timer is gone. If it is in work, it is
    /// queued once more when that work ends.
    pub fn add(&self, key: K) {
        self.add_with(key, Add::default());
    }

    /// Wants `key` to be worked on after `delay`, which is cut to [`MAX_DELAY`]
    /// (30 days); without a delay this is [`add`](Self::add).
    ///
    /// There is one entry per key, and the earliest time wins: a later time than the one
    /// that the key waits for, or any time for a key that is queued, changes nothing. So
    /// **this timer is not a promise to run then, but to run by then**: an `add` absorbs it, and
    /// the hand-out that follows is all that comes. A caller with a due time that other
    /// work must not use up keeps that time itself, and calls `add_after` with what is
    /// left of it after each decision, before it drops the [`Item`]. A key in work takes
    /// the timer; it starts at once, and if it ends first, the key is queued when the work ends.
    ///
    /// Timers are dropped at shutdown. The first key that becomes due is handed out within
    /// the millisecond that tokio's timers round up to, never early.
    ///
    /// [`MAX_DELAY`]: crate::MAX_DELAY
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_with(key, Add { after: Some(delay), ..Add::default() });
    }

    /// Counts a failure of `key` and wants it to be worked on when the rate limiter lets it;
    /// returns how long that is from now.
    ///
    /// The count grows until [`forget`](Self::forget), also if the key is queued already. What
    /// all keys share is used up only by a real entry: see [`RateLimiter`].
    pub fn add_rate_limited(&self, key: K) -> Duration {
        self.add_with(key, Add { rate_limited: true, ..Add::default() })
    }

    /// Wants `key` to be worked on with a priority and at a time; returns the delay that was
    /// asked for. [`add`](Self::add), [`add_after`](Self::add_after) and
    /// [`add_rate_limited`](Self::add_rate_limited) are short for this.
    ///
    /// Of several adds of one entry the highest priority counts and the earliest time, each for
    /// itself. A queued key that is raised goes behind those that have the higher
    /// priority already; a key that waits takes its place when its time comes.
    pub fn add_with(&self, key: K, add: Add) -> Duration {
        let limiter = &self.shared.limiter;
        let backoff = add.rate_limited.then(|| limiter.when(&key));
        let taken = self.shared.change(|state, now| state.add(key, add, backoff, |now| limiter.reserve(now), now));
        if taken.is_some() && add.is_retry() {
            self.shared.metrics.retried();
        }
        taken.or(backoff).unwrap_or_default()
    }

    /// Counts a failure of `key` and returns its backoff, for a caller that keeps due times
    /// itself and sets the timer with [`add_after`](Self::add_after). Makes no entry, and so
    /// uses nothing up that all keys share.
    pub fn backoff(&self, key: &K) -> Duration {
        self.shared.limiter.when(key)
    }

    /// Forgets the failures of `key`. Call it after success, and when nobody will try the
    /// key again: the count is memory. It changes no timer.
    pub fn forget(&self, key: &K) {
        self.shared.limiter.forget(key);
    }

    /// The failures of `key` since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.shared.limiter.retries(key)
    }

    /// Waits for a key to work on. `None` means that the queue is shut down and has
    /// nothing left to hand out, for ever; a worker ends then.
    ///
    /// A worker that finds a key each time still yields to tokio now and then.
    ///
    /// Cancel safe: if the future is dropped before it returns, no key was taken, and
    /// another worker that waits is woken in its place.
    pub async fn get(&self) -> Option<Item<K>> {
        consume_budget().await;
        loop {
            let woken = self.shared.available.notified();
            match self.shared.take() {
                Taken::Key { key, priority, queued } => return Some(self.item(key, priority, queued)),
                Taken::Finished => return None,
                Taken::Nothing { until: None } => woken.await,
                Taken::Nothing { until: Some(due) } => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    /// A key to work on if there is one now.
    pub fn try_get(&self) -> Option<Item<K>> {
        match self.shared.take() {
            Taken::Key { key, priority, queued } => Some(self.item(key, priority, queued)),
            Taken::Nothing { .. } | Taken::Finished => None,
        }
    }

    /// Waits until there is a key to work on, and leaves it there: for a worker that has to get
    /// something else before, and decides as late as it can which key it works on. `None` as
    /// from [`get`](Self::get).
    ///
    /// Other workers may take the key meanwhile. Cancel safe, and so is what is returned:
    /// dropping it wakes another worker in its place.
    pub async fn ready(&self) -> Option<Ready<K>> {
        consume_budget().await;
        loop {
            let woken = self.shared.available.notified();
            match self.shared.look() {
                Look::Key => return Some(Ready { queue: self.clone(), taken: false }),
                Look::Finished => return None,
                Look::Nothing(None) => woken.await,
                Look::Nothing(Some(due)) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    /// Hands out nothing until [`resume`](Self::resume). Adds go on, timers run, work in
    /// progress ends as usual.
    ///
    /// A queue that is both paused and shut down hands out nothing any more and drops what
    /// is queued, for good.
    pub fn pause(&self) {
        self.shared.change(|state, _| state.set_paused(true));
    }

    /// Ends a pause; does nothing if there is none.
    pub fn resume(&self) {
        self.shared.change(|state, _| state.set_paused(false));
    }

    /// Takes no new key from now on and drops those that wait for their time. Queued keys,
    /// and keys in work that were added again, are still handed out.
    ///
    /// Does not wait; releases the drains that wait. Calling it again is harmless.
    pub fn shut_down(&self) {
        self.shared.change(|state, _| {
            state.shut_downs += 1;
            state.shut_down();
        });
    }

    /// Shuts down and waits until all queued keys were handed out and no key is in work,
    /// or until somebody calls [`shut_down`](Self::shut_down). Workers must go on getting.
    /// Calling it again, or from several places, is harmless.
    ///
    /// Cancel safe: the queue stays shut down; only the waiting ends.
    pub async fn shut_down_with_drain(&self) {
        let seen = self.shared.change(|state, _| {
            state.shut_down();
            state.shut_downs
        });
        loop {
            let woken = self.shared.settled.notified();
            if self.shared.change(|state, _| state.settled() || state.shut_downs != seen) {
                return;
            }
            woken.await;
        }
    }

    /// The keys that could be handed out now: neither those in work nor those that wait
    /// for their time.
    pub fn len(&self) -> usize {
        self.stats().depth
    }

    /// True if no key could be handed out now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys that wait for their time.
    pub fn waiting(&self) -> usize {
        self.stats().waiting
    }

    /// The keys in work.
    pub fn processing(&self) -> usize {
        self.stats().processing
    }

    /// The queue as it is now; linear in the keys in work.
    pub fn stats(&self) -> Stats {
        let stats = self.shared.change(|state, now| state.stats(now));
        Stats { failing: self.shared.limiter.tracked(), ..stats }
    }

    /// Where a key is; `None` if the queue does not have it. Linear in the ready keys.
    pub fn find(&self, key: &K) -> Option<Found> {
        self.shared.change(|state, now| state.find(key, now))
    }

    fn item(&self, key: K, priority: i32, queued: Duration) -> Item<K> {
        Item { shared: Arc::clone(&self.shared), key, priority, queued }
    }
}

impl<K: Key> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: Key> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

pub(crate) struct Shared<K> {
    name: Arc<str>,
    state: Mutex<State<K>>,
    /// For workers: there may be something for them.
    available: Notify,
    /// For drains: the queue may have settled.
    settled: Notify,
    limiter: Box<dyn RateLimiter<K>>,
    metrics: Box<dyn QueueMetrics>,
}

/// What a worker sees that takes nothing.
enum Look {
    Key,
    /// Look again when something changes, or at this time.
    Nothing(Option<Instant>),
    Finished,
}

/// What of a state decides whom a change wakes.
struct Outline {
    entries: u64,
    available: bool,
    next_due: Option<Instant>,
    paused: bool,
    finished: bool,
    settled: bool,
    shut_downs: u64,
}

impl<K: Key> Shared<K> {
    /// Changes the sets under the lock, after making ready what is due, then wakes whom
    /// the change concerns. The clock is read inside, so that times follow the order of
    /// the changes.
    pub(crate) fn change<R>(&self, act: impl FnOnce(&mut State<K>, Instant) -> R) -> R {
        let mut state = self.state.lock();
        let now = Instant::now();
        let before = outline(&state);
        state.promote(now);
        let result = act(&mut state, now);
        let after = outline(&state);
        drop(state);
        self.announce(&before, &after);
        result
    }

    /// What there is, without a wake-up for somebody else if it is a key.
    fn look(&self) -> Look {
        let mut state = self.state.lock();
        let before = outline(&state);
        state.promote(Instant::now());
        let after = outline(&state);
        drop(state);
        let look = match after {
            Outline { finished: true, .. } => Look::Finished,
            Outline { available: true, .. } => Look::Key,
            Outline { paused: true, .. } => Look::Nothing(None),
            Outline { next_due, .. } => Look::Nothing(next_due),
        };
        self.announce(&before, &Outline { available: false, ..after });
        look
    }

    fn take(&self) -> Taken<K> {
        let taken = self.change(State::take);
        if let Taken::Key { queued, .. } = &taken {
            self.metrics.handed_out(*queued);
        }
        taken
    }

    /// Ends the work on a key.
    pub(crate) fn release(&self, key: &K) {
        let took = self.change(|state, now| state.release(key, now));
        self.metrics.worked(took);
    }

    fn announce(&self, before: &Outline, after: &Outline) {
        let earlier = after.next_due.is_some_and(|due| before.next_due.is_none_or(|old| due < old));
        if earlier || before.paused != after.paused || (after.finished && !before.finished) {
            self.available.notify_waiters();
        }
        if after.available {
            self.available.notify_one();
        }
        if (after.settled && !before.settled) || after.shut_downs != before.shut_downs {
            self.settled.notify_waiters();
        }
        if after.entries != before.entries {
            self.metrics.added(after.entries - before.entries);
        }
    }
}

fn outline<K: Key>(state: &State<K>) -> Outline {
    Outline {
        entries: state.entries,
        available: state.is_available(),
        next_due: state.next_due(),
        paused: state.is_paused(),
        finished: state.finished(),
        settled: state.settled(),
        shut_downs: state.shut_downs,
    }
}
