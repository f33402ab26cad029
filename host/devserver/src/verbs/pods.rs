//! The subresources of Pods that need no kubelet: `binding`, `eviction`; and the answers of those that would.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete;
use super::object;
use super::options::{DeleteOptions, WriteOptions};
use super::{Answer, Api, Body, Request, Verb, body};
use crate::json::{Read as _, Write as _};
use crate::status::{About, Cause, Status};
use crate::store::{Refused, Stored};

const TRIES: u32 = 16;

/// Serves a subresource of this name.
///
/// # Errors
/// 404 for one that the kind does not have, else as the real server.
pub(crate) async fn serve(api: &Arc<Api>, request: &Request, name: &str) -> Result<Answer, Status> {
    let resource = &request.resource;
    if resource.subresource(name).is_none() {
        return Err(Status::no_resource());
    }
    match (name, request.verb) {
        ("binding", Verb::Create) => bind(api, request),
        ("eviction", Verb::Create) => evict(api, request),
        ("log", Verb::Get) => {
            let pod = pod(api, request)?;
            let containers: Vec<&str> = ["containers", "initContainers"]
                .iter()
                .filter_map(|list| pod.get("spec")?.get(list)?.as_array())
                .flatten()
                .filter_map(|container| container.get("name")?.as_str())
                .collect();
            match request.query.get("container") {
                Some(wanted) if !containers.contains(&wanted) => {
                    Err(Status::bad_request(format!("container {wanted} is not valid for pod {}", object::text(&pod, "name"))))
                }
                _ => Ok(Answer::new(200, Body::Text(String::new()))),
            }
        }
        ("exec" | "attach" | "portforward", Verb::Get | Verb::Create) => {
            let pod = pod(api, request)?;
            let host = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
            let name = object::text(&pod, "name");
            Err(Status::bad_request(if host.is_empty() {
                format!("pod {name} does not have a host assigned")
            } else {
                "this server runs no containers".to_owned()
            }))
        }
        _ => Err(Status::method_not_allowed()),
    }
}

fn pod(api: &Api, request: &Request) -> Result<Value, Status> {
    let key = request.key();
    let found = api.store.get(&key).ok_or_else(|| Status::not_found(request.resource.about(), &key.name))?;
    Ok(Api::value(&request.resource, &found))
}

/// Gives a pod its node, once.
fn bind(api: &Api, request: &Request) -> Result<Answer, Status> {
    let Some(payload) = &request.body else { return Err(Status::bad_request("the request has no body")) };
    let binding = body::parse(payload, "Binding")?;
    let options = WriteOptions::of(request)?;
    let (resource, key) = (&request.resource, request.key());
    same_name(&binding, &key.name, "Binding")?;
    let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
    if node.is_empty() {
        let cause = Cause::required("target.name", "");
        return Err(Status::invalid(About { group: "", kind: "Binding" }, object::text(&binding, "name"), &[cause]));
    }
    for _ in 0..TRIES {
        let Some(old) = api.store.get(&key) else { return Err(Status::not_found(resource.about(), &key.name)) };
        preconditions(&binding, &old)?;
        let mut next = Api::value(resource, &old);
        let refused = |why: &str| Status::conflict(About { group: "", kind: "pods/binding" }, &key.name, why);
        if object::is_deleting(&next) {
            return Err(refused(&format!("pod {} is being deleted, cannot be assigned to a host", key.name)));
        }
        let bound = next.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !bound.is_empty() {
            return Err(refused(&format!("pod {} is already assigned to node {bound:?}", key.name)));
        }
        if let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("nodeName".to_owned(), json!(node));
        }
        if let Some(status) = next.get_mut("status").and_then(Value::as_object_mut) {
            let conditions = status.entry("conditions").or_insert_with(|| json!([]));
            if let Some(conditions) = conditions.as_array_mut() {
                conditions.retain(|one| one.get("type").and_then(Value::as_str) != Some("PodScheduled"));
                conditions.push(json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": api.time()}));
            }
        }
        if options.dry_run {
            return Ok(done());
        }
        match api.exchange(resource, &key, &old, next) {
            Ok(_) => return Ok(done()),
            Err(Refused::Raced | Refused::Taken(_)) => {}
        }
    }
    Err(Status::conflict(resource.about(), &key.name, "the pod is being changed all the time; please try again"))
}

/// Deletes a pod politely. Budgets are nobody's here: no controller says how many pods are healthy.
fn evict(api: &Api, request: &Request) -> Result<Answer, Status> {
    let Some(payload) = &request.body else { return Err(Status::bad_request("the request has no body")) };
    let eviction = body::parse(payload, "Eviction")?;
    same_name(&eviction, &request.key().name, "Eviction")?;
    let asked = WriteOptions::of(request)?;
    let mut options = DeleteOptions::of_value(eviction.get("deleteOptions").unwrap_or(&Value::Null))?;
    options.dry_run |= asked.dry_run;
    delete::object(api, &request.resource, &request.key(), &options)?;
    Ok(done())
}

fn done() -> Answer {
    Answer::new(201, Body::Other(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})))
}

fn same_name(body: &Value, name: &str, kind: &str) -> Result<(), Status> {
    if object::text(body, "name") == name {
        return Ok(());
    }
    Err(Status::bad_request(format!("name in URL does not match name in {kind} object")))
}

/// A binding may say which pod it means, and in which state.
fn preconditions(binding: &Value, pod: &Stored) -> Result<(), Status> {
    let version = pod.version.to_string();
    for (member, what, present) in [("uid", "UID", &*pod.uid), ("resourceVersion", "ResourceVersion", &*version)] {
        let asked = object::text(binding, member);
        if !asked.is_empty() && asked != present {
            let why = format!("Precondition failed: {what} in precondition: {asked}, {what} in object meta: {present}");
            return Err(Status::conflict(About { group: "", kind: "pods/binding" }, &pod.name, &why));
        }
    }
    Ok(())
}

/// What a write of `ephemeralcontainers` comes to: such containers may be added, and nothing else changes.
pub(crate) fn keep_but_ephemeral(next: &mut Value, old: &Value, causes: &mut Vec<Cause>) {
    const LIST: &str = "ephemeralContainers";
    let wanted = std::mem::replace(next, old.clone());
    next.open("metadata").into_iter().for_each(|metadata| metadata.copy("managedFields", wanted.at("metadata")));
    next.open("spec").into_iter().for_each(|spec| spec.copy(LIST, wanted.at("spec")));
    for container in old.at("spec").list(LIST) {
        let name = container.text("name");
        let what = match wanted.at("spec").list(LIST).iter().find(|one| one.text("name") == name) {
            Some(same) if same == container => continue,
            Some(_) => "changed",
            None => "removed",
        };
        causes.push(Cause::forbidden(format!("spec.{LIST}"), &format!("existing ephemeral containers {name:?} may not be {what}\n")));
    }
}

/// What a write of `resize` comes to: the resources of containers that there are.
pub(crate) fn keep_but_resources(next: &mut Value, old: &Value) {
    let wanted = std::mem::replace(next, old.clone());
    next.open("metadata").into_iter().for_each(|metadata| metadata.copy("managedFields", wanted.at("metadata")));
    let Some(spec) = next.open("spec") else { return };
    for list in ["containers", "initContainers"] {
        for container in spec.each(list) {
            let same = wanted.at("spec").list(list).iter().find(|one| one.text("name") == container.text("name"));
            for member in ["resources", "resizePolicy"] {
                same.into_iter().for_each(|same| container.copy(member, same));
            }
        }
    }
}
