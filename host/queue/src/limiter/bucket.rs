//! A budget that all keys share. Owns the tokens; never counts the failures of a key.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RateLimiter;
use crate::MAX_DELAY;

/// A bucket of tokens: full at the start, and a new token each `interval`. An entry takes a
/// token; if there is none, it waits for the next that nobody before it waits for.
///
/// It knows no keys, so there is nothing to forget: two words of memory in all.
#[derive(Debug)]
pub struct Bucket {
    interval: Duration,
    /// The time that a full bucket is ahead of an empty one.
    ahead: Duration,
    /// When the bucket is full again, if that is to come.
    full: Mutex<Option<Instant>>,
}

impl Bucket {
    /// A token each `interval` (client-go: 1/qps), at most `burst` of them saved up.
    ///
    /// The interval is cut to [`MAX_DELAY`]; a burst of zero, which would let nothing pass for
    /// ever, counts as one.
    pub fn new(interval: Duration, burst: u32) -> Self {
        let interval = interval.min(MAX_DELAY);
        Self { interval, ahead: interval.saturating_mul(burst.saturating_sub(1)), full: Mutex::new(None) }
    }
}

impl<K> RateLimiter<K> for Bucket {
    fn when(&self, _key: &K) -> Duration {
        Duration::ZERO
    }

    fn reserve(&self, now: Instant) -> Instant {
        let mut full = self.full.lock();
        let from = full.map_or(now, |full| full.max(now));
        *full = from.checked_add(self.interval);
        from.checked_sub(self.ahead).map_or(now, |at| at.max(now))
    }

    fn forget(&self, _key: &K) {}

    fn retries(&self, _key: &K) -> u32 {
        0
    }

    fn tracked(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The waits of some reservations at one moment, in seconds.
    fn waits(bucket: &Bucket, now: Instant, count: usize) -> Vec<u64> {
        (0..count).map(|_| (RateLimiter::<u8>::reserve(bucket, now) - now).as_secs()).collect()
    }

    #[test]
    fn a_burst_passes_and_what_follows_waits_in_line() {
        let (bucket, start) = (Bucket::new(SECOND, 3), Instant::now());
        assert_eq!(waits(&bucket, start, 6), [0, 0, 0, 1, 2, 3]);
        assert_eq!(waits(&bucket, start + 2 * SECOND, 1), [2], "two of the line have passed");
        assert_eq!(waits(&bucket, start + 6 * SECOND, 3), [0, 0, 1], "two were saved since");
    }

    #[test]
    fn no_more_than_a_burst_is_saved_up() {
        let (bucket, start) = (Bucket::new(SECOND, 2), Instant::now());
        assert_eq!(waits(&bucket, start + 1000 * SECOND, 4), [0, 0, 1, 2]);
        assert_eq!(waits(&bucket, start + 2000 * SECOND, 4), [0, 0, 1, 2]);
    }

    #[test]
    fn the_strangest_figures_do_no_harm() {
        let start = Instant::now();
        assert_eq!(waits(&Bucket::new(SECOND, 0), start, 3), [0, 1, 2]);
        assert_eq!(waits(&Bucket::new(Duration::ZERO, 1), start, 3), [0, 0, 0]);
        let month = MAX_DELAY.as_secs();
        assert_eq!(waits(&Bucket::new(Duration::MAX, 1), start, 3), [0, month, 2 * month]);
        assert_eq!(waits(&Bucket::new(Duration::MAX, u32::MAX), start, 3), [0, 0, 0]);
    }
}
