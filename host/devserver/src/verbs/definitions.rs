//! Keeps what is served in step with the CustomResourceDefinitions: a definition is established right after it was made, or when the names
//! that it lacks are free, and served from then on. Owns what was read of each, so that a change of one costs nothing for the others; never
//! waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::policy::DEFINITIONS;
use super::{Api, object};
use crate::crd;
use crate::kind::{Registry, Resource};
use crate::status::Status;
use crate::store::{Key, Stored};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "CustomResourceDefinition";

/// What is known of the definitions in the store, by name.
#[derive(Default)]
pub(crate) struct Definitions {
    known: BTreeMap<Box<str>, Known>,
}

/// An object that defines a resource, read and compiled.
struct Known {
    /// The object as it was read.
    stored: Arc<Stored>,
    group: String,
    /// What it was given: no other definition of its group may have these.
    names: crd::Names,
    /// Whether it has all the names that it wants, and is established.
    settled: bool,
    /// What it serves.
    resources: Vec<Arc<Resource>>,
    /// Its objects lie there, whatever is served of them.
    storage: Option<Arc<Resource>>,
}

/// After a create or change of a definition, at start, and after one has gone: gives each that has not got its names yet its conditions,
/// in a revision of their own as the real server does, and serves what the definitions say.
/// Does not wait, so that a definition whose client has gone is served as well.
pub(crate) fn establish(api: &Api) {
    let mut definitions = api.definitions.lock();
    definitions.read(api);
    // A name that one gave up may be what another waits for.
    for _ in 0..=definitions.known.len() {
        if !definitions.settle(api) {
            break;
        }
        definitions.read(api);
    }
    let serving = definitions.known.values().flat_map(|known| known.resources.iter().cloned()).collect();
    let storages = definitions.known.values().filter_map(|known| known.storage.clone()).collect();
    api.registry.send_replace(Registry::builtin().with_custom(serving, storages));
}

impl Definitions {
    /// Reads those that have changed.
    fn read(&mut self, api: &Api) {
        let Ok(all) = api.store.list(DEFINITIONS, None, None) else { return };
        let mut before = std::mem::take(&mut self.known);
        for stored in all.items {
            let name: Box<str> = Box::from(&*stored.name);
            let known = match before.remove(&name) {
                Some(known) if known.stored.version == stored.version => known,
                before => Known::read(stored, before),
            };
            self.known.insert(name, known);
        }
    }

    /// Gives names and conditions to those that lack any. True if that changed something.
    fn settle(&self, api: &Api) -> bool {
        let registry = api.registry();
        let Some(resource) = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") else { return false };
        let mut changed = false;
        let mut given: BTreeMap<&str, crd::Names> = self.known.iter().map(|(name, known)| (&**name, known.names.clone())).collect();
        for (name, known) in self.known.iter().filter(|(_, known)| !known.settled) {
            let present = known.stored.value(API_VERSION, KIND);
            if object::is_deleting(&present) {
                continue;
            }
            let group = self.known.iter().filter(|(_, other)| other.group == known.group);
            let taken: Vec<&crd::Names> = group.filter_map(|(name, _)| given.get(&**name)).collect();
            let mut next = present.clone();
            crd::establish(&mut next, &crd::Taken::of(&taken), &api.time());
            if next == present {
                continue;
            }
            let names = crd::Names::accepted(&next);
            // Whoever was faster establishes the newer state.
            changed |= api.exchange(resource, &key_of(name), &known.stored, next).is_ok();
            given.insert(name, names);
        }
        changed
    }
}

impl Known {
    /// `before` is what was known of an earlier state: as long as what is served stays the same, its resources are the same ones, so that
    /// watches go on.
    fn read(stored: Arc<Stored>, before: Option<Self>) -> Self {
        let definition = stored.value(API_VERSION, KIND);
        let (group, names) = (crd::group(&definition).to_owned(), crd::Names::accepted(&definition));
        let settled = crd::is_settled(&definition);
        let same = before.filter(|before| {
            let earlier = before.stored.value(API_VERSION, KIND);
            before.stored.uid == stored.uid && crd::serves_the_same(&earlier, &definition)
        });
        let (resources, storage) = match same {
            Some(same) => (same.resources, same.storage),
            None => {
                let resources = crd::resources(&definition).unwrap_or_else(|causes| {
                    tracing::warn!(name = %stored.name, ?causes, "a definition that was stored cannot be served");
                    Vec::new()
                });
                (resources, crd::storage(&definition))
            }
        };
        Self { stored, group, names, settled, resources, storage }
    }
}

/// The definition that a custom object relies on, and its version.
///
/// # Errors
/// 404 if it is gone, 405 while it is being deleted.
pub(crate) fn admit(api: &Api, resource: &Resource) -> Result<Option<(Key, u64)>, Status> {
    if !resource.is_custom() {
        return Ok(None);
    }
    let key = key_of(&resource.storage);
    let Some(definition) = api.store.get(&key) else { return Err(Status::no_resource()) };
    // A definition is large, and this is asked at each create.
    if definition.may_be_deleting() && object::is_deleting(&definition.value(API_VERSION, KIND)) {
        let mut status = Status::method_not_allowed();
        status.message = "create not allowed while custom resource definition is terminating".to_owned();
        return Err(status);
    }
    Ok(Some((key, definition.version)))
}

/// A definition has the name of its resource's storage.
fn key_of(name: &str) -> Key {
    Key { storage: Arc::from(DEFINITIONS), namespace: Arc::from(""), name: Arc::from(name) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;
    use crate::store::{Store, StoreOptions};
    use crate::verbs::ApiOptions;

    fn definition() -> Value {
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "wells.a.test", "uid": "u"}, "spec": {
            "group": "a.test", "scope": "Cluster", "names": {"plural": "wells", "kind": "Well"}, "versions": [version]}})
    }

    #[tokio::test]
    async fn a_definition_that_was_committed_only_is_established_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions { history: 10, data: Some(folder.path().join("data")), first_version: None };
        let store = Store::open(options.clone()).unwrap();
        store.create(&key_of("wells.a.test"), definition()).unwrap();
        store.flush().unwrap();
        drop(store);
        let api = Api::open(ApiOptions { store: options, controllers: false }).await.unwrap();
        assert!(api.registry().find("a.test", "v1", "wells").is_some());
    }

    #[tokio::test]
    async fn nothing_is_created_of_a_definition_that_is_gone() {
        let store = StoreOptions { history: 10, data: None, first_version: None };
        let api = Api::open(ApiOptions { store, controllers: false }).await.unwrap();
        api.apply("test", definition()).await.unwrap();
        let registry = api.registry();
        let resource = registry.find("a.test", "v1", "wells").unwrap();
        let key = key_of("wells.a.test");
        assert_eq!(admit(&api, resource).unwrap().unwrap().0, key);
        api.remove(&key, &api.store.get(&key).unwrap()).unwrap();
        assert_eq!(admit(&api, resource).unwrap_err().code, 404);
    }
}
