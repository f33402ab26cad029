//! Checks that many kinds share: required, one of, not negative, unchanged, selectors.
//!
//! Owns no kind. Every check adds what is wrong to the list it is given.

use serde_json::{Value, json};

use super::names;
use crate::json::Read;
use crate::status::Cause;
pub(super) use crate::status::Causes;

pub(super) const IMMUTABLE: &str = "field is immutable";

/// The member must be there and not empty; whether it is.
pub(super) fn required(holder: &Value, name: &str, path: &str, out: &mut Causes) -> bool {
    let there = !holder.at(name).is_void();
    if !there {
        out.push(Cause::required(join(path, name), ""));
    }
    there
}

/// The member, if it is there, must be one of these.
pub(super) fn one_of(holder: &Value, name: &str, path: &str, known: &[&str], out: &mut Causes) {
    let value = holder.at(name);
    if !value.is_void() && !value.as_str().is_some_and(|text| known.contains(&text)) {
        out.push(Cause::not_supported(join(path, name), value, known));
    }
}

/// The member, if it is there, must have this format.
pub(super) fn format(holder: &Value, name: &str, path: &str, format: names::Format, out: &mut Causes) {
    let text = holder.text(name);
    if !text.is_empty() {
        invalid_all(&join(path, name), &json!(text), format(text), out);
    }
}

/// One cause for each thing that is wrong with a value.
pub(super) fn invalid_all(field: &str, value: &Value, wrong: Vec<String>, out: &mut Causes) {
    out.extend(wrong.iter().map(|why| Cause::invalid(field, value, why)));
}

/// The members, if they are there, must not be negative.
pub(super) fn not_negative(holder: &Value, names: &[&str], path: &str, out: &mut Causes) {
    at_least(holder, names, 0, path, out);
}

/// The members, if they are there, must be at least this.
pub(super) fn at_least(holder: &Value, names: &[&str], least: i64, path: &str, out: &mut Causes) {
    for name in names {
        if let Some(number) = holder.int(name).filter(|number| *number < least) {
            let why = match least {
                1 => "must be greater than 0".to_owned(),
                least => format!("must be greater than or equal to {least}"),
            };
            out.push(Cause::invalid(join(path, name), &json!(number), &why));
        }
    }
}

/// The members must be what they were.
pub(super) fn unchanged(new: &Value, old: &Value, names: &[&str], path: &str, out: &mut Causes) {
    for name in names {
        if !same(new.at(name), old.at(name)) {
            out.push(Cause::invalid(join(path, name), new.at(name), IMMUTABLE));
        }
    }
}

/// An amount of pods: an integer that is not negative, or a percentage.
pub(super) fn int_or_percent(holder: &Value, name: &str, path: &str, out: &mut Causes) {
    let value = holder.at(name);
    let why = match value {
        Value::Null => return,
        Value::String(text) => {
            match text.strip_suffix('%').filter(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())) {
                Some(_) => return,
                None => {
                    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
                }
            }
        }
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => "must be greater than or equal to 0",
        Value::Number(_) => return,
        _ => "must be an integer or percentage (e.g '5%%')",
    };
    out.push(Cause::invalid(join(path, name), value, why));
}

/// Keys and values of a map of labels.
pub(super) fn labels(map: &Value, path: &str, out: &mut Causes) {
    for (key, value) in map.as_object().into_iter().flatten() {
        invalid_all(path, &json!(key), names::qualified(key), out);
        invalid_all(path, value, names::label_value(value.as_str().unwrap_or_default()), out);
    }
}

/// A LabelSelector's own rules.
pub(super) fn label_selector(selector: &Value, path: &str, out: &mut Causes) {
    labels(selector.at("matchLabels"), &join(path, "matchLabels"), out);
    for (index, expression) in selector.list("matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = expression.list("values");
        match expression.text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                out.push(Cause::required(join(&path, "values"), "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                out.push(Cause::forbidden(join(&path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
            }
            "Exists" | "DoesNotExist" => {}
            _ => out.push(Cause::invalid(join(&path, "operator"), expression.at("operator"), "not a valid selector operator")),
        }
        invalid_all(&join(&path, "key"), expression.at("key"), names::qualified(expression.text("key")), out);
    }
}

/// Whether a LabelSelector matches labels. An absent one matches nothing, an empty one everything.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    selector.is_object()
        && selector.entries("matchLabels").all(|(key, value)| labels.get(key) == Some(value))
        && selector.list("matchExpressions").iter().all(|expression| {
            let found = labels.get(expression.text("key"));
            let listed = found.is_some_and(|found| expression.list("values").contains(found));
            match expression.text("operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

/// Whether two values mean the same: what is absent, null or empty is alike, as in Kubernetes' semantic equality.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            left.iter().all(|(name, value)| same(value, b.at(name)))
                && right.iter().all(|(name, value)| left.contains_key(name) || same(value, &Value::Null))
        }
        (Value::Array(left), Value::Array(right)) => left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b)),
        (Value::Object(members), void) | (void, Value::Object(members)) if void.is_void() => {
            members.values().all(|value| same(value, void))
        }
        (a, b) => a == b || (a.is_void() && b.is_void()),
    }
}

/// `path.name`, or the name alone at the root.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_absent_are_the_same() {
        let cases = [
            (json!({"a": null}), json!({}), true),
            (json!({"a": []}), json!({"a": null}), true),
            (json!({"a": {"b": {}}}), json!({"a": {}}), true),
            (json!({"a": {"b": null}}), json!({}), true),
            (json!({}), json!({"a": 1}), false),
            (json!({"a": false}), json!({}), false),
            (json!([{"a": 1}]), json!([{"a": 1, "b": ""}]), true),
            (json!([1, 2]), json!([2, 1]), false),
        ];
        for (a, b, expected) in cases {
            assert_eq!((same(&a, &b), same(&b, &a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn selectors_match() {
        let labels = json!({"a": "1"});
        let expression =
            |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let cases = [
            (json!(null), false),
            (json!({}), true),
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "2"}}), false),
            (expression("a", "In", json!(["1", "2"])), true),
            (expression("b", "In", json!(["1"])), false),
            (expression("b", "NotIn", json!(["1"])), true),
            (expression("a", "Exists", json!([])), true),
            (expression("a", "DoesNotExist", json!([])), false),
        ];
        for (selector, expected) in cases {
            assert_eq!(matches(&selector, &labels), expected, "{selector}");
        }
    }
}
