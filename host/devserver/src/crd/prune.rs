//! What becomes of a custom object when it is read: fields that the schema does not have go, absent ones get their default.
//! Owns both, in that order. Refuses nothing.

use serde_json::{Map, Value};

use super::schema::{CustomSchema, object_meta};

/// Prunes; returns the paths of what went, in order.
pub(super) fn prune(schema: &CustomSchema, object: &mut Value) -> Vec<String> {
    let mut gone = Vec::new();
    walk(Some(schema), object, &mut String::new(), &mut gone);
    gone
}

/// Paths that are told of, at most, and the bytes of each; everything is pruned all the same.
const MAX_TOLD: usize = 1000;
const MAX_PATH: usize = 4096;

fn tell(path: &str, gone: &mut Vec<String>) {
    if gone.len() < MAX_TOLD && path.len() <= MAX_PATH {
        gone.push(path.to_owned());
    }
}

/// Schemas are bounded in depth, and only what a schema says anything of is walked through.
fn walk(schema: Option<&CustomSchema>, value: &mut Value, path: &mut String, gone: &mut Vec<String>) {
    let below = |name: &str| schema.and_then(|schema| schema.property(name));
    let open = schema.is_some_and(CustomSchema::is_open);
    match value {
        Value::Object(map) => {
            let whole = schema.is_some_and(|schema| schema.root || schema.embedded);
            let anything = schema.is_some_and(|schema| schema.additional.is_some());
            map.retain(|name, value| {
                let known = whole && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                let declared = below(name);
                let length = path.len();
                if length > 0 {
                    path.push('.');
                }
                path.push_str(name);
                let kept = known || open || anything || declared.is_some();
                if known {
                    if name == "metadata" && schema.is_some_and(|schema| schema.embedded) {
                        prune_metadata(value, path, gone);
                    }
                } else if kept && (declared.is_some() || !open) {
                    walk(declared, value, path, gone);
                } else if !kept {
                    tell(path, gone);
                }
                path.truncate(length);
                kept
            });
        }
        Value::Array(list) => {
            let items = schema.and_then(|schema| schema.items.as_deref());
            if items.is_none() && open {
                return;
            }
            for (at, item) in list.iter_mut().enumerate() {
                let length = path.len();
                path.push_str(&format!("[{at}]"));
                walk(items, item, path, gone);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// The metadata of an embedded object keeps what ObjectMeta has.
fn prune_metadata(metadata: &mut Value, path: &str, gone: &mut Vec<String>) {
    let Value::Object(map) = metadata else { return };
    let known = object_meta();
    map.retain(|name, _| {
        let kept = known.member(name).is_some();
        if !kept {
            tell(&format!("{path}.{name}"), gone);
        }
        kept
    });
}

/// Fills defaults in, and takes nulls out where none may be.
pub(super) fn fill(schema: &CustomSchema, object: &mut Value) {
    match object {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                if schema.root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                fill_member(map, name, property);
            }
            if let Some(Some(values)) = &schema.additional {
                let names: Vec<String> = map.keys().filter(|name| !schema.properties.contains_key(*name)).cloned().collect();
                for name in names {
                    fill_present(map, &name, values);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref() else { return };
            for item in list {
                if item.is_null()
                    && !items.nullable
                    && let Some(default) = &items.default
                {
                    *item = default.clone();
                }
                fill(items, item);
            }
        }
        _ => {}
    }
}

fn fill_member(map: &mut Map<String, Value>, name: &str, property: &CustomSchema) {
    if !map.contains_key(name)
        && let Some(default) = &property.default
    {
        map.insert(name.to_owned(), default.clone());
    }
    fill_present(map, name, property);
}

/// What is there: a null that may not be one becomes the default or goes, anything else is filled inside.
fn fill_present(map: &mut Map<String, Value>, name: &str, schema: &CustomSchema) {
    let Some(value) = map.get_mut(name) else { return };
    if value.is_null() && !schema.nullable {
        match &schema.default {
            Some(default) => *value = default.clone(),
            None => {
                map.remove(name);
                return;
            }
        }
    }
    if let Some(value) = map.get_mut(name) {
        fill(schema, value);
    }
}
