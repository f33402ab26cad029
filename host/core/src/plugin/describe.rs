//! What a component says of itself in `setup.describe`, read from its JSON text. Owns the
//! fields and their caps; every text in it was written by the guest and is checked here.

use std::sync::Arc;

use serde_json::Value;

use super::document::SubscribeEntry;
use super::entries::{self, Author};
use super::fields::{Node, Object, Problem, Problems, excerpt};
use super::limits::AskedLimits;
use super::names::is_camel_case;
use crate::Reason;

/// A longer description is refused, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 256 << 10;
const MAX_REASONS: usize = 16;
const MAX_REASON_BYTES: usize = 64;
const MAX_NAME_CHARS: usize = 128;

/// What a component says of itself (`setup.describe`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Its own name, for people: one line of at most 128 characters.
    pub name: String,
    /// Its own version, likewise.
    pub version: String,
    /// Failure reasons that count by themselves in metrics; at most 16.
    pub reasons: Vec<Arc<str>>,
    /// What it asks for; at most 32, each of another kind.
    pub subscribe: Vec<SubscribeEntry>,
    /// Limits that it would like; a document's own win.
    pub limits: AskedLimits,
}

/// Reads a description. Only `name` and `version` must be there.
///
/// # Errors
/// All problems at once, with the reason `DescribeFailed`, or `NotSupported` for what this
/// version does not have.
pub fn read_description(json: &str) -> Result<Description, Vec<Problem>> {
    let mut problems = Problems::new(Reason::DescribeFailed);
    let read = parse(json, &mut problems).and_then(|value| description(&Node::new("", &value), &mut problems));
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(problems.into_list()),
    }
}

fn parse(json: &str, problems: &mut Problems) -> Option<Value> {
    if json.len() > MAX_DESCRIPTION_BYTES {
        problems.invalid("", format!("{} bytes are too many for a description", json.len()), format!("at most {MAX_DESCRIPTION_BYTES}"));
        return None;
    }
    match serde_json::from_str(json) {
        Ok(value) => Some(value),
        Err(error) => {
            problems.invalid("", format!("describe returned no JSON: {error}"), "return one JSON object as text");
            None
        }
    }
}

fn description(node: &Node<'_>, problems: &mut Problems) -> Option<Description> {
    let object = node.object(&["name", "version", "reasons", "subscribe", "limits"], &[], problems)?;
    let name = line(&object, "name", problems);
    let version = line(&object, "version", problems);
    let reasons = object.get("reasons").map(|n| reasons(&n, problems)).unwrap_or_default();
    let subscribe = object.get("subscribe").map(|n| entries::read(&n, Author::Component, problems)).unwrap_or_default();
    let limits = object.get("limits").map(|n| AskedLimits::read(&n, problems)).unwrap_or_default();
    Some(Description { name: name?, version: version?, reasons, subscribe, limits })
}

fn line(object: &Object<'_>, field: &str, problems: &mut Problems) -> Option<String> {
    let rule = |text: &str| !text.is_empty() && text.chars().count() <= MAX_NAME_CHARS && !text.chars().any(char::is_control);
    let node = object.required(field, problems)?;
    node.checked(rule, field, "one line of 1 to 128 characters", problems).map(str::to_owned)
}

fn reasons(node: &Node<'_>, problems: &mut Problems) -> Vec<Arc<str>> {
    let items = node.list(MAX_REASONS, problems).unwrap_or_default();
    let hint = "CamelCase letters and digits, at most 64";
    let read: Vec<_> =
        items.iter().filter_map(|n| Some((n, n.checked(|t| is_camel_case(t, MAX_REASON_BYTES), "reason", hint, problems)?))).collect();
    for (i, (node, word)) in read.iter().enumerate() {
        if read.iter().take(i).any(|(_, earlier)| earlier == word) {
            problems.invalid(node.at(), format!("{} is there twice", excerpt(word)), "remove one");
        }
    }
    read.into_iter().map(|(_, word)| word.into()).collect()
}
