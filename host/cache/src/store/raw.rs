//! The current objects of one informer. Owns the lock around them and what readers may ask;
//! never tells anybody of a change (that is `shared`), and only the owner writes.

use std::sync::Arc;

use parking_lot::{RwLock, RwLockUpgradableReadGuard};
use wharf_core::{Object, ObjectKey};

use super::index::{Index, IndexConflict, IndexError, IndexValue, Indexer, NoIndex};
use super::objects::{Objects, Put, Removed};

/// The objects of one informer, for reading: client-go's `Indexer` without its writes.
/// Reads wait for single writes only.
///
/// Objects are immutable and shared; a read costs one `Arc` for each. Order is by
/// namespace, then by name. A store of one's own is a [`LocalStore`](super::LocalStore).
#[derive(Debug, Default)]
pub struct Store {
    inner: RwLock<Objects>,
}

/// What a store knows of a key, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// The object.
    pub object: Option<Arc<Object>>,
    /// The object's slot: a small number that is the key's own for as long as its object is
    /// in the store. Once the removal has been announced, another key may get it.
    pub slot: Option<u32>,
    /// The number of the key's change, if that was part of the store's last write. Handlers
    /// hear of a change (with its number) only after it is in the store: who has heard of
    /// a lower number is about to be told that this key has changed.
    pub changing: Option<u64>,
}

