//! DELETE: removed at once, or marked and left to finalizers, a namespace's content, a pod's grace.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{self, set, set_finalizer};
use super::options::{DeleteOptions, Propagation};
use super::{Answer, Api, Body, Request, events, list, policy};
use crate::kind::Resource;
use crate::schema::time_text;
use crate::status::{About, Status};
use crate::store::{Key, Refused, Stored};

/// Namespaces that every cluster needs.
const FOR_EVER: [&str; 3] = ["default", "kube-public", "kube-system"];
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of a definition: its objects go first.
pub(crate) const CUSTOM_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const GRACE_SECONDS: i64 = 30;
const TRIES: u32 = 16;

/// What a delete came to.
pub(crate) enum Deleted {
    /// It is gone.
    Gone(Arc<Stored>),
    /// It is marked, and waits for somebody.
    Marked(Arc<Stored>),
}

/// Serves DELETE of an object.
///
/// # Errors
/// 403, 404, 409, 422 as the real server.
pub(crate) async fn delete(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let options = DeleteOptions::of(request)?;
    let (resource, key) = (&request.resource, request.key());
    let warnings = match policy::of(resource).orphan_warning {
        Some(warning) if options.propagation.is_none() => vec![warning.to_owned()],
        _ => Vec::new(),
    };
    let answer = match object(api, resource, &key, &options)? {
        Deleted::Gone(stored) if policy::of(resource).answers_object => Answer::stored(200, resource, stored),
        Deleted::Gone(stored) => success(resource, &key.name, &stored.uid),
        Deleted::Marked(stored) => Answer::stored(200, resource, stored),
    };
    Ok(answer.warned(warnings))
}

/// Serves DELETE of a collection: what both selectors let through, each with the same options.
///
/// # Errors
/// As [`delete`], for the first that is refused.
pub(crate) async fn collection(api: &Arc<Api>, request: &Request) -> Result<Answer, Status> {
    let options = DeleteOptions::of(request)?;
    let answer = list::list(&api.store, request).await?;
    let Body::List { resource, version, items, .. } = answer.body else { return Ok(answer) };
    let mut deleted = Vec::with_capacity(items.len());
    for item in items {
        let key = Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*item.namespace), name: Arc::from(&*item.name) };
        match object(api, &resource, &key, &options) {
            Ok(Deleted::Gone(stored) | Deleted::Marked(stored)) => deleted.push(stored),
            // Somebody else was faster: it is gone, as was asked for.
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(Answer::new(200, Body::List { resource, version, items: deleted, continue_token: None, remaining: None }))
}

/// Deletes one object, whoever asks; in a dry run says what it would come to.
pub(crate) fn object(api: &Api, resource: &Resource, key: &Key, options: &DeleteOptions) -> Result<Deleted, Status> {
    if policy::is_namespace(resource) && FOR_EVER.contains(&&*key.name) {
        return Err(Status::forbidden(resource.about(), &key.name, "this namespace may not be deleted"));
    }
    for _ in 0..TRIES {
        let Some(old) = api.store.get(key) else { return Err(Status::not_found(resource.about(), &key.name)) };
        preconditions(resource, options, &old)?;
        let present = Api::value(resource, &old);
        let next = next(api, resource, &present, options);
        let committed = match next {
            Next::Remove if options.dry_run => return Ok(Deleted::Gone(old)),
            Next::Mark(value) if options.dry_run => {
                return Ok(Deleted::Marked(Arc::new(Stored::new(key, events::kept(resource, value), old.version))));
            }
            Next::Remove => api.remove(key, &old).map(Deleted::Gone),
            Next::Keep => return Ok(Deleted::Marked(old)),
            Next::Mark(value) => api.exchange(resource, key, &old, value).map(Deleted::Marked),
        };
        match committed {
            Ok(deleted) => return Ok(deleted),
            Err(Refused::Raced | Refused::Taken(_)) => {}
        }
    }
    Err(Status::conflict(resource.about(), &key.name, "the object is being changed all the time; please try again"))
}

