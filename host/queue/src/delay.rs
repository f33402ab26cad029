//! The keys that wait for a time, earliest first. Owns their order and the longest delay
//! there is; never looks at a clock, never wakes anybody.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The longest delay, 30 days; longer ones are cut to it. Tokio's timers cannot sleep
/// much longer than two years, and a caller that asks for more has a due time of its own.
pub const MAX_DELAY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// When a delay that starts `now` ends.
pub(crate) fn deadline(now: Instant, delay: Duration) -> Instant {
    now + delay.min(MAX_DELAY)
}

/// The place of a waiting key: its time, then the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    arrival: u64,
}

/// Keys by the time at which they become ready. All operations are logarithmic; an entry
/// that is taken back leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Delayed<K> {
    keys: BTreeMap<Due, K>,
    arrivals: u64,
}

impl<K> Delayed<K> {
    pub(crate) fn new() -> Self {
        Self { keys: BTreeMap::new(), arrivals: 0 }
    }

    /// Lets `key` wait; the result takes it back.
    pub(crate) fn insert(&mut self, at: Instant, key: K) -> Due {
        self.arrivals += 1;
        let due = Due { at, arrival: self.arrivals };
        self.keys.insert(due, key);
        due
    }

    pub(crate) fn remove(&mut self, due: Due) {
        self.keys.remove(&due);
    }

    /// The first key whose time has come, and that time.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, K)> {
        let first = self.keys.first_entry()?;
        let at = first.key().at;
        (at <= now).then(|| (at, first.remove()))
    }

    /// The time of the first key, which may have passed.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.keys.first_key_value().map(|(due, _)| due.at)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_leave_by_time_then_by_arrival_and_never_early() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut delayed = Delayed::new();
        for (ms, key) in [(30, "d"), (20, "b"), (10, "a"), (20, "c")] {
            delayed.insert(at(ms), key);
        }
        assert_eq!(delayed.next(), Some(at(10)));
        assert_eq!(delayed.pop(at(9)), None);

        let ready: Vec<_> = std::iter::from_fn(|| delayed.pop(at(29))).collect();
        assert_eq!(ready, [(at(10), "a"), (at(20), "b"), (at(20), "c")]);
        assert_eq!(delayed.len(), 1);
    }

    #[test]
    fn a_key_that_is_taken_back_is_gone() {
        let start = Instant::now();
        let mut delayed = Delayed::new();
        let first = delayed.insert(start, "a");
        let second = delayed.insert(start, "a");
        delayed.remove(first);
        assert_eq!(delayed.pop(start), Some((second.at, "a")));
        assert_eq!(delayed.next(), None);
    }

    #[test]
    fn the_longest_duration_is_cut() {
        let now = Instant::now();
        assert_eq!(deadline(now, Duration::MAX), now + MAX_DELAY);
        assert_eq!(deadline(now, Duration::from_secs(1)), now + Duration::from_secs(1));
    }
}
