//! From a plugin's source to a component that the host can run.
//!
//! [`build`] looks which language a folder holds, finds or installs that language's tools,
//! runs them, makes a component of what they made, checks it against the contract and writes
//! it. Input and output are plain data: this crate reads no Plugin document, runs no
//! component and prints nothing.

mod command;
mod contract;
mod encode;
mod error;
mod git;
mod language;
mod languages;
mod metadata;
mod plugin;
mod publish;
mod pyproject;
mod sdk;
mod tools;
mod version;
mod wasi;
mod workspace;

pub use error::BuildError;
pub use language::{Language, detect};
pub use metadata::{Metadata, Named, read as read_metadata};
pub use plugin::{Built, Options, Reproducible, build};
pub use publish::Draft;
