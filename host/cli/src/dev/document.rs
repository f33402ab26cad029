//! The objects of a manifest's text, and how one of them is named to who wrote it. Never knows what an object is good for.

use serde_json::Value;

/// Which object of a file is meant: where it is, what kind and name it says.
pub(super) fn about(place: &str, document: &Value) -> String {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let name = if namespace.is_empty() { text("/metadata/name").to_owned() } else { format!("{namespace}/{}", text("/metadata/name")) };
    [place, text("/kind"), &name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The objects of a text and where each is; a List is its items.
pub(super) fn documents(text: &str) -> Result<Vec<(String, Value)>, String> {
    let all = wharf_devserver::yaml::documents(text)?;
    let mut objects = Vec::new();
    for (number, document) in (1_usize..).zip(all) {
        let place = format!("document {number}");
        match document {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").and_then(Value::as_str) == Some("List") => {
                let items = list.remove("items").and_then(|items| if let Value::Array(items) = items { Some(items) } else { None });
                let items = (1_usize..).zip(items.unwrap_or_default());
                objects.extend(items.map(|(number, item)| (format!("{place}, item {number},"), item)));
            }
            other => objects.push((place, other)),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_in_a_text() {
        let kinds = |text: &str| -> Result<Vec<String>, String> {
            Ok(documents(text)?.iter().map(|(_, one)| one["kind"].as_str().unwrap_or_default().to_owned()).collect())
        };
        assert_eq!(kinds("kind: A\n---\n# nothing\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n").unwrap(), ["A", "B", "C"]);
        assert_eq!(kinds("").unwrap(), Vec::<String>::new());
        assert!(kinds("a: [").is_err());
    }

    #[test]
    fn many_documents() {
        assert_eq!(documents(&"kind: ConfigMap\nmetadata: {name: a}\n---\n".repeat(1500)).unwrap().len(), 1500);
        let mode = documents("kind: Pod\nmode: 0644\nquick: yes\n").unwrap();
        assert_eq!(mode, [("document 1".to_owned(), json!({"kind": "Pod", "mode": 420, "quick": true}))]);
    }
}
