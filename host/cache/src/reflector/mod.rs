//! Keeps one store equal to the server: list, then watch, for ever. `machine` decides what
//! comes next, `driver` carries it out.

mod driver;
mod machine;
#[cfg(test)]
mod machine_tests;

pub(crate) use driver::{Reflector, whole_seconds};
pub(crate) use machine::{ListRequest, WatchRequest};
