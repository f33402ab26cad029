//! Definitions: what is filled in, refused and kept, and what they serve.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_definition_comes_to_be() {
    let mut definition = definition_with(schema());
    assert_eq!(wrong_with(&definition, None), []);
    assert_eq!(definition["status"], json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}));
    assert_eq!(definition["spec"]["names"]["singular"], "widget");
    assert_eq!(definition["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(definition["spec"]["conversion"], json!({"strategy": "None"}));
    assert!(resources(&definition).unwrap().is_empty(), "not established yet");

    establish(&mut definition, &Taken::default(), "2026-01-01T00:00:00Z");
    let established = definition.clone();
    assert_eq!(definition["status"]["acceptedNames"], definition["spec"]["names"]);
    let conditions: Vec<_> =
        definition["status"]["conditions"].as_array().unwrap().iter().map(|one| (one["type"].clone(), one["reason"].clone())).collect();
    assert_eq!(conditions, [(json!("NamesAccepted"), json!("NoConflicts")), (json!("Established"), json!("InitialNamesAccepted"))]);
    establish(&mut definition, &Taken::default(), "2027-01-01T00:00:00Z");
    assert_eq!(definition, established, "what holds keeps its time");

    let served = resources(&definition).unwrap();
    assert_eq!(served.len(), 1);
    let widgets = &served[0];
    assert_eq!(
        (&*widgets.storage, &*widgets.singular, &*widgets.list_kind, widgets.namespaced),
        ("widgets.conf.test", "widget", "WidgetList", true)
    );
    assert!(widgets.allows("deletecollection") && widgets.is_custom());
    let subresources: Vec<_> = widgets.subresources.iter().map(|one| (&*one.name, &*one.group, &*one.version, &*one.kind)).collect();
    assert_eq!(subresources, [("status", "conf.test", "v1", "Widget"), ("scale", "autoscaling", "v1", "Scale")]);
    let version = version_of(&definition);
    assert!(served[0].deprecation.is_none());
    assert_eq!(version.selectable, [".spec.color"]);
}

#[test]
fn versions_are_in_their_order() {
    let mut definition = definition_with(schema());
    let version = |name: &str, deprecated: bool| json!({"name": name, "served": name != "v9", "storage": name == "v1beta1", "deprecated": deprecated, "schema": {"openAPIV3Schema": {"type": "object"}}});
    definition["spec"]["versions"] =
        ["v1alpha1", "foo", "v1", "v9", "v10", "v1beta1"].into_iter().map(|name| version(name, name == "v1alpha1")).collect();
    prepare(&mut definition);
    assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v1beta1"]), "a new one is added");
    establish(&mut definition, &Taken::default(), "t");
    let served = resources(&definition).unwrap();
    let names: Vec<&str> = served.iter().map(|one| &*one.version).collect();
    assert_eq!(names, ["v10", "v1", "v1beta1", "v1alpha1", "foo"]);
    assert_eq!(served[3].deprecation.as_deref(), Some("conf.test/v1alpha1 Widget is deprecated; use conf.test/v10 Widget"));
    assert_eq!(wrong_with(&definition, None), []);
}

#[test]
fn definitions_that_are_refused() {
    let root = "spec.validation.openAPIV3Schema";
    for (pointer, value, reason, field, message) in [
        ("/metadata/name", json!("x"), "Invalid", "metadata.name", "Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group"),
        ("/spec/group", json!("conf"), "Invalid", "spec.group", "should be a domain with at least one dot"),
        (
            "/spec/scope",
            json!("Galaxy"),
            "NotSupported",
            "spec.scope",
            "Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        ("/spec/names/kind", json!("Wid_get"), "Invalid", "spec.names.kind", "may have mixed case"),
        ("/spec/names/listKind", json!("Widget"), "Invalid", "spec.names.listKind", "kind and listKind may not be the same"),
        ("/spec/names/shortNames", json!(["W"]), "Invalid", "spec.names.shortNames[0]", "a DNS-1035 label must consist of"),
        ("/spec/conversion", json!({"strategy": "Magic"}), "NotSupported", "spec.conversion.strategy", "Unsupported value"),
        ("/spec/versions/0/name", json!("V1"), "Invalid", "spec.versions[0].name", "a DNS-1035 label"),
        ("/spec/versions/0/storage", json!(false), "Invalid", "spec.versions", "must have exactly one version marked as storage version"),
        ("/spec/versions/0/schema", json!({}), "Required", "spec.versions[0].schema.openAPIV3Schema", "schemas are required"),
        (
            "/spec/versions/0/subresources/scale/specReplicasPath",
            json!(".status.x"),
            "Invalid",
            "spec.versions[0].subresources.scale.specReplicasPath",
            "should be a json path under .spec",
        ),
        (
            "/spec/versions/0/subresources/scale/statusReplicasPath",
            json!(""),
            "Required",
            "spec.versions[0].subresources.scale.statusReplicasPath",
            "Required value",
        ),
        (
            "/spec/versions/0/selectableFields/0/jsonPath",
            json!(".spec.nope"),
            "Invalid",
            "spec.versions[0].selectableFields[0].jsonPath",
            "does not refer to a valid field",
        ),
        (
            "/spec/versions/0/selectableFields/0/jsonPath",
            json!(".spec.items"),
            "Invalid",
            "spec.versions[0].selectableFields[0].jsonPath",
            "must point to a field of type string, boolean or integer",
        ),
        (
            "/spec/versions/0/additionalPrinterColumns/0/type",
            json!("text"),
            "Invalid",
            "spec.versions[0].additionalPrinterColumns[0].type",
            "must be one of boolean,date,integer,number,string",
        ),
        (
            "/spec/versions/0/additionalPrinterColumns/0/jsonPath",
            json!("x"),
            "Invalid",
            "spec.versions[0].additionalPrinterColumns[0].jsonPath",
            "bad path",
        ),
    ] {
        let mut definition = definition_with(schema());
        *definition.pointer_mut(pointer).unwrap() = value;
        expect(&definition, pointer, (reason, field, message));
    }
    for (pointer, value, reason, field, message) in [
        ("", json!({"type": "array"}), "Invalid", ".type", "must be object at the root"),
        ("", json!({}), "Required", ".type", "must not be empty at the root"),
        (
            "/properties/spec",
            json!({"properties": {}}),
            "Required",
            ".properties[spec].type",
            "must not be empty for specified object fields",
        ),
        ("/properties/spec", json!({"$ref": "#/x", "type": "object"}), "Forbidden", ".properties[spec].$ref", "$ref is not supported"),
        ("/properties/spec", json!({"type": "thing"}), "NotSupported", ".properties[spec].type", "Unsupported value: \"thing\""),
        ("/properties/spec", json!({"type": "array"}), "Required", ".properties[spec].items", "must be specified"),
        (
            "/properties/spec",
            json!({"type": "array", "items": {}}),
            "Required",
            ".properties[spec].items.type",
            "must not be empty for specified array items",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            "Forbidden",
            ".properties[spec].uniqueItems",
            "quadratic",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            "Forbidden",
            ".properties[spec].additionalProperties",
            "mutual exclusive",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "Invalid",
            ".properties[spec].x-kubernetes-preserve-unknown-fields",
            "must be true or undefined",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            "Required",
            ".properties[spec].x-kubernetes-list-map-keys",
            "must not be empty",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            "Required",
            ".properties[spec].items.properties[a].default",
            "must have a default or be a required property",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "object"}}}}),
            "Invalid",
            ".properties[spec].items.properties[a].type",
            "must be a scalar type",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}),
            "NotSupported",
            ".properties[spec].x-kubernetes-list-type",
            "\"atomic\", \"set\", \"map\"",
        ),
        (
            "/properties/spec",
            json!({"type": "string", "pattern": "("}),
            "Invalid",
            ".properties[spec].pattern",
            "must be a valid regular expression",
        ),
        (
            "/properties/spec",
            json!({"type": "string", "default": 1}),
            "TypeInvalid",
            ".properties[spec].default",
            "must be of type string: \"integer\"",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "default": {"x": 1}, "properties": {"a": {"type": "string"}}}),
            "Invalid",
            ".properties[spec].default",
            "must not have unknown fields",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}),
            "Required",
            ".properties[spec].properties[a]",
            "because it is defined in spec.validation.openAPIV3Schema.properties[spec].anyOf[0].properties[a]",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "not": {"type": "object"}}),
            "Forbidden",
            ".properties[spec].not.type",
            "must be empty to be structural",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.nope == 1"}]}),
            "Invalid",
            ".properties[spec].x-kubernetes-validations[0].rule",
            "Invalid value: \"self.nope == 1\": compilation failed: ERROR: <input>: undefined field 'nope'",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "x-kubernetes-validations": [{"rule": ""}]}),
            "Required",
            ".properties[spec].x-kubernetes-validations[0].rule",
            "rule is not specified",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "1"}]}),
            "Invalid",
            ".properties[spec].x-kubernetes-validations[0].messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            "/properties/spec",
            json!({"type": "object", "x-kubernetes-validations": [{"rule": "true", "reason": "Bad"}]}),
            "NotSupported",
            ".properties[spec].x-kubernetes-validations[0].reason",
            "FieldValueRequired",
        ),
        (
            "/properties/spec",
            json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
            "Invalid",
            ".properties[spec].items.x-kubernetes-validations[0].rule",
            "oldSelf cannot be used on the uncorrelatable portion",
        ),
        (
            "/properties",
            json!({"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
            "Forbidden",
            ".properties[metadata]",
            "must not specify anything other than name and generateName",
        ),
    ] {
        let mut schema = schema();
        *schema.pointer_mut(pointer).unwrap() = value;
        let mut definition = definition_with(schema);
        definition["spec"]["versions"][0]["selectableFields"] = json!([]);
        expect(&definition, pointer, (reason, &format!("{root}{field}"), message));
    }
}

