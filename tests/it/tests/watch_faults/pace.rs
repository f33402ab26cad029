//! How soon an informer asks again after a failure. Owns the shortest wait that is right, and
//! what came sooner. Only the machine being busy makes waits longer, so it cannot be wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The paces of the informers of one run, each by its path.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    informers: BTreeMap<String, Pace>,
    too_soon: Vec<String>,
}

#[derive(Debug, Default)]
struct Pace {
    failures: u32,
    /// Until it is asked again.
    failed: Option<Instant>,
}

impl Paces {
    /// An informer begins, perhaps in the place of an earlier one.
    pub(crate) fn begins(&mut self, informer: &str) {
        self.informers.remove(informer);
    }

    /// An informer asks.
    pub(crate) fn asks(&mut self, informer: &str, now: Instant) {
        let Some(pace) = self.informers.get_mut(informer) else { return };
        let Some(failed) = pace.failed.take() else { return };
        let (waited, least) = (now.saturating_duration_since(failed), least_wait(pace.failures));
        if waited < least {
            let (failures, waited, least) = (pace.failures, waited.as_secs_f64(), least.as_secs_f64());
            self.too_soon.push(format!("back-off: {informer} asked {waited:.2} s after its failure {failures}, not {least:.1} s"));
        }
    }

    /// It failed, in a way after which nothing but waiting is right.
    pub(crate) fn fails(&mut self, informer: &str, now: Instant) {
        let pace = self.informers.entry(informer.to_owned()).or_default();
        pace.failures += 1;
        pace.failed = Some(now);
    }

    /// What came too soon.
    pub(crate) fn too_soon(&self) -> &[String] {
        &self.too_soon
    }
}

/// After so many failures: from 0.8 s doubling to 15 s. No run is long enough for the quiet that
/// would let it begin again; failures that are not seen here only make the right wait longer.
fn least_wait(failures: u32) -> Duration {
    const FIRST: Duration = Duration::from_millis(800);
    const LONGEST: Duration = Duration::from_secs(15);
    FIRST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_too_soon_is_found() {
        let (mut paces, mut now) = (Paces::default(), Instant::now());
        let mut after = |milliseconds| {
            now += Duration::from_millis(milliseconds);
            now
        };
        paces.asks("a", after(0));
        for waits in [800, 1600, 3200, 6400, 12_800, 15_000, 15_000] {
            paces.fails("a", after(5));
            paces.asks("a", after(waits));
            paces.asks("a", after(0));
        }
        assert!(paces.too_soon().is_empty(), "{:?}", paces.too_soon());
        for (informer, waits) in [("a", 14_999), ("b", 799)] {
            paces.fails(informer, after(5));
            paces.asks(informer, after(waits));
        }
        assert_eq!(paces.too_soon().len(), 2, "{:?}", paces.too_soon());
        paces.fails("a", after(5));
        paces.begins("a");
        paces.asks("a", after(0));
        assert_eq!(paces.too_soon().len(), 2, "another one begins whenever it likes");
    }
}
