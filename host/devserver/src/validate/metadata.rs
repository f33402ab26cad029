//! The rules of every object's metadata: names, labels, annotations, owners, finalizers.
//!
//! Owns which kinds have names of another format than a DNS subdomain. Checks nothing beside `metadata`.

use serde_json::{Value, json};

use super::check::{self, Causes, invalid_all};
use super::names::{self, Format};
use crate::json::Read;
use crate::kind::Resource;
use crate::status::Cause;

/// Bytes of all annotations of an object, keys and values.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Group, kind, format of names where it is not a DNS subdomain.
const NAMES: &[(&str, &str, Format)] = &[
    ("", "Event", names::path_segment),
    ("", "Namespace", names::label),
    ("", "Service", names::label),
    ("apps", "StatefulSet", names::label),
    ("rbac.authorization.k8s.io", "ClusterRole", names::path_segment),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", names::path_segment),
    ("rbac.authorization.k8s.io", "Role", names::path_segment),
    ("rbac.authorization.k8s.io", "RoleBinding", names::path_segment),
];

/// Metadata of a new object.
pub(super) fn create(resource: &Resource, metadata: &Value, out: &mut Causes) {
    let format = NAMES
        .iter()
        .find(|(group, kind, _)| *group == &*resource.group && *kind == &*resource.kind)
        .map_or(names::subdomain as Format, |(_, _, format)| *format);
    let (name, prefix) = (metadata.text("name"), metadata.text("generateName"));
    if !prefix.is_empty() {
        invalid_all("metadata.generateName", &json!(prefix), format(&without_last_dash(prefix)), out);
    }
    if name.is_empty() {
        out.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        invalid_all("metadata.name", &json!(name), format(name), out);
    }
    match (resource.namespaced, metadata.text("namespace")) {
        (true, "") => out.push(Cause::required("metadata.namespace", "")),
        (true, namespace) => invalid_all("metadata.namespace", &json!(namespace), names::label(namespace), out),
        (false, "") => {}
        (false, _) => out.push(Cause::forbidden("metadata.namespace", "not allowed on this type")),
    }
    check::not_negative(metadata, &["generation"], "metadata", out);
    common(metadata, out);
    finalizers(resource, metadata, out);
}

/// Metadata of an update: what is decided at creation stays.
pub(super) fn update(resource: &Resource, new: &Value, old: &Value, out: &mut Causes) {
    if old.has("deletionTimestamp") {
        let before = old.list("finalizers");
        let added: Vec<String> = new
            .list("finalizers")
            .iter()
            .filter(|one| !before.contains(one))
            .map(|one| format!("{:?}", one.as_str().unwrap_or_default()))
            .collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            out.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    // What a client leaves out is filled in from the old object before.
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.has(name) && !check::same(new.at(name), old.at(name)) {
            out.push(Cause::invalid(format!("metadata.{name}"), new.at(name), check::IMMUTABLE));
        }
    }
    common(new, out);
    finalizers(resource, new, out);
}

fn common(metadata: &Value, out: &mut Causes) {
    check::labels(metadata.at("labels"), "metadata.labels", out);
    annotations(metadata.at("annotations"), "metadata.annotations", out);
    owners(metadata.list("ownerReferences"), out);
}

/// Keys as of labels, in any case; the size of all is limited.
pub(super) fn annotations(map: &Value, path: &str, out: &mut Causes) {
    let mut size = 0;
    for (key, value) in map.as_object().into_iter().flatten() {
        invalid_all(path, &json!(key), names::qualified(&key.to_lowercase()), out);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > MAX_ANNOTATIONS {
        out.push(Cause::too_long(path, &format!("may not be more than {MAX_ANNOTATIONS} bytes")));
    }
}

fn owners(references: &[Value], out: &mut Causes) {
    const PATH: &str = "metadata.ownerReferences";
    let mut controller: Option<String> = None;
    for owner in references {
        let version = owner.text("apiVersion");
        if version.rsplit('/').next().unwrap_or_default().is_empty() {
            out.push(Cause::invalid(format!("{PATH}.apiVersion"), &json!(version), "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if owner.text(name).is_empty() {
                out.push(Cause::invalid(format!("{PATH}.{name}"), &json!(owner.text(name)), "must not be empty"));
            }
        }
        if version == "v1" && owner.text("kind") == "Event" {
            out.push(Cause::invalid(PATH, owner, "/v1, Kind=Event is disallowed from being an owner"));
        }
        if owner.flag("controller") {
            let this = format!("{}/{}", owner.text("kind"), owner.text("name"));
            match &controller {
                None => controller = Some(this),
                // Each of these tells all references.
                Some(_) if out.is_full() => {}
                Some(first) => {
                    let why =
                        format!("Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}");
                    out.push(Cause::invalid(PATH, &Value::Array(references.to_vec()), &why));
                }
            }
        }
    }
}

fn finalizers(resource: &Resource, metadata: &Value, out: &mut Causes) {
    const PATH: &str = "metadata.finalizers";
    let all = metadata.list("finalizers");
    for (index, finalizer) in all.iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        invalid_all(PATH, finalizer, names::qualified(name), out);
        // Custom resources may have finalizers without a domain.
        if !resource.is_custom() && !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            out.push(Cause::invalid(format!("{PATH}[{index}]"), finalizer, why));
        }
    }
    let has = |name: &str| all.iter().any(|one| one.as_str() == Some(name));
    if has("orphan") && has("foregroundDeletion") {
        out.push(Cause::invalid(PATH, metadata.at("finalizers"), "finalizer orphan and foregroundDeletion cannot be both set"));
    }
}

