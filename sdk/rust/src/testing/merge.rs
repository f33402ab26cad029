//! How writes change JSON: merge patch (RFC 7396), and server-side apply for one manager,
//! where lists are replaced whole.

use serde_json::{Map, Value};

/// A JSON merge patch: null removes.
pub(super) fn patch(live: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *live = patch.clone();
        return;
    };
    let Some(object) = members_of(live) else { return };
    for (name, value) in members {
        if value.is_null() {
            object.remove(name);
        } else {
            self::patch(object.entry(name).or_insert(Value::Null), value);
        }
    }
}

/// Sets what is applied; the rest stays.
pub(super) fn overlay(live: &mut Value, applied: &Value) {
    let Value::Object(members) = applied else {
        *live = applied.clone();
        return;
    };
    let Some(object) = members_of(live) else { return };
    for (name, value) in members {
        overlay(object.entry(name).or_insert(Value::Null), value);
    }
}

/// Removes what was applied before and is left out now.
pub(super) fn prune(live: &mut Value, before: &Value, now: &Value) {
    let (Value::Object(live), Value::Object(before)) = (live, before) else { return };
    for (name, old) in before {
        match (now.get(name), live.get_mut(name)) {
            (None, _) => {
                live.remove(name);
            }
            (Some(new), Some(value)) => prune(value, old, new),
            (Some(_), None) => {}
        }
    }
}

/// Sets the value at a pointer, objects on the way made as needed.
pub(super) fn set(root: &mut Value, pointer: &str, value: Value) {
    let mut place = root;
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let Some(object) = members_of(place) else { return };
        place = object.entry(name).or_insert(Value::Null);
    }
    *place = value;
}

/// The members of an object; anything else becomes an empty object first.
fn members_of(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
