//! What is wrong with a schema: a version's `openAPIV3Schema` must be structural. Owns those rules, on the schema as it was
//! written. Rules in CEL are compiled elsewhere.

use serde_json::{Map, Value, json};

use super::schema::{CustomSchema, DataType};
use super::{pattern, prune, validate};
use crate::json::Read;
use crate::status::{Cause, Causes};

/// All that is wrong with a schema at a path.
pub(super) fn check(schema: &Value, path: &str) -> Causes {
    let mut check = Check { causes: Causes::default(), path: path.to_owned(), depth: 0 };
    match schema.as_object() {
        Some(map) => {
            check.schema(map, Place::Root);
            check.root(map);
        }
        None => check.causes.push(Cause::required(path, "schemas are required")),
    }
    if check.causes.is_empty() {
        check.defaults(schema);
    }
    check.causes
}

/// Schemas inside of schemas, at most.
const MAX_DEPTH: usize = 100;

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Field,
    Item,
    Value,
    /// Inside of allOf, anyOf, oneOf or not, where there are limits only.
    Junctor,
}

const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Words of JSON schema that Kubernetes does not have.
const FORBIDDEN: [&str; 7] = ["$ref", "$schema", "id", "additionalItems", "patternProperties", "definitions", "dependencies"];
/// What may not stand inside of junctors.
const STRUCTURE_ONLY: [&str; 9] = [
    "description",
    "title",
    "default",
    "additionalProperties",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
];

struct Check {
    causes: Causes,
    path: String,
    depth: usize,
}

impl Check {
    fn schema(&mut self, map: &Map<String, Value>, place: Place) {
        if self.causes.is_full() {
            return;
        }
        if self.depth > MAX_DEPTH {
            return self.forbid("", "the schema is too deep");
        }
        for word in FORBIDDEN.into_iter().filter(|word| map.contains_key(*word)) {
            self.forbid(word, &format!("{word} is not supported"));
        }
        if map.get("uniqueItems") == Some(&json!(true)) {
            self.forbid("uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
        }
        self.kind(map, place);
        self.limits(map);
        self.extensions(map);
        self.below(map, place);
        for word in JUNCTORS {
            for (at, one) in map.list(word).iter().enumerate() {
                self.junctor(map, one, &format!("{word}[{at}]"));
            }
        }
        if let Some(one) = map.get("not") {
            self.junctor(map, one, "not");
        }
    }

    fn kind(&mut self, map: &Map<String, Value>, place: Place) {
        let free = map.flag("x-kubernetes-int-or-string") || map.flag("x-kubernetes-preserve-unknown-fields");
        match map.get("type").and_then(Value::as_str).unwrap_or("") {
            "" if place == Place::Junctor => {}
            "" if place == Place::Root => self.require("type", "must not be empty at the root"),
            "" if !free => self.require(
                "type",
                match place {
                    Place::Item => "must not be empty for specified array items",
                    _ => "must not be empty for specified object fields",
                },
            ),
            "" => {}
            // The two that int-or-string is written with.
            "integer" | "string" if place == Place::Junctor => {}
            _ if place == Place::Junctor => self.forbid("type", "must be empty to be structural"),
            of if place == Place::Root && of != "object" => self.invalid("type", &json!(of), "must be object at the root"),
            of if map.flag("x-kubernetes-int-or-string") => {
                self.invalid("type", &json!(of), "must be empty if x-kubernetes-int-or-string is true");
            }
            of if DataType::ALL.iter().all(|known| known.name() != of) => {
                let known: Vec<&str> = DataType::ALL.iter().map(|known| known.name()).collect();
                self.causes.push(Cause::not_supported(format!("{}.type", self.path), &json!(of), &known));
            }
            "array" if !map.get("items").is_some_and(Value::is_object) => match map.get("items") {
                Some(Value::Array(_)) => self.forbid("items", "items must be a schema object and not an array"),
                _ => self.require("items", "must be specified"),
            },
            _ => {}
        }
    }

    fn limits(&mut self, map: &Map<String, Value>) {
        if let Some(text) = map.get("pattern").and_then(Value::as_str)
            && let Err(why) = pattern::compile(text)
        {
            self.invalid("pattern", &json!(text), &format!("must be a valid regular expression, but isn't: {why}"));
        }
        for word in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
            if let Some(value) = map.get(word).filter(|value| !value.is_null() && value.as_u64().is_none()) {
                self.invalid(word, value, "must be a whole number that is not negative");
            }
        }
        for word in ["minimum", "maximum", "multipleOf"] {
            if let Some(value) = map.get(word).filter(|value| !value.is_null() && !value.is_number()) {
                self.invalid(word, value, "must be a number");
            }
        }
        if let Some(value) = map.get("enum").filter(|value| value.as_array().is_none_or(Vec::is_empty)) {
            self.invalid("enum", value, "must be a list with at least one value");
        }
    }

