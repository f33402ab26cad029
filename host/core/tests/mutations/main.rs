//! Bytes of guests and strangers neither panic nor hang: the seeds of `tests/fuzz`, mutated at random.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "tests"
)]

#[path = "../../../../tests/fuzz/feed.rs"]
mod feed;

use wharf_core::fuzz;

use crate::feed::feed;

#[test]
fn descriptions() {
    feed("description", fuzz::description);
}

#[test]
fn pointers() {
    feed("pointers", fuzz::pointers);
}
