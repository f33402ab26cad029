//! A store that shows its whole list after each write: client-go's `UndeltaStore`. Owns
//! when the list is pushed; never what is done with it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use wharf_core::{Object, ObjectKey};

use super::local;
use super::raw::Store;
use crate::change::{Change, ChangeHandler};

/// Receives the whole list, by namespace and name. It runs on the thread of the writer, as
/// part of the write: it must be quick, must not block and must not write to the store.
pub type Push = Box<dyn FnMut(Vec<Arc<Object>>) + Send>;

/// After each write the whole list is pushed to a function; reads push nothing.
///
/// Pushes come in the order of the writes (in client-go two writers may overtake each
/// other), and a write returns after its push. Each costs one `Arc` per object in the store.
///
/// # As a handler of an informer
/// It may be attached to an informer, and then keeps that informer's objects:
/// - The initial list is pushed **once**, when it is complete, and not once per object; so
///   is what a store that is synced already holds when the handler is attached. An
///   empty list is pushed too. For a kind that does not exist nothing is pushed until it does.
/// - Then each change is pushed, also each single difference that a relist finds. A list
///   that shows no change pushes nothing, where client-go pushes after each relist.
/// - Pushes run under the informer's apply lock (see [`ChangeHandler`]). A receiver that is
///   slow gets the list through a cell that holds the last one only, for example
///   `tokio::sync::watch`.
///
/// A store that serves as a handler has no other writer.
pub struct UndeltaStore {
    store: Arc<Store>,
    /// Held from before a write until after its push.
    push: Mutex<Push>,
    /// As a handler: the first list is complete.
    complete: AtomicBool,
}

impl UndeltaStore {
    /// An empty store. Nothing is pushed for it.
    pub fn new(push: Push) -> Self {
        Self { store: Arc::default(), push: Mutex::new(push), complete: AtomicBool::new(false) }
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Adds or replaces an object, and pushes.
    pub fn put(&self, object: Arc<Object>) {
        self.write(|store| store.insert(object, 0));
    }

    /// Takes an object out, and pushes, also if it was not there.
    pub fn remove(&self, key: &ObjectKey) {
        self.write(|store| store.remove(key));
    }

    /// Makes the store hold just these objects, and pushes once.
    pub fn replace(&self, objects: Vec<Arc<Object>>, resource_version: &str) {
        self.write(|store| store.write(|table| local::replace(table, objects, resource_version)));
    }

    fn write<R>(&self, act: impl FnOnce(&Store) -> R) {
        let mut push = self.push.lock();
        act(&self.store);
        push(self.store.list(None));
    }
}

impl ChangeHandler for UndeltaStore {
    fn on_change(&self, change: &Change<'_>) {
        let complete = self.complete.load(Ordering::SeqCst);
        match (change.new, complete) {
            (Some(object), true) => self.put(object.clone()),
            (None, true) => self.remove(change.key),
            // `on_synced` follows, and pushes all there is.
            (Some(object), false) => drop(self.store.insert(object.clone(), 0)),
            (None, false) => drop(self.store.remove(change.key)),
        }
    }

    fn on_synced(&self) {
        self.complete.store(true, Ordering::SeqCst);
        self.write(|_| ());
    }
}

impl fmt::Debug for UndeltaStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UndeltaStore").field("objects", &self.store().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::ChangeCause;
    use crate::store::testing::{key, object, shown};

    type Pushed = Arc<Mutex<Vec<Vec<String>>>>;

    fn undelta() -> (UndeltaStore, Pushed) {
        let pushed = Pushed::default();
        let lists = pushed.clone();
        (UndeltaStore::new(Box::new(move |list| lists.lock().push(shown(&list)))), pushed)
    }

    fn take(pushed: &Pushed) -> Vec<Vec<String>> {
        std::mem::take(&mut *pushed.lock())
    }

    fn change<'a>(object: &'a Arc<Object>, gone: bool, cause: ChangeCause) -> Change<'a> {
        let (new, old) = if gone { (None, Some(object)) } else { (Some(object), None) };
        Change { key: object.key(), old, new, final_state: old, final_known: true, slot: None, cause, sequence: 1 }
    }

    #[test]
    fn cs1_crud_of_an_undelta_store() {
        let (store, _) = undelta();
        store.put(object("a", "1", "1"));
        store.put(object("a", "1", "2"));
        store.put(object("a", "2", "3"));
        assert_eq!(store.store().get(&key("a/1")).unwrap().resource_version(), "2");
        store.remove(&key("a/1"));
        assert_eq!(shown(&store.store().list(None)), ["a/2:3"]);
        store.replace(vec![object("b", "1", "4")], "9");
        assert_eq!(shown(&store.store().list(None)), ["b/1:4"]);
        assert_eq!(&*store.store().resource_version(), "9");
    }

    #[test]
    fn cs9_each_write_pushes_the_whole_list() {
        let (store, pushed) = undelta();
        store.put(object("a", "1", "1"));
        store.put(object("a", "2", "1"));
        assert_eq!(take(&pushed), [vec!["a/1:1"], vec!["a/1:1", "a/2:1"]]);
        store.put(object("a", "1", "2"));
        assert_eq!(take(&pushed), [["a/1:2", "a/2:1"]]);
        store.remove(&key("a/2"));
        store.remove(&key("a/2"));
        assert_eq!(take(&pushed), [["a/1:2"], ["a/1:2"]]);
        store.replace(vec![object("b", "1", "4"), object("b", "2", "4")], "9");
        assert_eq!(take(&pushed), [["b/1:4", "b/2:4"]]);
    }

    #[test]
    fn cs9_reads_push_nothing() {
        let (store, pushed) = undelta();
        store.put(object("a", "1", "1"));
        take(&pushed);
        assert!(store.store().get(&key("a/1")).is_some());
        assert_eq!((store.store().list(None).len(), store.store().list_keys().len(), store.store().len()), (1, 1, 1));
        assert!(take(&pushed).is_empty());
    }

    #[test]
    fn cs9_as_a_handler_it_pushes_the_initial_list_once() {
        let (store, pushed) = undelta();
        for name in ["1", "2", "3"] {
            store.on_change(&change(&object("a", name, "1"), false, ChangeCause::InitialList));
        }
        assert!(take(&pushed).is_empty(), "the list is not complete");
        store.on_synced();
        assert_eq!(take(&pushed), [["a/1:1", "a/2:1", "a/3:1"]]);
        store.on_change(&change(&object("a", "2", "5"), false, ChangeCause::Watch));
        store.on_change(&change(&object("a", "1", "5"), true, ChangeCause::Watch));
        store.on_change(&change(&object("a", "3", "1"), true, ChangeCause::Relist));
        assert_eq!(take(&pushed), [vec!["a/1:1", "a/2:5", "a/3:1"], vec!["a/2:5", "a/3:1"], vec!["a/2:5"]]);
    }

    #[test]
    fn cs9_an_empty_initial_list_is_pushed_too() {
        let (store, pushed) = undelta();
        store.on_synced();
        assert_eq!(take(&pushed), [[] as [String; 0]]);
    }
}
