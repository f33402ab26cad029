//! Ownership by writing: what a create, update or patch does to the entries of `managedFields`.
//!
//! Owns which fields nobody can own.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Writer;
use super::compare::Comparison;
use super::fields::{Element, FieldSet};
use super::managed::{self, Entry, Manager, Operation};
use crate::patch::Structure;

/// Members of metadata that are the server's, or tell which object it is.
const NEVER_OWNED: [&str; 9] =
    ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields", "generateName"];

/// See [`super::track`].
pub(super) fn track<S: Structure>(old: Option<&Value>, new: &mut Value, place: S, writer: Writer<'_>) {
    let sent = new.get_mut("metadata").and_then(Value::as_object_mut).and_then(|metadata| metadata.remove("managedFields"));
    let kept = || old.and_then(managed::of).unwrap_or_default();
    let entries = match sent {
        Some(sent) if writer.subresource.is_none() => {
            if managed::is_reset(&sent) {
                Vec::new()
            } else {
                managed::decode(Some(&sent)).filter(|entries| !entries.is_empty()).unwrap_or_else(kept)
            }
        }
        _ => kept(),
    };
    if old.is_some() && entries.is_empty() {
        return;
    }
    let blank = place.blank(new);
    let manager = Manager {
        name: writer.manager.to_owned(),
        operation: Operation::Update,
        api_version: writer.api_version.to_owned(),
        subresource: writer.subresource.unwrap_or_default().to_owned(),
    };
    let mut change = Comparison::of(old.unwrap_or(&blank), new, place);
    ignore_foreign(&mut change, place, writer.subresource);
    managed::write(new, written(entries, change, manager, writer.now));
}

/// The entries after a write that changed so much: the writer owns what it wrote, and nobody what is gone.
pub(super) fn written(mut entries: Vec<Entry>, change: Comparison, manager: Manager, now: &str) -> Vec<Entry> {
    let removed = change.removed.clone();
    let mut fields = change.written();
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&fields).difference(&removed);
    }
    never_owned(&mut fields);
    if !fields.is_empty() {
        match entries.iter_mut().find(|entry| entry.manager.is(&manager)) {
            Some(entry) => {
                entry.fields.extend(fields);
                entry.time = Some(now.to_owned());
            }
            None => entries.push(Entry { manager, time: Some(now.to_owned()), fields }),
        }
    }
    entries.retain(|entry| !entry.fields.is_empty());
    managed::cap(entries)
}

/// See [`super::settle`].
pub(super) fn settle(live: Option<&Value>, new: &mut Value) {
    let Some(live) = live else { return };
    let (Some(before), Some(after)) = (managed::of(live), managed::of(new)) else { return };
    let now: HashMap<_, &Entry> = after.iter().map(|entry| (entry.manager.identity(), entry)).collect();
    let is_as_before = |entry: &Entry| now.get(&entry.manager.identity()).is_some_and(|other| entry.same_but_time(other));
    let same_owners = before.len() == after.len() && before.iter().all(is_as_before);
    if same_owners && without_owners(live) == without_owners(new) {
        *new = live.clone();
    }
}

fn without_owners(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

/// Takes the fields out of a set that nobody can own.
pub(super) fn never_owned(fields: &mut FieldSet) {
    let mut metadata = FieldSet::default();
    for name in NEVER_OWNED {
        metadata.put(Element::field(name), true, FieldSet::default());
    }
    let mut never = FieldSet::default();
    never.put(Element::field("apiVersion"), true, FieldSet::default());
    never.put(Element::field("kind"), true, FieldSet::default());
    never.put(Element::field("metadata"), true, metadata);
    *fields = fields.difference(&never);
}

/// Takes out of a change what a write through this door does not store: the server set it, not the writer.
pub(super) fn ignore_foreign<S: Structure>(change: &mut Comparison, place: S, subresource: Option<&str>) {
    if place.is_builtin() && subresource.is_none() {
        change.ignore(&["status"]);
    }
}

/// The part of a configuration that a write through this door stores.
pub(super) fn own_part<S: Structure>(config: &Map<String, Value>, place: S, subresource: Option<&str>) -> Map<String, Value> {
    let mut part = config.clone();
    match subresource {
        None if place.is_builtin() => {
            part.remove("status");
        }
        Some("status") => {
            part.retain(|name, _| ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
            if let Some(Value::Object(metadata)) = part.get_mut("metadata") {
                metadata.retain(|name, _| name != "labels" && (place.is_builtin() || NEVER_OWNED.contains(&name.as_str())));
            }
        }
        _ => {}
    }
    part
}
