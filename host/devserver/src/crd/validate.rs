//! What is wrong with a custom object by its schema: types, limits, formats, alternatives, doubles in lists. Owns the texts
//! of the real server for those, and that an update is not refused for what was wrong before. CEL rules are `rules`'.

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

use super::format;
use super::limits;
use super::schema::{CustomSchema, DataType};
use crate::schema::ListKind;
use crate::status::{Cause, Causes};

/// All that the schema says against an object. `old` for an update: a value that has not changed is not judged again.
pub(super) fn structure(schema: &CustomSchema, object: &Value, old: Option<&Value>) -> Causes {
    let mut walk = Walk { causes: Causes::default(), path: String::new() };
    walk.value(schema, object, old);
    walk.causes
}

struct Walk {
    causes: Causes,
    /// Where the walk is: `spec.items[0].name`.
    path: String,
}

impl Walk {
    /// Goes as deep as the schema does, and the depth of schemas is bounded.
    fn value(&mut self, schema: &CustomSchema, value: &Value, old: Option<&Value>) {
        if old == Some(value) || self.causes.is_full() {
            return;
        }
        if value.is_null() && schema.nullable {
            return;
        }
        if !is_of_type(schema, value) {
            let wanted = if schema.int_or_string { "integer,string" } else { schema.data_type.map_or("", DataType::name) };
            let found = type_name(value);
            let why = format!("{} in body must be of type {wanted}: \"{found}\"", self.path);
            return self.tell(Cause::type_invalid(self.field(), &json!(found), &why));
        }
        match value {
            Value::Object(map) => self.object(schema, map, old),
            Value::Array(list) => self.list(schema, list, old),
            Value::String(text) => self.text(schema, text),
            Value::Number(number) => self.number(schema, number),
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(known) = &schema.limits.one_of
            && !known.iter().any(|one| limits::same(one, value))
        {
            let names: Vec<String> = known.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.tell(Cause::not_supported(self.field(), value, &names));
        }
        self.alternatives(schema, value);
    }

    fn object(&mut self, schema: &CustomSchema, map: &Map<String, Value>, old: Option<&Value>) {
        let count = u64::try_from(map.len()).unwrap_or(u64::MAX);
        if let Some(min) = schema.limits.min_properties.filter(|min| count < *min) {
            self.refuse(&Value::Object(map.clone()), &format!("should have at least {min} properties"));
        }
        if let Some(max) = schema.limits.max_properties.filter(|max| count > *max) {
            self.tell(limits::too_many(self.field(), count, max));
        }
        for name in schema.required.iter().filter(|name| !map.contains_key(*name)) {
            if self.causes.is_full() {
                return;
            }
            self.below(name, |walk| walk.tell(Cause::required(walk.field(), "")));
        }
        if schema.embedded {
            self.embedded(map);
        }
        for (name, value) in map {
            // The metadata of a whole object is not the schema's to judge.
            if (schema.root || schema.embedded) && matches!(name.as_str(), "apiVersion" | "kind") && !schema.properties.contains_key(name) {
                continue;
            }
            let Some(member) = schema.property(name) else { continue };
            let before = old.and_then(|old| old.get(name));
            self.below(name, |walk| walk.value(member, value, before));
        }
    }

    /// An object inside of an object has a type of its own.
    fn embedded(&mut self, map: &Map<String, Value>) {
        for name in ["apiVersion", "kind"] {
            match map.get(name) {
                Some(Value::String(text)) if !text.is_empty() => {}
                Some(Value::String(_)) | None => self.below(name, |walk| walk.tell(Cause::required(walk.field(), "must not be empty"))),
                Some(other) => self.below(name, |walk| walk.tell(Cause::invalid(walk.field(), other, "must be a string"))),
            }
        }
        match map.get("metadata") {
            None | Some(Value::Object(_)) => {}
            Some(other) => self.below("metadata", |walk| walk.tell(Cause::invalid(walk.field(), other, "must be an object"))),
        }
    }

    fn list(&mut self, schema: &CustomSchema, list: &[Value], old: Option<&Value>) {
        let count = u64::try_from(list.len()).unwrap_or(u64::MAX);
        if let Some(min) = schema.limits.min_items.filter(|min| count < *min) {
            self.refuse(&json!(count), &format!("should have at least {min} items"));
        }
        if let Some(max) = schema.limits.max_items.filter(|max| count > *max) {
            self.tell(limits::too_many(self.field(), count, max));
        }
        if let Some(items) = schema.items.as_deref() {
            let before = Before::of(schema, old);
            for (at, item) in list.iter().enumerate() {
                let before = before.item(schema, item);
                self.at(at, |walk| walk.value(items, item, before));
            }
        }
        // Doubles that were there before do not stand in the way of an update.
        if old.and_then(Value::as_array).is_none_or(|old| doubles(schema, old).is_empty()) {
            for (at, key) in doubles(schema, list) {
                if self.causes.is_full() {
                    return;
                }
                self.at(at, |walk| walk.tell(Cause::duplicate(walk.field(), &key)));
            }
        }
    }

    fn text(&mut self, schema: &CustomSchema, text: &str) {
        let bounds = &schema.limits;
        let length = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(max) = bounds.max_length.filter(|max| length() > *max) {
            self.tell(Cause::too_long(self.field(), &format!("may not be more than {max} bytes")));
        }
        if let Some(min) = bounds.min_length.filter(|min| length() < *min) {
            self.refuse(&json!(text), &format!("should be at least {min} chars long"));
        }
        if let Some((written, regex)) = &bounds.pattern
            && !regex.is_match(text)
        {
            self.refuse(&json!(text), &format!("should match '{written}'"));
        }
        if let Some(format) = schema.format.as_deref().filter(|_| !schema.int_or_string)
            && format::holds(format, text) == Some(false)
        {
            let why = format!("{} in body must be of type {format}: {text:?}", self.path);
            self.tell(Cause::type_invalid(self.field(), &json!(text), &why));
        }
    }

    fn number(&mut self, schema: &CustomSchema, number: &Number) {
        for why in limits::number(&schema.limits, schema.format.as_deref(), number) {
            self.refuse(&Value::Number(number.clone()), &why);
        }
    }

    fn alternatives(&mut self, schema: &CustomSchema, value: &Value) {
        for one in &schema.all_of {
            let found = self.judge(one, value);
            if !found.is_empty() {
                self.nowhere("must validate all the schemas (allOf)");
                self.causes.extend(found);
            }
        }
        if !schema.any_of.is_empty()
            && let (0, nearest) = self.choose(&schema.any_of, value)
        {
            self.nowhere("must validate at least one schema (anyOf)");
            self.causes.extend(nearest);
        }
        if !schema.one_of.is_empty() {
            match self.choose(&schema.one_of, value) {
                (1, _) => {}
                (0, nearest) => {
                    self.nowhere("must validate one and only one schema (oneOf). Found none valid");
                    self.causes.extend(nearest);
                }
                (many, _) => self.nowhere(&format!("must validate one and only one schema (oneOf). Found {many} valid alternatives")),
            }
        }
        if schema.not.as_deref().is_some_and(|not| self.judge(not, value).is_empty()) {
            self.nowhere("must not validate the schema (not)");
        }
    }

    /// How many of the schemas a value fulfils, and what is wrong by the one that it is nearest to: of many, only that is kept.
    fn choose(&mut self, schemas: &[CustomSchema], value: &Value) -> (usize, Causes) {
        let mut fulfilled = 0_usize;
        let mut nearest: Option<Causes> = None;
        for one in schemas {
            let found = self.judge(one, value);
            if found.is_empty() {
                fulfilled = fulfilled.saturating_add(1);
            } else if nearest.as_ref().is_none_or(|nearest| found.len() < nearest.len()) {
                nearest = Some(found);
            }
        }
        (fulfilled, nearest.unwrap_or_default())
    }

    fn judge(&mut self, schema: &CustomSchema, value: &Value) -> Causes {
        let mut walk = Walk { causes: Causes::default(), path: std::mem::take(&mut self.path) };
        walk.value(schema, value, None);
        self.path = walk.path;
        walk.causes
    }

    /// The real server knows no field for alternatives; its text has the path.
    fn nowhere(&mut self, why: &str) {
        let why = format!("\"{}\" {why}", self.path);
        self.tell(Cause::invalid("<nil>", &json!(""), &why));
    }

    fn refuse(&mut self, value: &Value, why: &str) {
        let why = format!("{} in body {why}", self.path);
        self.tell(Cause::invalid(self.field(), value, &why));
    }

    fn tell(&mut self, cause: Cause) {
        self.causes.push(cause);
    }

    fn field(&self) -> String {
        if self.path.is_empty() { "<nil>".to_owned() } else { self.path.clone() }
    }

    fn below(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        then(self);
        self.path.truncate(length);
    }

    fn at(&mut self, place: usize, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&format!("[{place}]"));
        then(self);
        self.path.truncate(length);
    }
}