enum Next {
    Remove,
    Keep,
    Mark(Value),
}

/// What a delete makes of an object.
fn next(api: &Api, resource: &Resource, old: &Value, options: &DeleteOptions) -> Next {
    let mut value = old.clone();
    // What an earlier delete asked for counts more than the kind's default.
    let asked = || object::finalizers(old).into_iter().find_map(propagation_of);
    let default = if policy::of(resource).orphans { Propagation::Orphan } else { Propagation::Background };
    let propagation = options.propagation.or_else(asked).unwrap_or(default);
    if !policy::is_namespace(resource) {
        set_finalizer(&mut value, FOREGROUND, propagation == Propagation::Foreground);
        set_finalizer(&mut value, ORPHAN, propagation == Propagation::Orphan);
    }
    if policy::is_definition(resource) {
        set_finalizer(&mut value, CUSTOM_CLEANUP, true);
        terminating(&mut value, &api.time());
    }
    let namespace = policy::is_namespace(resource);
    if namespace && let Some(phase) = value.pointer_mut("/status/phase") {
        *phase = json!("Terminating");
    }
    let keeps_spec = namespace && value.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let grace = if policy::is_pod(resource) { grace(&value, options) } else { 0 };
    if object::finalizers(&value).is_empty() && !keeps_spec && grace == 0 {
        return Next::Remove;
    }
    let before = object::member(old, "deletionGracePeriodSeconds").and_then(Value::as_i64);
    if !object::is_deleting(old) {
        let until = api.now().checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or_else(|_| api.now());
        set(&mut value, "deletionTimestamp", time_text(until));
        set(&mut value, "deletionGracePeriodSeconds", grace);
        let generation = object::generation(old);
        if generation > 0 {
            set(&mut value, "generation", generation + 1);
        }
    } else if before.is_some_and(|before| grace < before) {
        let until = api.now().checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or_else(|_| api.now());
        set(&mut value, "deletionTimestamp", time_text(until));
        set(&mut value, "deletionGracePeriodSeconds", grace);
    }
    if value == *old { Next::Keep } else { Next::Mark(value) }
}

/// What a finalizer says about dependents.
fn propagation_of(finalizer: &str) -> Option<Propagation> {
    match finalizer {
        FOREGROUND => Some(Propagation::Foreground),
        ORPHAN => Some(Propagation::Orphan),
        _ => None,
    }
}

/// Only a pod that is bound to a node is given time.
fn grace(pod: &Value, options: &DeleteOptions) -> i64 {
    let bound = pod.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    let ended = pod.pointer("/status/phase").and_then(Value::as_str).is_some_and(|phase| phase == "Succeeded" || phase == "Failed");
    if !bound || ended {
        return 0;
    }
    let own = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(GRACE_SECONDS);
    options.grace_seconds.unwrap_or(own).max(0)
}

/// The condition of a definition whose objects are going.
fn terminating(definition: &mut Value, now: &str) {
    let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    if conditions.iter().any(|one| one.get("type").and_then(Value::as_str) == Some("Terminating")) {
        return;
    }
    conditions.push(json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "lastTransitionTime": now,
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }));
}

fn preconditions(resource: &Resource, options: &DeleteOptions, old: &Stored) -> Result<(), Status> {
    let conflict = |why: String| Status::conflict(About { group: &resource.group, kind: &resource.kind }, &old.name, &why);
    if let Some(uid) = &options.uid
        && **uid != *old.uid
    {
        return Err(conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            old.uid
        )));
    }
    if let Some(version) = &options.resource_version
        && *version != old.version.to_string()
    {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            old.version
        )));
    }
    Ok(())
}

/// The Status that says that an object is gone; without a code, as the real server.
fn success(resource: &Resource, name: &str, uid: &str) -> Answer {
    let mut details = json!({"name": name, "kind": resource.plural, "uid": uid});
    if !resource.group.is_empty()
        && let Some(details) = details.as_object_mut()
    {
        details.insert("group".to_owned(), json!(resource.group));
    }
    Answer::new(200, Body::Other(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})))
}
