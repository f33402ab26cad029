//! The promises of the workqueue, tested from outside, most of them on a paused clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod ageing;
mod basic;
mod cancel;
mod concurrent;
mod delay;
mod delta_bounds;
mod delta_fifo;
mod delta_model;
mod delta_work;
mod fair_shares;
mod fair_turns;
mod fifo;
mod find;
mod late;
mod limits;

mod metrics;
mod model;
mod parallel;
mod priority;
mod shutdown;
mod workers;

use std::time::Duration;

use tokio::time::{Timeout, timeout};

/// Makes a wait that never ends fail. On a paused clock this takes no time.
fn ends<F: IntoFuture>(future: F) -> Timeout<F::IntoFuture> {
    timeout(Duration::from_secs(3600), future)
}
