//! Keeps one store equal to the server: all that exists, then what changes, for ever.
//! `machine` decides what comes next, in the words of `step`; `driver` carries it out, with
//! `list` and `watch` for the two kinds of answers; `admit` asks first what it will cost.

mod admit;
mod driver;
mod list;
mod machine;
#[cfg(test)]
mod machine_tests;
mod step;
mod verify;
mod watch;
#[cfg(test)]
mod watch_list_tests;

pub(crate) use driver::{Begin, Reflector, whole_seconds};
pub(crate) use step::{ListRequest, WatchRequest};
