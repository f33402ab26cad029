//! Flag over environment over file over default. Owns which value wins and the file's type;
//! every mistake of every layer is noted, also where another layer wins. What a value may
//! be is said by whoever picks it.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wharf_core::Reason;
use wharf_core::plugin::fields::{Node, Problems, excerpt};

use super::document::DocumentError;
use super::origins::{Origin, Origins};
use super::problem::LocatedProblem;
use super::settings::{Layer, SETTINGS, Setting};
use super::way::Secret;
use super::yaml::{self, Loaded, Place};

/// The `apiVersion` of the file.
pub(super) const API_VERSION: &str = "config.wharf.dev/v1alpha1";
/// The `kind` of the file.
pub(super) const KIND: &str = "HostConfiguration";
/// The secret's own flag and environment variable, by the rule of the table.
const TOKEN_FLAG: &str = "--token";
const TOKEN_ENV: &str = "WHARF_TOKEN";

/// All mistakes in the host's configuration.
#[derive(Clone, Debug, thiserror::Error)]
pub struct ConfigError {
    /// Those of the file.
    pub file: Option<DocumentError>,
    /// Those of flags and environment, a text each.
    pub others: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.iter().map(ToString::to_string);
        let all: Vec<String> = file.chain(self.others.iter().cloned()).collect();
        f.write_str(&all.join("\n"))
    }
}

/// The layers while they are read.
pub(super) struct Layers<'e> {
    flags: Layer,
    env: &'e dyn Fn(&str) -> Option<String>,
    file: File,
    problems: Problems,
    origins: Origins,
}

impl<'e> Layers<'e> {
    /// Reads the file, blocking, and checks which fields it has.
    pub(super) fn new(flags: Layer, env: &'e dyn Fn(&str) -> Option<String>, file: Option<PathBuf>) -> Self {
        let file = file.map(File::read).unwrap_or_default();
        Self { flags, env, file, problems: Problems::new(Reason::HostConfigInvalid), origins: Origins::default() }
    }

