//! The numbers of one revision's calls, for whoever compares revisions. Owns which calls count;
//! compares nothing.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use wharf_core::ledger::Finished;

/// Counts the calls of one revision.
#[derive(Debug, Default)]
pub struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
    strikes: AtomicU64,
    micros: AtomicU64,
    /// Tells whoever bakes the revision.
    failed: Notify,
}

/// How a call ended, for the tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With success.
    Well,
    /// The guest said that it failed.
    Failed,
    /// It trapped, or went beyond a limit.
    Struck,
    /// The host gave it up, or could not provide what it needed: the revision is not to blame.
    Excused,
}

impl Tally {
    /// A call has ended, which took so long by its own doing.
    pub fn count(&self, ended: Ended, took: Duration) {
        if ended == Ended::Excused {
            return;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if ended != Ended::Well {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        if ended == Ended::Struck {
            self.strikes.fetch_add(1, Ordering::Relaxed);
            self.failed.notify_one();
        }
    }

    /// The numbers so far.
    pub fn numbers(&self) -> Numbers {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Numbers { calls: read(&self.calls), failures: read(&self.failures), strikes: read(&self.strikes), micros: read(&self.micros) }
    }

    /// Waits for the next strike. Cancel safe; for one waiter.
    pub async fn struck(&self) {
        self.failed.notified().await;
    }
}

/// The numbers of a revision's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Calls that ended, but for those that it is not to blame for.
    pub calls: u64,
    /// Those without success.
    pub failures: u64,
    /// Those of them that trapped or went beyond a limit.
    pub strikes: u64,
    /// What all calls together took of their own: waiting for others is not in it.
    pub micros: u64,
}

impl Numbers {
    /// A part of its calls, in percent.
    pub fn percent(self, of: u64) -> u64 {
        of.saturating_mul(100).checked_div(self.calls).unwrap_or_default()
    }

    /// How long a call takes, without what it waits for others.
    pub fn mean(self) -> Duration {
        Duration::from_micros(self.micros.checked_div(self.calls).unwrap_or_default())
    }
}

impl Add for Numbers {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(more.calls),
            failures: self.failures.saturating_add(more.failures),
            strikes: self.strikes.saturating_add(more.strikes),
            micros: self.micros.saturating_add(more.micros),
        }
    }
}

impl Sub for Numbers {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(before.calls),
            failures: self.failures.saturating_sub(before.failures),
            strikes: self.strikes.saturating_sub(before.strikes),
            micros: self.micros.saturating_sub(before.micros),
        }
    }
}

impl From<&Finished> for Ended {
    fn from(finished: &Finished) -> Self {
        match finished {
            Finished::Done | Finished::RequeueAfter(_) => Self::Well,
            Finished::Retry(_) | Finished::Permanent(_) => Self::Failed,
            Finished::Strike(_) => Self::Struck,
            Finished::Waiting { .. } | Finished::Cancelled => Self::Excused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_excused_is_not_counted() {
        let tally = Tally::default();
        tally.count(Ended::Excused, Duration::from_secs(9));
        assert_eq!(tally.numbers(), Numbers::default());
        for ended in [Ended::Well, Ended::Failed, Ended::Struck] {
            tally.count(ended, Duration::from_millis(2));
        }
        let numbers = tally.numbers();
        assert_eq!(numbers, Numbers { calls: 3, failures: 2, strikes: 1, micros: 6000 });
        assert_eq!((numbers.percent(numbers.failures), numbers.mean()), (66, Duration::from_millis(2)));
        assert_eq!(numbers + numbers, Numbers { calls: 6, failures: 4, strikes: 2, micros: 12000 });
        assert_eq!(numbers + numbers - numbers, numbers);
        assert_eq!((Numbers::default().percent(1), Numbers::default().mean()), (0, Duration::ZERO));
    }
}
