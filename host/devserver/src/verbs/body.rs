//! From a body to an object of the resource: JSON, YAML or protobuf, the right kind, only known fields.

use serde_json::{Value, json};

use super::options::FieldValidation;
use super::{Content, Payload};
use crate::crd;
use crate::kind::{Resource, Schema};
use crate::patch::{MAX_DEPTH, deeper_than};
use crate::schema;
use crate::status::Status;
use crate::yaml;

/// An object as the kind has it, and what is to be said about it.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
}

/// A body as JSON, of whatever kind. `kind` is for the message.
///
/// # Errors
/// 400 if it cannot be read.
pub(crate) fn parse(payload: &Payload, kind: &str) -> Result<Value, Status> {
    let text = &payload.bytes;
    let unreadable = |why: String| Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"));
    match payload.content {
        Content::Protobuf => schema::decode_protobuf(text).map_err(unreadable),
        Content::Yaml | Content::Apply => yaml::value(text).map_err(unreadable),
        _ => serde_json::from_slice(text).map_err(|error| unreadable(format!("couldn't get version/kind; json parse error: {error}"))),
    }
}

/// Reads a body as an object of `resource`.
///
/// # Errors
/// 400 for another kind, a wrong type, or (Strict) unknown and duplicate fields.
pub(crate) fn read(payload: &Payload, resource: &Resource, validation: FieldValidation) -> Result<Object, Status> {
    let mut value = parse(payload, &resource.kind)?;
    check_kind(&mut value, resource)?;
    let unknown = normalise(&mut value, resource).map_err(|why| handled(resource, &why))?;
    let mut found = match payload.content {
        Content::Yaml if validation != FieldValidation::Ignore => repeated(payload, validation),
        _ => Vec::new(),
    };
    found.extend(unknown);
    if payload.content == Content::Json && validation != FieldValidation::Ignore {
        found.extend(schema::duplicates(&payload.bytes).into_iter().map(|path| format!("duplicate field \"{path}\"")));
    }
    let warnings = judge(found, validation).map_err(|all| handled(resource, &format!("strict decoding error: {all}")))?;
    Ok(Object { value, warnings })
}

/// What a YAML body has twice: each is a warning, or with Strict all are one text, as go-yaml has it.
fn repeated(payload: &Payload, validation: FieldValidation) -> Vec<String> {
    let all = yaml::repeated(&payload.bytes);
    if validation == FieldValidation::Strict && !all.is_empty() {
        return vec![format!("yaml: unmarshal errors:\n  {}", all.join("\n  "))];
    }
    all
}

/// With Strict, refuses an apply configuration that has members twice.
///
/// # Errors
/// 400.
pub(super) fn refuse_repeated(payload: &Payload, validation: FieldValidation) -> Result<(), Status> {
    if validation != FieldValidation::Strict {
        return Ok(());
    }
    match repeated(payload, validation).pop() {
        Some(all) => Err(Status::bad_request(format!("error strict decoding YAML: {all}"))),
        None => Ok(()),
    }
}

/// The object of a body, whatever is unknown in it; for fuzzers, who have no use for an error.
pub(crate) fn reread(payload: &Payload, resource: &Resource) -> Option<Value> {
    read(payload, resource, FieldValidation::Warn).ok().map(|object| object.value)
}

/// Brings an object into the form in which it is kept: what the kind does not have goes, and is returned as `unknown field "…"`.
///
/// # Errors
/// A text for a value of a wrong type (built-in kinds; custom ones are validated later), and for one that is too deep.
pub(crate) fn normalise(value: &mut Value, resource: &Resource) -> Result<Vec<String>, String> {
    // The metadata has a type, which nests nothing but managedFields.
    let too_deep = |(name, member): (&String, &Value)| name != "metadata" && deeper_than(member, MAX_DEPTH - 1);
    if value.as_object().is_some_and(|members| members.iter().any(too_deep)) {
        return Err("exceeded max depth".to_owned());
    }
    let unknown = match &resource.schema {
        Schema::Builtin(id) => {
            let decoded = schema::decode(*id, value.take())?;
            *value = decoded.value;
            decoded.unknown
        }
        Schema::Custom(version) => {
            let mut unknown = Vec::new();
            if let Some(metadata) = value.get_mut("metadata") {
                let decoded = schema::decode(schema::TypeId::object_meta(), metadata.take())?;
                *metadata = decoded.value;
                unknown.extend(decoded.unknown.into_iter().map(|path| format!("metadata.{path}")));
            }
            unknown.extend(crd::prune_and_default(version, value));
            unknown
        }
    };
    Ok(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect())
}

/// Warnings, or with Strict all of them as one text.
pub(crate) fn judge(found: Vec<String>, validation: FieldValidation) -> Result<Vec<String>, String> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(found),
        FieldValidation::Strict if found.is_empty() => Ok(found),
        FieldValidation::Strict => Err(found.join(", ")),
    }
}

