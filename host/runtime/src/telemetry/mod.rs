//! What the host tells the outside of itself: log lines and metrics.
//!
//! A fact is a struct in [`events`] that logs *and* counts, so that the two cannot drift
//! apart. Nothing here decides anything, and nothing here serves HTTP (that is `admin`).

pub mod events;
pub mod http;
pub mod logging;
pub mod metrics;
pub mod rest;

mod gate;
mod layer;
mod line;
mod rate;
mod ring;
mod short;

#[cfg(test)]
mod errors_doc;

pub use logging::{LogFormat, LogHandle};
pub use metrics::Metrics;
pub use ring::{LogRing, LogsBatch, LogsWanted};
