//! From deltas to a store and its handler. Owns what counts as an addition and what as an
//! update, which the store decides and not the kind of the delta; never keeps an object.

use super::delta::{Deletion, Delta};

/// Where [`apply_deltas`] keeps objects.
pub trait DeltaStore<K, T> {
    /// Puts an object in; returns the one that was there.
    fn put(&mut self, key: &K, object: &T) -> Option<T>;
    /// Takes an object out.
    fn remove(&mut self, key: &K);
}

/// What a delta did to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied<'a, T> {
    /// The key had no object.
    Added(&'a T),
    /// The key had one. Both may be equal (after a resync), or different objects of one key.
    Updated {
        /// What the store had.
        old: T,
        /// What it has now.
        new: &'a T,
    },
    /// The object is gone, or was not there.
    Deleted(&'a Deletion<T>),
}

/// Puts one key's deltas into a store, oldest first, and tells of each when the store has it:
/// client-go's `processDeltas`.
pub fn apply_deltas<'a, K, T: 'a>(
    key: &K,
    deltas: impl IntoIterator<Item = &'a Delta<T>>,
    store: &mut impl DeltaStore<K, T>,
    mut tell: impl FnMut(Applied<'a, T>),
) {
    for delta in deltas {
        match delta {
            Delta::Added(new) | Delta::Updated(new) | Delta::Replaced(new) | Delta::Sync(new) => tell(match store.put(key, new) {
                Some(old) => Applied::Updated { old, new },
                None => Applied::Added(new),
            }),
            Delta::Deleted(deletion) => {
                store.remove(key);
                tell(Applied::Deleted(deletion));
            }
        }
    }
}
