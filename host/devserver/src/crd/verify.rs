//! What is wrong with a definition: its names, its versions, their subresources, columns and selectable fields, and what may
//! not change. Owns those rules with the real server's texts; schemas are `structural`'s, rules in CEL `rules`'.

use serde_json::{Value, json};

use super::definition::{is_established, schema_path, selectable};
use super::format::is_label;
use super::schema::{CustomSchema, DataType};
use super::{rules, structural};
use crate::json::Read;
use crate::status::{Cause, Causes};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const APPROVED: &str = "api-approved.kubernetes.io";
/// As many fields of a version can be selected by, at most.
const MAX_SELECTABLE: usize = 8;

/// All that is wrong. `is_path` says what is wrong with the JSON path of a column.
pub(super) fn definition(definition: &Value, old: Option<&Value>, is_path: &dyn Fn(&str) -> Result<(), String>) -> Vec<Cause> {
    let Some(spec) = definition.get("spec").filter(|spec| spec.is_object()) else { return vec![Cause::required("spec", "")] };
    let mut causes = Causes::default();
    identity(definition, spec, &mut causes);
    if let Some(old) = old {
        immutable(definition, old, &mut causes);
        stored(definition, &mut causes);
        // What was accepted once is not judged again.
        if old.get("spec") == Some(spec) {
            return causes.into_vec();
        }
    }
    names(spec, &mut causes);
    conversion(spec, &mut causes);
    versions(definition, spec, is_path, &mut causes);
    causes.into_vec()
}

fn identity(definition: &Value, spec: &Value, causes: &mut Causes) {
    let (group, plural) = (spec.text("group"), spec.at("names").text("plural"));
    let metadata = definition.at("metadata");
    let name = metadata.text("name");
    if name != format!("{plural}.{group}") {
        causes.push(Cause::invalid("metadata.name", &json!(name), "must be spec.names.plural+\".\"+spec.group"));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if group.len() > 253 || !group.split('.').all(is_label) {
        causes.push(Cause::invalid("spec.group", &json!(group), SUBDOMAIN));
    } else if !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &json!(group), "should be a domain with at least one dot"));
    }
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    if protected && metadata.get("annotations").is_none_or(|all| all.text(APPROVED).is_empty()) {
        let why = format!(
            "protected groups must have approval annotation \"{APPROVED}\", see https://github.com/kubernetes/enhancements/pull/1111"
        );
        causes.push(Cause::required(format!("metadata.annotations[{APPROVED}]"), &why));
    }
    match spec.text("scope") {
        "Namespaced" | "Cluster" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => causes.push(Cause::not_supported("spec.scope", &json!(other), &["Cluster", "Namespaced"])),
    }
}

fn names(spec: &Value, causes: &mut Causes) {
    let names = spec.at("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        let field = format!("spec.names.{name}");
        match (name, names.text(name)) {
            (_, "") => causes.push(Cause::required(field, "")),
            ("plural" | "singular", value) if !is_1035(value) => causes.push(Cause::invalid(field, &json!(value), LABEL)),
            ("kind" | "listKind", value) if !is_1035(&value.to_lowercase()) => {
                let why = format!("may have mixed case, but should otherwise match: {LABEL}");
                causes.push(Cause::invalid(field, &json!(value), &why));
            }
            _ => {}
        }
    }
    if !names.text("kind").is_empty() && names.text("kind") == names.text("listKind") {
        causes.push(Cause::invalid("spec.names.listKind", &json!(names.text("listKind")), "kind and listKind may not be the same"));
    }
    for list in ["shortNames", "categories"] {
        for (at, name) in names.list(list).iter().enumerate() {
            if !name.as_str().is_some_and(is_1035) {
                causes.push(Cause::invalid(format!("spec.names.{list}[{at}]"), name, LABEL));
            }
        }
    }
}

