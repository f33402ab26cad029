//! What an operator wrote about a plugin, what its component says of itself, and what
//! follows from both. Owns the types and their reading from JSON, which finds every mistake
//! at once; never opens a file, never parses YAML and never asks a server.
//!
//! - [`read_document`]: the Plugin document in a file; [`read_resource`]: as a custom resource.
//! - [`custom_resource_definition`]: what an API server checks of it.
//! - [`read_description`]: the answer of a component's `setup.describe`.
//! - [`resolve`]: asked and granted together, as subscriptions and limits.

mod changes;
mod component;
mod crd;
mod describe;
mod document;
mod entries;
pub mod fields;
mod limits;
mod names;
mod read;
mod resolve;
mod similar;

pub use changes::{Changes, MapEntry};
pub use crd::{PLURAL, custom_resource_definition};
pub use describe::{Description, MAX_DESCRIPTION_BYTES, read_description};
pub use document::{ComponentRef, Isolation, PluginDocument, PluginName, Replay, SubscribeEntry, Subscription};
pub use fields::Problem;
pub use limits::{AskedLimits, Limits};
pub use read::{API_VERSION, KIND, read_document, read_resource};
pub use resolve::resolve;
pub use similar::closest;

#[cfg(test)]
mod tests;
