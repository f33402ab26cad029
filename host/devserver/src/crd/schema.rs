//! A structural schema (OpenAPI v3 with Kubernetes' extensions), parsed once. Owns reading it and the questions that merging
//! asks of it. Refuses nothing: what is wrong with a schema is `structural`'s, what is wrong with a value `validate`'s.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::pattern;
use super::rules::Rule;
use crate::json::Read;
use crate::schema::{ListKind, Shape};

/// A node of a schema.
#[derive(Debug, Default)]
pub(crate) struct CustomSchema {
    /// The root of a version's schema, where `apiVersion`, `kind` and `metadata` are known without being declared.
    pub(super) root: bool,
    pub(super) data_type: Option<DataType>,
    pub(super) format: Option<Box<str>>,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) properties: BTreeMap<String, CustomSchema>,
    /// `Some(None)` is `additionalProperties: true`.
    pub(super) additional: Option<Option<Box<CustomSchema>>>,
    pub(super) items: Option<Box<CustomSchema>>,
    pub(super) required: Vec<String>,
    pub(super) limits: Limits,
    pub(super) all_of: Vec<CustomSchema>,
    pub(super) any_of: Vec<CustomSchema>,
    pub(super) one_of: Vec<CustomSchema>,
    pub(super) not: Option<Box<CustomSchema>>,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    /// `None` is atomic.
    pub(super) list: Option<ListKind>,
    pub(super) atomic_map: bool,
    pub(super) rules: Vec<Rule>,
}

/// `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl DataType {
    pub(super) const ALL: [Self; 6] = [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// What a value may be, beyond its type.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) one_of: Option<Vec<Value>>,
    pub(super) minimum: Option<serde_json::Number>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<serde_json::Number>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<serde_json::Number>,
    /// In characters.
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    /// As written, and compiled.
    pub(super) pattern: Option<(String, Regex)>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
}

/// Schemas inside of schemas, at most. What is deeper does not exist.
const MAX_DEPTH: usize = 100;

impl CustomSchema {
    /// Reads `openAPIV3Schema`. Rules are read but not compiled yet. What is of a wrong form is as if it was not there.
    pub(super) fn parse(schema: &Value) -> Self {
        let mut root = Self::read(schema, 0);
        root.root = true;
        root
    }

    /// At the root `apiVersion`, `kind` are strings and `metadata` is ObjectMeta (a built-in type).
    pub(crate) fn member(&self, name: &str) -> Option<Shape<'_>> {
        if self.root || self.embedded {
            match name {
                "metadata" => return Some(object_meta()),
                "apiVersion" | "kind" => return Some(Shape::Custom(&TEXT)),
                _ => {}
            }
        }
        if let Some(property) = self.properties.get(name) {
            return Some(Shape::Custom(property));
        }
        match &self.additional {
            Some(Some(values)) => Some(Shape::Custom(values)),
            Some(None) => Some(Shape::Free),
            None => self.is_open().then_some(Shape::Free),
        }
    }

    /// The shape of the items of a list.
    pub(crate) fn items(&self) -> Shape<'_> {
        self.items.as_deref().map_or(Shape::Free, Shape::Custom)
    }

    /// True for a list (as the schema says).
    pub(crate) fn is_list(&self) -> bool {
        self.data_type == Some(DataType::Array)
    }

    /// True for an object whose members are owned as one.
    pub(crate) fn is_atomic_map(&self) -> bool {
        self.atomic_map
    }

    /// How server-side apply sees the list; atomic unless the schema says otherwise.
    pub(crate) fn list_kind(&self) -> ListKind {
        self.list.clone().unwrap_or(ListKind::Atomic)
    }

    /// The default of a member.
    pub(crate) fn default_of(&self, member: &str) -> Option<&Value> {
        self.properties.get(member)?.default.as_ref()
    }

    /// The schema of a member: declared, or that of all others.
    pub(super) fn property(&self, name: &str) -> Option<&CustomSchema> {
        self.properties.get(name).or(match &self.additional {
            Some(Some(values)) => Some(values),
            _ => None,
        })
    }

    /// Whether members that are not declared are kept.
    pub(super) fn is_open(&self) -> bool {
        self.preserve
    }

    /// Whether this schema or one below has rules.
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.properties.values().any(Self::has_rules)
            || self.items.as_deref().is_some_and(Self::has_rules)
            || matches!(&self.additional, Some(Some(values)) if values.has_rules())
    }

    fn read(schema: &Value, depth: usize) -> Self {
        let Some(map) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else { return Self::default() };
        let below = depth.saturating_add(1);
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let all = |name: &str| -> Vec<Self> {
            map.get(name).and_then(Value::as_array).map(|all| all.iter().map(|one| Self::read(one, below)).collect()).unwrap_or_default()
        };
        let one = |name: &str| map.get(name).filter(|one| one.is_object()).map(|one| Box::new(Self::read(one, below)));
        let properties = map.get("properties").and_then(Value::as_object);
        Self {
            root: false,
            data_type: text("type").and_then(|name| DataType::ALL.into_iter().find(|known| known.name() == name)),
            format: text("format").filter(|format| !format.is_empty()).map(Into::into),
            nullable: map.flag("nullable"),
            default: map.get("default").filter(|default| !default.is_null()).cloned(),
            properties: properties.into_iter().flatten().map(|(name, one)| (name.clone(), Self::read(one, below))).collect(),
            additional: match map.get("additionalProperties") {
                Some(Value::Bool(true)) => Some(None),
                Some(of @ Value::Object(_)) => Some(Some(Box::new(Self::read(of, below)))),
                _ => None,
            },
            items: one("items"),
            required: map.texts("required").map(str::to_owned).collect(),
            limits: Limits::read(map),
            all_of: all("allOf"),
            any_of: all("anyOf"),
            one_of: all("oneOf"),
            not: one("not"),
            preserve: map.flag("x-kubernetes-preserve-unknown-fields"),
            embedded: map.flag("x-kubernetes-embedded-resource"),
            int_or_string: map.flag("x-kubernetes-int-or-string"),
            list: match text("x-kubernetes-list-type") {
                Some("set") => Some(ListKind::Set),
                Some("map") => Some(ListKind::Map(map.texts("x-kubernetes-list-map-keys").map(str::to_owned).collect())),
                _ => None,
            },
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            rules: map.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten().map(Rule::read).collect(),
        }
    }
}

impl Limits {
    fn read(map: &Map<String, Value>) -> Self {
        let count = |name: &str| map.get(name).and_then(Value::as_u64);
        let number = |name: &str| map.get(name).and_then(Value::as_number).cloned();
        Self {
            one_of: map.get("enum").and_then(Value::as_array).cloned(),
            minimum: number("minimum"),
            exclusive_minimum: map.flag("exclusiveMinimum"),
            maximum: number("maximum"),
            exclusive_maximum: map.flag("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: map.get("pattern").and_then(Value::as_str).and_then(|text| Some((text.to_owned(), pattern::compile(text).ok()?))),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
        }
    }
}

/// What is known of `metadata`, of a custom object and of one embedded in it.
pub(super) fn object_meta<'a>() -> Shape<'a> {
    crate::schema::builtin_meta()
}

/// `apiVersion` and `kind`.
static TEXT: LazyLock<CustomSchema> = LazyLock::new(|| CustomSchema { data_type: Some(DataType::String), ..CustomSchema::default() });
