//! Wiring and policy of the host: configuration, plugin sources, the registry of plugins and
//! their swap, dispatch, the host side of guests' imports, status, servers and telemetry.
//!
//! This is where the other crates meet. What they decide (which call, when, what is true,
//! how untrusted code is run) stays with them.

pub mod admin;
pub mod app;
pub mod checkpoint;
pub mod clock;
pub mod config;
mod connect;
pub mod dispatch;
pub mod fairness;
pub mod lease;
pub mod look;
mod memory;
mod operate;
pub mod plugins;
pub mod ports;
mod publish;
mod standby;
mod status;
pub mod telemetry;
