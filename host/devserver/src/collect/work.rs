//! What the collector knows and has still to do: who owns whom, who waits for whom, which objects to look at. Bounded by the objects that
//! there are: each stands in each of these once, or once for each owner that it names.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use memchr::memmem;
use serde_json::Value;

use super::protect;
use crate::store::{Key, Store, Stored};
use crate::verbs::policy::{DEFINITIONS, NAMESPACES};

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// Look at an object: whether its owners are there, or how far its deletion is.
    Look(Key),
    /// The object of this uid is gone: look at those it owned.
    Orphaned(Box<str>),
}

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct State {
    owned: HashMap<Box<str>, HashSet<Key>>,
    /// What waits until the objects of a namespace, of a storage, or of an owner are gone.
    waits: HashMap<Waits, Key>,
    queue: VecDeque<Work>,
    queued: HashSet<Work>,
}

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Waits {
    Namespace(Arc<str>),
    Storage(Arc<str>),
    Owner(Box<str>),
}

impl State {
    /// Hears of a create or an update. True if there is something to do.
    pub(super) fn changed(&mut self, store: &Store, key: &Key, stored: &Stored, old: Option<&Stored>) -> bool {
        let before = self.queue.len();
        let mut look = stored.may_be_deleting() || (&*key.storage == NAMESPACES && old.is_none());
        let mut named = owners(stored);
        named.extend(old.map(owners).unwrap_or_default());
        look |= self.named(store, key, named);
        if look {
            self.push(Work::Look(key.clone()));
        }
        // What ended, or was let go, uses less than before.
        self.released(key, old);
        self.queue.len() > before
    }

    /// Hears of a removal. True if there is something to do.
    pub(super) fn removed(&mut self, store: &Store, key: &Key, old: &Stored) -> bool {
        let before = self.queue.len();
        self.named(store, key, owners(old));
        self.released(key, Some(old));
        if self.owned.contains_key(&old.uid) {
            self.push(Work::Orphaned(old.uid.clone()));
        }
        self.waits.remove(&Waits::Owner(old.uid.clone()));
        // Whoever took the finalizer away itself waits no longer.
        match &*key.storage {
            NAMESPACES => drop(self.waits.remove(&Waits::Namespace(Arc::clone(&key.name)))),
            DEFINITIONS => drop(self.waits.remove(&Waits::Storage(Arc::clone(&key.name)))),
            _ => {}
        }
        self.waited(&Waits::Namespace(Arc::clone(&key.namespace)));
        self.waited(&Waits::Storage(Arc::clone(&key.storage)));
        self.queue.len() > before
    }

    /// An object names these owners or did; true if one is new. What the store has now decides, since commits may be heard of in
    /// another order than they were made.
    fn named(&mut self, store: &Store, key: &Key, uids: Vec<Box<str>>) -> bool {
        if uids.is_empty() {
            return false;
        }
        let now = store.get(key).map(|now| owners(&now)).unwrap_or_default();
        let mut new = false;
        for uid in uids {
            if now.contains(&uid) {
                new |= self.owned.entry(uid.clone()).or_default().insert(key.clone());
            } else {
                self.disown(&uid, key);
            }
            // The owner may wait for this object no longer: it went, or the reference went or does not block any more.
            self.waited(&Waits::Owner(uid));
        }
        new
    }

    /// What an object used may be used no more.
    fn released(&mut self, key: &Key, old: Option<&Stored>) {
        for used in old.map(|old| protect::used(&key.storage, old)).unwrap_or_default() {
            self.push(Work::Look(used));
        }
    }

    /// Whoever waits for this is looked at again.
    fn waited(&mut self, what: &Waits) {
        if let Some(key) = self.waits.get(what).cloned() {
            self.push(Work::Look(key));
        }
    }

    /// `key` is looked at again each time that something of this goes.
    pub(super) fn wait(&mut self, what: Waits, key: Key) {
        self.waits.insert(what, key);
    }

    /// Nobody waits for this any more.
    pub(super) fn unwait(&mut self, what: &Waits) {
        self.waits.remove(what);
    }

