//! A store that its owner writes: client-go's `NewStore` and `NewIndexer`. Owns
//! transactions, the transformer and the rules of the store's resourceVersion; never
//! watches anything.

use std::fmt;
use std::sync::Arc;

use wharf_core::{Object, ObjectKey};

use super::objects::Objects;
use super::raw::Store;

/// Changes an object on its way into a store. It must give the same for its own result
/// (idempotent), may run on any thread, and must not use the store.
pub type Transformer = Arc<dyn Fn(Arc<Object>) -> Result<Arc<Object>, TransformError> + Send + Sync>;

/// Why an object could not be transformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformError(pub Box<str>);

/// An object was not put into the store; what was there stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} was not stored: its transformer failed: {source}")]
pub struct PutError {
    /// The object's key.
    pub key: ObjectKey,
    /// What the transformer said.
    pub source: TransformError,
}

/// Some writes of a transaction failed; the others are in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionError {
    /// The places of the writes that were applied, in order.
    pub succeeded: Vec<usize>,
    /// The places of those that were not, in order, and why.
    pub failed: Vec<(usize, PutError)>,
}

impl fmt::Display for TransactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, all) = (self.failed.len(), self.failed.len() + self.succeeded.len());
        write!(f, "{failed} of {all} writes failed")?;
        if let Some((place, error)) = self.failed.first() {
            write!(f, "; the first is number {place}: {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TransactionError {}

/// One write of a transaction.
#[derive(Clone, Debug)]
pub enum Write {
    /// Adds an object, or puts it in the place of the one with its key.
    Put(Arc<Object>),
    /// Takes out the object of a key, if there is one.
    Remove(ObjectKey),
    /// Takes out the object with this one's key; this is its final state, and the store's
    /// resourceVersion moves to its.
    RemoveFinal(Arc<Object>),
}

/// A store with its writes. Reads go through [`Self::store`].
///
/// Each write moves the store's resourceVersion as client-go does: to that of the object
/// that is put, or of the final state that is removed; to the given one by
/// [`Self::replace`] and [`Self::bookmark`]. An object without one, and a removal by key,
/// leave it where it is. The last write decides, not the highest number.
///
/// The store is bounded by the distinct keys that its owner puts in.
#[derive(Default)]
pub struct LocalStore {
    store: Arc<Store>,
    transformer: Option<Transformer>,
}

impl LocalStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that transforms each object on its way in.
    pub fn with_transformer(transformer: Transformer) -> Self {
        Self { store: Arc::default(), transformer: Some(transformer) }
    }

    /// The store, for reading and for indexes.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Adds or replaces an object; returns what was there. client-go's `Add` and `Update`.
    ///
    /// # Errors
    /// When the transformer fails.
    pub fn put(&self, object: Arc<Object>) -> Result<Option<Arc<Object>>, PutError> {
        let object = self.transform(object)?;
        Ok(self.store.write(|objects| put(objects, object)))
    }

    /// Takes an object out by its key.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        Some(self.store.remove(key)?.object)
    }

    /// Takes out the object with the key of `last`, its final state.
    pub fn remove_final(&self, last: &Object) -> Option<Arc<Object>> {
        self.store.write(|objects| remove_final(objects, last))
    }

    /// Many writes under one lock: a reader sees the store before or after all of them.
    /// Transformers run before that. A write that fails does not keep the others out.
    ///
    /// # Errors
    /// Names the writes that failed, and those that did not.
    pub fn transact(&self, writes: Vec<Write>) -> Result<(), TransactionError> {
        let (mut ready, mut failed) = (Vec::with_capacity(writes.len()), Vec::new());
        for (place, write) in writes.into_iter().enumerate() {
            let write = match write {
                Write::Put(object) => self.transform(object).map(Write::Put),
                other => Ok(other),
            };
            match write {
                Ok(write) => ready.push((place, write)),
                Err(error) => failed.push((place, error)),
            }
        }
        let succeeded = ready.iter().map(|(place, _)| *place).collect();
        self.store.write(|objects| {
            for (_, write) in ready {
                match write {
                    Write::Put(object) => drop(put(objects, object)),
                    Write::Remove(key) => drop(objects.remove(&key)),
                    Write::RemoveFinal(last) => drop(remove_final(objects, &last)),
                }
            }
        });
        if failed.is_empty() { Ok(()) } else { Err(TransactionError { succeeded, failed }) }
    }

    /// Makes the store hold just these objects, of which the last one counts where a key
    /// comes twice, and notes the list's resourceVersion.
    ///
    /// # Errors
    /// When a transformer fails; then nothing has changed.
    pub fn replace(&self, objects: Vec<Arc<Object>>, resource_version: &str) -> Result<(), PutError> {
        let listed = objects.into_iter().map(|object| self.transform(object)).collect::<Result<Vec<_>, _>>()?;
        self.store.write(|objects| replace(objects, listed, resource_version));
        Ok(())
    }

    /// Notes up to where the store follows its source.
    pub fn bookmark(&self, resource_version: &str) {
        self.store.set_resource_version(resource_version);
    }

    fn transform(&self, object: Arc<Object>) -> Result<Arc<Object>, PutError> {
        let Some(transformer) = &self.transformer else { return Ok(object) };
        let key = object.key().clone();
        transformer(object).map_err(|source| PutError { key, source })
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore").field("objects", &self.store.len()).finish_non_exhaustive()
    }
}

