//! The annotation of client-side apply, from which `kubectl apply --server-side` takes over.
//!
//! Owns the two rules that the real server has for the manager `kubectl`: no conflicts about fields that still have the value of the
//! annotation, and an annotation that follows what is applied.

use serde_json::{Value, json};

use super::Writer;
use super::compare::Comparison;
use super::fields::FieldSet;
use super::typed::field_set;
use crate::patch::{MAX_DEPTH, Structure, deeper_than};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager that the rules are for.
const KUBECTL: &str = "kubectl";

/// Fields that the writer may take though others own them.
pub(super) fn allowed<S: Structure>(live: &Value, place: S, writer: Writer<'_>) -> FieldSet {
    let config =
        Some(live).filter(|_| writer.manager == KUBECTL).and_then(annotation).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(config) = config.filter(|config| config.get("apiVersion").and_then(Value::as_str) == Some(writer.api_version)) else {
        return FieldSet::default();
    };
    if deeper_than(&config, MAX_DEPTH) {
        return FieldSet::default();
    }
    let change = Comparison::of(&config, live, place);
    field_set(&config, Some(place)).difference(&change.modified).difference(&change.added).difference(&change.removed)
}

/// Writes the configuration into the annotation of the merged object, if it has one.
pub(super) fn update(merged: &mut Value, config: &Value, writer: Writer<'_>) {
    if writer.manager != KUBECTL || annotation(merged).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    if let Some(Value::Object(annotations)) = merged.pointer_mut("/metadata/annotations") {
        annotations.insert(ANNOTATION.to_owned(), json!(format!("{config}\n")));
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()
}
