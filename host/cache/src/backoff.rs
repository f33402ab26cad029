//! How long to wait after failures. Owns the growth, the jitter and the rule that only
//! quiet resets it; never sleeps and never reads a clock or a random source itself.

use std::time::Duration;

use tokio::time::Instant;

use crate::options::Waits;

/// Doubling waits with jitter.
///
/// A wait lies in \[step, 2 × step), where the step doubles from `first` up to half of `max`:
/// so the waits grow to `max` and stay spread there. A success does not reset
/// it; only `quiet` without a wait does. A server that answers every other request would
/// otherwise be asked at the smallest wait for ever.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    waits: Waits,
    step: Duration,
    last: Option<Instant>,
}

impl Backoff {
    /// For lists and watches.
    pub(crate) const fn new(waits: Waits) -> Self {
        Self { waits, step: waits.first, last: None }
    }

    /// As if nothing had failed yet.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.waits);
    }

    /// The next wait; `random` in \[0, 1) spreads it.
    pub(crate) fn next(&mut self, now: Instant, random: f64) -> Duration {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > self.waits.quiet) {
            self.step = self.waits.first;
        }
        self.last = Some(now);
        let step = self.step;
        self.step = step.saturating_mul(2).min(self.waits.max / 2);
        step.saturating_add(step.mul_f64(random.clamp(0.0, 1.0))).min(self.waits.max)
    }
}

/// Plain doubling from one second to ten, for a kind that does not exist: short enough
/// that a CustomResourceDefinition created later is picked up within seconds.
#[derive(Clone, Debug)]
pub(crate) struct KindBackoff(Duration);

impl KindBackoff {
    const FIRST: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(10);

    /// Starts at one second.
    pub(crate) const fn new() -> Self {
        Self(Self::FIRST)
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = wait.saturating_mul(2).min(Self::MAX);
        wait
    }

    /// The kind exists: the next search starts quick again.
    pub(crate) fn reset(&mut self) {
        self.0 = Self::FIRST;
    }
}

/// Retries that are free of charge as long as the failures do not go on for longer than a
/// window. A minute without a failure starts a new window.
#[derive(Clone, Debug)]
pub(crate) struct RetryWindow {
    length: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl RetryWindow {
    const FRESH_AFTER: Duration = Duration::from_secs(60);

    /// A window of that length; zero allows nothing.
    pub(crate) const fn new(length: Duration) -> Self {
        Self { length, first: None, last: None }
    }

    /// A failure happened now: may it be retried at once?
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if self.length.is_zero() {
            return false;
        }
        let fresh = self.last.is_none_or(|last| now.saturating_duration_since(last) >= Self::FRESH_AFTER);
        self.last = Some(now);
        let first = match self.first {
            Some(first) if !fresh => first,
            _ => *self.first.insert(now),
        };
        if now.saturating_duration_since(first) <= self.length {
            return true;
        }
        self.first = Some(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cr11_waits_double_to_the_top_and_keep_their_jitter() {
        let (mut low, mut high, now) = (Backoff::new(Waits::default()), Backoff::new(Waits::default()), Instant::now());
        let lows: Vec<_> = (0..7).map(|_| low.next(now, 0.0).as_millis()).collect();
        let highs: Vec<_> = (0..7).map(|_| high.next(now, 0.999_999).as_millis()).collect();
        assert_eq!(lows, [800, 1600, 3200, 6400, 12_800, 15_000, 15_000]);
        assert_eq!(highs, [1599, 3199, 6399, 12_799, 25_599, 29_999, 29_999]);
    }

    #[test]
    fn cr11_only_quiet_resets() {
        let (mut backoff, mut now) = (Backoff::new(Waits::default()), Instant::now());
        let mut wait = |after: u64| {
            now += Duration::from_secs(after);
            backoff.next(now, 0.0).as_millis()
        };
        assert_eq!([wait(0), wait(0), wait(120), wait(121), wait(1)], [800, 1600, 3200, 800, 1600]);
    }

    #[test]
    fn cr11_other_waits_are_used() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(Waits { first: second, max: second * 6, quiet: second * 10 });
        let now = Instant::now();
        let waits: Vec<_> = (0..4).map(|_| backoff.next(now, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 3, 3]);
        assert_eq!(backoff.next(now + second * 11, 0.0), second);
        backoff.reset();
        assert_eq!(backoff.next(now, 0.0), second);
    }

    #[test]
    fn missing_kinds_are_looked_for_every_ten_seconds_at_least() {
        let mut backoff = KindBackoff::new();
        let waits: Vec<_> = (0..6).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        backoff.reset();
        assert_eq!(backoff.next().as_secs(), 1);
    }

    /// One failure a second: 31 retries fit in a window of 30 s; a minute of quiet in the
    /// middle starts a new one; without a window there is none.
    #[test]
    fn cr13_retry_window() {
        let retries = |window: u64, quiet_after: Option<u64>| {
            let (mut retry, mut now) = (RetryWindow::new(Duration::from_secs(window)), Instant::now());
            let mut count = 0;
            while retry.allows(now) {
                count += 1;
                now += Duration::from_secs(if quiet_after == Some(count) { 61 } else { 1 });
            }
            count
        };
        assert_eq!(retries(0, None), 0);
        assert_eq!(retries(30, None), 31);
        assert_eq!(retries(30, Some(9)), 40);
    }
}