    /// Reads a setting in every layer that has it; the uppermost one wins. `None` where it
    /// is wrong, or has no value at all.
    pub(super) fn pick<T>(&mut self, path: &str, read: impl Fn(&Node<'_>, &mut Problems) -> Option<T>) -> Option<T> {
        let setting = SETTINGS.iter().find(|s| s.path == path)?;
        let pointer = setting.pointer();
        let in_file = self.file.value.as_ref().and_then(|value| value.pointer(&pointer));
        let from_file = in_file.map(|value| {
            let line = self.file.places.locate(&pointer).0;
            let origin = Origin::File { path: self.file.path.clone(), line };
            (read(&Node::new(pointer, value), &mut self.file.found), value.clone(), origin)
        });
        let flag = self.flags.get(setting);
        let from_flag = flag.and_then(|given| self.read_given(setting.flag.unwrap_or(setting.path), given, Origin::Flag, &read));
        let variable = (self.env)(setting.env).filter(|text| !text.is_empty());
        let from_env = variable.and_then(|text| self.read_given(setting.env, setting.shape.read(&text), Origin::Env, &read));
        let default = setting.default.map(|text| setting.shape.read(text));
        let given = from_flag.or(from_env).or(from_file);
        let picked = given.or_else(|| default.and_then(|given| self.read_given(setting.path, given, Origin::Default, &read)));
        let (value, text, origin) = picked.map_or((None, None, Origin::Default), |(value, text, origin)| (value, Some(text), origin));
        self.origins.push(setting, text, origin);
        value
    }

    /// The token: from the flag, else from the environment, never from the file.
    pub(super) fn token(&mut self) -> Option<Secret> {
        let env = || (self.env)(TOKEN_ENV).filter(|text| !text.is_empty()).map(Secret::from);
        let (token, origin) = match self.flags.token.clone() {
            Some(token) => (Some(token), TOKEN_FLAG),
            None => (env(), TOKEN_ENV),
        };
        let good = |secret: &Secret| !secret.expose().is_empty() && secret.expose().chars().all(|c| c.is_ascii_graphic());
        if token.as_ref().is_some_and(|token| !good(token)) {
            // The value is not shown: most of a mistyped secret is still one.
            let hint = "a token is one word of ASCII; a file with one is given by --token-file";
            self.problems.invalid(origin, "the token is empty, or has characters that no token has".to_owned(), hint);
            return None;
        }
        if token.is_some() {
            self.origins.set_token(origin);
        }
        token
    }

    fn read_given<T>(
        &mut self,
        name: &str,
        given: Result<Value, String>,
        origin: Origin,
        read: impl Fn(&Node<'_>, &mut Problems) -> Option<T>,
    ) -> Option<(Option<T>, Value, Origin)> {
        match given {
            Ok(value) => Some((read(&Node::new(name, &value), &mut self.problems), value, origin)),
            Err(message) => {
                self.problems.invalid(name, message, "");
                None
            }
        }
    }

    /// A default that follows from other settings, read like one that was given.
    pub(super) fn derive<T>(
        &mut self,
        path: &'static str,
        value: Value,
        read: impl Fn(&Node<'_>, &mut Problems) -> Option<T>,
    ) -> Option<T> {
        let derived = read(&Node::new(path, &value), &mut self.problems);
        self.origins.set_derived(path, value);
        derived
    }

    /// Notes that a setting cannot go with another one, wherever both come from.
    pub(super) fn contradict(&mut self, path: &str, message: String, hint: String) {
        self.problems.invalid(path, message, hint);
    }

    /// Where everything comes from.
    ///
    /// # Errors
    /// All that was found wrong.
    pub(super) fn finish(self) -> Result<Origins, ConfigError> {
        let File { path, places, mut problems, found, .. } = self.file;
        problems.extend(found.into_list().into_iter().map(|problem| LocatedProblem::new(problem, &places)));
        problems.sort_by_key(|p| (p.line, p.column));
        let others = self
            .problems
            .into_list()
            .into_iter()
            .map(|problem| if problem.hint.is_empty() { problem.to_string() } else { format!("{problem}\n  hint: {}", problem.hint) });
        let others: Vec<_> = others.collect();
        if problems.is_empty() && others.is_empty() {
            return Ok(self.origins);
        }
        let file = (!problems.is_empty()).then_some(DocumentError { file: path, name: None, problems });
        Err(ConfigError { file, others })
    }
}

/// The file as far as it could be read.
struct File {
    path: PathBuf,
    value: Option<Value>,
    places: Place,
    /// What is wrong with it as YAML.
    problems: Vec<LocatedProblem>,
    /// What is wrong with its fields.
    found: Problems,
}

impl Default for File {
    fn default() -> Self {
        let found = Problems::new(Reason::HostConfigInvalid);
        Self { path: PathBuf::new(), value: None, places: Place::default(), problems: Vec::new(), found }
    }
}

impl File {
    fn read(path: PathBuf) -> Self {
        let mut file = Self { path, ..Self::default() };
        match read_text(&file.path) {
            Err(error) => file.found.invalid("", format!("cannot be read: {error}"), ""),
            Ok(text) => {
                let mut documents = yaml::load(&text, Reason::HostConfigInvalid);
                if documents.len() != 1 {
                    let message = format!("{} documents in the file", documents.len());
                    file.found.invalid("", message, format!("write one, of apiVersion {API_VERSION} and kind {KIND}"));
                }
                if let Some(Loaded { value, places, problems }) = documents.drain(..).next() {
                    (file.value, file.places, file.problems) = (value, places, problems);
                    file.check_type();
                }
            }
        }
        file
    }

    /// Type and unknown fields.
    fn check_type(&mut self) {
        let Some(value) = &self.value else { return };
        check_shape(&Node::new("", value), "", &mut self.found);
        for (field, want) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            let at = format!("/{field}");
            match value.get(field).map(Value::as_str) {
                Some(Some(text)) if text == want => {}
                Some(Some(text)) => {
                    self.found.invalid(&at, format!("{field} {} is not known here", excerpt(text)), format!("known: {want}"));
                }
                _ => self.found.invalid(&at, format!("{field} is missing"), format!("add {field}: {want}")),
            }
        }
    }
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    // One byte more than allowed is enough to see that it is too much.
    std::fs::File::open(path)?.take(yaml::MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Notes fields that no setting has, at every level.
fn check_shape(node: &Node<'_>, prefix: &str, problems: &mut Problems) {
    let mut known: Vec<&str> = if prefix.is_empty() { vec!["apiVersion", "kind"] } else { Vec::new() };
    let below = |s: &'static Setting| s.path.strip_prefix(prefix);
    known.extend(SETTINGS.iter().filter_map(below).filter_map(|rest| rest.split('.').next()));
    known.dedup();
    let Some(object) = node.object(&known, &[], problems) else { return };
    for group in known {
        let prefix = format!("{prefix}{group}.");
        if let Some(node) = object.get(group)
            && SETTINGS.iter().any(|s| s.path.starts_with(&prefix))
        {
            check_shape(&node, &prefix, problems);
        }
    }
}
