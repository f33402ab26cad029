//! The set of plugins: what is wished for, and what serves.
//!
//! A source ([`directory`]) tells which plugins there should be. The [`registry`] compares
//! that with what runs and gives each plugin a task of its own; the task stages a new
//! revision ([`stage`]) and exchanges it for the old one. The only room that mentions two
//! revisions of one plugin.

pub mod desired;
pub mod directory;
mod find;
mod identity;
pub mod registry;
pub mod stage;

pub use desired::{Desired, Refusal, Wishes};
pub use registry::{PluginState, PluginStatus, Registry};
