//! What is behind a store's lock: objects by namespace and name, their slots, their
//! indexes, and the numbers of the changes. Owns how these stay in step; never locks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use wharf_core::{Object, ObjectKey};

use super::index::Indexes;
use super::slots::Slots;

/// A larger memory of the last change than this is given back when the next one comes.
const CHANGED_KEPT: usize = 1024;

/// The objects of a store.
///
/// The namespace is the outer key, so the index by namespace costs nothing of its own. Per
/// object there are an entry in a tree (its name is shared with the object) and a slot.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    namespaces: BTreeMap<Option<Arc<str>>, BTreeMap<Arc<str>, u32>>,
    slots: Slots,
    pub(super) indexes: Indexes,
    bytes: u64,
    resource_version: Box<str>,
    /// Number of changes so far, and those of the last write.
    sequence: u64,
    changed: HashMap<ObjectKey, u64>,
}

/// What a put found.
#[derive(Debug)]
pub(crate) struct Put {
    /// What the key held before.
    pub(crate) old: Option<Arc<Object>>,
    /// The slot of the key.
    pub(crate) slot: u32,
}

/// What a removal took.
#[derive(Debug)]
pub(crate) struct Removed {
    /// What the key held.
    pub(crate) object: Arc<Object>,
    /// The slot that the key had; it may be another key's from now on.
    pub(crate) slot: u32,
}

impl Objects {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) fn resource_version(&self) -> &str {
        &self.resource_version
    }

    pub(crate) fn set_resource_version(&mut self, resource_version: &str) {
        if *self.resource_version != *resource_version {
            self.resource_version = resource_version.into();
        }
    }

    /// Are the objects in namespaces? True if there are none.
    pub(crate) fn has_namespaces(&self) -> bool {
        !self.namespaces.contains_key(&None)
    }

    pub(crate) fn slot(&self, key: &ObjectKey) -> Option<u32> {
        self.namespaces.get(&key.namespace)?.get(&key.name).copied()
    }

    pub(crate) fn object(&self, slot: u32) -> Option<&Arc<Object>> {
        self.slots.get(slot)
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.object(self.slot(key)?)
    }

    /// The number of a key's change, if it was part of the last write.
    pub(crate) fn changed(&self, key: &ObjectKey) -> Option<u64> {
        self.changed.get(key).copied()
    }

    /// All objects with their slots, in the order of the slots.
    pub(crate) fn slotted(&self) -> impl Iterator<Item = (u32, &Arc<Object>)> {
        self.slots.iter()
    }

    /// All objects, by namespace and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.namespaces.values().flat_map(BTreeMap::values).filter_map(|slot| self.object(*slot))
    }

    /// The objects of a namespace, by name.
    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        let names = self.namespaces.get(&Some(Arc::from(namespace)));
        names.into_iter().flat_map(BTreeMap::values).filter_map(|slot| self.object(*slot))
    }

    /// The objects after a key, by namespace and name.
    pub(crate) fn after<'a>(&'a self, namespace: Option<&'a str>, after: Option<&'a ObjectKey>) -> impl Iterator<Item = &'a Arc<Object>> {
        let first = match (namespace, after) {
            (Some(namespace), _) => Bound::Included(Some(Arc::from(namespace))),
            (None, Some(after)) => Bound::Included(after.namespace.clone()),
            (None, None) => Bound::Unbounded,
        };
        let namespaces = self.namespaces.range((first, Bound::Unbounded));
        let namespaces = namespaces.take_while(move |(name, _)| namespace.is_none_or(|wanted| name.as_deref() == Some(wanted)));
        let slots = namespaces.flat_map(move |(name, names)| {
            let start = match after {
                Some(after) if after.namespace == *name => Bound::Excluded(Arc::clone(&after.name)),
                _ => Bound::Unbounded,
            };
            names.range::<Arc<str>, _>((start, Bound::Unbounded)).map(|(_, slot)| *slot)
        });
        slots.filter_map(|slot| self.object(slot))
    }

    /// The objects that were not seen in `generation`, by namespace and name.
    pub(crate) fn unseen(&self, generation: u64) -> impl Iterator<Item = &Arc<Object>> {
        let slots = self.namespaces.values().flat_map(BTreeMap::values);
        slots.filter(move |slot| self.slots.generation(**slot) != Some(generation)).filter_map(|slot| self.object(*slot))
    }

    /// A write begins: a lock was taken, and the changes up to its release are one.
    pub(super) fn begin(&mut self) {
        if self.changed.capacity() > CHANGED_KEPT {
            self.changed = HashMap::new();
        }
        self.changed.clear();
    }

    /// Puts an object in and marks it as seen.
    pub(crate) fn put(&mut self, object: Arc<Object>, generation: u64) -> Put {
        let key = object.key().clone();
        self.count(&key);
        self.bytes += size(&object);
        let names = self.namespaces.entry(key.namespace).or_default();
        // Out and in again, so that the entry shares the name of the object that stays.
        let Some(slot) = names.remove(&key.name) else {
            let slot = self.slots.insert(object.clone(), generation);
            names.insert(key.name, slot);
            self.indexes.refile(slot, None, Some(&object));
            return Put { old: None, slot };
        };
        names.insert(key.name, slot);
        let old = self.slots.replace(slot, object.clone(), generation);
        self.bytes -= old.as_deref().map_or(0, size);
        self.indexes.refile(slot, old.as_deref(), Some(&object));
        Put { old, slot }
    }

    /// Marks an object as seen if it is here in just this state (same uid and
    /// resourceVersion), or, unless `newest` says that what comes is the newest state, in a later one.
    pub(crate) fn touch(&mut self, object: &Object, generation: u64, newest: bool) -> bool {
        let Some(slot) = self.slot(object.key()) else { return false };
        let same = self.object(slot).is_some_and(|here| same_state(here, object) || (!newest && later(here, object)));
        if same {
            self.slots.set_generation(slot, generation);
        }
        same
    }

    /// Takes an object out.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Removed> {
        let names = self.namespaces.get_mut(&key.namespace)?;
        let slot = names.remove(&key.name)?;
        if names.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
        let object = self.slots.remove(slot)?;
        self.indexes.refile(slot, Some(&object), None);
        self.bytes -= size(&object);
        self.count(key);
        Some(Removed { object, slot })
    }

    fn count(&mut self, key: &ObjectKey) {
        self.sequence += 1;
        self.changed.insert(key.clone(), self.sequence);
    }

    #[cfg(test)]
    pub(super) fn namespaces(&self) -> usize {
        self.namespaces.values().inspect(|names| assert!(!names.is_empty(), "an empty namespace stayed")).count()
    }
}

fn size(object: &Object) -> u64 {
    object.json().len() as u64
}

/// Is `a` a later state of the same object, as far as versions are numbers?
fn later(a: &Object, b: &Object) -> bool {
    let number = |object: &Object| object.resource_version().parse::<u64>().ok();
    a.uid() == b.uid() && number(a).zip(number(b)).is_some_and(|(a, b)| a > b)
}

/// Same uid and resourceVersion. Without a resourceVersion nothing is known to be the same.
fn same_state(a: &Object, b: &Object) -> bool {
    a.uid() == b.uid() && a.resource_version() == b.resource_version() && !a.resource_version().is_empty()
}
