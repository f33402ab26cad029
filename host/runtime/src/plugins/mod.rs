//! The set of plugins: what is wished for, and what serves.
//!
//! Sources ([`directory`], [`cluster`]) tell which plugins there should be; [`sources`] makes
//! one set of that, with what is known of the components. The [`registry`] compares it with what
//! runs and gives each plugin a task of its own (`task`); the task stages a new revision
//! ([`stage`]), exchanges it for the old one, and goes back if it is worse ([`bake`]). What has
//! served is kept ([`book`], [`revisions`]). The only room that mentions two revisions of one plugin.

pub(crate) mod account;
pub mod bake;
pub mod book;
pub mod ceilings;
pub mod cluster;
pub mod component;
mod config_maps;
pub mod desired;
pub mod directory;
mod file;
mod find;
mod identity;
mod named;
pub mod order;
pub mod progress;
mod quiet;
mod record;
pub mod registry;
pub mod revisions;
mod settle;
mod shown;
pub mod sources;
pub mod stage;
mod task;
mod trial;
mod writes;

pub use desired::{Desired, Origin, Refusal, Wish, Wishes};
pub use registry::{PluginState, PluginStatus, Registry};
