//! The definition object: what is filled in, what its status says, and the resources that it serves. Owns the order of a
//! definition's versions. Judges nothing (that is `verify`'s), stores nothing, and knows no other definition.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::schema::CustomSchema;
use super::{CustomVersion, names, rules};
use crate::json::Read;
use crate::kind::{Resource, Schema, Subresource};
use crate::status::{Cause, Causes};

/// Verbs of a custom resource, in the order in which discovery has them.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// See [`super::prepare`].
pub(super) fn prepare(definition: &mut Value) {
    let Some(map) = definition.as_object_mut() else { return };
    if let Some(spec) = map.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut)
            && let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned)
        {
            fill(names, "singular", json!(kind.to_lowercase()));
            fill(names, "listKind", json!(format!("{kind}List")));
        }
        fill(spec, "conversion", json!({"strategy": "None"}));
    }
    let stored = storage_version(map);
    let begun = || json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []});
    let status = map.entry("status").or_insert_with(begun);
    if !status.is_object() {
        *status = begun();
    }
    let Some(status) = status.as_object_mut() else { return };
    fill(status, "acceptedNames", json!({"plural": "", "kind": ""}));
    status.entry("conditions").or_insert(Value::Null);
    let versions = status.entry("storedVersions").or_insert_with(|| json!([]));
    if !versions.is_array() {
        *versions = json!([]);
    }
    if let (Some(versions), Some(stored)) = (versions.as_array_mut(), stored)
        && !versions.contains(&stored)
    {
        versions.push(stored);
    }
}

/// See [`super::resources`].
pub(super) fn resources(definition: &Value) -> Result<Vec<Arc<Resource>>, Vec<Cause>> {
    if !is_established(definition) {
        return Ok(Vec::new());
    }
    let spec = definition.at("spec");
    let mut versions: Vec<(usize, &Value)> = spec.get("versions").and_then(Value::as_array).into_iter().flatten().enumerate().collect();
    versions.sort_by_cached_key(|(_, version)| Reverse(Priority::of(version.text("name"))));
    let mut causes = Causes::default();
    let mut served = Vec::new();
    for (at, version) in versions.into_iter().filter(|(_, version)| version.flag("served")) {
        served.push(resource(definition, version, &schema_path(definition, at), &mut causes));
    }
    if causes.is_empty() { Ok(served) } else { Err(causes.into_vec()) }
}

/// The resource as it is stored, whether that version is served or not and whether its rules compile: for those who look at its objects
/// only.
pub(crate) fn storage(definition: &Value) -> Option<Arc<Resource>> {
    if !is_established(definition) {
        return None;
    }
    let versions = definition.at("spec").get("versions").and_then(Value::as_array)?;
    let version = versions.iter().find(|version| version.flag("storage"))?;
    let mut bare = version.clone();
    bare.as_object_mut().map(|version| version.remove("schema"));
    Some(resource(definition, &bare, "", &mut Causes::default()))
}

/// The group whose names the definition shares.
pub(crate) fn group(definition: &Value) -> &str {
    definition.at("spec").text("group")
}

/// Whether two states of a definition serve the same.
pub(crate) fn serves_the_same(a: &Value, b: &Value) -> bool {
    let accepted = |definition: &Value| definition.path(&["status", "acceptedNames"]).clone();
    a.get("spec") == b.get("spec") && accepted(a) == accepted(b) && is_established(a) == is_established(b)
}

/// Where the errors of a version's schema are told: versions that share one schema have it in one place.
pub(super) fn schema_path(definition: &Value, at: usize) -> String {
    let versions = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let mut schemas = versions.into_iter().flatten().map(|version| version.get("schema"));
    let first = schemas.next();
    if schemas.all(|schema| Some(schema) == first) {
        "spec.validation.openAPIV3Schema".to_owned()
    } else {
        format!("spec.versions[{at}].schema.openAPIV3Schema")
    }
}

pub(super) fn is_established(definition: &Value) -> bool {
    names::has(definition, "Established")
}

