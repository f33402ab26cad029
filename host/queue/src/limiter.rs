//! How long a key that failed has to wait. Owns the counts of failures; never queues
//! anything and never looks at a clock.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::Key;

/// Decides how long a key waits after a failure.
///
/// An implementation keeps memory for each key that failed, until `forget`: who gives
/// up on a key, or sees what it stands for go away, must call it.
pub trait RateLimiter<K>: Send + Sync + 'static {
    /// Counts one more failure of `key` and says how long it waits now.
    fn when(&self, key: &K) -> Duration;

    /// Takes back all failures of `key`: it succeeded, or nobody will try it again.
    fn forget(&self, key: &K);

    /// The failures of `key` since it was last forgotten.
    fn retries(&self, key: &K) -> u32;

    /// How many keys have failures that are not forgotten; a gauge on the memory held.
    fn tracked(&self) -> usize;
}

/// Doubles the wait with each failure of a key: `base`, 2 × `base`, 4 × `base`, … up to
/// `max`. Each key counts for itself. There is no jitter: the times at which keys fail
/// spread them enough.
#[derive(Debug)]
pub struct ExponentialPerKey<K> {
    base: Duration,
    max: Duration,
    failures: Mutex<HashMap<K, u32>>,
}

impl<K> ExponentialPerKey<K> {
    /// Waits from `base` to `max`. A `base` above `max` counts as `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max, failures: Mutex::new(HashMap::new()) }
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
        let mut failures = self.failures.lock();
        let count = failures.entry(key.clone()).or_default();
        let wait = backoff(self.base, self.max, *count);
        *count = count.saturating_add(1);
        wait
    }

    fn forget(&self, key: &K) {
        self.failures.lock().remove(key);
    }

    fn retries(&self, key: &K) -> u32 {
        self.failures.lock().get(key).copied().unwrap_or(0)
    }

    fn tracked(&self) -> usize {
        self.failures.lock().len()
    }
}

/// `base` doubled `failures` times, at most `max`. The doubling ends at 2^32, which is
/// over an hour even for a `base` of a microsecond.
fn backoff(base: Duration, max: Duration, failures: u32) -> Duration {
    base.saturating_mul(2u32.saturating_pow(failures)).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn waits_double_until_forgotten_and_keys_are_independent() {
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
    fn the_default_goes_from_5_ms_to_1000_s() {
        let limiter = ExponentialPerKey::default();
        assert_eq!(limiter.when(&"key"), MS * 5);
        let last = (0..30).map(|_| limiter.when(&"key")).last();
        assert_eq!(last, Some(Duration::from_secs(1000)));
    }

    #[test]
    fn no_count_of_failures_overflows() {
        let max = Duration::from_secs(1000);
        for failures in [31, 32, 62, 63, 64, 127, 128, u32::MAX] {
            assert_eq!(backoff(MS, max, failures), max, "{failures}");
            assert_eq!(backoff(Duration::MAX, Duration::MAX, failures), Duration::MAX, "{failures}");
        }
        let limiter = ExponentialPerKey::new(MS, max);
        limiter.failures.lock().insert("key", u32::MAX);
        assert_eq!(limiter.when(&"key"), max);
        assert_eq!(limiter.retries(&"key"), u32::MAX);
    }

    #[test]
    fn a_base_above_the_maximum_is_cut() {
        assert_eq!(ExponentialPerKey::new(MS * 10, MS).when(&"key"), MS);
    }
}