/// A prefix may end in a dash, since more comes behind it.
fn without_last_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defaults::testing::resource;

    fn created(api_version: &str, kind: &str, metadata: Value) -> Vec<(String, &'static str)> {
        let mut out = Causes::default();
        create(&resource(api_version, kind), &metadata, &mut out);
        out.into_iter().map(|cause| (cause.field, cause.reason)).collect()
    }

    #[test]
    fn what_is_wrong_with_new_metadata() {
        const INVALID: &str = "FieldValueInvalid";
        type Case<'a> = (&'a str, &'a str, Value, &'a [(&'a str, &'a str)]);
        let cases: &[Case<'_>] = &[
            ("v1", "ConfigMap", json!({"name": "a", "namespace": "n", "labels": {"a.b/c": "d"}, "annotations": {"X.y/Z": " any "}}), &[]),
            ("v1", "ConfigMap", json!({"namespace": "n"}), &[("metadata.name", "FieldValueRequired")]),
            ("v1", "ConfigMap", json!({"name": "Bad_Name", "namespace": "n"}), &[("metadata.name", INVALID)]),
            ("v1", "ConfigMap", json!({"name": "a"}), &[("metadata.namespace", "FieldValueRequired")]),
            ("v1", "Node", json!({"name": "a", "namespace": "n"}), &[("metadata.namespace", "FieldValueForbidden")]),
            ("v1", "Namespace", json!({"name": "a.b"}), &[("metadata.name", INVALID)]),
            ("v1", "Service", json!({"name": "a.b", "namespace": "n"}), &[("metadata.name", INVALID)]),
            ("rbac.authorization.k8s.io/v1", "Role", json!({"name": "system:Any_name", "namespace": "n"}), &[]),
            ("rbac.authorization.k8s.io/v1", "Role", json!({"name": "a/b", "namespace": "n"}), &[("metadata.name", INVALID)]),
            ("v1", "ConfigMap", json!({"name": "gen-abcde", "generateName": "gen-", "namespace": "n"}), &[]),
            ("v1", "ConfigMap", json!({"name": "x", "generateName": "Gen-", "namespace": "n"}), &[("metadata.generateName", INVALID)]),
            (
                "v1",
                "ConfigMap",
                json!({"name": "a", "namespace": "n", "labels": {"a b": "c d"}}),
                &[("metadata.labels", INVALID), ("metadata.labels", INVALID)],
            ),
            ("v1", "ConfigMap", json!({"name": "a", "namespace": "n", "finalizers": ["bad"]}), &[("metadata.finalizers[0]", INVALID)]),
            ("v1", "ConfigMap", json!({"name": "a", "namespace": "n", "finalizers": ["x.test/y", "orphan"]}), &[]),
            (
                "v1",
                "ConfigMap",
                json!({"name": "a", "namespace": "n", "finalizers": ["foregroundDeletion", "orphan"]}),
                &[("metadata.finalizers", INVALID)],
            ),
            (
                "v1",
                "ConfigMap",
                json!({"name": "a", "namespace": "n", "ownerReferences": [{"kind": "X"}]}),
                &[
                    ("metadata.ownerReferences.apiVersion", INVALID),
                    ("metadata.ownerReferences.name", INVALID),
                    ("metadata.ownerReferences.uid", INVALID),
                ],
            ),
        ];
        for (api_version, kind, metadata, expected) in cases {
            let found = created(api_version, kind, metadata.clone());
            let found: Vec<(&str, &str)> = found.iter().map(|(field, reason)| (field.as_str(), *reason)).collect();
            assert_eq!(found, *expected, "{kind} {metadata}");
        }
    }

    #[test]
    fn at_most_one_controller() {
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": true});
        let metadata = json!({"name": "a", "namespace": "n", "ownerReferences": [owner("x"), owner("y")]});
        assert_eq!(created("v1", "ConfigMap", metadata), [("metadata.ownerReferences".to_owned(), "FieldValueInvalid")]);
    }

    #[test]
    fn the_list_of_owners_is_not_told_for_each_of_them() {
        use crate::bounded::MOST_BYTES;
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u", "controller": true});
        let list = json!(vec![owner; 3000]);
        let whole = list.to_string().len();
        let mut out = Causes::default();
        create(&resource("v1", "ConfigMap"), &json!({"name": "a", "namespace": "n", "ownerReferences": list}), &mut out);
        let bytes: usize = out.iter().map(|cause| cause.message.len()).sum();
        assert!(!out.is_empty() && bytes <= MOST_BYTES.max(2 * whole), "{bytes}");
    }

    #[test]
    fn annotations_are_limited_in_size() {
        let metadata = json!({"name": "a", "namespace": "n", "annotations": {"a": "x".repeat(MAX_ANNOTATIONS)}});
        assert_eq!(created("v1", "ConfigMap", metadata), [("metadata.annotations".to_owned(), "FieldValueTooLong")]);
    }

    #[test]
    fn updates_keep_what_was_decided_at_creation() {
        let old =
            json!({"name": "a", "namespace": "n", "uid": "u", "finalizers": ["x.test/y"], "deletionTimestamp": "2001-01-01T00:00:00Z"});
        let with = |name: &str, value: Value| {
            let mut new = old.clone();
            new[name] = value;
            let mut out = Causes::default();
            update(&resource("v1", "ConfigMap"), &new, &old, &mut out);
            out.into_vec()
        };
        assert_eq!(with("uid", json!("v")), [Cause::invalid("metadata.uid", &json!("v"), "field is immutable")]);
        assert_eq!(with("uid", json!(null)), []);
        assert_eq!(with("finalizers", json!([])), []);
        let why = "no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x.test/z\"}";
        assert_eq!(with("finalizers", json!(["x.test/y", "x.test/z"])), [Cause::forbidden("metadata.finalizers", why)]);
    }
}
