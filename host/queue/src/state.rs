//! Where each key is: queued, waiting for its time, in work, or in work and wanted
//! again. Owns these sets and the rules that move a key from one to the other; never
//! locks, waits, wakes or reads a clock, so each rule is a plain function of `now`.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::delay::{Delayed, Due, MAX_DELAY, deadline};
use crate::find::Found;
use crate::ready::{DEFAULT_AGEING, Place, Ready};
use crate::{Add, Key, Stats};

/// The sets of one queue. Their sizes are bounded by the distinct keys of the caller.
#[derive(Debug)]
pub(crate) struct State<K> {
    /// Keys that must be handed out (client-go: the dirty set), now or later.
    wanted: HashMap<K, Entry>,
    /// Keys wanted now and not in work, in order.
    ready: Ready<K>,
    /// Keys wanted later.
    delayed: Delayed<K>,
    /// Keys in work, and since when.
    working: HashMap<K, Instant>,
    /// How long a key may be ready before its age counts.
    pub(crate) ageing: Duration,
    paused: bool,
    shut_down: bool,
    /// Calls of `shut_down` so far; each one releases the drains that wait.
    pub(crate) shut_downs: u64,
    /// Keys that became wanted now, ever.
    pub(crate) entries: u64,
}

/// The one entry of a wanted key.
#[derive(Debug)]
struct Entry {
    /// The highest of its adds.
    priority: i32,
    when: When,
}

#[derive(Debug)]
enum When {
    /// In order among the ready keys.
    Ready(Place),
    /// In work, and wanted again since then.
    Again { since: Instant },
    /// Waits for its time. The token says since when a rate-limited add may come.
    Later { due: Due, token: Option<Instant> },
}

/// What a worker that asks for a key gets.
#[derive(Debug)]
pub(crate) enum Taken<K> {
    /// Work on this; it was wanted for so long.
    Key { key: K, priority: i32, queued: Duration },
    /// Ask again when something changes, or at this time.
    Nothing { until: Option<Instant> },
    /// There will never be a key again.
    Finished,
}

impl<K: Key> State<K> {
    pub(crate) fn new() -> Self {
        Self {
            wanted: HashMap::new(),
            ready: Ready::new(),
            delayed: Delayed::new(),
            working: HashMap::new(),
            ageing: DEFAULT_AGEING,
            paused: false,
            shut_down: false,
            shut_downs: 0,
            entries: 0,
        }
    }

    /// Makes ready what is due. Comes before every other change, so that a key that became
    /// due is served before one that was added after that moment.
    pub(crate) fn promote(&mut self, now: Instant) {
        while let Some((at, key)) = self.delayed.pop(now) {
            let priority = self.wanted.get(&key).map_or(0, |entry| entry.priority);
            self.want_now(key, priority, at);
        }
    }

    /// Adds a key; `backoff` is what the rate limiter says of a failure, and `reserve` takes
    /// a token from it. The result is the delay that was asked for; none if the queue takes
    /// no keys any more.
    pub(crate) fn add(
        &mut self,
        key: K,
        add: Add,
        backoff: Option<Duration>,
        reserve: impl FnOnce(Instant) -> Instant,
        now: Instant,
    ) -> Option<Duration> {
        if self.shut_down {
            return None;
        }
        let after = add.after.map(|delay| deadline(now, delay));
        let (at, token) = match backoff {
            None => (after.unwrap_or(now), None),
            Some(backoff) => {
                let at = deadline(now, backoff);
                let token = self.token(&key, at, reserve, now);
                let at = token.map_or(at, |token| token.max(at));
                (after.map_or(at, |after| after.min(at)), token)
            }
        };
        self.want(key, add.priority, at, token, now);
        Some(at.saturating_duration_since(now))
    }

    /// The token of a key that a rate-limited add wants at `at`. An entry takes one at most,
    /// and only an add that makes an entry, or makes one come earlier, takes it.
    fn token(&self, key: &K, at: Instant, reserve: impl FnOnce(Instant) -> Instant, now: Instant) -> Option<Instant> {
        let takes = match self.wanted.get(key).map(|entry| &entry.when) {
            None => true,
            Some(When::Later { token: Some(token), .. }) => return Some(*token),
            Some(When::Later { due, token: None }) => at < due.at,
            Some(When::Ready(_) | When::Again { .. }) => false,
        };
        takes.then(|| reserve(now).min(now + MAX_DELAY))
    }

