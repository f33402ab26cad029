//! What is wrong in very many places, each below a very long path, is told of in part.

use super::*;
use crate::bounded::{MOST, MOST_BYTES};

/// A name that is most of every path below it.
const LONG: usize = MOST_BYTES / 10;
/// Places below it: with the whole path each, they are several hundred megabytes.
const PLACES: usize = 3000;

fn bytes(causes: &[Cause]) -> usize {
    causes.iter().map(|cause| cause.field.len() + cause.message.len()).sum()
}

fn long() -> String {
    "x".repeat(LONG)
}

fn many<V>(value: impl Fn() -> V) -> Value
where
    Value: From<V>,
{
    Value::Object((0..PLACES).map(|place| (format!("p{place}"), Value::from(value()))).collect())
}

fn assert_bounded(causes: &[Cause]) {
    assert!((2..=MOST).contains(&causes.len()) && bytes(causes) <= MOST_BYTES, "{} causes of {} bytes", causes.len(), bytes(causes));
}

#[test]
fn a_schema_with_many_mistakes() {
    for (name, mistakes) in [
        ("without a type", json!({"type": "object", "properties": many(|| json!({}))})),
        ("no schema", json!({"type": "object", "properties": many(|| 1)})),
        ("junctors", json!({"type": "object", "allOf": vec![json!({"type": "object", "default": 1}); PLACES]})),
        ("only in a junctor", json!({"type": "object", "allOf": [{"properties": many(|| json!({}))}]})),
        ("defaults", json!({"type": "object", "properties": many(|| json!({"type": "string", "default": 1}))})),
        ("a default", json!({"type": "object", "default": many(|| 1), "additionalProperties": {"type": "string"}})),
        ("rules", json!({"type": "object", "properties": many(|| json!({"type": "string", "x-kubernetes-validations": [{"rule": "("}]}))})),
    ] {
        let schema = json!({"type": "object", "properties": {long(): mistakes}});
        let causes = validate_definition(&definition_with(schema), None);
        assert!(causes.iter().any(|cause| cause.field.len() > LONG), "{name}: {:?}", causes.first().map(|cause| &cause.message));
        assert_bounded(&causes);
    }
}

#[test]
fn an_object_with_many_mistakes() {
    let text = json!({"type": "string", "maxLength": 1, "enum": ["a"]});
    for inside in [
        json!({"type": "object", "additionalProperties": text}),
        json!({"type": "object", "additionalProperties": {"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^a$"}]}}),
        json!({"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'a'"}]}}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}, "required": (0..PLACES).map(|n| format!("r{n}")).collect::<Vec<_>>()}),
    ] {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": inside}}});
        let mut definition = definition_with(schema);
        definition["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
        let version = version_of(&definition);
        let object = widget(json!({long(): many(|| "bb")}));
        assert_bounded(&validate(&version, &object, None));
    }
}

#[test]
fn of_many_alternatives_one_is_told() {
    let branches: Vec<Value> = (0..PLACES).map(|branch| json!({"required": ["a", "b", format!("c{branch}")]})).collect();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": {"type": "object", "anyOf": branches}}}});
    let mut definition = definition_with(schema);
    definition["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    let version = version_of(&definition);
    let causes = validate(&version, &widget(json!({long(): {"a": 1}})), None);
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.rsplit('.').next().unwrap_or_default()).collect();
    assert_eq!(fields, ["<nil>", "b", "c0"]);
}