    /// Those that name this uid as an owner.
    pub(super) fn owned_by(&self, uid: &str) -> Vec<Key> {
        self.owned.get(uid).map(|all| all.iter().cloned().collect()).unwrap_or_default()
    }

    /// `key` does not name this owner any more.
    pub(super) fn disown(&mut self, uid: &str, key: &Key) {
        if let Some(all) = self.owned.get_mut(uid) {
            all.remove(key);
            if all.is_empty() {
                self.owned.remove(uid);
            }
        }
    }

    pub(super) fn push(&mut self, work: Work) {
        if self.queued.insert(work.clone()) {
            self.queue.push_back(work);
        }
    }

    pub(super) fn take(&mut self) -> Option<Work> {
        let work = self.queue.pop_front()?;
        self.queued.remove(&work);
        Some(work)
    }
}

/// The uids of an object's owners. Cheap for an object without any.
fn owners(stored: &Stored) -> Vec<Box<str>> {
    #[derive(serde::Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        #[serde(default)]
        owner_references: Vec<Value>,
    }
    if memmem::find(&stored.json, b"\"ownerReferences\"").is_none() {
        return Vec::new();
    }
    let Ok(object) = serde_json::from_slice::<Object>(&stored.json) else { return Vec::new() };
    object.metadata.owner_references.iter().filter_map(|owner| owner.get("uid")?.as_str()).map(Box::from).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::store::StoreOptions;

    fn key(name: &str) -> Key {
        Key { storage: "pods".into(), namespace: "n".into(), name: name.into() }
    }

    fn pod(owners: &[&str]) -> Value {
        let owners: Vec<Value> = owners.iter().map(|uid| json!({"uid": uid})).collect();
        json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "ownerReferences": owners}})
    }

    #[test]
    fn a_reference_that_went_is_forgotten_and_its_owner_hears_of_it() {
        let store = Store::open(StoreOptions { history: 10, data: None, first_version: None }).unwrap();
        let (mut state, pod_key, owner) = (State::default(), key("a"), key("owner"));
        let first = store.create(&pod_key, pod(&["o"])).unwrap();
        assert!(state.changed(&store, &pod_key, &first, None));
        assert_eq!(state.take(), Some(Work::Look(pod_key.clone())));
        assert_eq!(state.owned_by("o"), std::slice::from_ref(&pod_key));

        state.wait(Waits::Owner("o".into()), owner.clone());
        let second = store.replace(&pod_key, first.version, pod(&["p"])).unwrap();
        assert!(state.changed(&store, &pod_key, &second, Some(&first)));
        assert_eq!((state.owned_by("o"), state.owned_by("p")), (Vec::new(), vec![pod_key.clone()]));
        assert_eq!([state.take(), state.take()], [Some(Work::Look(owner)), Some(Work::Look(pod_key))]);
        assert_eq!(state.take(), None);
    }

    #[test]
    fn commits_may_be_heard_of_in_any_order() {
        let store = Store::open(StoreOptions { history: 10, data: None, first_version: None }).unwrap();
        let (mut state, key) = (State::default(), key("a"));
        let first = store.create(&key, pod(&["o"])).unwrap();
        store.remove(&key, first.version).unwrap();
        let again = store.create(&key, pod(&["o"])).unwrap();
        state.changed(&store, &key, &again, None);
        state.removed(&store, &key, &first);
        state.changed(&store, &key, &first, None);
        assert_eq!(state.owned_by("o"), std::slice::from_ref(&key));
        store.remove(&key, again.version).unwrap();
        state.removed(&store, &key, &again);
        assert!(state.owned_by("o").is_empty());
    }

    #[test]
    fn who_is_gone_waits_for_nothing() {
        let store = Store::open(StoreOptions { history: 10, data: None, first_version: None }).unwrap();
        let mut state = State::default();
        let namespace = Key { storage: NAMESPACES.into(), namespace: "".into(), name: "n".into() };
        let stored = store.create(&namespace, json!({"metadata": {"name": "n", "uid": "u"}})).unwrap();
        state.wait(Waits::Namespace("n".into()), namespace.clone());
        state.removed(&store, &namespace, &stored);
        assert!(state.waits.is_empty());
    }
}