fn conversion(spec: &Value, causes: &mut Causes) {
    let conversion = spec.at("conversion");
    let served = spec.list("versions").iter().filter(|version| version.flag("served")).count();
    match conversion.text("strategy") {
        "None" if conversion.get("webhook").is_some_and(|webhook| !webhook.is_null()) => {
            causes.push(Cause::forbidden("spec.conversion.webhook", "should not be set when strategy is not set to Webhook"));
        }
        "None" => {}
        // With one version there is nothing to convert.
        "Webhook" if served < 2 => {}
        "Webhook" => {
            let why = "this server calls no webhooks, so it cannot convert between served versions (serve one version, or use None)";
            causes.push(Cause::invalid("spec.conversion.strategy", &json!("Webhook"), why));
        }
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        other => causes.push(Cause::not_supported("spec.conversion.strategy", &json!(other), &["None", "Webhook"])),
    }
}

fn versions(definition: &Value, spec: &Value, is_path: &dyn Fn(&str) -> Result<(), String>, causes: &mut Causes) {
    let versions = spec.list("versions");
    let names: Vec<&str> = versions.iter().map(|version| version.text("name")).collect();
    let storage = versions.iter().filter(|version| version.flag("storage")).count();
    if storage != 1 {
        causes.push(Cause::invalid("spec.versions", &json!(names), "must have exactly one version marked as storage version"));
    }
    if (1..names.len()).any(|at| names.iter().take(at).any(|before| Some(before) == names.get(at))) {
        causes.push(Cause::invalid("spec.versions", &json!(names), "must contain unique version names"));
    }
    let mut paths: Vec<String> = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        if causes.is_full() {
            return;
        }
        let here = format!("spec.versions[{at}]");
        if !is_1035(version.text("name")) {
            causes.push(Cause::invalid(format!("{here}.name"), &json!(version.text("name")), LABEL));
        }
        let warning = version.text("deprecationWarning");
        if !warning.is_empty() && !version.flag("deprecated") {
            let why = "can only be set for deprecated versions";
            causes.push(Cause::invalid(format!("{here}.deprecationWarning"), &json!(warning), why));
        }
        let Some(schema) = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).filter(|schema| !schema.is_null()) else {
            causes.push(Cause::required(format!("{here}.schema.openAPIV3Schema"), "schemas are required"));
            continue;
        };
        // A schema that versions share is told of once.
        let path = schema_path(definition, at);
        if !paths.contains(&path) {
            let wrong = structural::check(schema, &path);
            if wrong.is_empty() {
                rules::compile(&mut CustomSchema::parse(schema), &path, causes);
            }
            causes.extend(wrong);
            paths.push(path);
        }
        scale(version, &here, causes);
        columns(version, &here, is_path, causes);
        fields(version, schema, &here, causes);
    }
}

fn scale(version: &Value, here: &str, causes: &mut Causes) {
    let Some(scale) = version.get("subresources").and_then(|all| all.get("scale")).filter(|scale| !scale.is_null()) else { return };
    let here = format!("{here}.subresources.scale");
    for (name, begins) in
        [("specReplicasPath", &[".spec."][..]), ("statusReplicasPath", &[".status."]), ("labelSelectorPath", &[".spec.", ".status."])]
    {
        let (field, path) = (format!("{here}.{name}"), scale.text(name));
        if path.is_empty() {
            if name != "labelSelectorPath" {
                causes.push(Cause::required(field, ""));
            }
        } else if !is_plain_path(path) {
            causes.push(Cause::invalid(field, &json!(path), "should be a simple json path starting with ."));
        } else if !begins.iter().any(|begin| path.starts_with(begin)) {
            let why = format!(
                "should be a json path under {}",
                begins.iter().map(|begin| begin.trim_end_matches('.')).collect::<Vec<_>>().join(" or ")
            );
            causes.push(Cause::invalid(field, &json!(path), &why));
        }
    }
}