/// The items that a list had before, by their keys. Lists without keys have no items that stay the same.
pub(super) struct Before<'a>(std::collections::HashMap<String, &'a Value>);

impl<'a> Before<'a> {
    pub(super) fn of(schema: &CustomSchema, old: Option<&'a Value>) -> Self {
        let keyed = matches!(schema.list, Some(ListKind::Map(_)));
        let old = old.and_then(Value::as_array).filter(|_| keyed).map(Vec::as_slice).unwrap_or_default();
        Self(old.iter().map(|item| (key_of(schema, item).to_string(), item)).collect())
    }

    pub(super) fn item(&self, schema: &CustomSchema, item: &Value) -> Option<&'a Value> {
        if self.0.is_empty() { None } else { self.0.get(&key_of(schema, item).to_string()).copied() }
    }
}

/// What tells an item of a list apart.
fn key_of(schema: &CustomSchema, item: &Value) -> Value {
    match &schema.list {
        Some(ListKind::Map(keys)) => {
            let items = schema.items.as_deref();
            let part = |key: &String| {
                let value = item.get(key).or_else(|| items.and_then(|items| items.default_of(key)));
                value.map(|value| (key.clone(), value.clone()))
            };
            Value::Object(keys.iter().filter_map(part).collect())
        }
        _ => item.clone(),
    }
}

/// Places of items that are there before, with what makes them so.
fn doubles(schema: &CustomSchema, list: &[Value]) -> Vec<(usize, Value)> {
    if schema.list.is_none() || !schema.is_list() {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let keys = list.iter().enumerate().map(|(at, item)| (at, key_of(schema, item)));
    keys.filter(|(_, key)| !seen.insert(key.to_string())).collect()
}

fn is_of_type(schema: &CustomSchema, value: &Value) -> bool {
    if schema.int_or_string {
        return value.is_string() || limits::is_whole(value);
    }
    match schema.data_type {
        None => true,
        Some(DataType::Object) => value.is_object(),
        Some(DataType::Array) => value.is_array(),
        Some(DataType::String) => value.is_string(),
        Some(DataType::Integer) => limits::is_whole(value),
        Some(DataType::Number) => value.is_number(),
        Some(DataType::Boolean) => value.is_boolean(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if limits::is_whole(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
