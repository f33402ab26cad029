//! The host's own HTTP servers: health and metrics for the cluster, the control API for
//! the `wharf` command on the same machine, and that command's client.
//!
//! They only show what others own, and hand on what an operator asks for. All are
//! bounded in connections, sizes and times, so that a probe is answered whatever else
//! happens.

pub mod calls;
pub mod client;
pub mod control;
pub mod health;
pub mod logs;
pub mod operate;
pub mod rows;
pub mod server;

mod http;
mod socket;

pub use control::{ControlEndpoint, ControlServer};
pub use health::{Health, Probe};
pub use logs::Logs;
pub use operate::Operations;
pub use rows::StatusSource;
pub use server::{Server, serve_health, serve_metrics};
