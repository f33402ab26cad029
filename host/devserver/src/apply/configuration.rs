//! Applying a configuration: merge, take out what the applier no longer wants, look for conflicts, own.

use serde_json::{Map, Value};

use super::Writer;
use super::compare::Comparison;
use super::conflicts::Conflicts;
use super::fields::FieldSet;
use super::managed::{self, Entry, Manager, Operation};
use super::merge::{merge, without};
use super::typed::{errors, field_set, with_structs};
use super::{last_applied, owners};
use crate::patch::{MAX_DEPTH, Structure, deeper_than};
use crate::status::Status;

/// Owner of what was there when an object without owners is applied to for the first time.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// See [`super::apply`].
pub(super) fn apply<S: Structure>(
    live: Option<&Value>,
    config: &Value,
    place: S,
    writer: Writer<'_>,
    force: bool,
) -> Result<Value, Status> {
    let part = check(config, place)?;
    let config = Value::Object(owners::own_part(part, place, writer.subresource));
    let blank = place.blank(&config);
    let base = live.unwrap_or(&blank);
    let mut entries = managed::of(base).unwrap_or_default();
    if live.is_some() && entries.is_empty() {
        entries = first_owner(base, &blank, place, writer);
    }

    let manager = Manager {
        name: writer.manager.to_owned(),
        operation: Operation::Apply,
        api_version: writer.api_version.to_owned(),
        subresource: writer.subresource.unwrap_or_default().to_owned(),
    };
    let before = entries.iter().position(|entry| entry.manager.is(&manager)).map(|at| entries.remove(at));
    let mut fields = field_set(&config, Some(place));
    let mut merged = merge(live.unwrap_or(&Value::Null), &config, Some(place));
    if let Some(before) = &before {
        let others = entries.iter().map(|entry| entry.fields.clone()).fold(fields.clone(), FieldSet::union);
        merged = pruned(&merged, &before.fields, &others, place);
    }

    let mut change = Comparison::of(base, &merged, place);
    owners::ignore_foreign(&mut change, place, writer.subresource);
    let removed = change.removed.clone();
    let written = change.written();
    if !force {
        refuse_conflicts(&entries, &written, || last_applied::allowed(base, place, writer))?;
    }
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&written).difference(&removed);
    }
    owners::never_owned(&mut fields);
    entries.push(Entry { manager, time: Some(writer.now.to_owned()), fields });
    last_applied::update(&mut merged, &config, writer);
    managed::write(&mut merged, entries);
    Ok(merged)
}

/// The configuration's members, if they are such that they can be applied.
fn check<S: Structure>(config: &Value, place: S) -> Result<&Map<String, Value>, Status> {
    let Value::Object(members) = config else {
        return Err(Status::bad_request("error decoding patch: an applied configuration is an object"));
    };
    if deeper_than(config, MAX_DEPTH) {
        return Err(Status::bad_request("error decoding patch: exceeded max depth"));
    }
    if config.get("metadata").and_then(|metadata| metadata.get("managedFields")).is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    match &*errors(config, place) {
        [] => Ok(members),
        [one] => Err(untyped(config, one)),
        many => Err(untyped(config, &format!("errors:\n  {}", many.join("\n  ")))),
    }
}

fn untyped(config: &Value, why: &str) -> Status {
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name, kind, version) = (text("/metadata/namespace"), text("/metadata/name"), text("/kind"), text("/apiVersion"));
    let slash = if version.contains('/') { "" } else { "/" };
    Status::server_error(format!("failed to create typed patch object ({namespace}/{name}; {slash}{version}, Kind={kind}): {why}"))
}

/// Everything that an object has whose owners are not known.
fn first_owner<S: Structure>(live: &Value, blank: &Value, place: S, writer: Writer<'_>) -> Vec<Entry> {
    let manager = Manager {
        name: BEFORE_FIRST_APPLY.to_owned(),
        operation: Operation::Update,
        api_version: writer.api_version.to_owned(),
        subresource: writer.subresource.unwrap_or_default().to_owned(),
    };
    let mut change = Comparison::of(blank, live, place);
    owners::ignore_foreign(&mut change, place, writer.subresource);
    owners::written(Vec::new(), change, manager, writer.now)
}

/// Takes out what the applier owned before, unless it or somebody else owns it now. With a list item or a struct that nobody owns, what
/// is inside goes too.
fn pruned<S: Structure>(merged: &Value, before: &FieldSet, owned: &FieldSet, place: S) -> Value {
    let place = Some(place);
    let mut gone = with_structs(before, place).difference(&with_structs(owned, place));
    // Whatever the configuration leaves out, the object stays the one that it is.
    owners::never_owned(&mut gone);
    if gone.is_empty() { merged.clone() } else { without(merged, &gone, place) }
}

/// A field of somebody else that gets another value is a conflict, unless it may be taken.
fn refuse_conflicts(entries: &[Entry], written: &FieldSet, allowed: impl FnOnce() -> FieldSet) -> Result<(), Status> {
    let mut conflicts = Conflicts::default();
    for entry in entries {
        conflicts.add(&entry.manager, entry.fields.intersection(written));
    }
    if conflicts.is_empty() {
        return Ok(());
    }
    conflicts.leave_out(&allowed());
    if conflicts.is_empty() { Ok(()) } else { Err(conflicts.into_status()) }
}
