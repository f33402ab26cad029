//! A column: what it is called and how a cell of it is read from an object; and the columns and readings that many kinds share.
//!
//! Owns no kind. Cells read whatever object they are given and never fail.

use serde_json::{Value, json};

use super::age;
use crate::json::Read;

/// Reads a cell; `now` is seconds since the epoch, for ages.
pub(super) type Cell = fn(&Value, i64) -> Value;

/// A column of a built-in kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// `string`, `integer`, `boolean` or `date`: what is announced; cells may be of another type, as they are in Kubernetes.
    pub(super) kind: &'static str,
    pub(super) format: &'static str,
    /// 1: shown only by `-o wide`.
    pub(super) priority: u8,
    pub(super) description: &'static str,
    pub(super) cell: Cell,
}

impl Column {
    /// As `columnDefinitions` shows it.
    pub(super) fn definition(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description, "priority": self.priority})
    }
}

pub(super) const NAME_DESCRIPTION: &str = "Name of the object, unique among its kind in a namespace.";

/// Every table begins with it.
pub(super) const NAME: Column =
    Column { format: "name", ..text("Name", NAME_DESCRIPTION, |object, _| string(object, &["metadata", "name"])) };

/// How long ago the object was created.
pub(super) const AGE: Column = text("Age", "Time since the object was created.", |object, now| {
    Value::String(age::since(object.path(&["metadata", "creationTimestamp"]), now))
});

/// When the object was created: kinds without columns of their own.
pub(super) const CREATED_AT: Column = Column {
    kind: "date",
    ..text("Created At", "When the object was created, RFC 3339.", |object, _| string(object, &["metadata", "creationTimestamp"]))
};

/// Names of the containers of `spec.template`.
pub(super) const CONTAINERS: Column = wide(text("Containers", "Names of each container in the template.", |object, _| {
    containers(object.path(&["spec", "template"]), "name")
}));

/// Images of the containers of `spec.template`.
pub(super) const IMAGES: Column =
    wide(text("Images", "Images of each container in the template.", |object, _| containers(object.path(&["spec", "template"]), "image")));

/// `spec.selector`, a LabelSelector.
pub(super) const SELECTOR: Column = wide(text("Selector", "Labels of the pods that belong to the object.", |object, _| {
    none_if_empty(&selector(object.path(&["spec", "selector"])))
}));

/// A column of strings.
pub(super) const fn text(name: &'static str, description: &'static str, cell: Cell) -> Column {
    Column { name, kind: "string", format: "", priority: 0, description, cell }
}

/// A column of integers.
pub(super) const fn integer(name: &'static str, description: &'static str, cell: Cell) -> Column {
    Column { kind: "integer", ..text(name, description, cell) }
}

/// A column of true and false.
pub(super) const fn boolean(name: &'static str, description: &'static str, cell: Cell) -> Column {
    Column { kind: "boolean", ..text(name, description, cell) }
}

/// The column, shown only by `-o wide`.
pub(super) const fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

/// The text at a path, empty if absent.
pub(super) fn string(object: &Value, path: &[&str]) -> Value {
    Value::String(object.path(path).as_str().unwrap_or_default().to_owned())
}

/// The text at a path, or this one if it is absent or empty.
pub(super) fn string_or(object: &Value, path: &[&str], or: &str) -> Value {
    Value::String(object.path(path).as_str().filter(|text| !text.is_empty()).unwrap_or(or).to_owned())
}

/// The integer at a path, 0 if absent.
pub(super) fn count(object: &Value, path: &[&str]) -> Value {
    json!(number(object, path))
}

/// See [`count`].
pub(super) fn number(object: &Value, path: &[&str]) -> i64 {
    object.path(path).as_i64().unwrap_or_default()
}

/// Whether `true` stands at the path.
pub(super) fn truth(object: &Value, path: &[&str]) -> Value {
    json!(object.path(path).as_bool().unwrap_or_default())
}

/// The age of the time at a path.
pub(super) fn since(object: &Value, path: &[&str], now: i64) -> Value {
    Value::String(age::since(object.path(path), now))
}

/// An integer, a quantity or a percentage as text.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// `<none>` for the empty text.
pub(super) fn none_if_empty(text: &str) -> Value {
    json!(if text.is_empty() { "<none>" } else { text })
}

/// `a=1,b=2` of a map of labels, `<none>` if there are none.
pub(super) fn labels(map: &Value) -> Value {
    let all: Vec<String> = map.as_object().into_iter().flatten().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    none_if_empty(&all.join(","))
}

/// A LabelSelector as text: `a=1,b in (x,y),!c`; empty if it selects everything or is absent.
pub(super) fn selector(selector: &Value) -> String {
    let mut all: Vec<(&str, String)> =
        selector.entries("matchLabels").map(|(key, value)| (key, format!("{key}={}", plain(value)))).collect();
    for expression in selector.list("matchExpressions") {
        let key = expression.text("key");
        let mut values: Vec<String> = expression.list("values").iter().map(plain).collect();
        values.sort();
        let values = values.join(",");
        let text = match expression.text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<invalid>".to_owned(),
        };
        all.push((key, text));
    }
    all.sort_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// A member of each container of a pod template, with commas.
pub(super) fn containers(template: &Value, member: &str) -> Value {
    json!(template.at("spec").list("containers").iter().map(|container| container.text(member)).collect::<Vec<_>>().join(","))
}

/// The first `most` texts with commas, and how many more there are.
pub(super) fn with_more(texts: &[String], most: usize, separator: &str) -> String {
    let shown = texts.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(separator);
    match texts.len().checked_sub(most) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}
