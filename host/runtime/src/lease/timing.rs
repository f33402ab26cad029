//! The three times of an election, and what must hold between them. Owns the rule and its words;
//! never looks at a clock.

use std::time::Duration;

/// A candidate waits up to so many times the retry period, so that two do not ask in step.
pub(super) const JITTER: f64 = 1.2;

/// How long things take in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Nobody takes a lease that has changed within this time. Whole seconds.
    pub lease: Duration,
    /// A leader that was not able to renew for so long leads no more.
    pub renew: Duration,
    /// Between two attempts.
    pub retry: Duration,
}

/// Two times that cannot go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The setting to change: `leaseDuration`, `renewDeadline` or `retryPeriod`.
    pub setting: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl Default for Timing {
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

impl Timing {
    /// May a host run with these times?
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Contradiction> {
        let Self { lease, renew, retry } = *self;
        for (setting, time) in [("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)] {
            if time < Duration::from_secs(1) {
                return Err(wrong(setting, format!("{time:?} is less than a second"), "write 1s or more"));
            }
        }
        if lease.subsec_nanos() > 0 {
            return Err(wrong(
                "leaseDuration",
                format!("{lease:?} is not in whole seconds"),
                "a Lease keeps whole seconds: write for example 15s",
            ));
        }
        if lease <= renew {
            let message =
                format!("{lease:?} is not more than the renewDeadline of {renew:?}: the lease could be taken while its holder still leads");
            return Err(wrong("leaseDuration", message, "make leaseDuration longer, or renewDeadline shorter"));
        }
        if renew <= retry.mul_f64(JITTER) {
            let message =
                format!("{renew:?} is not more than 1.2 times the retryPeriod of {retry:?}: a single failure would end a leadership");
            return Err(wrong("renewDeadline", message, "make renewDeadline longer, or retryPeriod shorter"));
        }
        Ok(())
    }

    /// No request takes longer: a connection that hangs must leave time for a second attempt.
    pub(super) fn patience(&self) -> Duration {
        self.renew / 2
    }

    /// Calls that are in flight when a leadership ends have until then, from the last renewal on.
    pub(super) fn calls(&self) -> Duration {
        self.renew.saturating_add(self.margin() / 2)
    }

    /// Until then, from the last renewal on, something may be written.
    pub(super) fn acts(&self) -> Duration {
        self.renew.saturating_add(self.margin() / 4 * 3)
    }

    /// Between the end of a leadership and the moment at which somebody else may lead.
    fn margin(&self) -> Duration {
        self.lease.saturating_sub(self.renew)
    }
}

fn wrong(setting: &'static str, message: String, hint: &str) -> Contradiction {
    Contradiction { setting, message, hint: hint.to_owned() }
}