fn put(objects: &mut Objects, object: Arc<Object>) -> Option<Arc<Object>> {
    follow(objects, &object);
    objects.put(object, 0).old
}

fn remove_final(objects: &mut Objects, last: &Object) -> Option<Arc<Object>> {
    follow(objects, last);
    Some(objects.remove(last.key())?.object)
}

/// Makes the table hold just these objects.
pub(super) fn replace(objects: &mut Objects, listed: Vec<Arc<Object>>, resource_version: &str) {
    // The number of a change never comes twice, so it marks what this list shows.
    let generation = objects.sequence() + 1;
    for object in listed {
        objects.put(object, generation);
    }
    let gone: Vec<_> = objects.unseen(generation).map(|object| object.key().clone()).collect();
    for key in gone {
        objects.remove(&key);
    }
    objects.set_resource_version(resource_version);
}

fn follow(objects: &mut Objects, object: &Object) {
    if !object.resource_version().is_empty() {
        objects.set_resource_version(object.resource_version());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{key, object, shown};
    use wharf_core::Gvk;

    fn list(local: &LocalStore) -> Vec<String> {
        shown(&local.store().list(None))
    }

    /// Puts a label in; refuses the objects named `bad`.
    fn labelling() -> LocalStore {
        LocalStore::with_transformer(Arc::new(|object| {
            if object.key().name.starts_with("bad") {
                return Err(TransformError("no name for an object".into()));
            }
            let text = object.json().replace(r#""labels":{}"#, r#""labels":{"seen":"yes"}"#);
            Object::parse(&text, &Gvk::new("", "v1", "C")).map(Arc::new).map_err(|error| TransformError(error.to_string().into()))
        }))
    }

    fn labels(object: &Object) -> usize {
        object.labels().len()
    }

    #[test]
    fn cs1_crud_of_a_local_store() {
        let local = LocalStore::new();
        assert_eq!(local.put(object("a", "1", "1")).unwrap(), None);
        local.put(object("a", "2", "1")).unwrap();
        assert_eq!(local.put(object("a", "1", "2")).unwrap().unwrap().resource_version(), "1");
        assert_eq!(local.store().get(&key("a/1")).unwrap().resource_version(), "2");
        assert_eq!(local.remove(&key("a/2")).unwrap().resource_version(), "1");
        assert!(local.remove(&key("a/2")).is_none());
        local.replace(vec![object("b", "2", "5"), object("a", "1", "3"), object("b", "2", "6")], "9").unwrap();
        assert_eq!(list(&local), ["a/1:3", "b/2:6"]);
        local.replace(vec![object("b", "2", "6")], "10").unwrap();
        assert_eq!(list(&local), ["b/2:6"]);
        local.replace(Vec::new(), "11").unwrap();
        assert!(local.store().is_empty());
        assert_eq!(local.store().bytes(), 0);
    }

    #[test]
    fn cs2_the_transformer_runs_on_each_way_in() {
        let local = labelling();
        local.put(object("a", "1", "1")).unwrap();
        local.put(object("a", "1", "2")).unwrap();
        local.transact(vec![Write::Put(object("a", "2", "1"))]).unwrap();
        assert_eq!(local.store().list(None).iter().map(|object| labels(object)).collect::<Vec<_>>(), [1, 1]);
        local.replace(vec![object("b", "1", "5")], "9").unwrap();
        assert_eq!(labels(&local.store().get(&key("b/1")).unwrap()), 1);
    }

    #[test]
    fn cs2_a_failed_transformer_keeps_what_was_there() {
        let local = labelling();
        local.put(object("a", "1", "1")).unwrap();
        let error = local.put(object("a", "bad", "2")).unwrap_err();
        assert_eq!(error.to_string(), "a/bad was not stored: its transformer failed: no name for an object");
        let error = local.replace(vec![object("a", "2", "3"), object("a", "bad", "3")], "9").unwrap_err();
        assert_eq!(error.key, key("a/bad"));
        assert_eq!((list(&local), &*local.store().resource_version()), (vec!["a/1:1".to_owned()], "1"));
    }

    #[test]
    fn cs5_each_write_moves_the_resource_version() {
        let local = LocalStore::new();
        let rv = || local.store().resource_version().to_string();
        assert_eq!(rv(), "");
        local.put(object("a", "1", "10")).unwrap();
        local.put(object("a", "3", "10")).unwrap();
        assert_eq!(rv(), "10");
        local.put(object("a", "4", "20")).unwrap();
        assert_eq!(rv(), "20");
        local.remove_final(&object("a", "4", "30"));
        assert_eq!(rv(), "30");
        local.put(object("a", "5", "")).unwrap();
        assert_eq!(rv(), "30", "an object without one does not move it");
        local.put(object("a", "6", "40")).unwrap();
        local.remove(&key("a/6"));
        assert_eq!(rv(), "40", "a removal by key does not move it");
        let writes = [("9", "40"), ("10", "30"), ("11", "50")].map(|(name, rv)| Write::Put(object("a", name, rv)));
        local.transact(writes.into()).unwrap();
        assert_eq!(rv(), "50");
        local.transact(vec![Write::Remove(key("a/9")), Write::RemoveFinal(object("a", "10", "60"))]).unwrap();
        assert_eq!(rv(), "60");
        local.bookmark("70");
        assert_eq!(rv(), "70");
        local.replace(vec![object("a", "3", "40"), object("a", "2", "30")], "80").unwrap();
        assert_eq!(rv(), "80");
    }

    #[test]
    fn cs6_a_transaction_names_what_failed_and_applies_the_rest() {
        let local = labelling();
        local.put(object("a", "old", "1")).unwrap();
        let error = local
            .transact(vec![
                Write::Put(object("a", "1", "1")),
                Write::Put(object("a", "bad1", "1")),
                Write::Remove(key("a/old")),
                Write::Put(object("a", "bad2", "1")),
                Write::Remove(key("a/none")),
                Write::Put(object("a", "2", "1")),
            ])
            .unwrap_err();
        assert_eq!(error.succeeded, [0, 2, 4, 5]);
        assert_eq!(
            error.failed.iter().map(|(place, error)| (*place, error.key.to_string())).collect::<Vec<_>>(),
            [(1, "a/bad1".to_owned()), (3, "a/bad2".to_owned())]
        );
        assert!(error.to_string().starts_with("2 of 6 writes failed; the first is number 1: a/bad1 was not stored"), "{error}");
        assert_eq!(list(&local), ["a/1:1", "a/2:1"]);
    }

    #[test]
    fn cs6_writes_of_one_transaction_apply_in_order() {
        let local = LocalStore::new();
        let writes = vec![Write::Put(object("a", "1", "1")), Write::Remove(key("a/1")), Write::Put(object("a", "1", "2"))];
        local.transact(writes).unwrap();
        assert_eq!(list(&local), ["a/1:2"]);
        local.transact(vec![Write::Put(object("a", "1", "3")), Write::RemoveFinal(object("a", "1", "4"))]).unwrap();
        assert!(list(&local).is_empty());
    }
}
