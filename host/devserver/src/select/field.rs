//! Field selectors: `=`, `==`, `!=` over the fields that the kind knows.
//!
//! Owns the grammar of `fieldSelector`, escapes included, and its errors. Parses an object only if it must.

use serde_json::Value;

use super::fields::{Field, KindFields};
use crate::kind::{Resource, Schema};
use crate::status::Status;
use crate::store::Stored;

/// A parsed field selector; the empty one matches everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: Place,
    /// `!=`.
    differs: bool,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Name,
    Namespace,
    Inside(Field),
}

impl FieldSelector {
    /// Reads a selector of objects of a resource.
    ///
    /// # Errors
    /// 400 with the text that the real server gives, also for a field that the kind does not know.
    pub(crate) fn parse(text: &str, resource: &Resource) -> Result<Self, Status> {
        Self::resolve(split(text)?, resource)
    }

    /// Reads a selector's grammar only; the fields are looked up later.
    pub(crate) fn check(text: &str) -> Result<(), Status> {
        split(text).map(drop)
    }

    /// True if everything matches.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object is selected. Parses it only if a field outside of metadata.name and metadata.namespace is asked for.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        let mut parsed: Option<Value> = None;
        self.terms.iter().all(|term| {
            let equal = match &term.field {
                Place::Name => *object.name == *term.value,
                Place::Namespace => *object.namespace == *term.value,
                Place::Inside(field) => {
                    let value = parsed.get_or_insert_with(|| object.value("", ""));
                    field.of(value) == term.value
                }
            };
            equal != term.differs
        })
    }

    /// The only name that can match, if the selector says one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.terms.iter().find(|term| term.field == Place::Name && !term.differs).map(|term| &*term.value)
    }

    /// The selector of one object.
    pub(crate) fn of_name(name: &str) -> Self {
        Self { terms: vec![Term { field: Place::Name, differs: false, value: name.to_owned() }] }
    }

    fn resolve(terms: Vec<(&str, bool, String)>, resource: &Resource) -> Result<Self, Status> {
        let terms = terms
            .into_iter()
            .map(|(label, differs, value)| Ok(Term { field: place(label, resource).map_err(Status::bad_request)?, differs, value }))
            .collect::<Result<_, Status>>()?;
        Ok(Self { terms })
    }
}

/// What `label` means for this resource, or the real server's text for one that it does not know.
fn place(label: &str, resource: &Resource) -> Result<Place, String> {
    if label == "metadata.name" {
        return Ok(Place::Name);
    }
    let own = KindFields::of(&resource.group, &resource.kind);
    // Kinds that name their fields refuse a namespace where there is none; the others take it, and it is empty.
    let general = own.is_none() && !resource.is_custom();
    if label == "metadata.namespace" && (resource.namespaced || general) {
        return Ok(Place::Namespace);
    }
    let found = match &resource.schema {
        Schema::Custom(version) => {
            version.selectable.iter().find(|path| path.trim_start_matches('.') == label).map(|path| Field::custom(path))
        }
        Schema::Builtin(_) => own.and_then(|fields| fields.find(label)),
    };
    match found {
        Some(field) => Ok(Place::Inside(field)),
        None if general => Err(format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")),
        None => Err(format!("field label not supported: {label}")),
    }
}

/// Field, whether it shall differ, and the value without escapes, in the order of the text of the terms (so that of several errors the
/// same one is told as by the real server).
fn split(text: &str) -> Result<Vec<(&str, bool, String)>, Status> {
    let mut parts = split_terms(text);
    parts.sort_unstable();
    let mut terms = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let Some((label, differs, value)) = split_term(part) else {
            return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'")));
        };
        terms.push((label, differs, unescape(value).map_err(Status::bad_request)?));
    }
    Ok(terms)
}

/// The parts between commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c| {
        let here = escaped;
        escaped = !here && c == '\\';
        c == ',' && !here
    })
    .collect()
}

/// Splits at the first operator.
fn split_term(part: &str) -> Option<(&str, bool, &str)> {
    part.char_indices().find_map(|(at, _)| {
        let (label, rest) = part.split_at(at);
        [("!=", true), ("==", false), ("=", false)]
            .into_iter()
            .find_map(|(operator, differs)| rest.strip_prefix(operator).map(|value| (label, differs, value)))
    })
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(format!("invalid field selector: invalid escape sequence: \\{other}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            // The real server prints the number of the character.
            ',' | '=' => return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c))),
            other => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
