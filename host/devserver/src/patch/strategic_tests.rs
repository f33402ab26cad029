//! Strategic merge patches: lists by key, directives, orders.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::testing::nested;
use crate::patch::tests::Described;

/// Small JSON of every kind, with few names, so that two values often meet.
pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..90).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(vec!["", "a", "b", "delete", "replace", "merge", "TCP"]).prop_map(Value::from),
    ];
    nested(
        leaf,
        &[
            "a",
            "b",
            "name",
            "port",
            "protocol",
            "list",
            "set",
            "atomic",
            "labels",
            "status",
            "$patch",
            "$retainKeys",
            "$setElementOrder/list",
            "$setElementOrder/set",
            "$setElementOrder/atomic",
            "$deleteFromPrimitiveList/set",
            "$deleteFromPrimitiveList/list",
            "$deleteFromPrimitiveList",
            "metadata",
            "managedFields",
        ],
        4,
    )
}

/// A struct with lists of all kinds, itself again below `a`.
pub(crate) fn everything() -> Value {
    let item = json!({"fields": {"name": {}, "port": {}, "protocol": {}, "a": {"any": true}, "b": {}, "set": {"list": {}, "set": true, "merge": ""}}, "default": {"protocol": "TCP"}});
    let lists = json!({
        "a": {"any": true},
        "b": {},
        "name": {},
        "list": {"list": item, "keys": ["name", "port", "protocol"], "merge": "name"},
        "set": {"list": {}, "set": true, "merge": ""},
        "atomic": {"list": {"any": true}},
        "labels": {"values": {}},
        "metadata": {"fields": {"name": {}, "labels": {"values": {}}, "managedFields": {"list": {"any": true}}}},
    });
    let mut top = lists.clone();
    top["port"] = json!({"fields": lists});
    json!({"fields": top, "builtin": true})
}

fn deployment() -> Value {
    let containers = json!({"list": {"fields": {
        "name": {}, "image": {}, "args": {"list": {}},
        "env": {"list": {"fields": {"name": {}, "value": {}}}, "merge": "name"},
        "resources": {"fields": {"limits": {"values": {}}}},
    }}, "merge": "name"});
    json!({"fields": {
        "metadata": {"fields": {"labels": {"values": {}}, "finalizers": {"list": {}, "merge": ""}}},
        "spec": {"fields": {
            "containers": containers,
            "strategy": {"fields": {"type": {}, "rollingUpdate": {"fields": {"maxSurge": {}}}}},
            "selector": {"fields": {"matchLabels": {"values": {}}}, "replace": true},
        }},
    }})
}

fn patch(object: Value, patch: Value) -> Result<Value, Status> {
    let schema = deployment();
    merge_document(object, &patch, Described(&schema))
}

fn containers(names: &str) -> Value {
    names.split_whitespace().map(|name| json!({"name": name})).collect()
}

#[test]
fn order_of_keyed_lists() {
    let cases = [
        ("X", None, "X A B C"),
        ("B X", None, "A B X C"),
        ("X B", None, "X A B C"),
        ("C A", None, "B C A"),
        ("A X C", None, "A X B C"),
        ("X", Some("C X A"), "B C X A"),
        ("", Some("C B A"), "C B A"),
    ];
    for (names, order, want) in cases {
        let mut spec = json!({});
        if !names.is_empty() {
            spec["containers"] = containers(names);
        }
        if let Some(order) = order {
            spec["$setElementOrder/containers"] = containers(order);
        }
        let got = patch(json!({"spec": {"containers": containers("A B C")}}), json!({"spec": spec})).unwrap();
        assert_eq!(got, json!({"spec": {"containers": containers(want)}}), "{names} {order:?}");
    }
}

