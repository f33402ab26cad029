//! CustomResourceDefinitions: their validation and conditions, and what a version of one says about its objects.
//!
//! Owns pruning, defaulting and validation by a structural schema, and CEL rules. Never stores anything.

mod cel;
mod definition;
mod format;
mod limits;
mod names;
mod pattern;
mod prune;
mod rules;
mod schema;
mod structural;
mod validate;
mod verify;

use std::sync::Arc;

use serde_json::Value;

use crate::kind::Resource;
use crate::status::Cause;
use crate::table::Path;

pub(crate) use definition::{group, serves_the_same, storage};
pub(crate) use names::{Names, Taken, is_settled};
pub(crate) use schema::CustomSchema;

/// One served version of a definition, compiled.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    /// What its objects look like.
    pub(crate) schema: CustomSchema,
    /// `additionalPrinterColumns`, as written.
    pub(crate) columns: Vec<Value>,
    /// JSON paths of `selectableFields`, e.g. `.spec.color`.
    pub(crate) selectable: Vec<String>,
    /// `subresources.scale`, as written.
    pub(crate) scale: Option<Value>,
    /// `openAPIV3Schema`, as written.
    pub(crate) raw_schema: Value,
}

/// What a definition object serves: one resource per served version, the preferred first, once it is established (before that,
/// nothing). Compiles its schemas and rules.
///
/// # Errors
/// Rules that do not compile; a definition that [`validate_definition`] accepted has none.
pub(crate) fn resources(definition: &Value) -> Result<Vec<Arc<Resource>>, Vec<Cause>> {
    definition::resources(definition)
}

/// Defaults of the definition object itself: names.singular, listKind, conversion; and the status of one that is not
/// established yet, where it has none. A new storage version is added to status.storedVersions.
pub(crate) fn prepare(definition: &mut Value) {
    definition::prepare(definition);
}

/// All that is wrong with a definition; `old` for an update.
pub(crate) fn validate_definition(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    verify::definition(definition, old, &|path| Path::parse(path).map(drop))
}

/// Writes acceptedNames, storedVersions and the conditions NamesAccepted and Established into the definition's status. A name that is
/// `taken` is not given. `now` is a time as objects have it.
pub(crate) fn establish(definition: &mut Value, taken: &Taken<'_>, now: &str) {
    names::accept(definition, taken, now);
}

/// Reads a custom object: prunes unknown fields (their paths are returned), fills defaults.
pub(crate) fn prune_and_default(version: &CustomVersion, object: &mut Value) -> Vec<String> {
    let gone = prune::prune(&version.schema, object);
    prune::fill(&version.schema, object);
    gone
}

/// All that is wrong with a custom object; CEL rules only if its structure is right. `old` for an update (transition rules;
/// a value that has not changed is not refused for what it was before).
pub(crate) fn validate(version: &CustomVersion, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = validate::structure(&version.schema, object, old);
    if !version.schema.has_rules() {
        return causes.into_vec();
    }
    let blocking = ["FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"];
    if causes.iter().any(|cause| blocking.contains(&cause.reason)) {
        let why =
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        causes.push(Cause::invalid("<nil>", &Value::Null, why));
    } else {
        causes.extend(rules::check(&version.schema, object, old));
    }
    causes.into_vec()
}

#[cfg(test)]
mod tests;