    /// One entry per key: of several adds the highest priority counts, and the earliest time.
    fn want(&mut self, key: K, priority: i32, at: Instant, token: Option<Instant>, now: Instant) {
        let Some(entry) = self.wanted.get_mut(&key) else {
            if at > now {
                let due = self.delayed.insert(at, key.clone());
                self.wanted.insert(key, Entry { priority, when: When::Later { due, token } });
            } else {
                self.want_now(key, priority, now);
            }
            return;
        };
        let raised = priority > entry.priority;
        entry.priority = entry.priority.max(priority);
        match &mut entry.when {
            When::Ready(place) if raised => *place = self.ready.raise(*place, priority),
            When::Ready(_) | When::Again { .. } => {}
            When::Later { due, token: old } => {
                *old = old.or(token);
                if at < due.at {
                    self.delayed.remove(*due);
                    if at > now {
                        *due = self.delayed.insert(at, key);
                    } else {
                        let priority = entry.priority;
                        self.want_now(key, priority, now);
                    }
                }
            }
        }
    }

    pub(crate) fn take(&mut self, now: Instant) -> Taken<K> {
        if self.finished() {
            return Taken::Finished;
        }
        if self.paused {
            return Taken::Nothing { until: None };
        }
        let Some((key, place)) = self.ready.pop(now, self.ageing) else {
            return Taken::Nothing { until: self.delayed.next() };
        };
        self.wanted.remove(&key);
        self.give_back();
        self.working.insert(key.clone(), now);
        Taken::Key { key, priority: place.priority, queued: now.saturating_duration_since(place.since) }
    }

    /// Ends the work on `key`; the result says how long it took.
    pub(crate) fn release(&mut self, key: &K, now: Instant) -> Duration {
        let since = self.working.remove(key).unwrap_or(now);
        if let Some(entry) = self.wanted.get_mut(key)
            && let When::Again { since } = entry.when
        {
            entry.when = When::Ready(self.ready.push(key.clone(), entry.priority, since));
        }
        now.saturating_duration_since(since)
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
        self.drop_what_never_comes();
    }

    pub(crate) fn shut_down(&mut self) {
        self.shut_down = true;
        self.drop_what_never_comes();
    }

    pub(crate) fn is_available(&self) -> bool {
        !self.paused && !self.ready.is_empty()
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.delayed.next()
    }

    /// No key will ever be handed out again. A key in work that was added again keeps a
    /// queue from being finished: it still comes back.
    pub(crate) fn finished(&self) -> bool {
        self.shut_down && self.wanted.is_empty()
    }

    /// No key will ever be handed out again, and none is in work.
    pub(crate) fn settled(&self) -> bool {
        self.finished() && self.working.is_empty()
    }

    /// Linear in the keys in work, which are as many as there are workers.
    pub(crate) fn stats(&self, now: Instant) -> Stats {
        let ages = || self.working.values().map(|since| now.saturating_duration_since(*since));
        Stats {
            depth: self.ready.len(),
            low: self.ready.low(),
            waiting: self.delayed.len(),
            processing: self.working.len(),
            failing: 0, // the rate limiter knows
            unfinished: ages().sum(),
            longest_running: ages().max().unwrap_or_default(),
            paused: self.paused,
            shut_down: self.shut_down,
        }
    }

    /// Linear in the ready keys.
    pub(crate) fn find(&self, key: &K, now: Instant) -> Option<Found> {
        if let Some(since) = self.working.get(key) {
            return Some(Found::Working(now.saturating_duration_since(*since)));
        }
        Some(match &self.wanted.get(key)?.when {
            When::Ready(place) => Found::Ready { ahead: self.ready.ahead(*place) },
            // It is in work, which was answered above.
            When::Again { .. } => Found::Ready { ahead: 0 },
            When::Later { due, .. } => Found::Later(due.at.saturating_duration_since(now)),
        })
    }

    fn want_now(&mut self, key: K, priority: i32, since: Instant) {
        self.entries += 1;
        let when = if self.working.contains_key(&key) {
            When::Again { since }
        } else {
            When::Ready(self.ready.push(key.clone(), priority, since))
        };
        self.wanted.insert(key, Entry { priority, when });
    }

    /// A pass over everything makes the sets large once; they must not stay so. The cost is that
    /// of the many keys that were taken before.
    fn give_back(&mut self) {
        let keys = self.wanted.len();
        if self.wanted.capacity() > 64 && keys < self.wanted.capacity() / 8 {
            self.wanted.shrink_to(keys.saturating_mul(2));
        }
    }

    /// After shutdown nothing waits for its time; while paused too, nothing is handed out,
    /// and a drain must not wait for keys that nobody may work on.
    fn drop_what_never_comes(&mut self) {
        if !self.shut_down {
            return;
        }
        self.delayed.clear();
        self.wanted.retain(|_, entry| !matches!(entry.when, When::Later { .. }));
        if self.paused {
            self.ready.clear();
            self.wanted.clear();
        }
    }
}
