//! The `scale` subresource: a view of replicas, and a write of them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::WriteOptions;
use super::update::{self, Scope, Written};
use super::{Answer, Api, Body, Content, Payload, Request, Verb, body, object};
use crate::json;
use crate::kind::{Resource, Schema};
use crate::patch;
use crate::status::{About, Cause, Status};
use crate::store::Stored;

/// Where a kind keeps what Scale shows, as JSON pointers.
struct Paths {
    replicas: String,
    status: String,
    selector: Option<String>,
}

/// Serves GET, PUT and PATCH of `scale`.
///
/// # Errors
/// 404, 409, 422; 500 for a custom object that has no replicas yet, as the real server.
pub(crate) async fn serve(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let resource = &request.resource;
    let paths = paths(resource).ok_or_else(Status::no_resource)?;
    let key = request.key();
    let Some(old) = api.store.get(&key) else { return Err(Status::not_found(resource.about(), &key.name)) };
    if request.verb == Verb::Get {
        return Ok(Answer::new(200, Body::Other(scale_of(resource, &paths, &old)?)));
    }
    if !matches!(request.verb, Verb::Update | Verb::Patch) {
        return Err(Status::method_not_allowed());
    }
    let options = WriteOptions::of(request)?;
    let Some(payload) = &request.body else { return Err(Status::bad_request("the request has no body")) };
    // What has no replicas yet may be given some.
    let present = with_replicas(&paths, &Api::value(resource, &old), 0);
    let wanted = wanted(payload, &present)?;
    let replicas = replicas(&wanted, &key.name)?;
    let mut patch = nested(&paths.replicas, replicas);
    if let Some(version) = asked(request.verb, &wanted, &present) {
        object::set(&mut patch, "resourceVersion", version);
    }
    let change = Written::Patch(Content::MergePatch, patch);
    let answer = update::write(api, request, Scope::Object, &options, &change).await?;
    let (stored, value) = match answer.body {
        Body::Stored { object, .. } => (Some(object), None),
        Body::Object { value, .. } => (None, Some(value)),
        other => return Ok(Answer { body: other, ..answer }),
    };
    let shown = match (stored, value) {
        (Some(stored), _) => scale_of(resource, &paths, &stored)?,
        (None, Some(value)) => shown(&paths, &value)?,
        (None, None) => present,
    };
    Ok(Answer { code: answer.code, warnings: answer.warnings, body: Body::Other(shown) })
}

fn paths(resource: &Resource) -> Option<Paths> {
    resource.subresource("scale")?;
    let Schema::Custom(version) = &resource.schema else {
        return Some(Paths {
            replicas: "/spec/replicas".to_owned(),
            status: "/status/replicas".to_owned(),
            selector: Some("/spec/selector".to_owned()),
        });
    };
    let scale = version.scale.as_ref()?;
    let pointer = |name: &str| scale.get(name).and_then(Value::as_str).map(json::pointer);
    Some(Paths { replicas: pointer("specReplicasPath")?, status: pointer("statusReplicasPath")?, selector: pointer("labelSelectorPath") })
}

fn scale_of(resource: &Resource, paths: &Paths, stored: &Stored) -> Result<Value, Status> {
    shown(paths, &Api::value(resource, stored))
}

fn shown(paths: &Paths, value: &Value) -> Result<Value, Status> {
    if let Some(replicas) = value.pointer(&paths.replicas).and_then(Value::as_i64) {
        return Ok(with_replicas(paths, value, replicas));
    }
    let why = format!("the spec replicas field {:?} does not exist", paths.replicas.replace('/', "."));
    let mut status = Status::new(500, "InternalError", format!("Internal error occurred: {why}"));
    status.details = Some(Map::from_iter([("causes".to_owned(), json!([{"message": why}]))]));
    Err(status)
}

fn with_replicas(paths: &Paths, value: &Value, replicas: i64) -> Value {
    let mut status = json!({"replicas": value.pointer(&paths.status).and_then(Value::as_i64).unwrap_or(0)});
    let selector = paths.selector.as_ref().and_then(|pointer| value.pointer(pointer)).and_then(selector);
    if let (Some(selector), Some(status)) = (selector, status.as_object_mut()) {
        status.insert("selector".to_owned(), json!(selector));
    }
    let mut metadata = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(found) = object::member(value, name) {
            metadata.insert(name.to_owned(), found.clone());
        }
    }
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

/// A selector as text: of a LabelSelector, of a plain map, or text already.
fn selector(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let object = value.as_object()?;
    let is_selector = object.contains_key("matchLabels") || object.contains_key("matchExpressions");
    let labels = if is_selector { object.get("matchLabels").and_then(Value::as_object) } else { Some(object) };
    let mut parts: Vec<String> =
        labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    for one in object.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
        let values: Vec<&str> = one.get("values").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        parts.push(match text("operator") {
            "In" => format!("{} in ({})", text("key"), values.join(",")),
            "NotIn" => format!("{} notin ({})", text("key"), values.join(",")),
            "DoesNotExist" => format!("!{}", text("key")),
            _ => text("key").to_owned(),
        });
    }
    Some(parts.join(","))
}

fn wanted(payload: &Payload, present: &Value) -> Result<Value, Status> {
    match payload.content {
        Content::JsonPatch | Content::MergePatch | Content::StrategicMergePatch => {
            let patch: Value =
                serde_json::from_slice(&payload.bytes).map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
            if payload.content == Content::JsonPatch {
                return patch::json_patch(present.clone(), &patch);
            }
            let mut next = present.clone();
            patch::merge_patch(&mut next, &patch);
            Ok(next)
        }
        _ => body::parse(payload, "Scale"),
    }
}

/// The version that the object must have, also when it comes to the commit.
fn asked<'v>(verb: Verb, wanted: &'v Value, present: &Value) -> Option<&'v str> {
    let version = object::text(wanted, "resourceVersion");
    // A patched Scale carries the version that it was made from, unless the patch names another one.
    let given = verb == Verb::Update || version != object::text(present, "resourceVersion");
    (given && !version.is_empty()).then_some(version)
}

fn replicas(wanted: &Value, name: &str) -> Result<i64, Status> {
    let replicas = match wanted.pointer("/spec/replicas") {
        None | Some(Value::Null) => 0,
        Some(value) => value
            .as_i64()
            .ok_or_else(|| Status::bad_request("Scale in version \"v1\" cannot be handled as a Scale: spec.replicas is no integer"))?,
    };
    if replicas >= 0 {
        return Ok(replicas);
    }
    let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
    Err(Status::invalid(About { group: "autoscaling", kind: "Scale" }, name, &[cause]))
}

/// An object that has `value` at a pointer of plain members.
fn nested(pointer: &str, value: i64) -> Value {
    pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev().fold(json!(value), |inner, name| {
        let mut object = Map::new();
        object.insert(name.to_owned(), inner);
        Value::Object(object)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_given_is_asked_for() {
        let at = |version: &str| json!({"metadata": {"resourceVersion": version}});
        assert_eq!(asked(Verb::Update, &at("7"), &at("7")), Some("7"), "the object may change before the commit");
        assert_eq!(asked(Verb::Update, &at(""), &at("7")), None);
        assert_eq!(asked(Verb::Patch, &at("7"), &at("7")), None, "nobody gave it");
        assert_eq!(asked(Verb::Patch, &at("6"), &at("7")), Some("6"));
    }
}
