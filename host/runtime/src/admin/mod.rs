//! The host's own HTTP servers: health and metrics for the cluster, the control API for
//! the `wharf` command on the same machine, and that command's client.
//!
//! They only show what others own; the one thing they change is the log filter. All are
//! bounded in connections, sizes and times, so that a probe is answered whatever else
//! happens.

pub mod client;
pub mod control;
pub mod health;
pub mod rows;
pub mod server;

mod http;
mod socket;

pub use control::{ControlEndpoint, ControlServer, LogControl};
pub use health::{Health, Probe};
pub use rows::StatusSource;
pub use server::{Server, serve_health, serve_metrics};
