//! The values that a schema is made of: texts, words, durations, quantities, lists of namespaces.
//! Owns how a rule of the reader becomes part of a schema; knows no field.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};

use super::rule::{self, naming};
use crate::plugin::entries::{
    ALL_BESIDE_OTHERS, ALL_BESIDE_OTHERS_HINT, API_VERSION_HINT, KIND_HINT, MAX_NAMESPACES, NAMESPACES_EMPTY, NAMESPACES_EMPTY_HINT,
};
use crate::plugin::fields::{BYTES_HINT, DURATION_HINT, MAX_QUANTITY};
use crate::plugin::names::{LABEL_HINT, MAX_KIND, MAX_LABEL, MAX_SUBDOMAIN, SUBDOMAIN_HINT};
use crate::quantity::{format_bytes, format_duration};

/// A group or prefix, a slash and a label.
pub(super) const MAX_QUALIFIED: usize = MAX_SUBDOMAIN + 1 + MAX_LABEL;

/// An object with fields.
pub(super) fn object(description: &str, required: &[&str], properties: Value, rules: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "description": description, "properties": properties});
    add(&mut schema, "required", required.to_vec().into(), required.is_empty());
    with_rules(schema, rules)
}

/// A text of at most so many characters.
pub(super) fn text(description: &str, max: usize, rules: Vec<Value>) -> Value {
    with_rules(json!({"type": "string", "description": description, "maxLength": max}), rules)
}

/// A text that follows a pattern; `what` it is no good as otherwise.
pub(super) fn checked(description: &str, max: usize, pattern: &str, what: &str, hint: &str) -> Value {
    text(description, max, vec![naming(&rule::matches("self", &rule::whole(pattern)), "self", &format!("is no {what}"), hint)])
}

/// The same for a text that has at most one slash, and a DNS-1123 subdomain before it.
pub(super) fn qualified(description: &str, pattern: &str, what: &str, hint: &str) -> Value {
    let holds = format!("{} && self.indexOf('/') <= {MAX_SUBDOMAIN}", rule::matches("self", &rule::whole(pattern)));
    text(description, MAX_QUALIFIED, vec![naming(&holds, "self", &format!("is no {what}"), hint)])
}

/// A DNS-1123 label.
pub(super) fn label(description: &str) -> Value {
    checked(description, MAX_LABEL, rule::LABEL, "name", LABEL_HINT)
}

/// A DNS-1123 subdomain.
pub(super) fn subdomain(description: &str) -> Value {
    checked(description, MAX_SUBDOMAIN, &rule::subdomain(), "name", SUBDOMAIN_HINT)
}

/// `apiVersion` of a kind.
pub(super) fn api_version(description: &str) -> Value {
    qualified(description, &rule::api_version(), "apiVersion", API_VERSION_HINT)
}

/// `kind` of a kind.
pub(super) fn kind(description: &str) -> Value {
    checked(description, MAX_KIND, rule::KIND, "kind", KIND_HINT)
}

/// One of some words.
pub(super) fn word<T>(description: &str, words: &[(&str, T)]) -> Value {
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    json!({"type": "string", "description": description, "enum": words})
}

/// Some of some words, none of them twice.
pub(super) fn words(description: &str, words: &[&str], rules: Vec<Value>) -> Value {
    let items = json!({"type": "string", "enum": words});
    let list = json!({
        "type": "array", "description": description, "maxItems": words.len(), "x-kubernetes-list-type": "set", "items": items,
    });
    with_rules(list, rules)
}

/// True or false.
pub(super) fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// A duration, of any length or within a range.
pub(super) fn duration(description: &str, range: &RangeInclusive<Duration>) -> Value {
    let ends = format_duration(*range.start())..=format_duration(*range.end());
    let rules = rule::within("self", rule::DURATION, "duration(SELF) ORDER duration('END')", &ends, "duration", DURATION_HINT);
    text(description, MAX_QUANTITY, rules)
}

/// Is a text, given as an expression, a duration?
pub(super) fn is_duration(text: &str) -> String {
    rule::matches(text, &rule::whole(rule::DURATION))
}

/// A quantity within a range; a number stands for bytes.
pub(super) fn bytes(description: &str, range: &RangeInclusive<u64>) -> Value {
    let ends = format_bytes(*range.start())..=format_bytes(*range.end());
    let read = "quantity(SELF).compareTo(quantity('END')) ORDER 0";
    let rules = rule::within("string(self)", rule::BYTES, read, &ends, "quantity", BYTES_HINT);
    let schema = json!({
        "description": description, "x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": MAX_QUANTITY,
    });
    with_rules(schema, rules)
}

/// Namespaces, or `["*"]`.
pub(super) fn namespaces(description: &str) -> Value {
    let good = format!("self == '*' || {}", rule::matches("self", &rule::whole(rule::LABEL)));
    let item = with_rules(json!({"type": "string", "maxLength": MAX_LABEL}), vec![naming(&good, "self", "is no namespace", LABEL_HINT)]);
    let list = json!({
        "type": "array", "description": description, "maxItems": MAX_NAMESPACES, "x-kubernetes-list-type": "set", "items": item,
    });
    let rules = vec![
        rule::rule("size(self) > 0", NAMESPACES_EMPTY, NAMESPACES_EMPTY_HINT),
        rule::rule("!('*' in self) || size(self) == 1", ALL_BESIDE_OTHERS, ALL_BESIDE_OTHERS_HINT),
    ];
    with_rules(list, rules)
}

/// A schema with rules.
pub(super) fn with_rules(mut schema: Value, rules: Vec<Value>) -> Value {
    let none = rules.is_empty();
    add(&mut schema, "x-kubernetes-validations", rules.into(), none);
    schema
}

fn add(schema: &mut Value, field: &str, value: Value, not: bool) {
    if let (Value::Object(fields), false) = (schema, not) {
        fields.insert(field.to_owned(), value);
    }
}