fn expect(definition: &Value, what: &str, (reason, field, message): (&str, &str, &str)) {
    let found = wrong_with(definition, None);
    let hit = found.iter().any(|(r, f, m)| r == &format!("FieldValue{reason}") && f == field && m.contains(message));
    assert!(hit, "{what}: {reason} {field} {message}\n{found:#?}");
}

#[test]
fn what_must_stay_in_a_definition() {
    let mut old = definition_with(schema());
    let mut new = old.clone();
    new["spec"]["scope"] = json!("Cluster");
    assert_eq!(wrong_with(&new, Some(&old)), [], "until it is established");
    establish(&mut old, &Taken::default(), "t");
    new["status"] = old["status"].clone();
    let of = |field: &str, value: &str| {
        ("FieldValueInvalid".to_owned(), field.to_owned(), format!("Invalid value: \"{value}\": field is immutable"))
    };
    assert_eq!(wrong_with(&new, Some(&old)), [of("spec.scope", "Cluster")]);
    new["spec"]["scope"] = json!("Namespaced");
    new["spec"]["names"]["kind"] = json!("Gadget");
    assert_eq!(wrong_with(&new, Some(&old)), [of("spec.names.kind", "Gadget")]);
    let mut new = old.clone();
    new["spec"]["versions"][0]["name"] = json!("v2");
    prepare(&mut new);
    let wrong = wrong_with(&new, Some(&old));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].1, "status.storedVersions[0]");
}
