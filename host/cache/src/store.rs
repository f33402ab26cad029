//! The current objects of one informer. Owns them, the index by namespace, their size, and
//! the mark by which a full list finds what has gone; never tells anybody (that is
//! `shared`), and only `shared` writes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::RwLock;
use wharf_core::{Object, ObjectKey};

/// The objects of one informer, for reading. Reads wait for single writes only.
///
/// Objects are immutable and shared. Order is by namespace, then by name.
#[derive(Debug, Default)]
pub struct Store {
    inner: RwLock<Inner>,
}

/// The namespace is the outer key, so the index by namespace costs nothing of its own.
#[derive(Debug, Default)]
struct Inner {
    namespaces: BTreeMap<Option<Arc<str>>, BTreeMap<Arc<str>, Slot>>,
    objects: usize,
    bytes: u64,
    resource_version: Box<str>,
    /// Number of changes so far, and the key of the last one.
    sequence: u64,
    changed: Option<ObjectKey>,
}

#[derive(Debug)]
struct Slot {
    object: Arc<Object>,
    /// The full list, or the time after it, in which the object was last seen.
    generation: u64,
}

impl Store {
    /// The object of a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let inner = self.inner.read();
        inner.namespaces.get(&key.namespace)?.get(&key.name).map(|slot| slot.object.clone())
    }

    /// The object of a key, and the number of the store's last change if that was of this
    /// key. Handlers hear of a change (with its number) only after it is in the store: who
    /// has heard of a lower number is about to be told that this key has changed.
    pub fn look(&self, key: &ObjectKey) -> (Option<Arc<Object>>, Option<u64>) {
        let inner = self.inner.read();
        let slot = inner.namespaces.get(&key.namespace).and_then(|names| names.get(&key.name));
        let last = (inner.changed.as_ref() == Some(key)).then_some(inner.sequence);
        (slot.map(|slot| slot.object.clone()), last)
    }

    /// All objects, or those of one namespace. Costs one `Arc` for each.
    pub fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        let inner = self.inner.read();
        match namespace {
            Some(namespace) => {
                let objects = inner.namespaces.get(&Some(Arc::from(namespace)));
                objects.into_iter().flat_map(BTreeMap::values).map(|slot| slot.object.clone()).collect()
            }
            None => {
                let mut all = Vec::with_capacity(inner.objects);
                all.extend(inner.namespaces.values().flat_map(BTreeMap::values).map(|slot| slot.object.clone()));
                all
            }
        }
    }

    /// At most `max` objects after a key, in the order of [`Self::list`]: for readers that go
    /// through a large store in steps.
    pub fn after(&self, namespace: Option<&str>, after: Option<&ObjectKey>, max: usize) -> Vec<Arc<Object>> {
        let inner = self.inner.read();
        let first = match (namespace, after) {
            (Some(namespace), _) => Bound::Included(Some(Arc::from(namespace))),
            (None, Some(after)) => Bound::Included(after.namespace.clone()),
            (None, None) => Bound::Unbounded,
        };
        let namespaces = inner.namespaces.range((first, Bound::Unbounded));
        let namespaces = namespaces.take_while(|(name, _)| namespace.is_none_or(|wanted| name.as_deref() == Some(wanted)));
        let objects = namespaces.flat_map(|(name, objects)| {
            let start = match after {
                Some(after) if after.namespace == *name => Bound::Excluded(Arc::clone(&after.name)),
                _ => Bound::Unbounded,
            };
            objects.range::<Arc<str>, _>((start, Bound::Unbounded)).map(|(_, slot)| slot.object.clone())
        });
        objects.take(max).collect()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.inner.read().objects
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the objects' JSON, as it is kept.
    pub fn bytes(&self) -> u64 {
        self.inner.read().bytes
    }

    /// Are the objects in namespaces? True for an empty store.
    pub(crate) fn has_namespaces(&self) -> bool {
        !self.inner.read().namespaces.contains_key(&None)
    }

    /// The resourceVersion up to which the store follows the server; empty before the
    /// first full list.
    pub fn resource_version(&self) -> Box<str> {
        self.inner.read().resource_version.clone()
    }

    /// Number of the last change; 0 before the first one.
    pub(crate) fn sequence(&self) -> u64 {
        self.inner.read().sequence
    }

    /// Puts an object in and marks it as seen. Returns what was there before.
    pub(crate) fn insert(&self, object: Arc<Object>, generation: u64) -> Option<Arc<Object>> {
        let mut inner = self.inner.write();
        inner.changed(object.key());
        let ObjectKey { namespace, name } = object.key().clone();
        let added = object.json().len() as u64;
        let slot = Slot { object, generation };
        let old = inner.namespaces.entry(namespace).or_default().insert(name, slot).map(|slot| slot.object);
        inner.bytes += added;
        match &old {
            Some(old) => inner.bytes -= old.json().len() as u64,
            None => inner.objects += 1,
        }
        old
    }

    /// Marks an object as seen if the store has it in just this state (same uid and
    /// resourceVersion).
    pub(crate) fn touch(&self, object: &Object, generation: u64) -> bool {
        let mut inner = self.inner.write();
        let key = object.key();
        let slot = inner.namespaces.get_mut(&key.namespace).and_then(|names| names.get_mut(&key.name));
        let Some(slot) = slot.filter(|slot| same_state(&slot.object, object)) else { return false };
        slot.generation = generation;
        true
    }

    /// Takes an object out.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let mut inner = self.inner.write();
        let names = inner.namespaces.get_mut(&key.namespace)?;
        let old = names.remove(&key.name)?.object;
        if names.is_empty() {
            inner.namespaces.remove(&key.namespace);
        }
        inner.bytes -= old.json().len() as u64;
        inner.objects -= 1;
        inner.changed(key);
        Some(old)
    }

    /// The objects that were not seen in `generation`. Costs one walk over the store.
    pub(crate) fn unseen(&self, generation: u64) -> Vec<Arc<Object>> {
        let inner = self.inner.read();
        let slots = inner.namespaces.values().flat_map(BTreeMap::values);
        slots.filter(|slot| slot.generation != generation).map(|slot| slot.object.clone()).collect()
    }

    /// Notes up to where the store follows the server.
    pub(crate) fn set_resource_version(&self, resource_version: &str) {
        let mut inner = self.inner.write();
        if *inner.resource_version != *resource_version {
            inner.resource_version = resource_version.into();
        }
    }
}

