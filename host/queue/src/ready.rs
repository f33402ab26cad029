//! The keys that can be handed out now, by priority and by age. Owns both orders and the
//! choice of the next key; never looks at a clock, and never asks who wants a key or why.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long a key may be ready before its age counts as much as its priority, unless
/// the queue says otherwise.
pub const DEFAULT_AGEING: Duration = Duration::from_secs(30);

/// Where a key stands in both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) priority: i32,
    /// Since when the key is wanted.
    pub(crate) since: Instant,
    /// Grows with each key that comes to stand in a priority, so no two places are equal.
    arrival: u64,
}

type ByPriority = (Reverse<i32>, u64);
type ByAge = (Instant, u64);

impl Place {
    fn by_priority(&self) -> ByPriority {
        (Reverse(self.priority), self.arrival)
    }

    fn by_age(&self) -> ByAge {
        (self.since, self.arrival)
    }
}

/// The ready keys. All operations are logarithmic, and a key that leaves leaves nothing
/// behind, from wherever it stands.
///
/// The next key is the first by priority (highest, then earliest arrival), or the one that
/// is ready for the longest time, if that is aged and the key before it was not that, too.
/// So of any two keys in a row at least one is the first by priority, and at least one the
/// longest ready, as long as that is aged: neither order can starve the other.
#[derive(Debug)]
pub(crate) struct Ready<K> {
    by_priority: BTreeMap<ByPriority, (Instant, K)>,
    by_age: BTreeMap<ByAge, i32>,
    arrivals: u64,
    /// Keys below priority 0.
    low: usize,
    /// The last key that was handed out was the one that had been ready for the longest
    /// time, by whichever order it came.
    age_had_its_turn: bool,
}

impl<K> Ready<K> {
    pub(crate) fn new() -> Self {
        Self { by_priority: BTreeMap::new(), by_age: BTreeMap::new(), arrivals: 0, low: 0, age_had_its_turn: false }
    }

    /// Puts a key behind all of its priority; the result finds it again.
    pub(crate) fn push(&mut self, key: K, priority: i32, since: Instant) -> Place {
        self.arrivals += 1;
        let place = Place { priority, since, arrival: self.arrivals };
        self.by_priority.insert(place.by_priority(), (since, key));
        self.by_age.insert(place.by_age(), priority);
        self.low += usize::from(priority < 0);
        place
    }

    /// Moves a key behind all of another priority. Its age stays.
    pub(crate) fn raise(&mut self, place: Place, priority: i32) -> Place {
        match self.remove(place) {
            Some(key) => self.push(key, priority, place.since),
            None => place,
        }
    }

    /// Takes the next key; see the type. `ageing` is the time after which a key is aged.
    pub(crate) fn pop(&mut self, now: Instant, ageing: Duration) -> Option<(K, Place)> {
        let (&(Reverse(priority), arrival), &(since, _)) = self.by_priority.first_key_value()?;
        let first = Place { priority, since, arrival };
        let (&(since, arrival), &priority) = self.by_age.first_key_value()?;
        let oldest = Place { priority, since, arrival };
        let aged = now.saturating_duration_since(oldest.since) >= ageing;
        let next = if aged && !self.age_had_its_turn { oldest } else { first };
        self.age_had_its_turn = next == oldest;
        self.remove(next).map(|key| (key, next))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_priority.len()
    }

    /// Keys before this place by priority; linear in them.
    pub(crate) fn ahead(&self, place: Place) -> usize {
        self.by_priority.range(..place.by_priority()).count()
    }

    pub(crate) fn low(&self) -> usize {
        self.low
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_priority.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.by_priority.clear();
        self.by_age.clear();
        self.low = 0;
    }

    fn remove(&mut self, place: Place) -> Option<K> {
        let (_, key) = self.by_priority.remove(&place.by_priority())?;
        self.by_age.remove(&place.by_age());
        self.low -= usize::from(place.priority < 0);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn order(ready: &mut Ready<&'static str>, now: Instant, ageing: Duration) -> Vec<&'static str> {
        std::iter::from_fn(|| ready.pop(now, ageing).map(|(key, _)| key)).collect()
    }

    #[test]
    fn the_highest_priority_comes_first_and_equals_by_arrival() {
        let (mut ready, now) = (Ready::new(), Instant::now());
        for (key, priority) in [("low", -100), ("a", 0), ("top", i32::MAX), ("b", 0), ("last", i32::MIN)] {
            ready.push(key, priority, now);
        }
        assert_eq!((ready.len(), ready.low()), (5, 2));
        assert_eq!(order(&mut ready, now, SECOND), ["top", "a", "b", "low", "last"]);
        assert_eq!((ready.len(), ready.low()), (0, 0));
    }

    #[test]
    fn a_raised_key_keeps_its_age_and_loses_its_place() {
        let (mut ready, start) = (Ready::new(), Instant::now());
        let low = ready.push("low", -100, start);
        ready.push("a", 0, start + SECOND);
        let raised = ready.raise(low, 0);
        assert_eq!((raised.since, ready.low()), (start, 0));
        ready.push("b", 0, start + SECOND);
        assert_eq!(order(&mut ready, start + SECOND, 2 * SECOND), ["a", "low", "b"]);

        let mut ready = Ready::new();
        let low = ready.push("low", -100, start);
        ready.push("a", 0, start + SECOND);
        ready.raise(low, 0);
        assert_eq!(order(&mut ready, start + SECOND, SECOND), ["low", "a"], "it is aged");
    }

    #[test]
    fn what_is_aged_and_what_comes_first_take_turns() {
        let (mut ready, start) = (Ready::new(), Instant::now());
        for key in ["old 1", "old 2", "old 3"] {
            ready.push(key, -100, start);
        }
        for key in ["new 1", "new 2"] {
            ready.push(key, 0, start + SECOND);
        }
        assert_eq!(order(&mut ready, start + SECOND, SECOND), ["old 1", "new 1", "old 2", "new 2", "old 3"]);
    }

    #[test]
    fn a_new_key_does_not_wait_for_a_second_aged_one() {
        let (mut ready, start) = (Ready::new(), Instant::now());
        for key in ["old 1", "old 2", "old 3"] {
            ready.push(key, -100, start);
        }
        assert_eq!(ready.pop(start, SECOND).unwrap().0, "old 1", "young, but the longest ready");
        ready.push("new", 0, start + SECOND);
        assert_eq!(order(&mut ready, start + SECOND, SECOND), ["new", "old 2", "old 3"]);
    }
}
