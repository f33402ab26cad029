//! Runs untrusted components: the only crate that knows wasmtime.
//!
//! An [`Engine`] turns bytes into an [`Artifact`] (checked, compiled, cached), an artifact and
//! a plugin's document into a [`Revision`], and a revision and a delivery into a
//! [`CallReport`]. Each call has an instance to itself, fresh or kept from the plugin's last
//! call, a limit on memory, wall time and processor time, and runs on threads that guests have
//! to themselves. However a guest fails, the answer is a
//! [`wharf_core::Reason`]; nothing a guest does ends the host.
//!
//! What a guest may do to the outside goes through [`Ports`], after its grants were checked
//! here. This crate knows no Kubernetes client, no queue and no store.

mod activity;
mod artifact;
mod bindings;
mod call;
mod code;
mod compiler;
mod config;
mod convert;
mod cwasm;
mod engine;
mod epoch;
mod failure;
#[doc(hidden)]
pub mod fuzz;
mod guest_memory;
mod host;
mod idle;
mod imports;
mod inspect;
mod instance;
mod limits;
mod nesting;
mod no_ports;
mod ports;
mod revision;
mod scheduler;
mod task;
mod used;

pub use activity::{Activity, HostFunction, Request, Requests};
pub use artifact::Artifact;
pub use compiler::{Compiler, compile_stdin};
pub use config::{Caps, Compile, EngineConfig};
pub use engine::{Engine, EngineStats};
pub use epoch::{TICK, Ticker};
pub use failure::{EngineError, LoadError};
pub use inspect::{BinaryKind, Inspection, inspect};
pub use limits::CpuMeter;
pub use no_ports::NoPorts;
pub use ports::{
    ApiError, CallInfo, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Ports, Propagation, Task, WriteOptions, Written,
};
pub use revision::{Admission, CallReport, Revision, RevisionSpec};
pub use scheduler::{Call, CallEnd, Lane, Scheduler, Slots};
pub use used::Used;

/// The package of the contract that this engine serves.
pub const WIT_PACKAGE: &str = "wharf:plugin@0.1.0";
/// The wasmtime inside; the workspace pins exactly this one, and a test compares.
pub const WASMTIME_VERSION: &str = "48.0.8";