    fn extensions(&mut self, map: &Map<String, Value>) {
        let of = map.get("type").and_then(Value::as_str).unwrap_or("");
        if let Some(value) = map.get("x-kubernetes-preserve-unknown-fields").filter(|value| **value != json!(true)) {
            self.invalid("x-kubernetes-preserve-unknown-fields", value, "must be true or undefined");
        }
        if map.flag("x-kubernetes-embedded-resource") {
            if of != "object" {
                self.invalid("type", &json!(of), "must be object if x-kubernetes-embedded-resource is true");
            }
            if !map.flag("x-kubernetes-preserve-unknown-fields") && !map.contains_key("properties") {
                self.require(
                    "properties",
                    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
                );
            }
        }
        if let Some(kind) = map.get("x-kubernetes-map-type") {
            if of != "object" {
                self.invalid("type", &json!(of), "must be object if x-kubernetes-map-type is specified");
            }
            if !matches!(kind.as_str(), Some("granular" | "atomic")) {
                self.unsupported("x-kubernetes-map-type", kind, &["atomic", "granular"]);
            }
        }
        let keys = map.list("x-kubernetes-list-map-keys");
        match map.get("x-kubernetes-list-type") {
            None if map.contains_key("x-kubernetes-list-map-keys") => {
                self.require("x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty");
            }
            None => {}
            Some(_) if of != "array" => self.invalid("type", &json!(of), "must be array if x-kubernetes-list-type is specified"),
            Some(kind) => match kind.as_str() {
                Some("atomic") => {}
                Some("set") => self.set(map),
                Some("map") => self.map(map, keys),
                _ => self.unsupported("x-kubernetes-list-type", kind, &["atomic", "set", "map"]),
            },
        }
    }

    fn set(&mut self, map: &Map<String, Value>) {
        let Some(items) = map.get("items").and_then(Value::as_object) else { return };
        let atomic = |word: &str| items.get(word).and_then(Value::as_str) == Some("atomic");
        match items.get("type").and_then(Value::as_str) {
            Some("object") if !atomic("x-kubernetes-map-type") => {
                self.invalid("items.x-kubernetes-map-type", &json!(""), "must be atomic as item of a list with x-kubernetes-list-type=set");
            }
            Some("array") if items.contains_key("x-kubernetes-list-type") && !atomic("x-kubernetes-list-type") => {
                self.invalid(
                    "items.x-kubernetes-list-type",
                    &json!(""),
                    "must be atomic as item of a list with x-kubernetes-list-type=set",
                );
            }
            _ => {}
        }
        if items.flag("nullable") {
            self.forbid("items.nullable", "cannot be nullable when x-kubernetes-list-type is set");
        }
    }

