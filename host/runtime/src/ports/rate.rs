//! How often a tenant may ask the API server. Owns the buckets of the tenants; never sends a request,
//! and never holds one back for longer than a moment: who is far ahead of its rate is told when to
//! come back, as by a server that is busy.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A burst is what the rate gives in this time.
const BURST: Duration = Duration::from_secs(2);
/// Nobody is held back for longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// The rates of all tenants.
#[derive(Debug)]
pub struct Rates {
    /// Requests a second; 0: as many as they like.
    per_second: u32,
    /// As many as there are tenants with plugins.
    tenants: Mutex<HashMap<Arc<str>, Weak<Rate>>>,
}

impl Rates {
    /// `per_second` for each tenant; 0 sets no bound.
    pub fn new(per_second: u32) -> Self {
        Self { per_second, tenants: Mutex::default() }
    }

    /// That of one tenant, shared by all its plugins.
    pub(super) fn of(&self, tenant: &Arc<str>) -> Arc<Rate> {
        let mut tenants = self.tenants.lock();
        if let Some(rate) = tenants.get(tenant).and_then(Weak::upgrade) {
            return rate;
        }
        tenants.retain(|_, rate| rate.strong_count() > 0);
        let rate = Arc::new(Rate::new(self.per_second));
        tenants.insert(Arc::clone(tenant), Arc::downgrade(&rate));
        rate
    }
}

/// The rate of one tenant: a bucket that may be owed to.
#[derive(Debug)]
pub(super) struct Rate {
    /// Time that one request takes of the bucket; zero for no bound.
    each: Duration,
    /// When the bucket is full again.
    full: Mutex<Option<Instant>>,
}

impl Rate {
    fn new(per_second: u32) -> Self {
        Self { each: Duration::from_secs(1).checked_div(per_second).unwrap_or_default(), full: Mutex::default() }
    }

    /// Takes a turn: how long to wait before the request goes out.
    ///
    /// # Errors
    /// When that is longer than a moment: the time after which to come back. No turn is taken then.
    pub(super) fn turn(&self) -> Result<Duration, Duration> {
        let now = Instant::now();
        let mut full = self.full.lock();
        let after = full.map_or(now, |at| at.max(now)) + self.each;
        let wait = after.saturating_duration_since(now).saturating_sub(BURST);
        if wait > PATIENCE {
            return Err(wait);
        }
        *full = Some(after);
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_then_the_rate_then_no() {
        let rate = Rate::new(10);
        let free = (0..20).filter(|_| rate.turn() == Ok(Duration::ZERO)).count();
        assert_eq!(free, 20, "two seconds' worth at once");
        let waits: Vec<_> = std::iter::from_fn(|| rate.turn().ok()).collect();
        assert_eq!(waits, (1..=10).map(|n| Duration::from_millis(n * 100)).collect::<Vec<_>>());
        assert_eq!(rate.turn(), Err(Duration::from_millis(1100)), "and that takes no turn");
        assert_eq!(rate.turn(), Err(Duration::from_millis(1100)));
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(rate.turn(), Ok(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!((0..30).filter(|_| rate.turn() == Ok(Duration::ZERO)).count(), 20, "never more than the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_have_rates_of_their_own() {
        let rates = Rates::new(1);
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let (one, other, same) = (rates.of(&a), rates.of(&b), rates.of(&a));
        while one.turn().is_ok() {}
        assert!(same.turn().is_err(), "shared by the plugins of a tenant");
        assert_eq!(other.turn(), Ok(Duration::ZERO));
        assert_eq!(Rates::new(0).of(&a).turn(), Ok(Duration::ZERO));
        drop((one, same));
        let _c = rates.of(&"c".into());
        assert_eq!(rates.tenants.lock().len(), 2, "tenants without plugins are forgotten");
    }
}
