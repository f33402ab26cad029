//! What the readers say about good and bad input, word by word.

mod crd;
mod describe;
mod junk;
mod read;
mod resolve;

use serde_json::{Value, json};

use super::Problem;

/// A document with every field that there is.
fn full() -> Value {
    serde_json::from_str(include_str!("full.json")).unwrap()
}

/// A description with every field that there is.
fn described() -> Value {
    json!({
        "name": "Label guard",
        "version": "1.0",
        "reasons": ["LabelMissing"],
        "subscribe": [
            {"name": "main", "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": "app", "events": ["add", "update", "delete"]},
            {"name": "other", "apiVersion": "apps/v1", "kind": "Deployment"},
        ],
        "limits": {"memory": "128Mi", "cpu": "150ms"},
    })
}

/// `base` with another value at a pointer. New fields are added, `null` removes one.
fn with(mut base: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    match base.pointer_mut(parent).unwrap() {
        Value::Object(map) if value.is_null() => drop(map.remove(field)),
        Value::Object(map) => drop(map.insert(field.to_owned(), value)),
        Value::Array(items) => items[field.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer} has no parent"),
    }
    base
}

/// Problems as lines: the problem, and its hint in brackets.
fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|p| if p.hint.is_empty() { p.to_string() } else { format!("{p} ({})", p.hint) }).collect()
}

/// Runs all cases of a table and shows every difference at once.
fn check_all<T>(base: fn() -> Value, read: impl Fn(&Value) -> Result<T, Vec<Problem>>, table: &str) {
    let mut got = String::new();
    for line in table.lines() {
        if line.starts_with("    ") {
            continue;
        }
        got += &format!("{line}\n");
        if let Some((pointer, value)) = line.split_once(" = ") {
            let problems = read(&with(base(), pointer, serde_json::from_str(value).unwrap())).err().unwrap_or_default();
            got.extend(lines(&problems).iter().map(|line| format!("    {line}\n")));
        }
    }
    let wrong: Vec<_> = got.lines().zip(table.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == table, "(got, want): {wrong:#?}\nall:\n{got}");
    assert!(table.lines().count() > 20, "the table is empty");
}
