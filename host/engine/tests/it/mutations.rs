//! Bytes of guests and strangers neither panic nor hang: the seeds of `tests/fuzz`, mutated at random.

use wharf_engine::fuzz;

use crate::feed::feed;

#[test]
fn components() {
    feed("inspect", fuzz::inspect_component);
}

#[test]
fn log_fields() {
    feed("log_fields", fuzz::log_fields);
}

#[test]
fn fields() {
    feed("fields", fuzz::fields);
}