fn handled(resource: &Resource, why: &str) -> Status {
    // The version alone, without its group, as the real server says it.
    let (version, kind) = (&resource.version, &resource.kind);
    Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

/// Built-in kinds may leave apiVersion and kind out; custom ones may not.
pub(crate) fn check_kind(value: &mut Value, resource: &Resource) -> Result<(), Status> {
    let Value::Object(members) = value else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): it is no object",
            resource.kind
        )));
    };
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let wanted = resource.api_version();
    if resource.is_custom() && kind.is_empty() {
        return Err(Status::bad_request("Object 'Kind' is missing in the object provided"));
    }
    if resource.is_custom() && version.is_empty() {
        return Err(Status::bad_request("Object 'apiVersion' is missing in the object provided"));
    }
    if !(kind.is_empty() || kind == *resource.kind) || !(version.is_empty() || version == wanted) {
        let (version, kind) = (if version.is_empty() { &wanted } else { &version }, if kind.is_empty() { &*resource.kind } else { &kind });
        let why = format!("converting ({version}, Kind={kind}) to ({wanted}, Kind={}): unknown conversion", resource.kind);
        return Err(Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {}: {why}", resource.kind)));
    }
    members.insert("apiVersion".to_owned(), json!(wanted));
    members.insert("kind".to_owned(), json!(resource.kind));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Api, ApiOptions};
    use super::*;
    use crate::store::{Key, StoreOptions};

    #[tokio::test]
    async fn what_is_taken_can_be_read_again() {
        let store = StoreOptions { history: 10, data: None, first_version: None };
        let api = Api::open(ApiOptions { store, controllers: false }).await.unwrap();
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wells.a.test"},
            "spec": {"group": "a.test", "scope": "Cluster", "names": {"plural": "wells", "kind": "Well"}, "versions": [version]}});
        api.apply("test", definition).await.unwrap();
        let well = |depth: usize| {
            let deep = (2..depth).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
            json!({"apiVersion": "a.test/v1", "kind": "Well", "metadata": {"name": "w"}, "spec": deep})
        };
        assert_eq!(api.apply("test", well(MAX_DEPTH + 1)).await.unwrap_err().code, 400);
        let registry = api.registry();
        let resource = registry.find("a.test", "v1", "wells").unwrap();
        assert_eq!(normalise(&mut well(MAX_DEPTH + 1), resource).unwrap_err(), "exceeded max depth");
        api.apply("test", well(MAX_DEPTH)).await.unwrap();
        let key = Key { storage: resource.storage.clone(), namespace: "".into(), name: "w".into() };
        let stored = Api::value(resource, &api.store().get(&key).unwrap());
        assert_eq!(stored["spec"], well(MAX_DEPTH)["spec"]);
        assert!(stored["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].is_object());
        let again = api.apply("other", well(MAX_DEPTH)).await.unwrap();
        assert!(!again.created);
        let stored = Api::value(resource, &api.store().get(&key).unwrap());
        assert_eq!(stored["metadata"]["managedFields"].as_array().map(Vec::len), Some(2), "both own it");
    }

    #[tokio::test]
    async fn yaml_is_read_as_kubernetes_does() {
        let store = StoreOptions { history: 10, data: None, first_version: None };
        let api = Api::open(ApiOptions { store, controllers: false }).await.unwrap();
        let registry = api.registry();
        let maps = registry.find("", "v1", "configmaps").unwrap();
        let body = |content, text: &'static str| Payload { content, bytes: text.into() };
        let pods = registry.find("", "v1", "pods").unwrap();
        let pod = "spec: {volumes: [{name: a, secret: {secretName: a, defaultMode: 0644}}], containers: [], hostNetwork: yes}";
        let read_pod = read(&body(Content::Yaml, pod), pods, FieldValidation::Strict).unwrap().value;
        assert_eq!(read_pod.pointer("/spec/volumes/0/secret/defaultMode"), Some(&json!(420)));
        assert_eq!(read_pod.pointer("/spec/hostNetwork"), Some(&json!(true)));

        let twice = body(Content::Yaml, "data:\n  a: \"1\"\n  a: \"2\"\n");
        let status = read(&twice, maps, FieldValidation::Strict).unwrap_err();
        let want = "strict decoding error: yaml: unmarshal errors:\n  line 3: key \"a\" already set in map";
        assert!(status.message.ends_with(want), "{}", status.message);
        let warned = read(&twice, maps, FieldValidation::Warn).unwrap();
        assert_eq!(
            (&warned.value["data"]["a"], &*warned.warnings),
            (&json!("2"), &["line 3: key \"a\" already set in map".to_owned()][..])
        );
        assert!(read(&twice, maps, FieldValidation::Ignore).unwrap().warnings.is_empty());
        let twice = Payload { content: Content::Apply, ..twice };
        assert_eq!(refuse_repeated(&twice, FieldValidation::Strict).unwrap_err().code, 400);
        assert!(refuse_repeated(&twice, FieldValidation::Warn).is_ok());
    }
}
