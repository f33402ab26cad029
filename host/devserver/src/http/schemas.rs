//! Schemas of an OpenAPI document, by which `kubectl explain` shows the fields of a kind: of built-in kinds from the generated table, which
//! has types but no descriptions; of custom resources as their definition wrote them.

use serde_json::{Map, Value, json};

use super::openapi::identity;
use crate::kind::{GroupVersion, Resource, Schema};
use crate::schema::{Kind, Place, TypeId};

/// The type of `metadata`.
const OBJECT_META: &str = "meta/v1.ObjectMeta";

/// The schemas of all kinds of a group version and of everything they are made of.
pub(crate) fn of(group: &str, served: &GroupVersion) -> Map<String, Value> {
    let mut schemas = Map::new();
    for resource in &served.resources {
        match &resource.schema {
            Schema::Builtin(id) => {
                add(*id, &mut schemas);
                if let Some(schema) = schemas.get_mut(&reference_name(id.name())) {
                    mark(schema, resource);
                }
            }
            Schema::Custom(version) => {
                schemas.insert(custom_name(group, &served.version, &resource.kind), custom(&version.raw_schema, resource));
                add_place(Place::object_meta(), &mut schemas);
            }
        }
    }
    schemas
}

/// Adds a type and all that it is made of, once.
fn add(id: TypeId, schemas: &mut Map<String, Value>) {
    let name = reference_name(id.name());
    if schemas.contains_key(&name) {
        return;
    }
    let properties: Map<String, Value> = id.fields().iter().map(|field| (field.name.to_owned(), of_place(field.place))).collect();
    schemas.insert(name, json!({"type": "object", "properties": properties}));
    for field in id.fields() {
        add_place(field.place, schemas);
    }
}

fn add_place(place: Place, schemas: &mut Map<String, Value>) {
    match place.kind() {
        Kind::Struct(id) => add(id, schemas),
        Kind::List(items) | Kind::Map(items) => add_place(items, schemas),
        _ => {}
    }
}

/// The schema of a field's value. The table nests lists and maps, and breaks every cycle by the name of a type.
fn of_place(place: Place) -> Value {
    match place.kind() {
        Kind::Struct(id) => reference(id.name()),
        Kind::List(items) => json!({"type": "array", "items": of_place(items)}),
        Kind::Map(values) => json!({"type": "object", "additionalProperties": of_place(values)}),
        Kind::ExtraValue => json!({"type": "array", "items": {"type": "string"}}),
        Kind::String | Kind::Quantity => json!({"type": "string"}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int32 => json!({"type": "integer", "format": "int32"}),
        Kind::Int64 => json!({"type": "integer", "format": "int64"}),
        Kind::Float64 => json!({"type": "number", "format": "double"}),
        Kind::Bytes => json!({"type": "string", "format": "byte"}),
        Kind::Time | Kind::MicroTime => json!({"type": "string", "format": "date-time"}),
        Kind::IntOrString => json!({"type": "string", "format": "int-or-string"}),
        Kind::Any => json!({"type": "object"}),
        Kind::SchemaOrBool | Kind::SchemaOrArray | Kind::SchemaOrStringArray => json!({}),
    }
}

/// What the definition says, and what every object has.
fn custom(raw: &Value, resource: &Resource) -> Value {
    let mut schema = if raw.is_object() { raw.clone() } else { json!({"type": "object"}) };
    mark(&mut schema, resource);
    if let Some(schema) = schema.as_object_mut() {
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
            properties.insert("kind".to_owned(), json!({"type": "string"}));
            properties.insert("metadata".to_owned(), reference(OBJECT_META));
        }
    }
    schema
}

/// Says which kind the schema is of.
fn mark(schema: &mut Value, resource: &Resource) {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([identity(resource)]));
    }
}

fn reference(type_name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", reference_name(type_name))})
}

/// `core/v1.Pod` is `io.k8s.api.core.v1.Pod`; what all groups share lives elsewhere. Clients show what stands behind the last point.
fn reference_name(type_name: &str) -> String {
    let package = if type_name.starts_with("meta/") { "io.k8s.apimachinery.pkg.apis" } else { "io.k8s.api" };
    format!("{package}.{}", type_name.replace('/', "."))
}

/// `acme.com`, `v1`, `Widget` is `com.acme.v1.Widget`.
fn custom_name(group: &str, version: &str, kind: &str) -> String {
    let reversed: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", reversed.join("."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{custom, custom_name, of};
    use crate::http::discovery::tests::{configmaps, served};
    use crate::kind::Registry;

    /// Every reference of a document leads somewhere.
    fn check(value: &Value, schemas: &serde_json::Map<String, Value>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("$ref", Value::String(target)) => {
                            assert!(schemas.contains_key(target.strip_prefix("#/components/schemas/").unwrap()), "{target}");
                        }
                        _ => check(member, schemas),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, schemas)),
            _ => {}
        }
    }

    #[test]
    fn built_in_kinds_are_whole() {
        let registry = Registry::builtin();
        for group in registry.groups() {
            for served in &group.versions {
                let schemas = of(&group.name, served);
                for schema in schemas.values() {
                    check(schema, &schemas);
                }
                for resource in &served.resources {
                    let identity = super::identity(resource);
                    let marked = schemas.values().any(|schema| schema["x-kubernetes-group-version-kind"] == json!([identity]));
                    assert!(marked, "{identity}");
                }
            }
        }
        let core = registry.groups().iter().find(|group| group.name.is_empty()).unwrap();
        let schemas = of("", &core.versions[0]);
        let config_map = &schemas["io.k8s.api.core.v1.ConfigMap"]["properties"];
        assert_eq!(config_map["data"], json!({"type": "object", "additionalProperties": {"type": "string"}}));
        assert_eq!(config_map["metadata"], json!({"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}));
        assert_eq!(config_map["kind"], json!({"type": "string"}));
    }

    #[test]
    fn a_custom_kind_is_what_its_definition_wrote() {
        let raw = json!({"type": "object", "properties": {"spec": {"type": "object", "description": "What is wanted."}}});
        let schema = custom(&raw, &configmaps());
        assert_eq!(schema["properties"]["spec"], raw["properties"]["spec"]);
        assert_eq!(schema["properties"]["kind"], json!({"type": "string"}));
        assert_eq!(schema["x-kubernetes-group-version-kind"], json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]));
        assert_eq!(custom(&Value::Null, &configmaps())["type"], "object");
        assert_eq!(custom_name("conf.test", "v1", "Widget"), "test.conf.v1.Widget");
        assert!(of("", &served(vec![])).is_empty());
    }
}
