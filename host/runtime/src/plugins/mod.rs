//! The set of plugins: what is wished for, and what serves.
//!
//! A source ([`directory`]) tells which plugins there should be. The [`registry`] compares
//! that with what runs and gives each plugin a task of its own ([`task`]); the task stages a new
//! revision ([`stage`]), exchanges it for the old one, and goes back if it is worse ([`bake`]).
//! What has served is kept ([`book`], [`revisions`]). The only room that mentions two revisions of
//! one plugin.

pub mod bake;
pub mod book;
pub mod desired;
pub mod directory;
mod find;
mod identity;
mod order;
pub mod progress;
mod record;
pub mod registry;
pub mod revisions;
pub mod stage;
pub mod task;

pub use desired::{Desired, Refusal, Wishes};
pub use registry::{PluginState, PluginStatus, Registry};
