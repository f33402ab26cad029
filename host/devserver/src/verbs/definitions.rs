//! Keeps what is served in step with the CustomResourceDefinitions: a definition is established right after it was made, and served from
//! then on. Owns what was read of each, so that a change of one costs nothing for the others; never waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Api, object};
use crate::crd;
use crate::kind::{Registry, Resource};
use crate::status::Status;
use crate::store::{Key, Stored};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "CustomResourceDefinition";
const STORAGE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// What is known of the definitions in the store, by name.
#[derive(Default)]
pub(crate) struct Definitions {
    known: BTreeMap<Box<str>, Known>,
}

/// An object that defines a resource, read and compiled.
struct Known {
    /// The object's, at which this was read.
    version: u64,
    /// None until it is established: then it has no name that others could not take.
    names: Option<Names>,
    /// What it serves.
    resources: Vec<Arc<Resource>>,
}

/// Names that only one definition of a group may have.
struct Names {
    group: String,
    /// Kind, list kind and singular.
    names: [String; 3],
}

/// After a create or change of a definition: gives it its conditions, in a revision of their own as the real server does, and serves it.
/// Does not wait, so that a definition whose client has gone is served as well.
pub(crate) fn establish(api: &Api, resource: &Resource, key: &Key) {
    let mut definitions = api.definitions.lock();
    definitions.read(api);
    if let Some(old) = api.store.get(key) {
        let present = Api::value(resource, &old);
        let mut next = present.clone();
        match definitions.taken(&present) {
            Some(taken) => refuse(&mut next, &taken, &api.time()),
            None => crd::establish(&mut next, &api.time()),
        }
        if next != present && !object::is_deleting(&present) {
            // Whoever was faster establishes the newer state.
            drop(api.exchange(resource, key, &old, next));
        }
    }
    definitions.serve(api);
}

/// Serves what the definitions in the store say. Called at start and after a definition has gone.
pub(crate) fn refresh(api: &Api) {
    api.definitions.lock().serve(api);
}

impl Definitions {
    fn serve(&mut self, api: &Api) {
        self.read(api);
        let custom = self.known.values().flat_map(|known| known.resources.iter().cloned()).collect();
        api.registry.store(Registry::builtin().with_custom(custom));
    }

    /// Reads those that have changed.
    fn read(&mut self, api: &Api) {
        let Ok(all) = api.store.list(STORAGE, None, None) else { return };
        let mut before = std::mem::take(&mut self.known);
        for stored in all.items {
            let known = before.remove(&*stored.name).filter(|known| known.version == stored.version);
            self.known.insert(Box::from(&*stored.name), known.unwrap_or_else(|| Known::read(&stored)));
        }
    }

    /// A name of the definition that another definition of its group has already.
    fn taken(&self, definition: &Value) -> Option<String> {
        let (mine, my_name) = (Names::of(definition), object::text(definition, "name"));
        let others = self.known.iter().filter(|(name, _)| &***name != my_name).filter_map(|(_, known)| known.names.as_ref());
        let pairs = others.filter(|theirs| theirs.group == mine.group).flat_map(|theirs| mine.names.iter().zip(&theirs.names));
        pairs.into_iter().find(|(mine, theirs)| mine == theirs).map(|(name, _)| format!("{name:?} is already in use"))
    }
}

impl Known {
    fn read(stored: &Stored) -> Self {
        let definition = stored.value(API_VERSION, KIND);
        if !is_established(&definition) {
            return Self { version: stored.version, names: None, resources: Vec::new() };
        }
        let resources = crd::resources(&definition).unwrap_or_else(|causes| {
            tracing::warn!(name = %stored.name, ?causes, "a definition that was stored cannot be served");
            Vec::new()
        });
        Self { version: stored.version, names: Some(Names::of(&definition)), resources }
    }
}

impl Names {
    fn of(definition: &Value) -> Self {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { group: text("/spec/group"), names: ["/spec/names/kind", "/spec/names/listKind", "/spec/names/singular"].map(text) }
    }
}

/// The refusal of creates while a definition is being deleted.
pub(crate) fn deleted(api: &Api, resource: &Resource) -> Option<Status> {
    if !resource.is_custom() {
        return None;
    }
    let definition = api.store.get(&key_of(resource))?;
    // A definition is large, and this is asked at each create.
    let going = definition.may_be_deleting() && object::is_deleting(&definition.value(API_VERSION, KIND));
    going.then(|| {
        let mut status = Status::method_not_allowed();
        status.message = "create not allowed while custom resource definition is terminating".to_owned();
        status
    })
}

/// The definition of a custom resource.
fn key_of(resource: &Resource) -> Key {
    Key { storage: Arc::from(STORAGE), namespace: Arc::from(""), name: Arc::clone(&resource.storage) }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| {
        one.get("type").and_then(Value::as_str) == Some("Established") && one.get("status").and_then(Value::as_str) == Some("True")
    })
}

fn refuse(definition: &mut Value, why: &str, now: &str) {
    let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) else { return };
    status.insert(
        "conditions".to_owned(),
        json!([
            {"type": "NamesAccepted", "status": "False", "reason": "KindConflict", "message": why, "lastTransitionTime": now},
            {"type": "Established", "status": "False", "reason": "NotAccepted", "message": "not all names are accepted", "lastTransitionTime": now},
        ]),
    );
}
