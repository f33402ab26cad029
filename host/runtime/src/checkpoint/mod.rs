//! What plugins were told survives the host: a checkpoint per plugin, in a store on disk.
//!
//! Owns when it is written ([`Checkpoint`]), where ([`Store`], and `file` for the one on disk) and
//! in which bytes (`key`, `header`, `body`; those of a key's record are the ledger's own). Never
//! decides what is written of a key or what becomes of it at the next start: that is the ledger's,
//! and `dispatch::recall` brings the two together.

mod body;
mod file;
mod header;
mod key;
mod store;
mod task;

#[cfg(test)]
pub(crate) mod memory;

pub use file::{FileStore, OpenError};
pub use header::{Header, Scope};
pub use key::{Part, decode_key, encode_key};
pub use store::{Batch, Body, Change, Saved, Store, StoreError, Usage};
pub use task::{Checkpoint, Source};
