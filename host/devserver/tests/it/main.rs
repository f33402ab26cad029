//! The server as clients see it, over HTTP: what watches show against what happened, and how it starts, ends and starts again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "tests"
)]

mod client;
mod collect;
mod doors;
#[path = "../../../../tests/fuzz/feed.rs"]
mod feed;
mod history;
mod life;
mod mutations;
mod operations;
mod run;
mod view;
mod watcher;
