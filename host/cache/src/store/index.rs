//! Indexes of a store by name. Owns the sets of slots by value; never holds an object or
//! the name of one, so that an entry costs a few bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use wharf_core::Object;

/// What an object is found by.
pub type IndexValue = Box<str>;

/// Says by which values an object is found; several and none are allowed.
///
/// It must depend on the object alone: the values of an object that leaves are computed
/// again (so that nothing is kept per object), and must be those of its coming. It runs
/// under the store's lock and must neither block nor use the store.
pub type Indexer = Arc<dyn Fn(&Object) -> Result<Vec<IndexValue>, IndexError> + Send + Sync>;

/// The most values of one object in one index. More are a failure of the indexer, so that
/// one odd object cannot make an index larger than the objects themselves.
pub(super) const MAX_VALUES: usize = 1024;

/// Why an indexer has no values for an object.
///
/// client-go panics in this case, with the store locked. Here the failure is counted and
/// logged, and the object is not found through this index until it changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IndexError(pub Box<str>);

/// The store has an index of this name already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store has an index named {0:?} already; use that one or choose another name")]
pub struct IndexConflict(pub Box<str>);

/// The store has no index of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store has no index named {0:?}; add its indexer first")]
pub struct NoIndex(pub Box<str>);

/// The indexes of a store. As many as the host's code adds: no input makes one.
#[derive(Debug, Default)]
pub(super) struct Indexes(BTreeMap<Box<str>, Index>);

impl Indexes {
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(super) fn add(&mut self, index: Index) {
        self.0.insert(index.name.clone(), index);
    }

    pub(super) fn get(&self, name: &str) -> Result<&Index, NoIndex> {
        self.0.get(name).ok_or_else(|| NoIndex(name.into()))
    }

    pub(super) fn names(&self) -> Vec<Box<str>> {
        self.0.keys().cloned().collect()
    }

    /// Moves a slot from where its old object was to where its new one belongs.
    pub(super) fn refile(&mut self, slot: u32, old: Option<&Object>, new: Option<&Object>) {
        for index in self.0.values_mut() {
            index.refile(slot, old, new);
        }
    }
}

/// One index.
pub(super) struct Index {
    name: Box<str>,
    indexer: Indexer,
    /// No set is empty: values that come and go leave nothing behind.
    sets: BTreeMap<IndexValue, Set>,
    failures: u64,
}

impl Index {
    pub(super) fn new(name: &str, indexer: Indexer) -> Self {
        Self { name: name.into(), indexer, sets: BTreeMap::new(), failures: 0 }
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// The slots under a value.
    pub(super) fn slots(&self, value: &str) -> impl Iterator<Item = u32> {
        self.sets.get(value).into_iter().flat_map(Set::iter)
    }

    /// The slots under any of the values, each once.
    pub(super) fn slots_of_any(&self, values: &[IndexValue]) -> BTreeSet<u32> {
        values.iter().flat_map(|value| self.slots(value)).collect()
    }

    /// All values that have objects, sorted.
    pub(super) fn values(&self) -> Vec<IndexValue> {
        self.sets.keys().cloned().collect()
    }

    /// The values of an object, sorted, each once.
    pub(super) fn values_of(&self, object: &Object) -> Result<Vec<IndexValue>, IndexError> {
        let mut values = (self.indexer)(object)?;
        if values.len() > MAX_VALUES {
            return Err(IndexError(format!("{} values, at most {MAX_VALUES} are kept", values.len()).into()));
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    pub(super) fn refile(&mut self, slot: u32, old: Option<&Object>, new: Option<&Object>) {
        // A failure was counted when the object came.
        let before = old.and_then(|old| self.values_of(old).ok()).unwrap_or_default();
        let after = new.map(|new| self.values_or_failure(new)).unwrap_or_default();
        if before == after {
            return;
        }
        for value in before.iter().filter(|value| after.binary_search(value).is_err()) {
            if self.sets.get_mut(value).is_some_and(|set| set.remove(slot)) {
                self.sets.remove(value);
            }
        }
        for value in after {
            if before.binary_search(&value).is_err() {
                self.sets.entry(value).and_modify(|set| set.insert(slot)).or_insert(Set::One(slot));
            }
        }
    }

    fn values_or_failure(&mut self, object: &Object) -> Vec<IndexValue> {
        self.values_of(object).unwrap_or_else(|error| {
            self.failures += 1;
            // The 1st, 2nd, 4th, 8th …: an indexer that always fails must not fill the log.
            if self.failures.is_power_of_two() {
                let (index, key, failures) = (&self.name, object.key(), self.failures);
                tracing::warn!(%index, %key, %error, failures, "object is not indexed: the indexer failed");
            }
            Vec::new()
        })
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("name", &self.name).field("values", &self.sets.len()).finish_non_exhaustive()
    }
}

/// The slots under one value. Most values of a selective index have one object, and that
/// needs no memory of its own.
#[derive(Debug)]
enum Set {
    One(u32),
    Many(BTreeSet<u32>),
}

impl Set {
    fn insert(&mut self, slot: u32) {
        match self {
            Self::One(other) => *self = Self::Many(BTreeSet::from([*other, slot])),
            Self::Many(slots) => {
                slots.insert(slot);
            }
        }
    }

    /// True if the set is empty now.
    fn remove(&mut self, slot: u32) -> bool {
        match self {
            Self::One(other) => *other == slot,
            Self::Many(slots) => {
                slots.remove(&slot);
                slots.is_empty()
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Self::One(slot) => (Some(*slot), None),
            Self::Many(slots) => (None, Some(slots)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}

#[cfg(test)]
mod tests;
