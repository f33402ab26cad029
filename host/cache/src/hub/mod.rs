//! The hub of shared informers: which exist, whom they serve, and how that changes.
//!
//! `informers` is its public face, `plan` the rule, `family` carries the rule out for one kind,
//! `keeper` does so when something has changed, `registration` is what a user holds.

mod family;
mod informers;
mod keeper;
mod plan;
mod registration;

pub use informers::{Attach, Informers};
pub use registration::{FromHandler, Registration};
