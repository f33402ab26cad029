//! Limiters by the failures of each key: exponential, and fast then slow. Owns the counts;
//! never knows how many other keys fail.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::RateLimiter;
use crate::Key;

/// Doubles the wait with each failure of a key: `base`, 2 × `base`, 4 × `base`, … up to
/// `max`. Each key counts for itself. There is no jitter: the times at which keys fail
/// spread them enough.
#[derive(Debug)]
pub struct ExponentialPerKey<K> {
    base: Duration,
    max: Duration,
    failures: Failures<K>,
}

impl<K> ExponentialPerKey<K> {
    /// Waits from `base` to `max`. A `base` above `max` counts as `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Failures::new() }
    }
}

impl<K> Default for ExponentialPerKey<K> {
    /// client-go's figures: 5 ms to 1000 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<K: Key> RateLimiter<K> for ExponentialPerKey<K> {
    fn when(&self, key: &K) -> Duration {
        backoff(self.base, self.max, self.failures.count(key))
    }

    fn forget(&self, key: &K) {
        self.failures.forget(key);
    }

    fn retries(&self, key: &K) -> u32 {
        self.failures.of(key)
    }

    fn tracked(&self) -> usize {
        self.failures.keys()
    }
}

/// `base` doubled `failures` times, at most `max`. The doubling ends at 2^32, which is
/// over an hour even for a `base` of a microsecond.
fn backoff(base: Duration, max: Duration, failures: u32) -> Duration {
    base.saturating_mul(2u32.saturating_pow(failures)).min(max)
}

/// Waits a short time for the first failures of a key and a long one for those after: for
/// what is either over at once or lasts.
#[derive(Debug)]
pub struct FastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_failures: u32,
    failures: Failures<K>,
}

impl<K> FastSlow<K> {
    /// Waits `fast` for the first `fast_failures` failures of a key, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_failures: u32) -> Self {
        Self { fast, slow, fast_failures, failures: Failures::new() }
    }
}

impl<K: Key> RateLimiter<K> for FastSlow<K> {
    fn when(&self, key: &K) -> Duration {
        if self.failures.count(key) < self.fast_failures { self.fast } else { self.slow }
    }

    fn forget(&self, key: &K) {
        self.failures.forget(key);
    }

    fn retries(&self, key: &K) -> u32 {
        self.failures.of(key)
    }

    fn tracked(&self) -> usize {
        self.failures.keys()
    }
}

/// How often each key failed since it was forgotten.
#[derive(Debug)]
struct Failures<K>(Mutex<HashMap<K, u32>>);

impl<K> Failures<K> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn keys(&self) -> usize {
        self.0.lock().len()
    }
}

impl<K: Key> Failures<K> {
    /// Counts a failure; the result is how many came before it.
    fn count(&self, key: &K) -> u32 {
        let mut counts = self.0.lock();
        let Some(count) = counts.get_mut(key) else {
            counts.insert(key.clone(), 1);
            return 0;
        };
        let before = *count;
        *count = count.saturating_add(1);
        before
    }

    fn of(&self, key: &K) -> u32 {
        self.0.lock().get(key).copied().unwrap_or(0)
    }

    /// An outage makes the map large once; it must not stay so.
    fn forget(&self, key: &K) {
        let mut counts = self.0.lock();
        counts.remove(key);
        let (left, capacity) = (counts.len(), counts.capacity());
        if capacity > 64 && left < capacity / 8 {
            counts.shrink_to(left.saturating_mul(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn cq9_waits_double_until_forgotten_and_keys_are_independent() {
        let limiter = ExponentialPerKey::new(MS, Duration::from_secs(1));
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"one")).collect();
        assert_eq!(waits, [MS, MS * 2, MS * 4, MS * 8, MS * 16]);
        assert_eq!(limiter.retries(&"one"), 5);

        assert_eq!(limiter.when(&"two"), MS);
        assert_eq!(limiter.when(&"two"), MS * 2);
        assert_eq!(limiter.retries(&"two"), 2);
        assert_eq!(limiter.tracked(), 2);

        limiter.forget(&"one");
        assert_eq!(limiter.retries(&"one"), 0);
        assert_eq!(limiter.tracked(), 1);
        assert_eq!(limiter.when(&"one"), MS);
    }

    #[test]
    fn cq9_the_default_goes_from_5_ms_to_1000_s() {
        let limiter = ExponentialPerKey::default();
        assert_eq!(limiter.when(&"key"), MS * 5);
        let last = (0..30).map(|_| limiter.when(&"key")).last();
        assert_eq!(last, Some(Duration::from_secs(1000)));
    }

    #[test]
    fn cq9_no_count_of_failures_overflows() {
        let max = Duration::from_secs(1000);
        for failures in [31, 32, 62, 63, 64, 127, 128, u32::MAX] {
            assert_eq!(backoff(MS, max, failures), max, "{failures}");
            assert_eq!(backoff(Duration::MAX, Duration::MAX, failures), Duration::MAX, "{failures}");
        }
        let limiter = ExponentialPerKey::new(MS, max);
        limiter.failures.0.lock().insert("key", u32::MAX);
        assert_eq!(limiter.when(&"key"), max);
        assert_eq!(limiter.retries(&"key"), u32::MAX);
    }

    #[test]
    fn cq9_a_base_above_the_maximum_is_cut() {
        assert_eq!(ExponentialPerKey::new(MS * 10, MS).when(&"key"), MS);
    }

    #[test]
    fn cq10_fast_for_the_first_failures_then_slow_until_forgotten() {
        let slow = Duration::from_secs(10);
        let limiter = FastSlow::new(5 * MS, slow, 3);
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"one")).collect();
        assert_eq!(waits, [5 * MS, 5 * MS, 5 * MS, slow, slow]);
        assert_eq!((limiter.retries(&"one"), limiter.tracked()), (5, 1));
        assert_eq!(limiter.when(&"two"), 5 * MS);
        limiter.forget(&"one");
        assert_eq!((limiter.retries(&"one"), limiter.tracked()), (0, 1));
        assert_eq!(limiter.when(&"one"), 5 * MS);
    }

    #[test]
    fn what_an_outage_took_is_given_back() {
        let limiter = ExponentialPerKey::default();
        (0..10_000).for_each(|key| _ = limiter.when(&key));
        (0..10_000).for_each(|key| limiter.forget(&key));
        assert_eq!(limiter.tracked(), 0);
        assert!(limiter.failures.0.lock().capacity() <= 64);
    }
}