fn columns(version: &Value, here: &str, is_path: &dyn Fn(&str) -> Result<(), String>, causes: &mut Causes) {
    for (at, column) in version.list("additionalPrinterColumns").iter().enumerate() {
        let here = format!("{here}.additionalPrinterColumns[{at}]");
        if column.text("name").is_empty() {
            causes.push(Cause::required(format!("{here}.name"), ""));
        }
        match column.text("type") {
            "" => {
                let known = "must be one of boolean,date,integer,number,string";
                causes.push(Cause::required(format!("{here}.type"), known));
            }
            "boolean" | "date" | "integer" | "number" | "string" => {}
            other => {
                let why = "must be one of boolean,date,integer,number,string";
                causes.push(Cause::invalid(format!("{here}.type"), &json!(other), why));
            }
        }
        let format = column.text("format");
        if !matches!(format, "" | "int32" | "int64" | "float" | "double" | "byte" | "date" | "date-time" | "password") {
            let why = "must be one of byte,date,date-time,double,float,int32,int64,password";
            causes.push(Cause::invalid(format!("{here}.format"), &json!(format), why));
        }
        match column.text("jsonPath") {
            "" => causes.push(Cause::required(format!("{here}.jsonPath"), "")),
            path => {
                if let Err(why) = is_path(path) {
                    causes.push(Cause::invalid(format!("{here}.jsonPath"), &json!(path), &why));
                }
            }
        }
    }
}

fn fields(version: &Value, schema: &Value, here: &str, causes: &mut Causes) {
    let parsed = CustomSchema::parse(schema);
    let paths: Vec<&str> = selectable(version).collect();
    let given = version.list("selectableFields").len();
    if given > MAX_SELECTABLE {
        let message = format!("Too many: {given}: must have at most {MAX_SELECTABLE} items");
        causes.push(Cause { reason: "FieldValueTooMany", message, field: format!("{here}.selectableFields") });
    }
    if paths.len() < given {
        causes.push(Cause::required(format!("{here}.selectableFields"), "every field needs a jsonPath"));
    }
    for (at, path) in paths.iter().enumerate() {
        let field = format!("{here}.selectableFields[{at}].jsonPath");
        if paths.iter().take(at).any(|before| before == path) {
            causes.push(Cause::duplicate(field, &json!(path)));
        } else if !is_plain_path(path) {
            causes.push(Cause::invalid(field, &json!(path), "is an invalid path: must be a simple json path starting with ."));
        } else if path.starts_with(".metadata") {
            causes.push(Cause::invalid(field, &json!(path), "must not point to fields in metadata"));
        } else {
            let mut names = path.split('.').skip(1);
            match names.try_fold(&parsed, |schema, name| schema.properties.get(name)).map(|found| found.data_type) {
                Some(Some(DataType::String | DataType::Boolean | DataType::Integer)) => {}
                Some(_) => {
                    let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
                    causes.push(Cause::invalid(field, &json!(path), why));
                }
                None => causes.push(Cause::invalid(field, &json!(path), "is an invalid path: does not refer to a valid field")),
            }
        }
    }
}

/// What may not change: what the objects are stored under, and once it is established what they are.
fn immutable(definition: &Value, old: &Value, causes: &mut Causes) {
    let of = |definition: &Value, path: &str| definition.pointer(path).cloned().unwrap_or(Value::Null);
    let mut fixed = vec![("/spec/group", "spec.group"), ("/spec/names/plural", "spec.names.plural")];
    if is_established(old) {
        fixed.extend([("/spec/scope", "spec.scope"), ("/spec/names/kind", "spec.names.kind")]);
    }
    for (pointer, field) in fixed {
        let new = of(definition, pointer);
        if new != of(old, pointer) {
            causes.push(Cause::invalid(field, &new, "field is immutable"));
        }
    }
}

/// Versions in which objects may be stored must stay.
fn stored(definition: &Value, causes: &mut Causes) {
    let spec = definition.at("spec");
    let status = definition.at("status");
    for (at, name) in status.list("storedVersions").iter().enumerate() {
        if !spec.list("versions").iter().any(|version| version.get("name") == Some(name)) {
            let why = "missing from spec.versions; must have been a storage version";
            let why = format!("{why}; migrate its objects and remove it from status.storedVersions first");
            causes.push(Cause::invalid(format!("status.storedVersions[{at}]"), name, &why));
        }
    }
}

/// `.spec.replicas`: fields of fields.
fn is_plain_path(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    path.strip_prefix('.').is_some_and(|path| path.split('.').all(is_name))
}

fn is_1035(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}
