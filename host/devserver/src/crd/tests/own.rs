//! wharf's own definition, which must work completely; and JSON of any kind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::testing::nested;

fn plugins() -> (Arc<CustomVersion>, Value) {
    let mut definition = wharf_core::plugin::custom_resource_definition();
    prepare(&mut definition);
    assert_eq!(wrong_with(&definition, None), []);
    let example: Value = serde_saphyr::from_str(include_str!("../../../../../plugins/label-guard/plugin.yaml")).unwrap();
    (version_of(&definition), example)
}

#[test]
fn our_examples_are_accepted() {
    let (version, _) = plugins();
    for text in [
        include_str!("../../../../../plugins/config-restarter/plugin.yaml"),
        include_str!("../../../../../plugins/configmap-replicator/plugin.yaml"),
        include_str!("../../../../../plugins/image-tag-reporter/plugin.yaml"),
        include_str!("../../../../../plugins/job-cleaner/plugin.yaml"),
        include_str!("../../../../../plugins/namespace-bootstrapper/plugin.yaml"),
    ] {
        let example: Value = serde_saphyr::from_str(text).unwrap();
        let (object, gone, causes) = send(&version, example.clone(), None);
        assert_eq!((object, gone, causes), (example, vec![], vec![]));
    }
}

#[test]
fn our_own_definition() {
    let (version, example) = plugins();
    let (object, gone, causes) = send(&version, example.clone(), None);
    assert_eq!((gone, causes), (vec![], vec![]));
    assert_eq!(object, example, "nothing is pruned or filled in");
    for (pointer, value, want) in [
        (
            "/metadata/name",
            json!("Bad_Name"),
            "<nil>: Invalid value: \"object\": Bad_Name is no name (lower case letters, digits and '-', at most 63, beginning and ending with a letter or digit)",
        ),
        (
            "/spec/component",
            json!({}),
            "spec.component: Invalid value: \"object\": component does not say where it is (write one of file, configMap)",
        ),
        (
            "/spec/component",
            json!({"oci": "x"}),
            "spec.component.oci: Invalid value: \"object\": oci is not supported (put the component into a file or a ConfigMap, and write file or configMap)",
        ),
        (
            "/spec/component/file",
            json!("../x"),
            "spec.component.file: Invalid value: \"string\": ../x is no file below the plugins folder (write a relative path without ..)",
        ),
        (
            "/spec/limits/memory",
            json!("1Ti"),
            "spec.limits.memory: Invalid value: \"\": 1Ti is no quantity (write a whole number with Ki, Mi or Gi, for example 64Mi)",
        ),
        (
            "/spec/limits/memory",
            json!("512Mi"),
            "spec.limits.memory: Invalid value: \"\": 512Mi is more than 256Mi (between 1Mi and 256Mi)",
        ),
        (
            "/spec/limits/deadline",
            json!("2 s"),
            "spec.limits.deadline: Invalid value: \"string\": 2 s is no duration (write numbers with ms, s, m or h, for example 500ms or 1m30s)",
        ),
        ("/spec/limits/deadline", json!("5m"), "spec.limits.deadline: Invalid value: \"string\": 5m is more than 1m (between 10ms and 1m)"),
        (
            "/spec/limits",
            json!({"cpu": "3s", "deadline": "2s"}),
            "spec.limits.cpu: Invalid value: \"object\": cpu is longer than deadline and would never be reached (make cpu at most deadline)",
        ),
        (
            "/spec/subscribe/0/namespaces",
            json!([]),
            "spec.subscribe[0].namespaces: Invalid value: \"array\": namespaces is empty, which covers nothing (name some, write [\"*\"] for all, or leave it out for the plugin's own)",
        ),
        (
            "/spec/subscribe/0/kind",
            json!("configMap"),
            "spec.subscribe[0].kind: Invalid value: \"string\": configMap is no kind (write it as in an object, for example ConfigMap)",
        ),
        (
            "/spec/grants/0/cluster/verbs",
            json!(["fly"]),
            "spec.grants[0].cluster.verbs[0]: Unsupported value: \"fly\": supported values: \"get\", \"list\", \"create\", \"apply\", \"patch\", \"delete\"",
        ),
        (
            "/spec/serviceAccountName",
            json!("-"),
            "spec.serviceAccountName: Invalid value: \"string\": - is no name (lower case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit)",
        ),
    ] {
        let mut object = example.clone();
        *object.pointer_mut(pointer).unwrap() = value;
        let causes = send(&version, object, None).2;
        assert_eq!(causes.first().map(String::as_str), Some(want), "{pointer}");
    }
    let mut twice = example;
    twice["spec"]["subscribe"] = json!([{"name": "a", "apiVersion": "apps/v1", "kind": "Deployment"}, {"name": "b", "apiVersion": "apps/v1beta1", "kind": "Deployment"}]);
    let causes = send(&version, twice, None).2;
    assert_eq!(
        causes,
        [
            "spec.subscribe: Invalid value: \"array\": one kind is subscribed twice (merge them into one subscription with a selector that covers both)"
        ]
    );
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "object",
            "array",
            "string",
            "integer",
            "set",
            "map",
            "atomic",
            "self",
            "self.a == 1",
            "a",
            "^(",
            "date-time",
            ".spec.a",
            "v1"
        ])
        .prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    nested(
        leaf,
        &[
            "type",
            "properties",
            "items",
            "additionalProperties",
            "required",
            "enum",
            "default",
            "nullable",
            "minimum",
            "maxLength",
            "pattern",
            "format",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
            "rule",
            "a",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-validations",
            "spec",
            "status",
            "versions",
            "names",
            "schema",
            "openAPIV3Schema",
            "name",
            "served",
            "storage",
            "subresources",
            "scale",
            "conditions",
            "selectableFields",
            "jsonPath",
            "message",
        ],
        6,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is sent for a definition, a schema or an object, it is judged.
    #[test]
    fn any_json_is_judged(definition in values(), schema in values(), object in values(), old in values()) {
        let mut definition = definition;
        let _ = wrong_with(&definition, Some(&old));
        prepare(&mut definition);
        establish(&mut definition, &Taken::default(), "t");
        let _ = resources(&definition);
        let mut schema = schema;
        if let Some(map) = schema.as_object_mut() {
            map.insert("type".to_owned(), json!("object"));
        }
        let mut definition = definition_with(schema);
        let _ = wrong_with(&definition, None);
        establish(&mut definition, &Taken::default(), "t");
        if let Ok(served) = resources(&definition) {
            let Schema::Custom(version) = &served[0].schema else { panic!("a custom resource") };
            let _ = send(version, widget(object.clone()), None);
            let _ = send(version, object, Some(&old));
        }
    }

    /// What is filled once needs no more filling, and what is pruned no more pruning.
    #[test]
    fn reading_is_idempotent(spec in values()) {
        let version = version_of(&definition_with(schema()));
        let (once, ..) = send(&version, widget(spec), None);
        let (twice, gone, _) = send(&version, once.clone(), None);
        prop_assert_eq!(once, twice);
        prop_assert_eq!(gone, Vec::<String>::new());
    }
}
