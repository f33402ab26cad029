//! Monotonic time since the host's start, for the ledger, which has no clock of its own.
//! Built on tokio's clock, so that tests run on paused time.

use std::time::Duration;

use tokio::time::Instant;

/// The host's clock. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }
}
