//! Faults on demand, for tests: what a real server does on its worst day, when and as often as it is told to.
//!
//! Owns the rules, their counting and their dice (seeded: the same requests in the same order meet the same faults), the list of open
//! watches that can be cut. Never touches an object.

mod control;
mod faults;
mod mangle;
mod rule;

pub(crate) use control::control;
pub(crate) use faults::{Asked, OpenWatch};
pub use faults::{Faults, Report};
pub(crate) use mangle::{Cut, Due, Mangle, Out};
pub use rule::{Fault, Match, Rule};
