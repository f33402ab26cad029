//! Comparing what is there with what was expected. Owns the meaning of an expected value;
//! pure, so that a failure says exactly which field differed.

use serde_json::Value;

use super::model::Fields;

/// Does a text satisfy an expected value? A scalar must be equal as text, `null` means
/// empty or absent, `{contains: text}` and `{not: value}` are what they say.
pub(super) fn satisfies(actual: &str, expected: &Value) -> bool {
    match expected {
        Value::Null => actual.is_empty(),
        Value::Object(words) => words.iter().all(|(word, value)| match word.as_str() {
            "contains" => actual.contains(&text(value)),
            "not" => !satisfies(actual, value),
            _ => false,
        }),
        Value::Array(choices) => choices.iter().any(|choice| satisfies(actual, choice)),
        scalar => actual == text(scalar),
    }
}

/// The first field that differs, as a sentence.
pub(super) fn difference(fields: &Fields, actual: impl Fn(&str) -> String) -> Option<String> {
    fields.iter().find_map(|(name, expected)| {
        let found = actual(name);
        (!satisfies(&found, expected)).then(|| format!("{name} is {found:?}, expected {expected}"))
    })
}

/// A value as the text that logs and pointers show: strings without quotes.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values() {
        for (actual, expected, want) in [
            ("1", json!(1), true),
            ("1", json!("1"), true),
            ("", json!(null), true),
            ("x", json!(null), false),
            ("abc", json!({"contains": "b"}), true),
            ("abc", json!({"contains": "z"}), false),
            ("abc", json!({"not": "abc"}), false),
            ("abc", json!({"not": {"contains": "z"}}), true),
            ("b", json!(["a", "b"]), true),
            ("true", json!(true), true),
            ("abc", json!({"typo": "abc"}), false),
        ] {
            assert_eq!(satisfies(actual, &expected), want, "{actual} {expected}");
        }
    }

    #[test]
    fn differences_name_the_field() {
        let fields = Fields::from([("event".to_owned(), json!("add")), ("attempt".to_owned(), json!(2))]);
        assert_eq!(difference(&fields, |name| if name == "event" { "add".into() } else { "2".into() }), None);
        assert_eq!(difference(&fields, |_| "add".into()).unwrap(), "attempt is \"add\", expected 2");
    }
}