fn resource(definition: &Value, version: &Value, path: &str, causes: &mut Causes) -> Arc<Resource> {
    let spec = definition.at("spec");
    let names = definition.path(&["status", "acceptedNames"]);
    let (group, name) = (spec.text("group"), version.text("name"));
    let (kind, plural) = (names.text("kind"), names.text("plural"));
    let subresources = version.at("subresources");
    let scale = subresources.get("scale").filter(|scale| !scale.is_null());
    let status = subresources.get("status").is_some_and(|status| !status.is_null());
    let mut schema = CustomSchema::parse(version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).unwrap_or(&Value::Null));
    rules::compile(&mut schema, path, causes);
    let custom = CustomVersion {
        schema,
        columns: version.get("additionalPrinterColumns").and_then(Value::as_array).cloned().unwrap_or_default(),
        selectable: selectable(version).map(str::to_owned).collect(),
        scale: scale.cloned(),
        raw_schema: version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).cloned().unwrap_or_default(),
    };
    let sub = |name: &str, group: &str, version: &str, kind: &str| Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: ["get", "patch", "update"].map(Arc::from).to_vec(),
    };
    let singular = names.get("singular").and_then(Value::as_str).map_or_else(|| kind.to_lowercase(), str::to_owned);
    let list_kind = names.get("listKind").and_then(Value::as_str).map_or_else(|| format!("{kind}List"), str::to_owned);
    Arc::new(Resource {
        deprecation: version.flag("deprecated").then(|| deprecation(spec, version).into()),
        group: group.into(),
        version: name.into(),
        plural: plural.into(),
        singular: singular.into(),
        kind: kind.into(),
        list_kind: list_kind.into(),
        namespaced: spec.text("scope") == "Namespaced",
        short_names: names.texts("shortNames").map(Arc::from).collect(),
        categories: names.texts("categories").map(Arc::from).collect(),
        verbs: VERBS.map(Arc::from).to_vec(),
        subresources: status
            .then(|| sub("status", group, name, kind))
            .into_iter()
            .chain(scale.map(|_| sub("scale", "autoscaling", "v1", "Scale")))
            .collect(),
        schema: Schema::Custom(Arc::new(custom)),
        storage: format!("{plural}.{group}").into(),
    })
}

/// JSON paths of `selectableFields`.
pub(super) fn selectable(version: &Value) -> impl Iterator<Item = &str> {
    let fields = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
    fields.filter_map(|field| field.get("jsonPath").and_then(Value::as_str))
}

/// The author's warning, or one that names a better version if there is one.
fn deprecation(spec: &Value, version: &Value) -> String {
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return warning.to_owned();
    }
    let (group, kind) = (spec.text("group"), spec.at("names").text("kind"));
    let name = version.text("name");
    let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let better = versions
        .filter(|other| other.flag("served") && !other.flag("deprecated"))
        .map(|other| other.text("name"))
        .filter(|other| Priority::of(other) > Priority::of(name))
        .max_by_key(|other| Priority::of(other));
    let useless = format!("{group}/{name} {kind} is deprecated");
    better.map_or(useless.clone(), |better| format!("{useless}; use {group}/{better} {kind}"))
}

fn storage_version(definition: &Map<String, Value>) -> Option<Value> {
    let versions = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array)?;
    versions.iter().find(|version| version.flag("storage")).and_then(|version| version.get("name")).cloned()
}

/// How good a version is by its name: v2 before v1, before v2beta1, before v1alpha1, before any other name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Priority<'v> {
    /// 3 for a stable version, 2 for beta, 1 for alpha, 0 for what is no version.
    stage: u8,
    major: u64,
    minor: u64,
    name: &'v str,
}

impl<'v> Priority<'v> {
    pub(super) fn of(name: &'v str) -> Self {
        let read = || {
            let rest = name.strip_prefix('v')?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (major, rest) = rest.split_at_checked(end)?;
            let major = major.parse().ok()?;
            let (stage, minor) = match rest {
                "" => return Some((3, major, 0)),
                rest => rest.strip_prefix("beta").map(|minor| (2, minor)).or_else(|| rest.strip_prefix("alpha").map(|minor| (1, minor)))?,
            };
            Some((stage, major, minor.parse().ok()?))
        };
        let (stage, major, minor) = read().unwrap_or((0, 0, 0));
        Self { stage, major, minor, name }
    }
}

impl Ord for Priority<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let parts = (self.stage, self.major, self.minor).cmp(&(other.stage, other.major, other.minor));
        // Of two names that are no versions, the first of the alphabet is preferred.
        parts.then_with(|| other.name.cmp(self.name))
    }
}

impl PartialOrd for Priority<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Fills in what is absent or empty.
fn fill(map: &mut Map<String, Value>, name: &str, value: Value) {
    if map.get(name).is_none_or(|old| old.is_null() || old == &json!("")) {
        map.insert(name.to_owned(), value);
    }
}