    fn map(&mut self, map: &Map<String, Value>, keys: &[Value]) {
        if keys.is_empty() {
            self.require("x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map");
        }
        let Some(items) = map.get("items").and_then(Value::as_object) else { return };
        if items.get("type").and_then(Value::as_str) != Some("object") {
            self.invalid(
                "items.type",
                items.get("type").unwrap_or(&Value::Null),
                "must be object if parent array's x-kubernetes-list-type is map",
            );
        }
        let required = items.list("required");
        for (at, key) in keys.iter().enumerate() {
            let Some(name) = key.as_str() else {
                self.invalid(&format!("x-kubernetes-list-map-keys[{at}]"), key, "must be a string");
                continue;
            };
            if keys.iter().take(at).any(|before| before == key) {
                self.causes.push(Cause::duplicate(format!("{}.x-kubernetes-list-map-keys[{at}]", self.path), key));
            }
            let Some(property) = items.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object) else {
                self.invalid(&format!("x-kubernetes-list-map-keys[{at}]"), key, "entries must all be names of item properties");
                continue;
            };
            let of = property.get("type").and_then(Value::as_str).unwrap_or("");
            if matches!(of, "object" | "array") {
                self.invalid(
                    &format!("items.properties[{name}].type"),
                    &json!(of),
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                );
            }
            if property.flag("nullable") {
                self.forbid(
                    &format!("items.properties[{name}].nullable"),
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
                );
            }
            if !required.contains(key) && !property.contains_key("default") {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.require(&format!("items.properties[{name}].default"), why);
            }
        }
    }

    fn below(&mut self, map: &Map<String, Value>, place: Place) {
        let junctor = place == Place::Junctor;
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            self.child(&format!("properties[{name}]"), property, if junctor { Place::Junctor } else { Place::Field });
        }
        if let Some(items @ Value::Object(_)) = map.get("items") {
            self.child("items", items, if junctor { Place::Junctor } else { Place::Item });
        }
        match map.get("additionalProperties") {
            None | Some(Value::Null) => {}
            Some(_) if place == Place::Root => self.forbid("additionalProperties", "must not be used at the root"),
            Some(Value::Bool(false)) => self.forbid("additionalProperties", "additionalProperties cannot be set to false"),
            Some(_) if properties.is_some_and(|properties| !properties.is_empty()) => {
                self.forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
            }
            Some(values @ Value::Object(_)) => self.child("additionalProperties", values, Place::Value),
            Some(Value::Bool(true)) => {}
            Some(other) => self.invalid("additionalProperties", other, "must be a schema or true"),
        }
    }

    /// What limits a field in a junctor must be a field outside of it.
    fn junctor(&mut self, around: &Map<String, Value>, one: &Value, word: &str) {
        if self.causes.is_full() {
            return;
        }
        let Some(map) = one.as_object() else { return self.invalid(word, one, "must be a schema") };
        for name in STRUCTURE_ONLY.into_iter().filter(|name| map.get(*name).is_some_and(|value| *value != json!(false) && !value.is_null()))
        {
            self.forbid(&format!("{word}.{name}"), "must be empty to be structural");
        }
        if map.contains_key("type") && !around.flag("x-kubernetes-int-or-string") {
            self.forbid(&format!("{word}.type"), "must be empty to be structural");
        }
        let mut path = std::mem::take(&mut self.path);
        let mut from = format!("{path}.{word}");
        self.demand(Some(around), map, &mut from, &mut path);
        self.path = path;
        self.child(word, one, Place::Junctor);
    }

    fn demand(&mut self, around: Option<&Map<String, Value>>, inside: &Map<String, Value>, from: &mut String, path: &mut String) {
        let lengths = (from.len(), path.len());
        let declared = around.and_then(|around| around.get("properties")).and_then(Value::as_object);
        for (name, property) in inside.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.causes.is_full() {
                return;
            }
            let outer = declared.and_then(|declared| declared.get(name)).and_then(Value::as_object);
            let step = format!(".properties[{name}]");
            from.push_str(&step);
            path.push_str(&step);
            if outer.is_none() && around.is_some_and(|around| !around.contains_key("additionalProperties")) {
                self.causes.push(Cause::required(path.as_str(), &format!("because it is defined in {from}")));
            } else if let (Some(outer), Some(property)) = (outer, property.as_object()) {
                self.demand(Some(outer), property, from, path);
            }
            from.truncate(lengths.0);
            path.truncate(lengths.1);
        }
        if let (Some(inner), Some(around)) = (inside.get("items").and_then(Value::as_object), around) {
            from.push_str(".items");
            path.push_str(".items");
            match around.get("items").and_then(Value::as_object) {
                Some(outer) => self.demand(Some(outer), inner, from, path),
                None => self.causes.push(Cause::required(path.as_str(), &format!("because it is defined in {from}"))),
            }
            from.truncate(lengths.0);
            path.truncate(lengths.1);
        }
    }

    /// `metadata` is known without being declared; only its name may be limited.
    fn root(&mut self, map: &Map<String, Value>) {
        let Some(metadata) = map.get("properties").and_then(|all| all.get("metadata")).and_then(Value::as_object) else { return };
        let mut allowed = metadata.clone();
        if let Some(Value::Object(properties)) = allowed.get_mut("properties") {
            properties.retain(|name, _| !matches!(name.as_str(), "name" | "generateName"));
            if properties.is_empty() {
                allowed.remove("properties");
            }
        }
        allowed.retain(|word, _| !matches!(word.as_str(), "type" | "description"));
        if !allowed.is_empty() {
            self.forbid(
                "properties[metadata]",
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            );
        }
    }

    /// Defaults must be what the schema asks for.
    fn defaults(&mut self, schema: &Value) {
        let parsed = CustomSchema::parse(schema);
        self.default_below(&parsed);
    }

    fn default_below(&mut self, schema: &CustomSchema) {
        if self.causes.is_full() {
            return;
        }
        if let Some(default) = &schema.default {
            if !schema.embedded && !default.is_null() {
                let mut pruned = default.clone();
                if !prune::prune(schema, &mut pruned).is_empty() {
                    self.invalid("default", default, "must not have unknown fields");
                }
            }
            // A default of an object is filled like any object.
            let mut filled = default.clone();
            prune::fill(schema, &mut filled);
            for cause in validate::structure(schema, &filled, None) {
                if self.causes.is_full() {
                    return;
                }
                let field = self.field("default");
                let below = if cause.field == "<nil>" { field } else { format!("{field}.{}", cause.field) };
                self.causes.push(Cause { field: below, ..cause });
            }
        }
        for (name, property) in &schema.properties {
            self.step(&format!("properties[{name}]"), |check| check.default_below(property));
        }
        if let Some(items) = schema.items.as_deref() {
            self.step("items", |check| check.default_below(items));
        }
        if let Some(Some(values)) = &schema.additional {
            self.step("additionalProperties", |check| check.default_below(values));
        }
    }

    fn step(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('.');
        self.path.push_str(name);
        then(self);
        self.path.truncate(length);
    }

    fn child(&mut self, name: &str, schema: &Value, place: Place) {
        self.step(name, |check| {
            check.depth = check.depth.saturating_add(1);
            match schema.as_object() {
                Some(map) => check.schema(map, place),
                None => check.invalid("", schema, "must be a schema"),
            }
            check.depth = check.depth.saturating_sub(1);
        });
    }

    fn field(&self, name: &str) -> String {
        if name.is_empty() { self.path.clone() } else { format!("{}.{name}", self.path) }
    }

    fn invalid(&mut self, name: &str, value: &Value, why: &str) {
        self.causes.push(Cause::invalid(self.field(name), value, why));
    }

    fn require(&mut self, name: &str, why: &str) {
        self.causes.push(Cause::required(self.field(name), why));
    }

    fn forbid(&mut self, name: &str, why: &str) {
        self.causes.push(Cause::forbidden(self.field(name), why));
    }

    fn unsupported(&mut self, name: &str, value: &Value, known: &[&str]) {
        self.causes.push(Cause::not_supported(self.field(name), value, known));
    }
}
