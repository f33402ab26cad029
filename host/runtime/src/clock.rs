//! The host's time for the ledger, which has no clock of its own: the time of day at the host's
//! start, and what has passed since by a clock that never goes back. So times can be written down
//! and read by the next host. Built on tokio's clock, so that tests run on paused time.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The host's clock. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// Time of day at the start, since 1970.
    day: Duration,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        // Before 1970 no clock is set.
        let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), day }
    }

    /// One that is wrong about the day.
    #[cfg(test)]
    pub(crate) fn of_day(day: Duration) -> Self {
        Self { start: Instant::now(), day }
    }

    /// Time since 1970. Never goes back, also where the machine's clock is set.
    pub fn now(&self) -> Duration {
        self.day.saturating_add(self.start.elapsed())
    }
}
