//! Definitions and their objects, as clients meet them: what all of these tests begin with.

mod bounds;
mod definitions;
mod objects;
mod own;

use serde_json::{Value, json};

use super::*;
use crate::kind::Schema;

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {
            "type": "object", "required": ["color"],
            "properties": {
                "color": {"type": "string", "enum": ["red", "blue"]},
                "size": {"type": "integer", "default": 3, "minimum": 1},
                "replicas": {"type": "integer"},
                "items": {
                    "type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string", "pattern": "^[a-z]+$"}, "v": {"type": "string", "maxLength": 2, "nullable": true}}},
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "minLength": 1}},
                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "ratio": {"type": "number", "maximum": 1, "exclusiveMaximum": true, "multipleOf": 0.25},
                "labels": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
                "at": {"type": "string", "format": "date-time"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
                "way": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
                "once": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "once is immutable"}]},
            },
            "x-kubernetes-validations": [
                {"rule": "self.size < 100", "message": "size too big"},
                {"rule": "!has(self.replicas) || self.replicas <= self.size", "messageExpression": "'at most ' + string(self.size)", "fieldPath": ".replicas", "reason": "FieldValueForbidden"},
                {"rule": "!has(self.labels) || self.labels.a != 'x'"},
            ],
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }})
}

fn definition_with(schema: Value) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.conf.test"},
        "spec": {
            "group": "conf.test", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
            }],
        },
    });
    prepare(&mut definition);
    definition
}

fn wrong_with(definition: &Value, old: Option<&Value>) -> Vec<(String, String, String)> {
    let causes = verify::definition(definition, old, &|path| if path.starts_with('.') { Ok(()) } else { Err("bad path".to_owned()) });
    causes.into_iter().map(|cause| (cause.reason.to_owned(), cause.field, cause.message)).collect()
}

fn version_of(definition: &Value) -> Arc<CustomVersion> {
    let mut definition = definition.clone();
    establish(&mut definition, &Taken::default(), "2026-01-01T00:00:00Z");
    let resources = resources(&definition).unwrap();
    match &resources[0].schema {
        Schema::Custom(version) => Arc::clone(version),
        Schema::Builtin(_) => panic!("a custom resource"),
    }
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "conf.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

/// What becomes of it, the fields that go, and `field: message` of what is wrong.
fn send(version: &CustomVersion, mut object: Value, old: Option<&Value>) -> (Value, Vec<String>, Vec<String>) {
    let gone = prune_and_default(version, &mut object);
    let causes = validate(version, &object, old).into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    (object, gone, causes)
}
