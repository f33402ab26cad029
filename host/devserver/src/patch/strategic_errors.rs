//! What a strategic merge patch is refused with, in the real server's words: values are printed as Go prints them.

use serde_json::{Map, Value};

use crate::status::Status;

/// 500: an item of a keyed list without its key.
pub(super) fn no_merge_key(item: &Map<String, Value>, key: &str) -> Status {
    Status::server_error(format!("map: {} does not contain declared merge key: {key}", go_map(item)))
}

/// 500: a `$patch` that is not known there.
pub(super) fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> Status {
    Status::server_error(format!("unknown patch type: {} in map: {}", go_text(directive), go_map(patch)))
}

/// 500: a value of another kind than needed.
pub(super) fn bad_kind(expected: &str, got: &Value) -> Status {
    Status::server_error(format!("expected a {expected}, but received a {}", go_kind(got)))
}

/// 400: the whole patch is no object.
pub(super) fn no_map(patch: &Value) -> Status {
    let kind = match patch {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Null | Value::Object(_) => "null",
    };
    Status::bad_request(format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"))
}

/// 400.
pub(super) fn primitive_list() -> Status {
    Status::bad_request("invalid patch format of primitive list")
}

/// 400.
pub(super) fn retain_keys() -> Status {
    Status::bad_request("invalid patch format of retainKeys")
}

/// 400.
pub(super) fn element_order() -> Status {
    Status::bad_request("invalid patch format of setElementOrder list")
}

/// 422: a list in a list that is to be merged.
pub(super) fn list_of_lists() -> Status {
    let mut status = Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
    status.details = Some(Map::new());
    status
}

/// The name of the Go type that the value has after decoding.
pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A list in Go's `%v`.
pub(super) fn go_list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
}

fn go_map(members: &Map<String, Value>) -> String {
    format!("map[{}]", members.iter().map(|(name, value)| format!("{name}:{}", go_text(value))).collect::<Vec<_>>().join(" "))
}

fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => go_list(items),
        Value::Object(members) => go_map(members),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_in_go() {
        assert_eq!(go_text(&json!({"b": [1, "x", null], "a": {"c": true}})), "map[a:map[c:true] b:[1 x <nil>]]");
    }
}
