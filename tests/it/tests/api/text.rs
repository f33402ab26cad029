//! Texts behind names: `{NAME}` in strings. Braces around anything that is no known name stay,
//! so that JSON and Go's texts can be written as they are.

use std::collections::BTreeMap;

use serde_json::Value;

/// What is known so far.
pub(crate) type Names = BTreeMap<String, String>;

/// The text with every known name replaced; a replaced text may have names in it again.
pub(crate) fn fill(text: &str, names: &Names) -> String {
    const DEPTH: usize = 3;
    let mut filled = text.to_owned();
    for _ in 0..DEPTH {
        if !filled.contains('{') {
            break;
        }
        for (name, value) in names {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
    }
    filled
}

/// The same for every string inside a value.
pub(crate) fn fill_value(value: &Value, names: &Names) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, names)),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill_value(item, names)).collect()),
        Value::Object(members) => Value::Object(members.iter().map(|(key, value)| (fill(key, names), fill_value(value, names))).collect()),
        other => other.clone(),
    }
}
