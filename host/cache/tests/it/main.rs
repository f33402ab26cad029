//! The cache as its users see it, against a scripted API server. The clock is paused:
//! waits of minutes cost nothing, and nothing depends on the machine's speed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bad_input;
mod budget;
mod fake;
mod handlers;
mod kinds;
mod lists;
mod plan;
mod reading;
mod recorder;
mod resync;
mod shared;
mod stores;
mod watch_lists;
mod watches;
