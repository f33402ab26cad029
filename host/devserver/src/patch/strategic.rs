//! Kubernetes' strategic merge patch: objects are merged, lists by the merge keys and strategies of the schema, with the directives
//! `$patch`, `$setElementOrder/f`, `$deleteFromPrimitiveList/f` and `$retainKeys`.
//!
//! Knows no kind and validates nothing: what the result means is for decoding and validation to say.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::order::arrange;
use super::strategic_errors as error;
use crate::patch::{MAX_DEPTH, Structure, deeper_than};
use crate::schema::{MergeKind, Shape};
use crate::status::Status;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

/// Merges `patch` into `object`.
///
/// # Errors
/// 500 without a reason for a missing merge key or a bad directive, 400 for directives of a wrong form, as the real server.
pub(crate) fn strategic_merge_patch(object: Value, patch: &Value, shape: Shape<'_>) -> Result<Value, Status> {
    merge_document(object, patch, shape)
}

fn merge_document<S: Structure>(object: Value, patch: &Value, place: S) -> Result<Value, Status> {
    let Value::Object(patch) = patch else { return Err(error::no_map(patch)) };
    if patch.values().any(|value| deeper_than(value, MAX_DEPTH)) {
        return Err(Status::bad_request("error decoding patch: exceeded max depth"));
    }
    let Value::Object(object) = object else { return Err(error::bad_kind("map[string]interface {}", &object)) };
    merge_objects(object, patch.clone(), place).map(Value::Object)
}

fn merge_objects<S: Structure>(mut old: Map<String, Value>, mut patch: Map<String, Value>, place: S) -> Result<Map<String, Value>, Status> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(directive) => return Err(error::unknown_directive(directive, &patch)),
    }
    retain_keys(&mut old, &mut patch)?;
    merge_ordered_lists(&mut old, &mut patch, place)?;
    for (name, value) in patch {
        if let Some(field) = name.strip_prefix(DELETE) {
            let field = field.strip_prefix('/').ok_or_else(error::primitive_list)?;
            delete_from_list(&mut old, field, &value)?;
            continue;
        }
        let new = match (old.remove(&name), value) {
            (_, Value::Null) => None,
            (Some(Value::Object(old)), Value::Object(patch)) => {
                let place = member(place, &name)?;
                let merged = if place.replaces_object() { patch } else { merge_objects(old, patch, place)? };
                Some(Value::Object(merged))
            }
            (Some(Value::Array(old)), Value::Array(patch)) => Some(Value::Array(merge_lists(old, patch, member(place, &name)?)?)),
            (_, value) => without_directives(value),
        };
        if let Some(new) = new {
            old.insert(name, new);
        }
    }
    Ok(old)
}

fn member<S: Structure>(place: S, name: &str) -> Result<S, Status> {
    place.member(name).ok_or_else(|| Status::server_error(format!("unable to find api field in struct for the json field {name:?}")))
}

/// `$retainKeys`: members that it does not name go; those of the patch must be named.
fn retain_keys(old: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Status> {
    let keys = match patch.remove(RETAIN) {
        None => return Ok(()),
        Some(Value::Array(keys)) => keys,
        Some(_) => return Err(error::retain_keys()),
    };
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let named = |(name, value): (&String, &Value)| {
        value.is_null() || name.starts_with(DELETE) || name.starts_with(ORDER) || keys.contains(name.as_str())
    };
    if !patch.iter().all(named) {
        return Err(error::retain_keys());
    }
    old.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

/// `$setElementOrder/f`: merges the list `f` and brings it into that order; both leave the patch.
fn merge_ordered_lists<S: Structure>(old: &mut Map<String, Value>, patch: &mut Map<String, Value>, place: S) -> Result<(), Status> {
    let orders: Vec<String> = patch.keys().filter(|name| name.starts_with(ORDER)).cloned().collect();
    for name in orders {
        let Some(order) = patch.remove(&name) else { continue };
        let order = as_list(order)?;
        let field = name.strip_prefix(ORDER).and_then(|field| field.strip_prefix('/')).ok_or_else(error::element_order)?;
        let before = old.get(field).cloned().map(as_list).transpose()?;
        let patched = patch.remove(field).map(as_list).transpose()?;
        let place = member(place, field)?;
        let merge = place.merge_kind();
        let key = match &merge {
            MergeKind::ByKey(key) => Some(key.as_str()),
            MergeKind::Replace | MergeKind::Union => None,
        };
        check_order(patched.as_deref().unwrap_or_default(), &order, key)?;
        let server = before.clone().unwrap_or_default();
        let kind = kind_of_items(&[&server, patched.as_deref().unwrap_or_default()]);
        let merged = match (before, patched) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(patched)) => patched.into_iter().filter_map(without_directives).collect(),
            (Some(before), Some(patched)) => merge_lists(before, patched, place)?,
        };
        let merged = if key.is_none() && kind? == "map[string]interface {}" { merged } else { in_order(merged, &order, &server, key)? };
        old.insert(field.to_owned(), Value::Array(merged));
    }
    Ok(())
}

/// The patch's items must be in the list of the order, in the same order; deletions are not looked at.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = identity(item, key)?;
        loop {
            let Some(candidate) = rest.next() else {
                let (patch, order) = (error::go_list(patch), error::go_list(order));
                return Err(Status::server_error(format!("The order in patch list:\n{patch}\n doesn't match {ORDER} list:\n{order}\n")));
            };
            if identity(candidate, key)? == wanted {
                break;
            }
        }
    }
    Ok(())
}

