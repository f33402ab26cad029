//! How deep and how large a patched value may get, so that no patch can exhaust stack or memory.

use serde_json::Value;

/// Levels of nesting that an object may have. JSON readers stop at 128, so that what is deeper could be written but never be read again;
/// and an object's managedFields are five levels deeper than itself.
pub(crate) const MAX_DEPTH: usize = 115;

/// Whether containers are nested deeper than `limit` levels; looks no deeper than that itself.
pub(crate) fn deeper_than(value: &Value, limit: usize) -> bool {
    let below = |child: &Value| limit == 0 || deeper_than(child, limit - 1);
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(below),
        Value::Object(members) => limit == 0 || members.values().any(below),
        _ => false,
    }
}

/// About how many bytes the value takes as JSON.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + items.len() + 2,
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + 4 + weight(value)).sum::<usize>() + 2,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn depth_counts_containers() {
        for (value, depth) in
            [(json!(1), 0), (json!({}), 1), (json!({"a": 1}), 1), (json!({"a": []}), 2), (json!([[1], {"a": {"b": {}}}]), 4)]
        {
            assert!(!deeper_than(&value, depth), "{value}");
            assert!(depth == 0 || deeper_than(&value, depth - 1), "{value}");
        }
    }

    #[test]
    fn weight_is_close_to_the_text() {
        let value = json!({"a": ["xy", 12345], "b": {}});
        let (weight, text) = (weight(&value), value.to_string().len());
        assert!(weight.abs_diff(text) < 8, "{weight} {text}");
    }
}
