//! Scenarios: what happens in a cluster, step by step, and which guest calls follow.
//!
//! `model` is the language, `run` plays one scenario from start to end, `steps` says what
//! each step does (`resources` those about custom resources), `expect` compares, and
//! `plugins_folder` is the folder that the host reads.

mod beside;
mod expect;
mod model;
mod plugins_folder;
mod resources;
mod run;
mod steps;

pub use model::Scenario;
pub use run::{Shared, play};
