//! The host side of a plugin's imports: its log, the cluster in its own name, its Events.
//!
//! What is decided here is only where an answer comes from (cache or server) and in whose
//! name a request goes out; whether a plugin may do something was decided before.

pub mod api;
mod cluster;
mod plugin;
mod rate;
pub mod recorder;

pub use plugin::{PluginPorts, PortsFactory};
pub use rate::Rates;
