//! Objects: what is pruned, filled in and refused, at a create and at an update.

use serde_json::{Value, json};

use super::*;

const SKIPPED: &str = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

#[test]
fn what_is_pruned_and_filled() {
    let version = version_of(&definition_with(schema()));
    for (spec, want, want_gone) in [
        (json!({"color": "red", "unknown": 1}), json!({"color": "red", "size": 3}), vec!["spec.unknown"]),
        (json!({"color": null, "size": null}), json!({"size": 3}), vec![]),
        (
            json!({"items": [{"name": "a", "x": 1, "v": null}]}),
            json!({"size": 3, "items": [{"name": "a", "v": null}]}),
            vec!["spec.items[0].x"],
        ),
        (
            json!({"free": {"b": {"c": [1]}, "known": {"a": "1", "z": 1}}}),
            json!({"size": 3, "free": {"b": {"c": [1]}, "known": {"a": "1"}}}),
            vec!["spec.free.known.z"],
        ),
        (json!({"labels": {"a": "b", "c": null}}), json!({"size": 3, "labels": {"a": "b"}}), vec![]),
        (json!({"tags": "no list", "items": 7}), json!({"size": 3, "tags": "no list", "items": 7}), vec![]),
    ] {
        let (object, gone, _) = send(&version, widget(spec.clone()), None);
        assert_eq!(object, widget(want), "{spec}");
        assert_eq!(gone, want_gone, "{spec}");
    }
    let mut object = json!({"apiVersion": "a", "kind": "k", "metadata": {"name": "x", "odd": 1}, "other": {}});
    assert_eq!(prune_and_default(&version, &mut object), ["other"]);
    assert_eq!(object, json!({"apiVersion": "a", "kind": "k", "metadata": {"name": "x", "odd": 1}}), "metadata is not the schema's");
}

