//! What goes in and what the reference server answers.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::testing::nested;

fn read(version: &str, kind: &str, value: Value) -> Result<Decoded, String> {
    decode(TypeId::of_kind(version, kind).unwrap(), value)
}

#[test]
fn answers_have_the_form_of_the_real_server() {
    for (version, kind, sent, answered) in [
        ("v1", "ConfigMap", json!({}), json!({"metadata": {}})),
        (
            "v1",
            "ConfigMap",
            json!({"metadata": {"name": "a", "labels": {}, "finalizers": []}, "data": {}, "binaryData": null}),
            json!({"metadata": {"name": "a"}}),
        ),
        ("v1", "ConfigMap", json!({"data": {"a": null, "b": ""}}), json!({"metadata": {}, "data": {"a": "", "b": ""}})),
        (
            "v1",
            "Secret",
            json!({"data": {"a": "AA\n=="}, "immutable": false}),
            json!({"metadata": {}, "data": {"a": "AA=="}, "immutable": false}),
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0, "paused": false, "template": {"spec": {"containers": [{"name": "c"}]}}}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "status": {}, "spec": {
                "replicas": 0, "selector": null, "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
            }}),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"serviceName": "s"}}),
            json!({"metadata": {}, "spec": {"selector": null, "serviceName": "s", "template": {"metadata": {}, "spec": {"containers": null}}, "updateStrategy": {}}, "status": {"replicas": 0, "availableReplicas": 0}}),
        ),
        ("rbac.authorization.k8s.io/v1", "Role", json!({"rules": []}), json!({"metadata": {}, "rules": null})),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"ingress": [{}], "egress": []}}),
            json!({"metadata": {}, "spec": {"podSelector": {}, "ingress": [{}]}}),
        ),
        (
            "v1",
            "ResourceQuota",
            json!({"spec": {"hard": {"a": "1024Mi", "b": 0.5, "c": 1, "d": " 2000 ", "e": null}}}),
            json!({"metadata": {}, "spec": {"hard": {"a": "1Gi", "b": "500m", "c": "1", "d": "2k", "e": "0"}}, "status": {}}),
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {"renewTime": "2026-01-01T01:00:00.000001+01:00", "leaseTransitions": 0}}),
            json!({"metadata": {}, "spec": {"renewTime": "2026-01-01T00:00:00.000001Z", "leaseTransitions": 0}}),
        ),
        (
            "v1",
            "Event",
            json!({"involvedObject": {}, "lastTimestamp": "2026-01-01T00:00:00.7Z"}),
            json!({"metadata": {}, "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": "2026-01-01T00:00:00Z", "eventTime": null, "reportingComponent": "", "reportingInstance": ""}),
        ),
        (
            "apps/v1",
            "ControllerRevision",
            json!({"data": {"any": [1, null]}}),
            json!({"metadata": {}, "data": {"any": [1, null]}, "revision": 0}),
        ),
        (
            "v1",
            "ConfigMap",
            json!({"metadata": {"creationTimestamp": null, "managedFields": [{"fieldsV1": {"f:data": {}}}]}}),
            json!({"metadata": {"managedFields": [{"fieldsV1": {"f:data": {}}}]}}),
        ),
        (
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            json!({"spec": {"extra": {"a": ["b"], "c": []}}}),
            json!({"metadata": {}, "spec": {"extra": {"a": ["b"], "c": []}}, "status": {"allowed": false}}),
        ),
    ] {
        let decoded = read(version, kind, sent).unwrap();
        assert_eq!(decoded.value, answered, "{kind}");
        assert!(decoded.unknown.is_empty());
        assert_eq!(read(version, kind, decoded.value).unwrap().value, answered, "{kind} once more");
    }
}

#[test]
fn schemas_of_definitions_keep_what_they_say() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "array", "items": {"type": "string"}, "default": [null, 1.0]},
        "b": {"additionalProperties": true, "x-kubernetes-preserve-unknown-fields": true, "enum": [null, "a", 1]},
        "c": {"additionalProperties": {"type": "number", "maximum": 1.5, "minimum": 0}},
        "d": {"additionalProperties": false, "items": [{"type": "string"}], "dependencies": {"x": ["y"], "z": {"type": "string"}}},
    }});
    let sent = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}});
    let decoded = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", sent).unwrap();
    assert_eq!(decoded.value.pointer("/spec/versions/0/schema/openAPIV3Schema"), Some(&schema));
}