impl Inner {
    fn changed(&mut self, key: &ObjectKey) {
        self.sequence += 1;
        self.changed = Some(key.clone());
    }
}

/// Same uid and resourceVersion. Without a resourceVersion nothing is known to be the same.
fn same_state(a: &Object, b: &Object) -> bool {
    a.uid() == b.uid() && a.resource_version() == b.resource_version() && !a.resource_version().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use wharf_core::Gvk;

    fn object(namespace: &str, name: &str, rv: &str) -> Arc<Object> {
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"C","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"u-{name}","resourceVersion":"{rv}"}}}}"#
        );
        Arc::new(Object::parse(&text, &Gvk::new("", "v1", "C")).unwrap())
    }

    fn names(store: &Store, namespace: Option<&str>) -> Vec<String> {
        store.list(namespace).iter().map(|object| object.key().to_string()).collect()
    }

    /// Going through in steps of any size gives the list.
    #[test]
    fn steps_give_the_list() {
        let store = Store::default();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("", "c"), ("c", "0"), ("c", "9")] {
            store.insert(object(namespace, name, "1"), 1);
        }
        for namespace in [None, Some("a"), Some("c"), Some("x")] {
            for size in 1..8 {
                let (mut found, mut after) = (Vec::new(), None);
                loop {
                    let step = store.after(namespace, after.as_ref(), size);
                    found.extend(step.iter().map(|object| object.key().to_string()));
                    after = step.last().map(|object| object.key().clone());
                    if step.len() < size {
                        break;
                    }
                }
                assert_eq!(found, names(&store, namespace), "{namespace:?} in steps of {size}");
            }
        }
    }

    /// CS1, CS3, CS4: put, replace, take out, list by namespace; empty sets vanish.
    #[test]
    fn objects_and_their_namespaces() {
        let store = Store::default();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("", "c")] {
            assert_eq!(store.insert(object(namespace, name, "1"), 1), None);
        }
        assert_eq!(names(&store, None), ["c", "a/1", "a/2", "b/1"]);
        assert_eq!(names(&store, Some("a")), ["a/1", "a/2"]);
        assert!(names(&store, Some("x")).is_empty());
        let old = store.insert(object("a", "1", "22"), 1).unwrap();
        assert_eq!((old.resource_version(), store.len()), ("1", 4));
        assert_eq!(store.get(&ObjectKey::new("a", "1")).unwrap().resource_version(), "22");
        assert!(store.remove(&ObjectKey::new("b", "1")).is_some());
        assert!(store.remove(&ObjectKey::new("b", "1")).is_none());
        assert_eq!(store.inner.read().namespaces.len(), 2);
        assert_eq!(store.bytes(), store.list(None).iter().map(|o| o.json().len() as u64).sum::<u64>());
    }

    #[test]
    fn only_the_same_state_is_touched() {
        let store = Store::default();
        store.insert(object("a", "1", "5"), 1);
        store.insert(object("a", "2", "5"), 1);
        assert!(store.touch(&object("a", "1", "5"), 2));
        assert!(!store.touch(&object("a", "2", "6"), 2));
        assert!(!store.touch(&object("a", "3", "5"), 2));
        let unseen: Vec<_> = store.unseen(2).iter().map(|o| o.key().to_string()).collect();
        assert_eq!(unseen, ["a/2"]);
    }

    /// CS5.
    #[test]
    fn resource_version() {
        let store = Store::default();
        assert_eq!(&*store.resource_version(), "");
        store.set_resource_version("7");
        assert_eq!(&*store.resource_version(), "7");
    }

    proptest! {
        /// The store agrees with a plain map over random histories, sizes included.
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u8..3, 0u8..3, 0u8..4, 0u32..1000), 0..80)) {
            let (store, mut model) = (Store::default(), BTreeMap::new());
            for (action, namespace, name, rv) in steps {
                let (namespace, name) = (format!("n{namespace}"), format!("o{name}"));
                let key = ObjectKey::new(&namespace, &name);
                if action == 0 {
                    prop_assert_eq!(store.remove(&key), model.remove(&key));
                } else {
                    let object = object(&namespace, &name, &rv.to_string());
                    prop_assert_eq!(store.insert(object.clone(), 1), model.insert(key, object));
                }
            }
            prop_assert_eq!(store.len(), model.len());
            prop_assert_eq!(store.bytes(), model.values().map(|o| o.json().len() as u64).sum::<u64>());
            prop_assert_eq!(store.list(None), model.values().cloned().collect::<Vec<_>>());
            prop_assert_eq!(store.inner.read().namespaces.values().filter(|names| names.is_empty()).count(), 0);
        }
    }
}
