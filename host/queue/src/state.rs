//! Where each key is: queued, waiting for its time, in work, or in work and wanted
//! again. Owns these sets and the rules that move a key from one to the other; never
//! locks, waits, wakes or reads a clock, so each rule is a plain function of `now`.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::delay::{Delayed, Due, deadline};
use crate::{Key, Stats};

/// The sets of one queue. Their sizes are bounded by the distinct keys of the caller.
#[derive(Debug)]
pub(crate) struct State<K> {
    /// Keys that must be handed out (client-go: the dirty set), now or later.
    wanted: HashMap<K, When>,
    /// Keys wanted now and not in work, in order. Nothing else knows an order, so
    /// priorities will change this field only.
    ready: VecDeque<K>,
    /// Keys wanted later.
    delayed: Delayed<K>,
    /// Keys in work, and since when.
    working: HashMap<K, Instant>,
    paused: bool,
    shut_down: bool,
    /// Calls of `shut_down` so far; each one releases the drains that wait.
    pub(crate) shut_downs: u64,
    /// Keys that became wanted now, ever.
    pub(crate) entries: u64,
}

#[derive(Debug)]
enum When {
    Now { since: Instant },
    Later(Due),
}

/// What a worker that asks for a key gets.
#[derive(Debug)]
pub(crate) enum Taken<K> {
    /// Work on this; it was ready for so long.
    Key { key: K, queued: Duration },
    /// Ask again when something changes, or at this time.
    Nothing { until: Option<Instant> },
    /// There will never be a key again.
    Finished,
}

impl<K: Key> State<K> {
    pub(crate) fn new() -> Self {
        Self {
            wanted: HashMap::new(),
            ready: VecDeque::new(),
            delayed: Delayed::new(),
            working: HashMap::new(),
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
            self.want_now(key, at);
        }
    }

    pub(crate) fn add(&mut self, key: K, now: Instant) {
        if self.shut_down {
            return;
        }
        match self.wanted.get(&key) {
            Some(When::Now { .. }) => return,
            Some(When::Later(due)) => self.delayed.remove(*due),
            None => {}
        }
        self.want_now(key, now);
    }

    /// Returns false if the queue takes no keys any more.
    pub(crate) fn add_after(&mut self, key: K, delay: Duration, now: Instant) -> bool {
        if self.shut_down {
            return false;
        }
        if delay.is_zero() {
            self.add(key, now);
            return true;
        }
        let at = deadline(now, delay);
        match self.wanted.get(&key) {
            Some(When::Now { .. }) => return true,
            Some(When::Later(due)) if due.at <= at => return true,
            Some(When::Later(due)) => self.delayed.remove(*due),
            None => {}
        }
        let due = self.delayed.insert(at, key.clone());
        self.wanted.insert(key, When::Later(due));
        true
    }

    pub(crate) fn take(&mut self, now: Instant) -> Taken<K> {
        if self.finished() {
            return Taken::Finished;
        }
        if self.paused {
            return Taken::Nothing { until: None };
        }
        let Some(key) = self.ready.pop_front() else {
            return Taken::Nothing { until: self.delayed.next() };
        };
        let since = match self.wanted.remove(&key) {
            Some(When::Now { since }) => since,
            Some(When::Later(_)) | None => now,
        };
        self.give_back();
        self.working.insert(key.clone(), now);
        Taken::Key { key, queued: now.saturating_duration_since(since) }
    }

    /// Ends the work on `key`; the result says how long it took.
    pub(crate) fn release(&mut self, key: &K, now: Instant) -> Duration {
        let since = self.working.remove(key).unwrap_or(now);
        if matches!(self.wanted.get(key), Some(When::Now { .. })) {
            self.ready.push_back(key.clone());
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
            waiting: self.delayed.len(),
            processing: self.working.len(),
            failing: 0, // the rate limiter knows
            unfinished: ages().sum(),
            longest_running: ages().max().unwrap_or_default(),
            paused: self.paused,
            shut_down: self.shut_down,
        }
    }

    fn want_now(&mut self, key: K, since: Instant) {
        self.entries += 1;
        if !self.working.contains_key(&key) {
            self.ready.push_back(key.clone());
        }
        self.wanted.insert(key, When::Now { since });
    }

    /// A pass over everything makes the sets large once; they must not stay so. The cost is that
    /// of the many keys that were taken before.
    fn give_back(&mut self) {
        let keys = self.wanted.len();
        if self.wanted.capacity() > 64 && keys < self.wanted.capacity() / 8 {
            self.wanted.shrink_to(keys.saturating_mul(2));
            self.ready.shrink_to(self.ready.len().saturating_mul(2));
        }
    }

    /// After shutdown nothing waits for its time; while paused too, nothing is handed out,
    /// and a drain must not wait for keys that nobody may work on.
    fn drop_what_never_comes(&mut self) {
        if !self.shut_down {
            return;
        }
        self.delayed.clear();
        self.wanted.retain(|_, when| matches!(when, When::Now { .. }));
        if self.paused {
            self.ready.clear();
            self.wanted.clear();
        }
    }
}
