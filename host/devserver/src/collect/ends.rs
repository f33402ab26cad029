//! The end of what holds others: a namespace goes when its objects are gone, a definition when its custom objects are.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::owned::retry;
use super::work::{State, Waits};
use crate::kind::Resource;
use crate::store::Key;
use crate::verbs::delete::{self, CUSTOM_CLEANUP};
use crate::verbs::options::{DeleteOptions, Propagation};
use crate::verbs::{Api, establish_definitions, make, object};

/// Looks at a namespace: gives a new one its ServiceAccount, empties one that is being deleted, and ends it when it is empty.
pub(super) async fn namespace(api: &Arc<Api>, state: &Arc<Mutex<State>>, resource: &Arc<Resource>, key: &Key) {
    let Some(stored) = api.store().get(key) else { return };
    if !object::is_deleting(&Api::value(resource, &stored)) {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        make(api, "serviceaccounts", &key.name, &account).await;
        return;
    }
    let waits = Waits::Namespace(Arc::clone(&key.name));
    state.lock().wait(waits.clone(), key.clone());
    let mut left = 0;
    let registry = api.registry();
    for content in registry.storages().filter(|one| one.namespaced) {
        left += empty(api, content, Some(&key.name));
        // A large namespace must not keep a thread from its requests.
        tokio::task::yield_now().await;
    }
    if left == 0 {
        state.lock().unwait(&waits);
        retry(api, key, |value| {
            let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return false };
            spec.remove("finalizers").is_some()
        });
    }
}

/// Looks at a definition that is being deleted: its objects go, then itself, and it is served no more.
pub(super) fn definition(api: &Arc<Api>, state: &Arc<Mutex<State>>, resource: &Arc<Resource>, key: &Key) {
    let Some(stored) = api.store().get(key) else { return };
    let value = Api::value(resource, &stored);
    if !object::is_deleting(&value) || !object::finalizers(&value).contains(&CUSTOM_CLEANUP) {
        return;
    }
    let waits = Waits::Storage(Arc::clone(&key.name));
    state.lock().wait(waits.clone(), key.clone());
    let registry = api.registry();
    let custom = registry.storages().find(|one| one.storage == key.name).cloned();
    let left = custom.map_or(0, |custom| empty(api, &custom, None));
    if left == 0 {
        state.lock().unwait(&waits);
        retry(api, key, |value| object::set_finalizer(value, CUSTOM_CLEANUP, false));
        establish_definitions(api);
    }
}

/// Deletes all objects of a resource in a namespace, or in all; returns how many are still there.
fn empty(api: &Arc<Api>, resource: &Arc<Resource>, namespace: Option<&str>) -> usize {
    let Ok(all) = api.store().list(&resource.storage, namespace, None) else { return 0 };
    let options = DeleteOptions { propagation: Some(Propagation::Background), grace_seconds: Some(0), ..DeleteOptions::default() };
    let mut left = 0;
    for stored in all.items {
        let key = Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*stored.namespace), name: Arc::from(&*stored.name) };
        match delete::object(api, resource, &key, &options) {
            Ok(delete::Deleted::Gone(_)) => {}
            Err(status) if status.code == 404 => {}
            Ok(delete::Deleted::Marked(_)) | Err(_) => left += 1,
        }
    }
    left
}
