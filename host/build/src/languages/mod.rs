//! How each language is built: one file each. Owns what they are given and what they give.

mod c;
mod go;
mod javascript;
mod python;
mod rust;

use std::path::Path;

use crate::error::BuildError;
use crate::language::Language;
use crate::metadata::Named;
use crate::plugin::{Options, Reproducible};
use crate::tools::Tools;
use crate::workspace::Workspace;

/// What a language is given.
pub(crate) struct Job<'a> {
    /// The plugin's folder, absolute.
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a Options,
    pub(crate) workspace: &'a Workspace,
    pub(crate) tools: &'a Tools<'a>,
    /// Hears what takes long.
    pub(crate) tell: &'a dyn Fn(&str),
}

/// What a language gives.
pub(crate) struct Made {
    /// The component, checked, still without metadata.
    pub(crate) component: Vec<u8>,
    /// The version of the language's compiler or interpreter.
    pub(crate) compiler: String,
    /// The plugin's version, where the manifest has one.
    pub(crate) version: Option<String>,
    /// The version of wharf's SDK for the language, where it can be told.
    pub(crate) sdk_version: Option<String>,
    /// What else made it.
    pub(crate) tools: Vec<Named>,
    pub(crate) reproducible: Reproducible,
    pub(crate) warnings: Vec<String>,
}

/// Builds in the given language.
pub(crate) fn build(language: Language, job: &Job<'_>) -> Result<Made, BuildError> {
    match language {
        Language::Rust => rust::build(job),
        Language::Go => go::build(job),
        Language::Python => python::build(job),
        Language::JavaScript | Language::TypeScript => javascript::build(job, language),
        Language::C => c::build(job),
    }
}

/// The warnings of a tool that is silent otherwise.
fn warnings(said: &str) -> Vec<String> {
    if said.is_empty() { Vec::new() } else { vec![said.to_owned()] }
}
