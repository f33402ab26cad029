//! Limiters made of limiters: the longest of several, and one with a ceiling. Own no count
//! and no token; never decide a wait themselves.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::{Bucket, ExponentialPerKey, RateLimiter};
use crate::Key;

/// The longest wait of several limiters. Each of them hears of each failure.
pub struct MaxOf<K>(Vec<Box<dyn RateLimiter<K>>>);

impl<K> MaxOf<K> {
    /// Of none, a limiter that never lets a key wait.
    pub fn new(limiters: impl IntoIterator<Item = Box<dyn RateLimiter<K>>>) -> Self {
        Self(limiters.into_iter().collect())
    }
}

impl<K> fmt::Debug for MaxOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MaxOf({} limiters)", self.0.len())
    }
}

impl<K: 'static> RateLimiter<K> for MaxOf<K> {
    fn when(&self, key: &K) -> Duration {
        self.0.iter().map(|limiter| limiter.when(key)).max().unwrap_or_default()
    }

    fn reserve(&self, now: Instant) -> Instant {
        self.0.iter().map(|limiter| limiter.reserve(now)).max().unwrap_or(now)
    }

    fn forget(&self, key: &K) {
        self.0.iter().for_each(|limiter| limiter.forget(key));
    }

    fn retries(&self, key: &K) -> u32 {
        self.0.iter().map(|limiter| limiter.retries(key)).max().unwrap_or_default()
    }

    /// Of the limiter that knows the most keys.
    fn tracked(&self) -> usize {
        self.0.iter().map(|limiter| limiter.tracked()).max().unwrap_or_default()
    }
}

/// A limiter whose waits end at a ceiling, those for a token too.
#[derive(Clone, Copy, Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWait<L> {
    /// Waits as `limiter` says, but never longer than `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWait<L> {
    fn when(&self, key: &K) -> Duration {
        self.limiter.when(key).min(self.max)
    }

    fn reserve(&self, now: Instant) -> Instant {
        let at = self.limiter.reserve(now);
        now.checked_add(self.max).map_or(at, |latest| at.min(latest))
    }

    fn forget(&self, key: &K) {
        self.limiter.forget(key);
    }

    fn retries(&self, key: &K) -> u32 {
        self.limiter.retries(key)
    }

    fn tracked(&self) -> usize {
        self.limiter.tracked()
    }
}

/// client-go's limiter for controllers: per key from 5 ms to 1000 s, and for all keys
/// together ten entries a second after a burst of a hundred.
pub fn default_controller_limiter<K: Key>() -> MaxOf<K> {
    MaxOf::new([Box::new(ExponentialPerKey::default()) as Box<dyn RateLimiter<K>>, Box::new(Bucket::new(Duration::from_millis(100), 100))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastSlow;

    const MS: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn boxed<L: RateLimiter<&'static str>>(limiter: L) -> Box<dyn RateLimiter<&'static str>> {
        Box::new(limiter)
    }

    #[test]
    fn cq11_the_longest_wait_counts_and_forget_reaches_all() {
        let max_of = MaxOf::new([boxed(FastSlow::new(5 * MS, 3 * SECOND, 3)), boxed(ExponentialPerKey::new(MS, SECOND))]);
        let waits: Vec<_> = (0..5).map(|_| max_of.when(&"one")).collect();
        assert_eq!(waits, [5 * MS, 5 * MS, 5 * MS, 3 * SECOND, 3 * SECOND]);
        assert_eq!((max_of.retries(&"one"), max_of.when(&"two"), max_of.tracked()), (5, 5 * MS, 2));
        max_of.forget(&"one");
        assert_eq!((max_of.retries(&"one"), max_of.when(&"one")), (0, 5 * MS));
    }

    #[test]
    fn cq11_of_no_limiters_nobody_waits() {
        let (none, now) = (MaxOf::new([]), Instant::now());
        assert_eq!((none.when(&"key"), none.reserve(now), none.retries(&"key"), none.tracked()), (Duration::ZERO, now, 0, 0));
    }

    #[test]
    fn cq12_no_wait_is_longer_than_the_ceiling() {
        let limiter = WithMaxWait::new(ExponentialPerKey::new(MS, 1000 * SECOND), 5 * MS);
        let waits: Vec<_> = (0..5).map(|_| limiter.when(&"key")).collect();
        assert_eq!(waits, [MS, 2 * MS, 4 * MS, 5 * MS, 5 * MS]);
        assert_eq!((limiter.retries(&"key"), limiter.tracked()), (5, 1));
        limiter.forget(&"key");
        assert_eq!(limiter.when(&"key"), MS);
    }

    #[test]
    fn cq12_the_wait_for_a_token_has_the_ceiling_too() {
        let (limiter, now) = (WithMaxWait::new(Bucket::new(SECOND, 1), 2 * SECOND), Instant::now());
        let waits: Vec<_> = (0..4).map(|_| RateLimiter::<u8>::reserve(&limiter, now) - now).collect();
        assert_eq!(waits, [Duration::ZERO, SECOND, 2 * SECOND, 2 * SECOND]);
        let endless = WithMaxWait::new(Bucket::new(SECOND, 1), Duration::MAX);
        assert_eq!(RateLimiter::<u8>::reserve(&endless, now), now);
    }

    #[test]
    fn the_default_of_controllers_is_client_gos() {
        let (limiter, now) = (default_controller_limiter(), Instant::now());
        assert_eq!(limiter.when(&"key"), 5 * MS);
        let longest = (0..30).map(|_| limiter.when(&"key")).max();
        assert_eq!(longest, Some(1000 * SECOND));
        let waits: Vec<_> = (0..102).map(|_| limiter.reserve(now) - now).collect();
        assert_eq!(waits[99..], [Duration::ZERO, 100 * MS, 200 * MS]);
    }
}
