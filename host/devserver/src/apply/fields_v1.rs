//! FieldsV1: sets of field paths as they are stored in `managedFields`.
//!
//! An object whose members are path elements: `f:name` a field, `k:{..}` an item by its keys, `v:..` an item by its value, `i:0` an item
//! by its position; a member without content is a path of the set, and so is one with `.` inside.

use serde_json::{Map, Value};

use super::fields::{Element, FieldSet};
use crate::patch::{MAX_DEPTH, deeper_than};

/// The set as FieldsV1.
pub(super) fn encode(set: &FieldSet) -> Value {
    let mut members = Map::new();
    for (element, member, below) in set.nodes() {
        let mut inner = encode(below);
        if let (true, Value::Object(inner)) = (member && !below.is_empty(), &mut inner) {
            inner.insert(".".to_owned(), Value::Object(Map::new()));
        }
        members.insert(name(element), inner);
    }
    Value::Object(members)
}

/// The set of a FieldsV1; none if it is not one. Elements of kinds that are not known yet are left out, as the real server does.
pub(super) fn decode(value: &Value) -> Option<FieldSet> {
    // One level for each of an object, and what marks a field.
    if deeper_than(value, MAX_DEPTH + 1) {
        return None;
    }
    read(value.as_object()?).map(|(set, _)| set)
}

/// The paths below, and whether the path up to here is one itself.
fn read(members: &Map<String, Value>) -> Option<(FieldSet, bool)> {
    let mut set = FieldSet::default();
    let mut member = false;
    for (name, value) in members {
        if name == "." {
            member = true;
            continue;
        }
        if let Some(element) = element(name)? {
            let (below, itself) = read(value.as_object()?)?;
            set.put(element, itself, below);
        }
    }
    let member = member || set.is_empty();
    Some((set, member))
}

fn name(element: &Element) -> String {
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Key(keys) => format!("k:{keys}"),
        Element::Value(value) => format!("v:{value}"),
        Element::Index(index) => format!("i:{index}"),
    }
}

/// None for what is no element at all, `Some(None)` for an element of an unknown kind.
fn element(name: &str) -> Option<Option<Element>> {
    let (kind, rest) = name.split_once(':').filter(|(kind, _)| kind.len() == 1)?;
    Some(Some(match kind {
        "f" => Element::field(rest),
        "k" => Element::key(&serde_json::from_str(rest).ok()?),
        "v" => Element::value(&serde_json::from_str(rest).ok()?),
        "i" => Element::Index(rest.parse().ok()?),
        _ => return Some(None),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::fields::tests::any_set;
    use super::*;

    #[test]
    fn known_texts() {
        let text = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, "v:\"x/y\"": {}}},
            "f:spec": {"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}, "f:list": {"i:3": {}}},
        });
        let set = decode(&text).unwrap();
        assert_eq!(encode(&set), text);
        let paths: Vec<String> = set.paths().iter().map(super::super::fields::path_text).collect();
        let want = [
            ".metadata.finalizers",
            ".metadata.labels",
            ".metadata.finalizers[=\"x/y\"]",
            ".metadata.labels.a",
            ".spec.list[3]",
            ".spec.ports[containerPort=80,protocol=\"TCP\"]",
            ".spec.ports[containerPort=80,protocol=\"TCP\"].containerPort",
        ];
        assert_eq!(paths, want);
    }

    #[test]
    fn keys_are_sorted_and_unknown_kinds_left_out() {
        let set = decode(&json!({"k:{\"b\":1.0,\"a\":\"x\"}": {}, "z:new": {"f:a": {}}})).unwrap();
        assert_eq!(encode(&set), json!({"k:{\"a\":\"x\",\"b\":1}": {}}));
    }

    #[test]
    fn what_is_no_set() {
        for bad in [
            json!(null),
            json!([]),
            json!({"f": {}}),
            json!({"name": {}}),
            json!({"f:a": 1}),
            json!({"k:[1]": {}}),
            json!({"i:-1": {}}),
            json!({"v:x": {}}),
        ] {
            assert_eq!(decode(&bad), None, "{bad}");
        }
        let deep = (0..200).fold(json!({}), |inner, _| json!({"f:a": inner}));
        assert_eq!(decode(&deep), None);
    }

    proptest! {
        #[test]
        fn what_is_encoded_can_be_decoded(set in any_set()) {
            prop_assert_eq!(decode(&encode(&set)), Some(set));
        }
    }
}
