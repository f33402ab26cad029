//! Bytes from outside neither panic nor hang the server: the seeds of `tests/fuzz`, mutated at random.

use wharf_devserver::fuzz;

use crate::feed::feed;

#[test]
fn requests() {
    feed("request", fuzz::request);
}

#[test]
fn tokens() {
    feed("token", fuzz::token);
}

#[test]
fn bodies() {
    feed("body", fuzz::body);
}

#[test]
fn selectors() {
    feed("selectors", fuzz::selectors);
}

#[test]
fn patches() {
    feed("patches", fuzz::patches);
}

#[test]
fn definitions() {
    feed("definition", fuzz::definition);
}
