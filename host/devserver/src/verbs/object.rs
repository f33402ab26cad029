//! Reading and writing the metadata of an object that is a JSON value. No rules: those are `validate`'s and the verbs'.

use serde_json::{Map, Value, json};

/// Changes `metadata` of an object; an empty one is put in first if it is missing or no object.
pub(crate) fn edit<R>(object: &mut Value, change: impl FnOnce(&mut Map<String, Value>) -> R) -> R {
    let mut members = match object.get_mut("metadata").map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let result = change(&mut members);
    if let Value::Object(object) = object {
        object.insert("metadata".to_owned(), Value::Object(members));
    }
    result
}

/// Sets a member of `metadata`.
pub(crate) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    let value = value.into();
    edit(object, |metadata| drop(metadata.insert(name.to_owned(), value)));
}

/// Takes members out of `metadata`.
pub(crate) fn unset(object: &mut Value, names: &[&str]) {
    edit(object, |metadata| names.iter().for_each(|name| drop(metadata.remove(*name))));
}

/// A text of `metadata`; empty if it is absent.
pub(crate) fn text<'v>(object: &'v Value, member: &str) -> &'v str {
    object.get("metadata").and_then(|metadata| metadata.get(member)).and_then(Value::as_str).unwrap_or_default()
}

/// Any member of `metadata`.
pub(crate) fn member<'v>(object: &'v Value, member: &str) -> Option<&'v Value> {
    object.get("metadata")?.get(member)
}

/// The finalizers, in order.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    member(object, "finalizers").and_then(Value::as_array).map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// Whether the object waits for its finalizers.
pub(crate) fn is_deleting(object: &Value) -> bool {
    member(object, "deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The generation; 0 if there is none.
pub(crate) fn generation(object: &Value) -> i64 {
    member(object, "generation").and_then(Value::as_i64).unwrap_or(0)
}

/// Puts `member` of `from`'s metadata into `to`'s, or takes it away where `from` has none.
pub(crate) fn carry(from: &Value, to: &mut Value, name: &str) {
    match member(from, name).cloned() {
        Some(value) => set(to, name, value),
        None => unset(to, &[name]),
    }
}

/// Sets or removes one finalizer. True if that changed anything.
pub(crate) fn set_finalizer(object: &mut Value, name: &str, wanted: bool) -> bool {
    let has = finalizers(object).contains(&name);
    if has == wanted {
        return false;
    }
    let mut all: Vec<Value> = finalizers(object).into_iter().filter(|one| *one != name).map(Value::from).collect();
    if wanted {
        all.push(json!(name));
    }
    if all.is_empty() {
        unset(object, &["finalizers"]);
    } else {
        set(object, "finalizers", all);
    }
    true
}
