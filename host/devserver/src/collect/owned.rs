//! Owned objects: they go when their last owner went, before it (`Foreground`), or are let go (`Orphan`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use super::work::{State, Waits};
use crate::json::Read as _;
use crate::kind::{Registry, Resource};
use crate::store::{Key, Stored};
use crate::verbs::delete::{self, FOREGROUND, ORPHAN};
use crate::verbs::options::{DeleteOptions, Propagation};
use crate::verbs::{Api, object, update};

/// How often old Events are looked for.
pub(super) const SWEEP: Duration = Duration::from_secs(60);
/// Events live for an hour, as kube-apiserver's `--event-ttl` says.
const EVENT_TTL_SECONDS: i64 = 3600;

/// Looks at an object: are its owners there, and if it is being deleted, what of those it owns.
pub(super) fn look(api: &Arc<Api>, state: &Arc<Mutex<State>>, resource: &Arc<Resource>, key: &Key) {
    let Some(stored) = api.store().get(key) else { return };
    let value = Api::value(resource, &stored);
    if !object::is_deleting(&value) {
        collect(api, state, &Found { resource, key, stored: &stored, value: &value });
        return;
    }
    let finalizers = object::finalizers(&value);
    if finalizers.contains(&ORPHAN) {
        let all = state.lock().owned_by(&stored.uid);
        for owned in all {
            let_go(api, state, &owned, &[&stored.uid]);
        }
        unfinalize(api, key, ORPHAN);
    } else if finalizers.contains(&FOREGROUND) {
        // Waits before it looks: what goes while it looks is heard of.
        let waits = Waits::Owner(stored.uid.clone());
        state.lock().wait(waits.clone(), key.clone());
        if !blocked(api, state, &stored) {
            state.lock().unwait(&waits);
            unfinalize(api, key, FOREGROUND);
        }
    }
}

/// An object that is looked at.
struct Found<'a> {
    resource: &'a Resource,
    key: &'a Key,
    stored: &'a Stored,
    value: &'a Value,
}

/// What an owner that is named is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It is there and keeps what it owns.
    Solid,
    Gone,
    /// It is going, and waits until what it owns is gone.
    Waiting,
    /// Of a kind that nobody knows (the definition may come back), or of a kind with namespaces where the object has none.
    Unknown,
}

/// An object that is not being deleted goes if no owner keeps it; if one does, the references to the others go.
fn collect(api: &Api, state: &Arc<Mutex<State>>, found: &Found<'_>) {
    let references = object::member(found.value, "ownerReferences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let registry = api.registry();
    let owners: Vec<(Owner, &str)> =
        references.iter().map(|reference| (owner(api, &registry, found.key, reference), reference.text("uid"))).collect();
    let any = |wanted: Owner| owners.iter().any(|(owner, _)| *owner == wanted);
    if owners.is_empty() || any(Owner::Unknown) {
        return;
    }
    if any(Owner::Solid) {
        let rest: Vec<&str> = owners.iter().filter(|(owner, _)| *owner != Owner::Solid).map(|(_, uid)| *uid).collect();
        if !rest.is_empty() {
            let_go(api, state, found.key, &rest);
        }
        return;
    }
    let dependents = if any(Owner::Waiting) { state.lock().owned_by(&found.stored.uid) } else { Vec::new() };
    if dependents.iter().any(|dependent| waits_in_foreground(api, dependent)) {
        // Two that own each other would wait for each other.
        unblock(api, found.key);
    }
    let finalizers = object::finalizers(found.value);
    let propagation = if !dependents.is_empty() || finalizers.contains(&FOREGROUND) {
        Propagation::Foreground
    } else if finalizers.contains(&ORPHAN) {
        Propagation::Orphan
    } else {
        Propagation::Background
    };
    // Of the very object that was looked at, since another of its name may have other owners.
    let options = DeleteOptions { uid: Some(found.stored.uid.to_string()), propagation: Some(propagation), ..DeleteOptions::default() };
    ended(delete::object(api, found.resource, found.key, &options).err());
}

fn owner(api: &Api, registry: &Registry, key: &Key, reference: &Value) -> Owner {
    let (group, version) = reference.text("apiVersion").split_once('/').unwrap_or(("", reference.text("apiVersion")));
    let kind = reference.text("kind");
    let Some(resource) = registry.by_kind(group, version, kind).or_else(|| registry.any_version(group, kind)) else {
        return Owner::Unknown;
    };
    if resource.namespaced && key.namespace.is_empty() {
        return Owner::Unknown;
    }
    let namespace = if resource.namespaced { Arc::clone(&key.namespace) } else { Arc::from("") };
    let owner_key = Key { storage: Arc::clone(&resource.storage), namespace, name: Arc::from(reference.text("name")) };
    match api.store().get(&owner_key) {
        Some(found) if &*found.uid == reference.text("uid") => {
            if waits_in_foreground(api, &owner_key) {
                Owner::Waiting
            } else {
                Owner::Solid
            }
        }
        _ => Owner::Gone,
    }
}

fn waits_in_foreground(api: &Api, key: &Key) -> bool {
    find(api, key).filter(|(_, stored)| stored.may_be_deleting()).is_some_and(|(resource, stored)| {
        let value = Api::value(&resource, &stored);
        object::is_deleting(&value) && object::finalizers(&value).contains(&FOREGROUND)
    })
}

/// Collects those that an object owns; true while one is there that keeps its owner.
fn blocked(api: &Api, state: &Arc<Mutex<State>>, owner: &Stored) -> bool {
    let all = state.lock().owned_by(&owner.uid);
    for key in &all {
        let Some((resource, stored)) = find(api, key) else { continue };
        let value = Api::value(&resource, &stored);
        if !object::is_deleting(&value) {
            collect(api, state, &Found { resource: &resource, key, stored: &stored, value: &value });
        }
    }
    all.iter().any(|key| {
        let Some((resource, stored)) = find(api, key) else { return false };
        let value = Api::value(&resource, &stored);
        let references = object::member(&value, "ownerReferences").and_then(Value::as_array);
        let mut references = references.into_iter().flatten().filter(|one| one.text("uid") == &*owner.uid);
        references.any(|one| one.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true))
    })
}