fn delete_from_list(old: &mut Map<String, Value>, field: &str, gone: &Value) -> Result<(), Status> {
    let Value::Array(gone) = gone else {
        if gone.is_null() {
            old.remove(field);
        }
        return Ok(());
    };
    let Some(Value::Array(items)) = old.get_mut(field) else { return Ok(()) };
    if items.is_empty() && gone.is_empty() {
        return Ok(());
    }
    if kind_of_items(&[items, gone])? == "map[string]interface {}" {
        return Err(error::primitive_list());
    }
    let gone: HashSet<String> = gone.iter().map(Value::to_string).collect();
    items.retain(|item| !gone.contains(&item.to_string()));
    Ok(())
}

fn merge_lists<S: Structure>(old: Vec<Value>, patch: Vec<Value>, place: S) -> Result<Vec<Value>, Status> {
    let merge = place.merge_kind();
    if merge == MergeKind::Replace {
        return Ok(patch);
    }
    if old.is_empty() && patch.is_empty() {
        return Ok(old);
    }
    let objects = kind_of_items(&[&old, &patch])? == "map[string]interface {}";
    match merge {
        MergeKind::ByKey(key) if objects => merge_keyed(old, patch, &key, place),
        MergeKind::Union if objects => Err(Status::server_error("cannot merge lists without merge key")),
        MergeKind::ByKey(_) => Err(error::bad_kind("map[string]interface {}", patch.first().or(old.first()).unwrap_or(&Value::Null))),
        MergeKind::Union | MergeKind::Replace => {
            let mut seen = HashSet::new();
            let merged = old.iter().chain(&patch).filter(|item| seen.insert(item.to_string())).cloned().collect();
            in_order(merged, &patch, &old, None)
        }
    }
}

fn merge_keyed<S: Structure>(old: Vec<Value>, patch: Vec<Value>, key: &str, place: S) -> Result<Vec<Value>, Status> {
    let mut gone = HashSet::new();
    let mut replace = false;
    let mut items = Vec::new();
    for item in patch {
        match item.get(DIRECTIVE) {
            None => items.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                gone.insert(identity(&item, Some(key))?);
            }
            Some(Value::String(directive)) if directive == "replace" => replace = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return Err(Status::server_error("merging lists cannot yet be specified in the patch"));
            }
            Some(directive) => return Err(error::unknown_directive(directive, item.as_object().unwrap_or(&Map::new()))),
        }
    }
    if replace {
        for item in &items {
            identity(item, Some(key))?;
        }
        return Ok(items.into_iter().filter_map(without_directives).collect());
    }
    let mut merged = Vec::with_capacity(old.len() + items.len());
    let mut places = HashMap::new();
    for item in &old {
        let identity = identity(item, Some(key))?;
        if !gone.contains(&identity) {
            places.entry(identity).or_insert(merged.len());
            merged.push(item.clone());
        }
    }
    for item in &items {
        let identity = identity(item, Some(key))?;
        let known = places.get(&identity).and_then(|at| merged.get_mut(*at));
        match (known, item.clone()) {
            (Some(slot), Value::Object(patch)) => {
                let Value::Object(before) = slot.take() else { continue };
                *slot = Value::Object(merge_objects(before, patch, place.items())?);
            }
            (_, new) => {
                places.insert(identity, merged.len());
                merged.extend(without_directives(new));
            }
        }
    }
    in_order(merged, &items, &old, Some(key))
}

fn in_order(merged: Vec<Value>, wanted: &[Value], server: &[Value], key: Option<&str>) -> Result<Vec<Value>, Status> {
    let identities = |items: &[Value]| items.iter().map(|item| identity(item, key)).collect::<Result<Vec<_>, _>>();
    let (wanted, server) = (identities(wanted)?, identities(server)?);
    identities(&merged)?;
    Ok(arrange(merged, &wanted, &server, |item| identity(item, key).unwrap_or_default()))
}

/// What tells an item from others: its merge key, or the item itself.
fn identity(item: &Value, key: Option<&str>) -> Result<String, Status> {
    let Some(key) = key else { return Ok(item.to_string()) };
    let Value::Object(members) = item else { return Err(error::bad_kind("map[string]interface {}", item)) };
    members.get(key).map(Value::to_string).ok_or_else(|| error::no_merge_key(members, key))
}

/// Items of a list must be of one kind, and no lists.
fn kind_of_items(lists: &[&[Value]]) -> Result<&'static str, Status> {
    let mut kinds = lists.iter().flat_map(|list| list.iter()).map(error::go_kind);
    let first = kinds.next().ok_or_else(|| Status::server_error("no elements in any of the given slices"))?;
    if first == error::go_kind(&Value::Array(Vec::new())) {
        return Err(error::list_of_lists());
    }
    if kinds.any(|kind| kind != first) {
        let lists: Vec<String> = lists.iter().map(|list| error::go_list(list)).collect();
        return Err(Status::server_error(format!("list element types are not identical: [{}]", lists.join(" "))));
    }
    Ok(first)
}

fn as_list(value: Value) -> Result<Vec<Value>, Status> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(error::bad_kind("[]interface {}", &other)),
    }
}

/// A value that nothing was there to be merged with: nulls and directives say nothing.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => {
            let members = members.into_iter().filter(|(name, value)| !value.is_null() && !is_directive(name));
            Some(Value::Object(members.filter_map(|(name, value)| Some((name, without_directives(value)?))).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN || [DELETE, ORDER].iter().any(|directive| name.strip_prefix(directive).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
#[path = "strategic_tests.rs"]
pub(super) mod tests;
