//! Write wharf plugins in Rust.
//!
//! A plugin is one type that implements [`Handler`]: its fields are its configuration, its
//! three functions answer the events of the objects that it subscribed to. [`plugin!`]
//! exports it as a WebAssembly component; [`testing`] runs the same type natively against
//! a mock of the host, so that its logic is tested by plain `cargo test`.
//!
//! This crate owns what an author sees: typed access to the event, the cluster, the log
//! and the configuration. It never decides when a plugin is called or what it may do: the
//! host does.
//!
//! ```
//! use wharf_sdk::prelude::*;
//!
//! #[derive(serde::Deserialize)]
//! struct Hello {}
//!
//! impl Handler for Hello {
//!     fn describe() -> Description {
//!         Description::new("hello", "0.1.0").subscribe(Subscription::new("main", "v1", "ConfigMap"))
//!     }
//!
//!     fn add(&self, event: &Event) -> Result {
//!         log::info!("hello", name = event.name());
//!         Ok(Outcome::done())
//!     }
//! }
//!
//! wharf_sdk::plugin!(Hello);
//! # fn main() {}
//! ```

mod backend;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
mod bridge;
pub mod cluster;
mod config;
mod delivery;
mod describe;
mod event;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod export;
mod handler;
pub mod log;
mod object;
mod outcome;
pub mod prelude;
pub mod system;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use config::{ConfigError, config, config_raw, config_value};
pub use delivery::{Cause, Change, Delivery, Removal};
pub use describe::{By, Description, Subscription};
pub use event::{Event, ReadError, View};
pub use handler::Handler;
pub use object::{Gvk, ObjectRef};
pub use outcome::{Failure, Outcome, Result};

/// Exports a [`Handler`] as the component's handler. Once per plugin; natively it only
/// checks that the type is one.
#[macro_export]
macro_rules! plugin {
    ($handler:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, missing_docs, reason = "the exported symbols of the component")]
        const _: () = {
            type Export = $crate::export::Export<$handler>;
            $crate::bindings::export! { Export with_types_in $crate::bindings }
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_handler<H: $crate::Handler>() {}
            is_handler::<$handler>();
        };
    };
}

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
