//! When a watch ends, and when it is time for a bookmark.
//!
//! Uses tokio's clock only.

use std::time::Duration;

use rand::RngExt as _;
use tokio::time::Instant;

/// A first bookmark comes soon: the reader may begin with an old version and see nothing for long.
const SOON: Duration = Duration::from_millis(600);
/// Then they come regularly.
const EVERY: Duration = Duration::from_secs(60);
/// And once shortly before the end, so that the next watch begins close to now.
const BEFORE_END: Duration = Duration::from_secs(2);
/// A watch without a timeout ends after this or up to twice as long, so that many do not come back at once.
const USUAL: Duration = Duration::from_secs(1800);
/// Timeouts that are longer than a year count as one: an instant must be able to hold them.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The clock of one watch.
pub(super) struct Clock {
    end: Instant,
    bookmark: Option<Instant>,
}

impl Clock {
    /// Starts the clock; a negative timeout is over at once.
    pub(super) fn start(timeout_seconds: Option<i64>) -> Self {
        let length = match timeout_seconds {
            Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(LONGEST),
            None => rand::rng().random_range(USUAL..=2 * USUAL),
        };
        let now = Instant::now();
        // A watch that ends before it would get its last bookmark gets none.
        let bookmark = (length >= BEFORE_END).then(|| now + SOON);
        Self { end: now + length, bookmark }
    }

    pub(super) fn end(&self) -> Instant {
        self.end
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// When the next bookmark is due.
    pub(super) fn bookmark(&self) -> Option<Instant> {
        self.bookmark
    }

    /// The reader has just been told a version in another way: what is due now is not needed.
    pub(super) fn told(&mut self) {
        if self.bookmark.is_some_and(|due| due <= Instant::now()) {
            self.bookmarked();
        }
    }

    /// One was due.
    pub(super) fn bookmarked(&mut self) {
        let now = Instant::now();
        let next = now + EVERY;
        self.bookmark = match self.end.checked_sub(BEFORE_END) {
            Some(last) if last > now => Some(next.min(last)),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bookmarks(timeout_seconds: i64) -> Vec<u128> {
        let start = Instant::now();
        let mut clock = Clock::start(Some(timeout_seconds));
        let mut times = Vec::new();
        while let Some(due) = clock.bookmark() {
            assert!(due < clock.end());
            tokio::time::sleep_until(due).await;
            times.push(start.elapsed().as_millis());
            clock.bookmarked();
        }
        times
    }

    #[tokio::test(start_paused = true)]
    async fn bookmarks_come_soon_regularly_and_before_the_end() {
        for (timeout, expected) in [
            (-1, vec![]),
            (1, vec![]),
            (2, vec![600]),
            (10, vec![600, 8000]),
            (75, vec![600, 60_600, 73_000]),
            (150, vec![600, 60_600, 120_600, 148_000]),
        ] {
            assert_eq!(bookmarks(timeout).await, expected, "{timeout} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_timeout_a_watch_ends_after_half_an_hour_to_an_hour() {
        let lengths: Vec<Duration> = (0..50).map(|_| Clock::start(None).end() - Instant::now()).collect();
        assert!(lengths.iter().all(|length| (USUAL..=2 * USUAL).contains(length)), "{lengths:?}");
        assert!(lengths.iter().any(|length| Some(length) != lengths.first()), "{lengths:?}");
        assert_eq!(Clock::start(Some(i64::MAX)).end() - Instant::now(), LONGEST);
    }
}