/// No owner waits for this object any more.
fn unblock(api: &Api, key: &Key) {
    retry(api, key, |value| {
        let Some(references) = object::member(value, "ownerReferences").and_then(Value::as_array) else { return false };
        let mut freed = references.clone();
        for reference in freed.iter_mut().filter_map(Value::as_object_mut).filter(|one| one.contains_key("blockOwnerDeletion")) {
            reference.insert("blockOwnerDeletion".to_owned(), Value::Bool(false));
        }
        let changed = freed != *references;
        object::set(value, "ownerReferences", freed);
        changed
    });
}

/// Takes the references to these owners away.
fn let_go(api: &Api, state: &Arc<Mutex<State>>, key: &Key, uids: &[&str]) {
    retry(api, key, |value| {
        let Some(references) = object::member(value, "ownerReferences").and_then(Value::as_array) else { return false };
        let kept: Vec<Value> = references.iter().filter(|one| !uids.contains(&one.text("uid"))).cloned().collect();
        let changed = kept.len() != references.len();
        if kept.is_empty() {
            object::unset(value, &["ownerReferences"]);
        } else {
            object::set(value, "ownerReferences", kept);
        }
        changed
    });
    let mut state = state.lock();
    uids.iter().for_each(|uid| state.disown(uid, key));
}

pub(super) fn unfinalize(api: &Api, key: &Key, finalizer: &str) {
    retry(api, key, |value| object::set_finalizer(value, finalizer, false));
}

/// Changes an object until nobody was faster; `change` says whether it did anything.
pub(super) fn retry(api: &Api, key: &Key, change: impl Fn(&mut Value) -> bool) {
    while let Some((resource, stored)) = find(api, key) {
        let mut value = Api::value(&resource, &stored);
        if !change(&mut value) || update::commit(api, &resource, key, &stored, value).is_ok() {
            return;
        }
    }
}

fn find(api: &Api, key: &Key) -> Option<(Arc<Resource>, Arc<Stored>)> {
    let registry = api.registry();
    let resource = registry.storages().find(|resource| resource.storage == key.storage).cloned()?;
    Some((resource, api.store().get(key)?))
}

/// A delete that found nothing has what it wanted; anything else is said.
fn ended(refused: Option<crate::status::Status>) {
    if let Some(status) = refused.filter(|status| status.code != 404 && status.code != 409) {
        tracing::warn!(error = %status.message, "an object could not be collected");
    }
}

/// Deletes Events that are too old.
pub(super) fn sweep_events(api: &Arc<Api>) {
    let registry = api.registry();
    let Some(resource) = registry.find("", "v1", "events") else { return };
    let Ok(all) = api.store().list(&resource.storage, None, None) else { return };
    let oldest = api.now().as_second() - EVENT_TTL_SECONDS;
    for stored in all.items {
        let written = written(&Api::value(resource, &stored));
        if written.is_some_and(|written| written.as_second() < oldest) {
            let key =
                Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*stored.namespace), name: Arc::from(&*stored.name) };
            // One that is written meanwhile lives on.
            let options = DeleteOptions { resource_version: Some(stored.version.to_string()), ..DeleteOptions::default() };
            ended(delete::object(api, resource, &key, &options).err());
        }
    }
}

/// When an Event was written last: each write of a recorder says when.
fn written(event: &Value) -> Option<Timestamp> {
    let managed = event.path(&["metadata", "managedFields"]).as_array();
    let times = managed.into_iter().flatten().map(|entry| entry.text("time")).chain([
        event.path(&["metadata", "creationTimestamp"]).as_str().unwrap_or_default(),
        event.text("lastTimestamp"),
        event.text("eventTime"),
        event.path(&["series", "lastObservedTime"]).as_str().unwrap_or_default(),
    ]);
    times.filter_map(|time| time.parse::<Timestamp>().ok()).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::written;

    #[test]
    fn an_event_lives_from_its_last_write() {
        let made = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "lastTimestamp": null});
        let second = |event| written(&event).map(|time| time.to_string()).unwrap_or_default();
        assert_eq!(second(made.clone()), "2026-01-01T00:00:00Z");
        let with = |name: &str, value| {
            let mut event = made.clone();
            event[name] = value;
            second(event)
        };
        assert_eq!(with("lastTimestamp", json!("2026-01-01T02:00:00Z")), "2026-01-01T02:00:00Z");
        assert_eq!(with("eventTime", json!("2026-01-01T03:00:00.5Z")), "2026-01-01T03:00:00.5Z");
        assert_eq!(with("series", json!({"lastObservedTime": "2026-01-01T04:00:00Z"})), "2026-01-01T04:00:00Z");
    }
}
