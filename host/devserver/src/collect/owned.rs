//! Owned objects: they go when their last owner went, before it (`Foreground`), or are let go (`Orphan`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

use super::work::{State, Waits};
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
        if abandoned(api, key, &value) {
            let options =
                DeleteOptions { uid: Some(stored.uid.to_string()), propagation: Some(Propagation::Background), ..DeleteOptions::default() };
            ended(delete::object(api, resource, key, &options).err());
        }
        return;
    }
    let finalizers = object::finalizers(&value);
    if finalizers.contains(&ORPHAN) {
        let all = state.lock().owned_by(&stored.uid);
        for owned in all {
            let_go(api, state, &owned, &stored.uid);
        }
        unfinalize(api, key, ORPHAN);
    } else if finalizers.contains(&FOREGROUND) {
        if blocked(api, state, &stored) {
            state.lock().wait(Waits::Owner(stored.uid.clone()), key.clone());
        } else {
            state.lock().unwait(&Waits::Owner(stored.uid.clone()));
            unfinalize(api, key, FOREGROUND);
        }
    }
}

/// Whether an object names owners, and none of them is there.
fn abandoned(api: &Api, key: &Key, value: &Value) -> bool {
    let owners = object::member(value, "ownerReferences").and_then(Value::as_array);
    let mut owners = owners.into_iter().flatten().peekable();
    let registry = api.registry();
    owners.peek().is_some() && owners.all(|owner| is_gone(api, &registry, key, owner))
}

/// An owner of a kind that nobody knows is taken to be there: the definition may come back.
fn is_gone(api: &Api, registry: &Registry, key: &Key, owner: &Value) -> bool {
    let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let found = registry.by_kind(group, version, text("kind")).or_else(|| registry.any_version(group, text("kind")));
    let Some(resource) = found else { return false };
    let namespace = if resource.namespaced { Arc::clone(&key.namespace) } else { Arc::from("") };
    let owner_key = Key { storage: Arc::clone(&resource.storage), namespace, name: Arc::from(text("name")) };
    api.store().get(&owner_key).is_none_or(|found| &*found.uid != text("uid"))
}

/// Deletes those that an object owns; true while one is there that keeps its owner.
fn blocked(api: &Api, state: &Arc<Mutex<State>>, owner: &Stored) -> bool {
    let mut blocked = false;
    let all = state.lock().owned_by(&owner.uid);
    for key in all {
        let Some((resource, stored)) = find(api, &key) else { continue };
        let value = Api::value(&resource, &stored);
        let references = object::member(&value, "ownerReferences").and_then(Value::as_array);
        let Some(reference) = references.into_iter().flatten().find(|one| one.get("uid").and_then(Value::as_str) == Some(&*owner.uid))
        else {
            state.lock().disown(&owner.uid, &key);
            continue;
        };
        let keeps = reference.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true);
        if !object::is_deleting(&value) {
            let options = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
            ended(delete::object(api, &resource, &key, &options).err());
        }
        blocked |= keeps && api.store().get(&key).is_some_and(|now| now.uid == stored.uid);
    }
    blocked
}

/// Takes the reference to an owner away.
fn let_go(api: &Api, state: &Arc<Mutex<State>>, key: &Key, uid: &str) {
    retry(api, key, |value| {
        let Some(references) = object::member(value, "ownerReferences").and_then(Value::as_array) else { return false };
        let kept: Vec<Value> = references.iter().filter(|one| one.get("uid").and_then(Value::as_str) != Some(uid)).cloned().collect();
        let changed = kept.len() != references.len();
        if kept.is_empty() {
            object::unset(value, &["ownerReferences"]);
        } else {
            object::set(value, "ownerReferences", kept);
        }
        changed
    });
    state.lock().disown(uid, key);
}

fn unfinalize(api: &Api, key: &Key, finalizer: &str) {
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
        let value = Api::value(resource, &stored);
        let made = object::text(&value, "creationTimestamp").parse::<Timestamp>();
        if made.is_ok_and(|made| made.as_second() < oldest) {
            let key =
                Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*stored.namespace), name: Arc::from(&*stored.name) };
            ended(delete::object(api, resource, &key, &DeleteOptions::default()).err());
        }
    }
}
