//! What can be read like a store: a store itself, and what a registration sees of one. Owns
//! the reads that [`Lister`](super::Lister) and [`MutationCache`](super::MutationCache) stand on.

use std::sync::Arc;

use wharf_core::{Object, ObjectKey};

use super::index::{IndexError, IndexValue, NoIndex};
use super::raw::Store;

/// Reads of objects by key, namespace and index.
pub trait Reader: Send + Sync {
    /// The object of a key.
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>>;

    /// All objects, or those of one namespace; by namespace, then by name.
    fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>>;

    /// The objects that an index has under a value, in no particular order.
    ///
    /// # Errors
    /// When there is no such index.
    fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<Object>>, NoIndex>;

    /// The values that an index would file `object` under, sorted.
    ///
    /// # Errors
    /// When there is no such index.
    fn values_of(&self, index: &str, object: &Object) -> Result<Result<Vec<IndexValue>, IndexError>, NoIndex>;
}

impl Reader for Store {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        Self::get(self, key)
    }

    fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        Self::list(self, namespace)
    }

    fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<Object>>, NoIndex> {
        Self::by_index(self, index, value)
    }

    fn values_of(&self, index: &str, object: &Object) -> Result<Result<Vec<IndexValue>, IndexError>, NoIndex> {
        Self::values_of(self, index, object)
    }
}
