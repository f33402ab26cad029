//! Two small brakes for log lines: a token bucket, and "say it again at most every so
//! often". Own no metric and write no line; who asks counts what was held back.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Lets a burst through, then a steady rate.
#[derive(Debug)]
pub(super) struct TokenBucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub(super) fn new(burst: u32, per_second: u32) -> Self {
        Self { burst: burst.into(), per_second: per_second.into(), tokens: burst.into(), filled: Instant::now() }
    }

    /// Takes one token if there is one.
    pub(super) fn take(&mut self) -> bool {
        let now = Instant::now();
        let earned = now.duration_since(self.filled).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + earned).min(self.burst);
        self.filled = now;
        let granted = self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }
}

/// Lets the first of equal facts through, then one per interval with the number of those
/// between. Holds at most [`Repeats::CAP`] topics: further ones are held back.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    topics: HashMap<String, (Instant, u64)>,
}

impl Repeats {
    /// A plugin has at most 16 declared reasons, and the host about as many of its own.
    const CAP: usize = 64;

    /// `Some(held back since the last time)` if this one may be said.
    pub(super) fn allow(&mut self, topic: &str, interval: Duration) -> Option<u64> {
        let now = Instant::now();
        if let Some((said, held)) = self.topics.get_mut(topic) {
            if now.duration_since(*said) < interval {
                *held += 1;
                return None;
            }
            *said = now;
            return Some(std::mem::take(held));
        }
        if self.topics.len() >= Self::CAP {
            return None;
        }
        self.topics.insert(topic.to_owned(), (now, 0));
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bucket_gives_a_burst_then_the_rate() {
        let mut bucket = TokenBucket::new(3, 2);
        assert_eq!((0..5).filter(|_| bucket.take()).count(), 3);
        tokio::time::advance(Duration::from_millis(1000)).await;
        assert_eq!((0..5).filter(|_| bucket.take()).count(), 2);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!((0..5).filter(|_| bucket.take()).count(), 3, "never more than the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn repeats_are_held_back_and_counted() {
        let mut repeats = Repeats::default();
        let minute = Duration::from_secs(60);
        assert_eq!(repeats.allow("Trap", minute), Some(0));
        assert_eq!(repeats.allow("Trap", minute), None);
        assert_eq!(repeats.allow("Trap", minute), None);
        assert_eq!(repeats.allow("Other", minute), Some(0), "topics do not share");
        tokio::time::advance(minute).await;
        assert_eq!(repeats.allow("Trap", minute), Some(2));
    }

    #[test]
    fn repeats_are_bounded() {
        let mut repeats = Repeats::default();
        let said = (0..1000).filter(|n| repeats.allow(&n.to_string(), Duration::from_secs(1)).is_some()).count();
        assert_eq!(said, Repeats::CAP);
    }
}