impl Store {
    /// The object of a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.inner.read().get(key).cloned()
    }

    /// The object of a key, its slot, and whether it has just changed.
    pub(crate) fn look(&self, key: &ObjectKey) -> Look {
        let inner = self.inner.read();
        let slot = inner.slot(key);
        let object = slot.and_then(|slot| inner.object(slot)).cloned();
        Look { object, slot, changing: inner.changed(key) }
    }

    /// The slot of a key: a small number that is its own while its object is here. Slots are dense: all are smaller than the most
    /// objects that the store has had at a time, so data per object can be an array.
    pub fn slot_of(&self, key: &ObjectKey) -> Option<u32> {
        self.inner.read().slot(key)
    }

    /// All objects, or those of one namespace.
    pub fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        let inner = self.inner.read();
        match namespace {
            Some(namespace) => inner.in_namespace(namespace).cloned().collect(),
            None => {
                let mut all = Vec::with_capacity(inner.len());
                all.extend(inner.iter().cloned());
                all
            }
        }
    }

    /// The keys of all objects.
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        self.inner.read().iter().map(|object| object.key().clone()).collect()
    }

    /// At most `max` objects after a key, in the order of [`Self::list`]: for readers that go
    /// through a large store in steps.
    pub fn after(&self, namespace: Option<&str>, after: Option<&ObjectKey>, max: usize) -> Vec<Arc<Object>> {
        self.inner.read().after(namespace, after).take(max).cloned().collect()
    }

    /// Are the objects in namespaces? True if there are none.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.inner.read().has_namespaces()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.inner.read().len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the objects' JSON, as it is kept.
    pub fn bytes(&self) -> u64 {
        self.inner.read().bytes()
    }

    /// The resourceVersion up to which the store follows the server; empty before the
    /// first full list. client-go calls it `LastStoreSyncResourceVersion`.
    pub fn resource_version(&self) -> Box<str> {
        self.inner.read().resource_version().into()
    }

    /// Adds an index under a name, also to a store that has objects. Costs one run of the
    /// indexer per object, during which reads go on and writes wait.
    ///
    /// Memory: a few bytes per object and value, and each value's text once.
    ///
    /// # Errors
    /// When the name is taken.
    pub fn add_indexer(&self, name: &str, indexer: Indexer) -> Result<(), IndexConflict> {
        let inner = self.inner.upgradable_read();
        if inner.indexes.contains(name) {
            return Err(IndexConflict(name.into()));
        }
        let mut index = Index::new(name, indexer);
        for (slot, object) in inner.slotted() {
            index.refile(slot, None, Some(object));
        }
        RwLockUpgradableReadGuard::upgrade(inner).indexes.add(index);
        Ok(())
    }

    /// Takes an index away, if there is one of that name.
    pub(crate) fn remove_indexer(&self, name: &str) {
        self.inner.write().indexes.remove(name);
    }

    /// The names of the indexes, sorted.
    pub fn indexes(&self) -> Vec<Box<str>> {
        self.inner.read().indexes.names()
    }

    /// The objects that an index has under a value, in no particular order.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<Object>>, NoIndex> {
        let inner = self.inner.read();
        let slots = inner.indexes.get(index)?.slots(value);
        Ok(slots.filter_map(|slot| inner.object(slot).cloned()).collect())
    }

    /// The keys that an index has under a value, sorted.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, NoIndex> {
        let inner = self.inner.read();
        let slots = inner.indexes.get(index)?.slots(value);
        let mut keys: Vec<_> = slots.filter_map(|slot| inner.object(slot)).map(|object| object.key().clone()).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// The values under which an index has objects, sorted. client-go answers with nothing
    /// where the name is unknown.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn index_values(&self, index: &str) -> Result<Vec<IndexValue>, NoIndex> {
        Ok(self.inner.read().indexes.get(index)?.values())
    }

    /// The objects that share a value with `object`, which need not be in the store; each
    /// once, in no particular order. Nothing is shared if the indexer fails for it.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn index(&self, index: &str, object: &Object) -> Result<Vec<Arc<Object>>, NoIndex> {
        let inner = self.inner.read();
        let index = inner.indexes.get(index)?;
        let slots = index.slots_of_any(&index.values_of(object).unwrap_or_default());
        Ok(slots.into_iter().filter_map(|slot| inner.object(slot).cloned()).collect())
    }

    /// The values that an index would file `object` under, sorted.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn values_of(&self, index: &str, object: &Object) -> Result<Result<Vec<IndexValue>, IndexError>, NoIndex> {
        Ok(self.inner.read().indexes.get(index)?.values_of(object))
    }

    /// How often an index could not file an object because its indexer failed.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn index_failures(&self, index: &str) -> Result<u64, NoIndex> {
        Ok(self.inner.read().indexes.get(index)?.failures())
    }

    /// All objects with their slots, in the order of the slots.
    pub(crate) fn slotted(&self) -> Vec<(u32, Arc<Object>)> {
        self.inner.read().slotted().map(|(slot, object)| (slot, object.clone())).collect()
    }

    /// Number of the last change; 0 before the first one.
    pub(crate) fn sequence(&self) -> u64 {
        self.inner.read().sequence()
    }

    /// Several writes under one lock: readers see all of them or none.
    pub(crate) fn write<R>(&self, act: impl FnOnce(&mut Objects) -> R) -> R {
        let mut inner = self.inner.write();
        inner.begin();
        act(&mut inner)
    }

    /// Puts an object in and marks it as seen.
    pub(crate) fn insert(&self, object: Arc<Object>, generation: u64) -> Put {
        self.write(|objects| objects.put(object, generation))
    }

    /// Takes an object out.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Option<Removed> {
        self.write(|objects| objects.remove(key))
    }

    /// Marks an object as seen if the store has it in just this state (same uid and
    /// resourceVersion).
    pub(crate) fn touch(&self, object: &Object, generation: u64) -> bool {
        self.inner.write().touch(object, generation, true)
    }

    /// Marks the objects of a list as seen, all under one lock; returns those that the store
    /// does not have in just this state, in their order. Unless `newest` says that the list is of
    /// the newest state, what the store has in a later state stays: a list that was cut off may
    /// have come from a server that is ahead of the one that answers now.
    pub(crate) fn touch_all(&self, mut objects: Vec<Object>, generation: u64, newest: bool) -> Vec<Object> {
        let differ: Vec<bool> = {
            let mut inner = self.inner.write();
            objects.iter().map(|object| !inner.touch(object, generation, newest)).collect()
        };
        // Objects are freed after the lock is.
        let mut differ = differ.into_iter();
        objects.retain(|_| differ.next().unwrap_or(true));
        objects
    }

    /// The objects that were not seen in `generation`. Costs one walk over the store.
    pub(crate) fn unseen(&self, generation: u64) -> Vec<Arc<Object>> {
        self.inner.read().unseen(generation).cloned().collect()
    }

    /// Notes up to where the store follows the server.
    pub(crate) fn set_resource_version(&self, resource_version: &str) {
        self.inner.write().set_resource_version(resource_version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{key, object, object_with, shown};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn names(store: &Store, namespace: Option<&str>) -> Vec<String> {
        store.list(namespace).iter().map(|object| object.key().to_string()).collect()
    }

    fn owned(namespace: &str, name: &str, rv: &str) -> Object {
        Arc::into_inner(object(namespace, name, rv)).unwrap()
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

    #[test]
    fn cs1_crud_of_an_informers_store() {
        let store = Store::default();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("", "c")] {
            assert!(store.insert(object(namespace, name, "1"), 1).old.is_none());
        }
        assert_eq!(names(&store, None), ["c", "a/1", "a/2", "b/1"]);
        assert_eq!(names(&store, Some("a")), ["a/1", "a/2"]);
        assert!(names(&store, Some("x")).is_empty());
        assert_eq!(store.list_keys(), [key("c"), key("a/1"), key("a/2"), key("b/1")]);
        let old = store.insert(object("a", "1", "22"), 1).old.unwrap();
        assert_eq!((old.resource_version(), store.len()), ("1", 4));
        assert_eq!(store.get(&key("a/1")).unwrap().resource_version(), "22");
        assert!(store.remove(&key("b/1")).is_some());
        assert!(store.remove(&key("b/1")).is_none());
        assert_eq!(store.inner.read().namespaces(), 2);
        assert_eq!(store.bytes(), store.list(None).iter().map(|o| o.json().len() as u64).sum::<u64>());
    }

    #[test]
    fn a_key_keeps_its_slot_while_its_object_is_there() {
        let store = Store::default();
        let slots = ["1", "2", "3"].map(|name| store.insert(object("a", name, "1"), 1).slot);
        assert_eq!(slots, [0, 1, 2]);
        assert_eq!(store.insert(object("a", "2", "2"), 1).slot, 1);
        assert_eq!((store.slot_of(&key("a/2")), store.look(&key("a/2")).slot), (Some(1), Some(1)));
        assert_eq!(store.remove(&key("a/1")).unwrap().slot, 0);
        assert_eq!((store.slot_of(&key("a/1")), store.look(&key("a/1")).slot), (None, None));
        assert_eq!(store.insert(object("z", "9", "1"), 1).slot, 0, "the smallest free one");
        assert_eq!(store.get(&key("a/3")).unwrap().key(), &key("a/3"));
    }

    #[test]
    fn a_look_tells_which_keys_the_last_write_changed() {
        let store = Store::default();
        store.insert(object("a", "1", "1"), 1);
        assert_eq!(store.look(&key("a/1")).changing, Some(1));
        store.insert(object("a", "2", "1"), 1);
        assert_eq!((store.look(&key("a/1")).changing, store.look(&key("a/2")).changing), (None, Some(2)));
        store.remove(&key("a/1"));
        let gone = store.look(&key("a/1"));
        assert_eq!((gone.object, gone.changing, store.sequence()), (None, Some(3), 3));
        store.write(|objects| {
            objects.put(object("a", "3", "1"), 1);
            objects.remove(&key("a/2"));
        });
        assert_eq!(["a/1", "a/2", "a/3"].map(|name| store.look(&key(name)).changing), [None, Some(5), Some(4)]);
    }

    /// An update shares its name with the new object, so that the old text is freed.
    #[test]
    fn the_name_is_kept_once() {
        let store = Store::default();
        store.insert(object("a", "1", "1"), 1);
        store.insert(object("b", "1", "1"), 1);
        let new = object("a", "1", "2");
        store.insert(new.clone(), 1);
        store.insert(object("b", "2", "1"), 1);
        let kept = new.key().name.clone();
        drop(new);
        assert_eq!(Arc::strong_count(&kept), 3, "the object, its entry and this test");
    }

    #[test]
    fn only_the_same_state_is_touched() {
        let store = Store::default();
        store.insert(object("a", "1", "5"), 1);
        store.insert(object("a", "2", "5"), 1);
        assert!(store.touch(&object("a", "1", "5"), 2));
        assert!(!store.touch(&object("a", "2", "6"), 2));
        assert!(!store.touch(&object("a", "3", "5"), 2));
        assert_eq!(shown(&store.unseen(2)), ["a/2:5"]);
    }

    #[test]
    fn a_list_is_compared_at_once() {
        let store = Store::default();
        for name in ["1", "2", "3"] {
            store.insert(object("a", name, "5"), 1);
        }
        store.insert(object("a", "none", ""), 1);
        let list = vec![owned("a", "3", "6"), owned("a", "1", "5"), owned("b", "1", "5"), owned("a", "none", "")];
        let differ: Vec<_> = store.touch_all(list, 2, false).iter().map(|object| object.key().to_string()).collect();
        assert_eq!(differ, ["a/3", "b/1", "a/none"], "without a resourceVersion nothing is known to be the same");
        assert_eq!(shown(&store.unseen(2)), ["a/2:5", "a/3:5", "a/none:"]);
        let recreated = object_with("a", "1", "another", "5", "{}");
        assert_eq!(store.touch_all(vec![Arc::into_inner(recreated).unwrap()], 3, false).len(), 1);
    }

    #[test]
    fn cs5_a_bookmark_moves_the_resource_version() {
        let store = Store::default();
        assert_eq!(&*store.resource_version(), "");
        store.set_resource_version("7");
        assert_eq!(&*store.resource_version(), "7");
    }

    /// client-go finds a changed object at run time; here the type has no way to change one, and
    /// what a reader holds is not taken from it.
    #[test]
    fn cs11_what_was_read_stays_as_it_was() {
        let store = Store::default();
        store.insert(object("a", "1", "1"), 1);
        let list = store.list(None);
        store.insert(object("a", "1", "2"), 1);
        store.remove(&key("a/1"));
        assert_eq!(shown(&list), ["a/1:1"]);
    }

    proptest! {
        /// The store agrees with a plain map over random histories, sizes and slots included.
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u8..3, 0u8..3, 0u8..4, 0u32..1000), 0..80)) {
            let (store, mut model) = (Store::default(), BTreeMap::new());
            for (action, namespace, name, rv) in steps {
                let (namespace, name) = (format!("n{namespace}"), format!("o{name}"));
                let key = ObjectKey::new(&namespace, &name);
                if action == 0 {
                    let slot = store.slot_of(&key);
                    let removed = store.remove(&key);
                    prop_assert_eq!(removed.as_ref().map(|removed| removed.slot), slot);
                    prop_assert_eq!(removed.map(|removed| removed.object), model.remove(&key));
                } else {
                    let object = object(&namespace, &name, &rv.to_string());
                    prop_assert_eq!(store.insert(object.clone(), 1).old, model.insert(key, object));
                }
            }
            prop_assert_eq!(store.len(), model.len());
            prop_assert_eq!(store.bytes(), model.values().map(|o| o.json().len() as u64).sum::<u64>());
            prop_assert_eq!(store.list(None), model.values().cloned().collect::<Vec<_>>());
            let slots: std::collections::BTreeSet<_> = model.keys().map(|key| store.slot_of(key).unwrap()).collect();
            prop_assert_eq!(slots.len(), model.len(), "a slot has one key");
            store.inner.read().namespaces();
        }
    }
}
