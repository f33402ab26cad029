//! What people wrote, read: Plugin documents and the host's own configuration.
//!
//! Owns YAML, and the way from a mistake to its line and column. What the fields of a Plugin
//! document mean is decided in `wharf_core::plugin`.

pub mod document;
mod engine;
mod example;
pub mod host;
mod layers;
mod origins;
mod problem;
mod scalar;
mod settings;
mod way;
mod yaml;

pub use document::{DocumentError, read_documents};
pub use engine::{CompileSettings, EngineSettings};
pub use example::{environment_table, example_yaml};
pub use host::{
    CONFIG_ENV, CeilingSettings, CheckpointSettings, ClusterPlugins, ElectionSettings, FailureSettings, InformerSettings, Settings,
    control_socket, data_directory,
};
pub use layers::ConfigError;
pub use origins::{Origin, Origins};
pub use problem::LocatedProblem;
pub use settings::{Layer, SETTINGS, Setting};
pub use way::{Secret, Way};

#[cfg(test)]
mod tests;
