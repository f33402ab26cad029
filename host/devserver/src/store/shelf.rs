//! The objects of one storage and their history: what is there now, and what was there at an earlier version.
//!
//! Never decides whether a change may be made.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::history::History;
use super::{Gone, Stored};

type Names = BTreeMap<Arc<str>, Arc<Stored>>;

/// One storage.
pub(super) struct Shelf {
    namespaces: BTreeMap<Arc<str>, Names>,
    pub(super) history: History,
    /// Tells cursors that there is something new. The value is the version of the last change.
    pub(super) woken: Arc<watch::Sender<u64>>,
}

impl Shelf {
    pub(super) fn new(floor: u64, history: usize) -> Self {
        Self { namespaces: BTreeMap::new(), history: History::new(floor, history), woken: Arc::new(watch::Sender::new(floor)) }
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        self.namespaces.get(namespace)?.get(name)
    }

    pub(super) fn put(&mut self, namespace: &Arc<str>, name: &Arc<str>, object: Arc<Stored>) {
        self.namespaces.entry(Arc::clone(namespace)).or_default().insert(Arc::clone(name), object);
    }

    pub(super) fn take(&mut self, namespace: &str, name: &str) {
        if let Some(names) = self.namespaces.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }

    /// All objects, of one namespace or of all, in the order of namespace, then name.
    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        match namespace {
            Some(namespace) => self.namespaces.get(namespace).map(|names| names.values().cloned().collect()).unwrap_or_default(),
            None => self.namespaces.values().flat_map(BTreeMap::values).cloned().collect(),
        }
    }

    /// The same as it was at `version`: the changes after it are undone, the newest first.
    pub(super) fn list_at(&self, namespace: Option<&str>, version: u64) -> Result<Vec<Arc<Stored>>, Gone> {
        let mut undone: BTreeMap<(&str, &str), Option<&Arc<Stored>>> = BTreeMap::new();
        for event in self.history.after(version)?.rev().filter(|event| namespace.is_none_or(|one| one == &*event.object.namespace)) {
            undone.insert((&event.object.namespace, &event.object.name), event.previous.as_ref());
        }
        if undone.is_empty() {
            return Ok(self.list(namespace));
        }
        // Both are in the same order.
        let mut undone = undone.into_iter().peekable();
        let mut items = Vec::new();
        for object in self.list(namespace) {
            let name = (&*object.namespace, &*object.name);
            while let Some((_, then)) = undone.next_if(|(other, _)| *other < name) {
                items.extend(then.cloned());
            }
            match undone.next_if(|(other, _)| *other == name) {
                Some((_, then)) => items.extend(then.cloned()),
                None => items.push(object),
            }
        }
        items.extend(undone.filter_map(|(_, then)| then.cloned()));
        Ok(items)
    }
}
