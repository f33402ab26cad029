//! The errors of the API: Kubernetes' `Status` of the real server's shape.
//!
//! Owns code, reason, message, details and causes, and how they are written as JSON. Knows no
//! HTTP; what a client may act on (code, reason, details, causes) is the real server's.

use serde_json::{Map, Value, json};

use crate::bounded::{Bounded, Told};

/// What is wrong with an object, as far as it is told.
pub(crate) type Causes = Bounded<Cause>;

/// A refused request. Becomes the answer's body and code.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// A machine-readable reason such as `NotFound`; empty where the real server gives none.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// What it is about: `name`, `group`, `kind`, `uid`, `causes`, `retryAfterSeconds`.
    pub details: Option<Map<String, Value>>,
    /// A continue token to go on with, for an expired one.
    pub continue_token: Option<String>,
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cause {
    /// For example `FieldValueRequired`.
    pub(crate) reason: &'static str,
    /// What a person reads, without the field.
    pub(crate) message: String,
    /// The path of the field, for example `spec.containers[0].name`.
    pub(crate) field: String,
}

impl Told for Cause {
    fn bytes(&self) -> usize {
        self.message.len().saturating_add(self.field.len())
    }
}

impl Cause {
    /// A field that must be there is not.
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    /// A value that is not right. `value` is printed as Go's validation does: strings quoted, numbers plain.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {}: {why}", print(value)), field: field.into() }
    }

    /// A value of a type that the field does not have.
    pub(crate) fn type_invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self { reason: "FieldValueTypeInvalid", message: format!("Invalid value: {}: {why}", print(value)), field: field.into() }
    }

    /// A value that is none of those that are known.
    pub(crate) fn not_supported(field: impl Into<String>, value: &Value, known: &[&str]) -> Self {
        let known = known.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ");
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {}: supported values: {known}", print(value)),
            field: field.into(),
        }
    }

    /// A value that may not be given here.
    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field: field.into() }
    }

    /// A value that is there already.
    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueDuplicate", message: format!("Duplicate value: {}", print(value)), field: field.into() }
    }

    /// A value that is too long.
    pub(crate) fn too_long(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueTooLong", message: format!("Too long: {why}"), field: field.into() }
    }
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// What kind of thing a status is about; for messages and details.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The API group; empty for core.
    pub(crate) group: &'a str,
    /// The plural of storage errors (`configmaps`), or the kind of validation errors (`ConfigMap`).
    pub(crate) kind: &'a str,
}

impl About<'_> {
    /// `deployments.apps`, `configmaps`.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }

    fn details(&self, name: &str) -> Map<String, Value> {
        let mut details = Map::new();
        if !name.is_empty() {
            details.insert("name".to_owned(), json!(name));
        }
        if !self.group.is_empty() {
            details.insert("group".to_owned(), json!(self.group));
        }
        details.insert("kind".to_owned(), json!(self.kind));
        details
    }
}

impl Status {
    /// A refusal of any code and reason, without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: None }
    }

    /// 400: the request cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404: no such object.
    pub(crate) fn not_found(about: About<'_>, name: &str) -> Self {
        let mut status = Self::new(404, "NotFound", format!("{} {name:?} not found", about.qualified()));
        status.details = Some(about.details(name));
        status
    }

    /// 404: a served version does not have such a resource or subresource.
    pub(crate) fn no_resource() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(Map::new());
        status
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let mut status = Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        status.details = Some(Map::new());
        status
    }

    /// 409: the name is taken.
    pub(crate) fn already_exists(about: About<'_>, name: &str) -> Self {
        let mut status = Self::new(409, "AlreadyExists", format!("{} {name:?} already exists", about.qualified()));
        status.details = Some(about.details(name));
        status
    }

    /// 409: somebody else was faster, or a precondition does not hold.
    pub(crate) fn conflict(about: About<'_>, name: &str, why: &str) -> Self {
        let mut status = Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {} {name:?}: {why}", about.qualified()));
        status.details = Some(about.details(name));
        status
    }

    /// 403: the object may not be written so.
    pub(crate) fn forbidden(about: About<'_>, name: &str, why: &str) -> Self {
        let what = if name.is_empty() { about.qualified() } else { format!("{} {name:?}", about.qualified()) };
        let mut status = Self::new(403, "Forbidden", format!("{what} is forbidden: {why}"));
        status.details = Some(about.details(name));
        status
    }

    /// 422: the object breaks rules; of very many causes the first are told. `about.kind` is the Kind, not the plural.
    pub(crate) fn invalid(about: About<'_>, name: &str, causes: &[Cause]) -> Self {
        let mut told = Bounded::default();
        told.extend(causes);
        let causes = told;
        let texts: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let all = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut status = Self::new(422, "Invalid", format!("{} {name:?} is invalid: {all}", about.qualified()));
        let mut details = about.details(name);
        let causes = causes.iter().map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field})).collect();
        details.insert("causes".to_owned(), Value::Array(causes));
        status.details = Some(details);
        status
    }

    /// 410: the version asked for has left the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 500 without a reason, as the real server answers some bad requests.
    pub(crate) fn server_error(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The body of the answer.
    pub(crate) fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), json!(token));
        }
        let mut body = json!({"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": self.message, "code": self.code});
        if let Value::Object(body) = &mut body {
            if !self.reason.is_empty() {
                body.insert("reason".to_owned(), json!(self.reason));
            }
            if let Some(details) = &self.details {
                body.insert("details".to_owned(), Value::Object(details.clone()));
            }
        }
        body
    }

    /// Seconds after which a client may try again, as details and header say.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }

    /// Adds `retryAfterSeconds`.
    #[must_use]
    pub(crate) fn retry_in(mut self, seconds: u64) -> Self {
        self.details.get_or_insert_with(Map::new).insert("retryAfterSeconds".to_owned(), json!(seconds));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::{MOST, MOST_BYTES};

    #[test]
    fn refusals_tell_all_causes_unless_there_are_too_many() {
        let causes = |count: usize| vec![Cause::required("spec.a", ""); count];
        let about = About { group: "", kind: "Pod" };
        let one = Status::invalid(about, "p", &causes(1));
        assert_eq!(one.to_string(), "Pod \"p\" is invalid: spec.a: Required value");
        for (count, told) in [(2, 2), (MOST, MOST), (100_000, MOST)] {
            let status = Status::invalid(about, "p", &causes(count));
            assert_eq!(status.details.unwrap()["causes"].as_array().map(Vec::len), Some(told));
            assert_eq!(status.message.matches("Required").count(), told);
        }
        let long = vec![Cause::required("x".repeat(MOST_BYTES / 10), ""); 100];
        assert!(Status::invalid(about, "p", &long).message.len() < 2 * MOST_BYTES);
    }
}
