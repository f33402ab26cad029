//! Nothing that is read can make a reader panic, and a refusal always says why.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{described, full, with};
use crate::plugin::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[0-9]{1,22}(Mi|ms|s|)".prop_map(Value::from),
        prop::sample::select(vec!["*", "add", "v1", "Secret", "main", "get", "metadata.name=x"]).prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec!["name", "kind", "apiVersion", "file", "cluster", "verbs", "memory", "events", "namespaces", "oci"])
            .prop_map(str::to_owned),
        ".{0,8}",
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Places of a document or description that can be replaced.
fn place(of: &Value) -> impl Strategy<Value = String> + use<> {
    fn walk(value: &Value, at: &str, out: &mut Vec<String>) {
        let fields: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(k, v)| (k.replace('/', "~1"), v)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
            _ => Vec::new(),
        };
        for (key, value) in fields {
            let at = format!("{at}/{key}");
            walk(value, &at, out);
            out.push(at);
        }
    }
    let mut places = Vec::new();
    walk(of, "", &mut places);
    prop::sample::select(places)
}

proptest! {
    #[test]
    fn documents(value in any_json(), at in place(&full()), asked in any_json(), asked_at in place(&described())) {
        prop_assert!(read_document(&value).is_err_and(|problems| !problems.is_empty()));
        let document = read_document(&with(full(), &at, value));
        let description = read_description(&with(described(), &asked_at, asked).to_string());
        if let Err(problems) = &document { prop_assert!(!problems.is_empty()); }
        if let Err(problems) = &description { prop_assert!(!problems.is_empty()); }
        if let (Ok(document), Ok(description)) = (document, description) {
            match resolve(&document, &description, &Limits::default()) {
                Err(problems) => prop_assert!(!problems.is_empty()),
                Ok((subscriptions, limits)) => {
                    prop_assert!(Limits::MEMORY.contains(&limits.memory) && Limits::CPU.contains(&limits.cpu));
                    // Never more than what the component asks for.
                    prop_assert!(subscriptions.iter().all(|s| description.subscribe.iter().any(|d| d.name == s.name && d.kind.as_ref() == Some(&s.kind))));
                }
            }
        }
    }

    #[test]
    fn descriptions(text in "\\PC{0,60}", value in any_json()) {
        prop_assert!(read_description(&text).is_err_and(|problems| !problems.is_empty()));
        let read = read_description(&json!({"name": "a", "version": "b", "subscribe": [value]}).to_string());
        if let Err(problems) = read { prop_assert!(!problems.is_empty()); }
    }
}
