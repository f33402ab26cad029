//! The dispatcher as its users see it: a scripted API server before it, native handlers behind it,
//! and everything of the product in between. The clock is paused: waits of minutes cost nothing,
//! and nothing depends on the machine's speed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod breaker;
mod cluster;
mod defects;
mod every_event;
mod every_version;
mod filters;
mod flood;
mod plugin;
mod promises;
mod replay;
#[path = "../../../core/tests/model/rng.rs"]
mod rng;
mod staged;