#[test]
fn objects_that_are_refused() {
    let version = version_of(&definition_with(schema()));
    for (spec, want) in [
        (json!({"color": "red"}), vec![]),
        (
            json!({"color": "pink", "size": 0}),
            vec![
                "spec.color: Unsupported value: \"pink\": supported values: \"red\", \"blue\"",
                "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
                SKIPPED,
            ],
        ),
        (json!({}), vec!["spec.color: Required value", SKIPPED]),
        (
            json!({"color": 5}),
            vec!["spec.color: Invalid value: \"integer\": spec.color in body must be of type string: \"integer\"", SKIPPED],
        ),
        (json!({"color": "red", "size": 0}), vec!["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]),
        (json!({"color": "red", "size": 1.0}), vec![]),
        (
            json!({"color": "red", "size": 1.5}),
            vec!["spec.size: Invalid value: \"number\": spec.size in body must be of type integer: \"number\"", SKIPPED],
        ),
        (json!({"color": "red", "size": 100}), vec!["spec: Invalid value: \"object\": size too big"]),
        (json!({"color": "red", "replicas": 4}), vec!["spec.replicas: Forbidden: at most 3"]),
        (
            json!({"color": "red", "labels": {"a": "x"}}),
            vec!["spec: Invalid value: \"object\": failed rule: !has(self.labels) || self.labels.a != 'x'"],
        ),
        (
            json!({"color": "red", "labels": {"b": "x"}}),
            vec!["spec: Invalid value: \"object\": no such key: a evaluating rule: !has(self.labels) || self.labels.a != 'x'"],
        ),
        (json!({"color": "red", "items": [{"name": "a"}, {"name": "a"}]}), vec!["spec.items[1]: Duplicate value: {\"name\":\"a\"}"]),
        (
            json!({"color": "red", "items": [{"name": "A", "v": "abc"}, {}]}),
            vec![
                "spec.items[0].name: Invalid value: \"A\": spec.items[0].name in body should match '^[a-z]+$'",
                "spec.items[0].v: Too long: may not be more than 2 bytes",
                "spec.items[1].name: Required value",
                SKIPPED,
            ],
        ),
        (json!({"color": "red", "items": [{"name": "a", "v": null}, {"name": "b", "v": "äö"}]}), vec![]),
        (
            json!({"color": "red", "items": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]}),
            vec!["spec.items: Too many: 4: must have at most 3 items", SKIPPED],
        ),
        (
            json!({"color": "red", "tags": ["a", "b", "a", ""]}),
            vec![
                "spec.tags[3]: Invalid value: \"\": spec.tags[3] in body should be at least 1 chars long",
                "spec.tags[2]: Duplicate value: \"a\"",
            ],
        ),
        (json!({"color": "red", "port": "http"}), vec![]),
        (json!({"color": "red", "port": 80}), vec![]),
        (
            json!({"color": "red", "port": true}),
            vec!["spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"", SKIPPED],
        ),
        (json!({"color": "red", "ratio": 1}), vec!["spec.ratio: Invalid value: 1: spec.ratio in body should be less than 1"]),
        (json!({"color": "red", "ratio": 0.3}), vec!["spec.ratio: Invalid value: 0.3: spec.ratio in body should be a multiple of 0.25"]),
        (json!({"color": "red", "ratio": 0.75}), vec![]),
        (json!({"color": "red", "labels": {"a": "1", "b": "2"}}), vec!["spec.labels: Too many: 2: must have at most 1 items", SKIPPED]),
        (
            json!({"color": "red", "at": "yesterday"}),
            vec!["spec.at: Invalid value: \"yesterday\": spec.at in body must be of type date-time: \"yesterday\"", SKIPPED],
        ),
        (
            json!({"color": "red", "way": {"a": "1", "b": "2"}}),
            vec!["<nil>: Invalid value: \"\": \"spec.way\" must validate one and only one schema (oneOf). Found 2 valid alternatives"],
        ),
        (
            json!({"color": "red", "way": {}}),
            vec![
                "<nil>: Invalid value: \"\": \"spec.way\" must validate one and only one schema (oneOf). Found none valid",
                "spec.way.a: Required value",
                SKIPPED,
            ],
        ),
        (json!("text"), vec!["spec: Invalid value: \"string\": spec in body must be of type object: \"string\"", SKIPPED]),
    ] {
        assert_eq!(send(&version, widget(spec.clone()), None).2, want, "{spec}");
    }
}

#[test]
fn what_was_wrong_before_stands_in_no_way() {
    let version = version_of(&definition_with(schema()));
    let old = |spec: Value| send(&version, widget(spec), None).0;
    for (before, after, want) in [
        (json!({"color": "pink"}), json!({"color": "pink", "replicas": 1}), vec![]),
        (
            json!({"color": "pink"}),
            json!({"color": "black"}),
            vec!["spec.color: Unsupported value: \"black\": supported values: \"red\", \"blue\"", SKIPPED],
        ),
        (json!({"color": "red", "size": 100}), json!({"color": "red", "size": 100}), vec![]),
        (
            json!({"color": "red", "size": 100}),
            json!({"color": "blue", "size": 100}),
            vec!["spec: Invalid value: \"object\": size too big"],
        ),
        // Items with keys are the same item at another place.
        (
            json!({"color": "red", "items": [{"name": "A", "v": "1"}]}),
            json!({"color": "red", "items": [{"name": "b"}, {"name": "A", "v": "1"}]}),
            vec![],
        ),
        (json!({"color": "red", "items": [{"name": "A", "v": "1"}]}), json!({"color": "red", "items": [{"name": "A", "v": "2"}]}), vec![]),
        (
            json!({"color": "red", "tags": [""]}),
            json!({"color": "red", "tags": ["", "a"]}),
            vec!["spec.tags[0]: Invalid value: \"\": spec.tags[0] in body should be at least 1 chars long"],
        ),
        (json!({"color": "red", "tags": ["a", "a"]}), json!({"color": "red", "tags": ["a", "a", "b"]}), vec![]),
        (
            json!({"color": "red", "once": "a"}),
            json!({"color": "red", "once": "b"}),
            vec!["spec.once: Invalid value: \"string\": once is immutable"],
        ),
        (json!({"color": "red"}), json!({"color": "red", "once": "b"}), vec![]),
    ] {
        let old = old(before.clone());
        assert_eq!(send(&version, widget(after.clone()), Some(&old)).2, want, "{before} -> {after}");
    }
    assert_eq!(send(&version, widget(json!({"color": "red", "once": "a"})), None).2, Vec::<String>::new(), "nothing changes at a create");
}

#[test]
fn costly_rules_are_stopped() {
    let definition = definition_with(json!({"type": "object", "properties": {"spec": {
        "type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a + b != 'x'))"}, {"rule": "false"}]}}}));
    let version = version_of(&definition);
    let many: Vec<String> = (0..5000).map(|n| n.to_string()).collect();
    let (_, _, causes) = send(&version, widget(json!(many)), None);
    let want = "spec: Invalid value: \"array\": no further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, a + b != 'x'))";
    assert_eq!(causes, [want]);
}

#[test]
fn shapes_for_merging() {
    use crate::schema::{ListKind, Shape};
    let version = version_of(&definition_with(schema()));
    let Some(Shape::Custom(spec)) = version.schema.member("spec") else { panic!("spec is in the schema") };
    let custom = |of: Option<Shape<'_>>| matches!(of, Some(Shape::Custom(_)));
    assert!(custom(version.schema.member("kind")) && version.schema.member("nope").is_none());
    let Some(Shape::Custom(items)) = spec.member("items") else { panic!("items is in the schema") };
    assert!(items.is_list() && items.list_kind() == ListKind::Map(vec!["name".to_owned()]) && matches!(items.items(), Shape::Custom(_)));
    let Some(Shape::Custom(tags)) = spec.member("tags") else { panic!("tags is in the schema") };
    assert_eq!(tags.list_kind(), ListKind::Set);
    let Some(Shape::Custom(free)) = spec.member("free") else { panic!("free is in the schema") };
    assert!(matches!(free.member("anything"), Some(Shape::Free)) && !free.is_list() && !free.is_atomic_map());
    let Some(Shape::Custom(labels)) = spec.member("labels") else { panic!("labels is in the schema") };
    assert!(custom(labels.member("anything")));
    assert_eq!(spec.default_of("size"), Some(&json!(3)));
}