#[test]
fn merging() {
    let before = json!({"spec": {"containers": [{"name": "c", "image": "x", "args": ["1", "2"], "env": [{"name": "A", "value": "1"}]}]}});
    let cases = [
        (
            json!({"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}),
            json!({"containers": [{"name": "c", "image": "x", "args": ["1", "2"], "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}]}),
        ),
        (
            json!({"containers": [{"name": "c", "env": [{"name": "A", "$patch": "delete"}], "image": null}]}),
            json!({"containers": [{"name": "c", "args": ["1", "2"], "env": []}]}),
        ),
        (json!({"containers": [{"$patch": "replace"}, {"name": "n", "image": "n"}]}), json!({"containers": [{"name": "n", "image": "n"}]})),
        (
            json!({"containers": [{"name": "n", "image": null, "env": [{"name": "x", "$patch": "delete"}]}, {"name": "c", "$patch": "delete"}]}),
            json!({"containers": [{"name": "n", "env": []}]}),
        ),
        (
            json!({"containers": [{"name": "c", "args": ["3"]}]}),
            json!({"containers": [{"name": "c", "image": "x", "args": ["3"], "env": [{"name": "A", "value": "1"}]}]}),
        ),
        (json!({"containers": null}), json!({})),
        (json!({"$patch": "replace", "strategy": {"type": "T"}}), json!({"strategy": {"type": "T"}})),
        (json!({"$patch": "delete", "strategy": {"type": "T"}}), json!({})),
    ];
    for (spec, want) in cases {
        assert_eq!(patch(before.clone(), json!({"spec": spec})).unwrap(), json!({"spec": want}), "{spec}");
    }
}

#[test]
fn retained_keys_and_replaced_objects() {
    let before =
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "selector": {"matchLabels": {"a": "1"}}}});
    let after = patch(
        before.clone(),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}, "selector": {"matchLabels": {"b": "2"}}}}),
    )
    .unwrap();
    assert_eq!(after, json!({"spec": {"strategy": {"type": "Recreate"}, "selector": {"matchLabels": {"b": "2"}}}}));
    for bad in [json!({"$retainKeys": ["rollingUpdate"], "type": "Recreate"}), json!({"$retainKeys": "type"})] {
        let status = patch(before.clone(), json!({"spec": {"strategy": bad}})).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (400, "invalid patch format of retainKeys"));
    }
}

#[test]
fn lists_of_scalars() {
    let cases = [
        (json!({"finalizers": ["c", "a"]}), json!(["c", "a", "b"])),
        (json!({"$deleteFromPrimitiveList/finalizers": ["a", "x"]}), json!(["b"])),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]}),
            json!(["c", "b"]),
        ),
        (json!({"$setElementOrder/finalizers": ["b", "a"]}), json!(["b", "a"])),
    ];
    for (change, want) in cases {
        let after = patch(json!({"metadata": {"finalizers": ["a", "b"]}}), json!({"metadata": change})).unwrap();
        assert_eq!(after["metadata"]["finalizers"], want, "{change}");
    }
}

#[test]
fn errors() {
    let before = json!({"metadata": {"finalizers": ["a"]}, "spec": {"containers": [{"name": "c"}], "strategy": {"type": "T"}}});
    let cases = [
        (json!({"spec": {"containers": [{"image": "z"}]}}), 500, "map: map[image:z] does not contain declared merge key: name"),
        (json!({"spec": {"containers": [{"$patch": "delete"}]}}), 500, "map: map[$patch:delete] does not contain declared merge key: name"),
        (
            json!({"spec": {"containers": [{"name": "c", "$patch": "jump"}]}}),
            500,
            "unknown patch type: jump in map: map[$patch:jump name:c]",
        ),
        (json!({"spec": {"strategy": {"$patch": "merge"}}}), 500, "unknown patch type: merge in map: map[$patch:merge]"),
        (json!({"spec": {"containers": ["c"]}}), 500, "list element types are not identical: [[map[name:c]] [c]]"),
        (json!({"spec": {"$setElementOrder/containers": "c"}}), 500, "expected a []interface {}, but received a string"),
        (json!({"spec": {"$setElementOrder/nothing": []}}), 500, "unable to find api field in struct for the json field \"nothing\""),
        (json!({"spec": {"$setElementOrder": [1]}}), 400, "invalid patch format of setElementOrder list"),
        (json!({"metadata": {"$deleteFromPrimitiveList": ["a"]}}), 400, "invalid patch format of primitive list"),
        (json!({"metadata": {"finalizers": [["a"]]}}), 500, "list element types are not identical: [[a] [[a]]]"),
        (json!([]), 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ];
    for (change, code, message) in cases {
        let status = patch(before.clone(), change.clone()).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message), "{change}");
        assert_eq!(status.reason, if code == 400 { "BadRequest" } else { "" });
    }
    let order = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}], "$setElementOrder/containers": containers("a b")}});
    assert!(patch(before, order).unwrap_err().message.starts_with("The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match"));
}

fn has_directive(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| name == DIRECTIVE || is_directive(name) || has_directive(value)),
        Value::Array(items) => items.iter().any(has_directive),
        _ => false,
    }
}

proptest! {
    #[test]
    fn no_patch_panics(object in anything(), change in anything()) {
        let schema = everything();
        let _ = merge_document(object, &change, Described(&schema));
    }

    #[test]
    fn an_object_patched_with_itself_stays(object in anything().prop_filter("an object", |value| value.is_object() && !has_directive(value))) {
        let schema = everything();
        if let Ok(after) = merge_document(object.clone(), &object, Described(&schema)) {
            let again = merge_document(after.clone(), &after, Described(&schema)).unwrap();
            prop_assert_eq!(after, again);
        }
    }
}