#[test]
fn unknown_fields_are_told_with_their_paths() {
    let sent = json!({"Spec": {}, "metadata": {"lables": {}}, "spec": {"foo": 1, "containers": [{"name": "a"}, {"bar": {"x": 1}, "env": [{"valueFrom": {"no": 0}}]}]}, "zoo": null});
    let decoded = read("v1", "Pod", sent).unwrap();
    assert_eq!(
        decoded.unknown,
        ["Spec", "metadata.lables", "spec.containers[1].bar", "spec.containers[1].env[0].valueFrom.no", "spec.foo", "zoo"]
    );
    assert!(decoded.value.get("Spec").is_none() && decoded.value.pointer("/spec/foo").is_none());
    let schema = json!({"properties": {"a": {"unknown": 1, "items": {"silent": 1}}}});
    let sent = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
    let decoded = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", sent).unwrap();
    assert_eq!(decoded.unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.unknown"]);
    let many: Map<String, Value> = (0..1000).map(|n| (format!("k{n}"), json!(1))).collect();
    assert_eq!(read("v1", "Pod", Value::Object(many)).unwrap().unknown.len(), MOST);
}

#[test]
fn wrong_types_are_refused_in_the_words_of_go() {
    for (version, kind, sent, error) in [
        ("v1", "ConfigMap", json!({"data": {"a": 1}}), "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (
            "v1",
            "ConfigMap",
            json!({"data": "x"}),
            "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "v1",
            "ConfigMap",
            json!({"metadata": {"name": {}}}),
            "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.name of type string",
        ),
        ("v1", "ConfigMap", json!([]), "json: cannot unmarshal array into Go value of type v1.ConfigMap"),
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": "1"}}),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": 3_000_000_000_u64}}),
            "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"replicas": 1.5}}),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/v1",
            "Deployment",
            json!({"spec": {"template": {"spec": {"containers": [{"env": [{"value": true}]}]}}}}),
            "json: cannot unmarshal bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
        ),
        (
            "v1",
            "Pod",
            json!({"spec": {"containers": {}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "v1",
            "Pod",
            json!({"spec": {"containers": [1]}}),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        ("v1", "Secret", json!({"data": {"a": "A*=="}}), "illegal base64 data at input byte 1"),
        (
            "v1",
            "ResourceQuota",
            json!({"spec": {"hard": {"a": true}}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            json!({"spec": {"renewTime": "2026-01-01T00:00:00Z"}}),
            "parsing time \"2026-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
        ),
        ("v1", "Service", json!({"spec": {"ports": [{"targetPort": false}]}}), "json: cannot unmarshal bool into Go value of type int32"),
        ("v1", "Event", json!({"lastTimestamp": 5}), "json: cannot unmarshal number into Go value of type string"),
    ] {
        assert_eq!(read(version, kind, sent).unwrap_err(), error);
    }
}

#[test]
fn deep_objects_are_refused() {
    let mut schema = json!({});
    for _ in 0..300 {
        schema = json!({"not": schema});
    }
    let sent = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
    assert_eq!(read("apiextensions.k8s.io/v1", "CustomResourceDefinition", sent).unwrap_err(), "exceeded max depth");
}

/// JSON made of names that types have, so that more than the surface is reached.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9A-Za-z=.:+-]{0,12}".prop_map(Value::from),
    ];
    nested(leaf, &["spec", "metadata", "template", "containers", "ports", "env", "items", "not", "labels", "x", "status", "selector"], 6)
}

proptest! {
    #[test]
    fn anything_is_read_or_refused_and_reading_again_changes_nothing(sent in any_value()) {
        for (version, kind) in [("apps/v1", "Deployment"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition")] {
            if let Ok(decoded) = read(version, kind, sent.clone()) {
                let again = read(version, kind, decoded.value.clone()).unwrap();
                prop_assert!(again.unknown.is_empty());
                prop_assert_eq!(again.value, decoded.value);
            }
        }
    }
}
