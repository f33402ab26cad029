//! OpenAPI v3 by group version: for each kind that can be patched the operation by which kubectl learns that fields can be validated, and
//! schemas for `kubectl explain`.
//!
//! No operation says which patches it takes: kubectl would compute strategic patches from the schemas, and these carry no merge keys.

use serde_json::{Map, Value, json};

use super::discovery::group_version;
use super::documents;
use crate::kind::{GroupVersion, Resource, Schema};

/// Where a group version's document is: `api/v1`, `apis/apps/v1`.
pub(crate) fn place(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Changes whenever the document does. Made of what the document is made of, so that the index costs no document.
pub(crate) fn hash(served: &GroupVersion) -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    for resource in &served.resources {
        text.push_str(&format!("\n{} {} {} {:?}", resource.plural, resource.kind, resource.namespaced, resource.verbs));
        if let Schema::Custom(version) = &resource.schema {
            text.push_str(&version.raw_schema.to_string());
        }
    }
    documents::hash(text.as_bytes())
}

/// The document.
pub(crate) fn document(group: &str, served: &GroupVersion) -> Value {
    let paths: Map<String, Value> = served
        .resources
        .iter()
        .filter(|resource| resource.allows("patch"))
        .map(|resource| (path(resource), operations(resource)))
        .collect();
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": paths,
        "components": {"schemas": super::schemas::of(group, served)},
    })
}

/// Group, version and kind, as the extension says them.
pub(crate) fn identity(resource: &Resource) -> Value {
    json!({"group": &*resource.group, "version": &*resource.version, "kind": &*resource.kind})
}

fn path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "/api" } else { "/apis" };
    let namespace = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    format!("{root}/{}{namespace}/{}/{{name}}", group_version(&resource.group, &resource.version), resource.plural)
}

fn operations(resource: &Resource) -> Value {
    let text = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let part = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}});
    let mut parts = vec![part("name")];
    if resource.namespaced {
        parts.push(part("namespace"));
    }
    json!({
        "parameters": parts,
        "patch": {
            "operationId": format!("patch{}{}{}", resource.group.replace('.', ""), resource.version, resource.kind),
            "parameters": [text("dryRun"), text("fieldManager"), text("fieldValidation")],
            "responses": {"200": {"description": "OK"}, "201": {"description": "Created"}, "401": {"description": "Unauthorized"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": identity(resource),
        },
    })
}

/// The form of `/openapi/v2` that kubectl asks for.
pub(crate) const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// What it is called in the answer: an `@` is in no media type.
pub(crate) const V2_ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// OpenAPI v2 without a schema. kubectl reads it where v3 has nothing to say, to look into a `List` before it sends its items, and
/// lets pass what it finds no schema for; the server validates each item anyway.
pub(crate) fn v2() -> Value {
    json!({"swagger": "2.0", "info": {"title": TITLE, "version": VERSION}, "paths": {}, "definitions": {}})
}

const TITLE: &str = "wharf";
const VERSION: &str = "v1";

/// The same as protobuf: `swagger` is the field 1, `info` the field 2 with `title` and `version`.
pub(crate) fn v2_protobuf() -> Vec<u8> {
    let field = |tag: u8, bytes: &[u8]| {
        // All of them are shorter than 128 bytes, so their length is one byte.
        let mut field = vec![tag, u8::try_from(bytes.len()).unwrap_or(0)];
        field.extend_from_slice(bytes);
        field
    };
    let info = [field(0x0a, TITLE.as_bytes()), field(0x12, VERSION.as_bytes())].concat();
    [field(0x0a, b"2.0"), field(0x12, &info)].concat()
}

#[cfg(test)]
mod tests {
    use super::{document, hash, place};
    use crate::http::discovery::tests::{configmaps, served};

    #[test]
    fn a_kind_that_can_be_patched_says_that_fields_are_validated() {
        let document = document("", &served(vec![configmaps()]));
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"], serde_json::json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
        assert!(patch["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "fieldValidation" && one["in"] == "query"));
        assert!(patch.get("requestBody").is_none(), "kubectl would compute patches without merge keys");
        let mut read_only = configmaps();
        read_only.verbs.retain(|verb| &**verb == "get");
        assert_eq!(super::document("", &served(vec![read_only]))["paths"], serde_json::json!({}));
    }

    #[test]
    fn the_hash_follows_the_resources() {
        let one = hash(&served(vec![configmaps()]));
        assert_eq!(one, hash(&served(vec![configmaps()])));
        let mut other = configmaps();
        other.kind = "Other".into();
        assert_ne!(one, hash(&served(vec![other])));
        assert_ne!(one, hash(&served(vec![])));
    }

    #[test]
    fn places() {
        assert_eq!((place("", "v1"), place("apps", "v1")), ("api/v1".to_owned(), "apis/apps/v1".to_owned()));
    }
}
