//! The host's functions, in this crate's own types: the component's imports in
//! WebAssembly, a mock natively. The only place that knows which of the two it is.

#[cfg(target_family = "wasm")]
mod wasm;
#[cfg(target_family = "wasm")]
pub(crate) use wasm::*;

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::backend::*;

/// Which state of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    /// As it is.
    Current,
    /// As it was.
    Previous,
}
