//! What a registration sees of its informer's store. Owns the reads; never shows an object
//! outside of the registration's scope and selectors, whichever informer serves it.

use std::sync::Arc;

use wharf_core::ledger::Slot;
use wharf_core::{Object, ObjectKey};

use crate::filter::Filter;
use crate::seat::Seat;
use crate::shared::number;
use crate::store::{IndexConflict, IndexError, IndexValue, Indexer, NoIndex, Reader, Store};

/// The objects of a registration, for reading. It may be kept; after the informer has stopped
/// it stays as it was. Objects are immutable and shared; order is by namespace, then by name.
#[derive(Clone)]
pub struct View {
    seat: Arc<Seat>,
}

/// What a view says of one key, and of what its handler was told.
#[derive(Clone, Debug)]
pub struct Look {
    /// The object now, and where the store keeps it. Both are read in one step: a moment later
    /// another object may have the place.
    pub object: Option<(Arc<Object>, Slot)>,
    /// What the handler still has to hear about.
    pub pending: Pending,
}

/// Changes that a store already holds and a handler may not have been told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// None of this key.
    Nothing,
    /// The store's last change is of this key and has this number: who has heard of a lower
    /// number is about to be told.
    Since(u64),
    /// The registration is moving to another informer: what differs is being announced, and
    /// `on_recovered` follows.
    Move,
}

impl View {
    pub(crate) fn of(seat: Arc<Seat>) -> Self {
        Self { seat }
    }

    /// The object of a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let place = self.seat.place();
        place.shared.store.get(key).filter(|object| seen(place.filter.as_ref(), object))
    }

    /// The object of a key, and whether its handler was told of it.
    pub fn look(&self, key: &ObjectKey) -> Look {
        let place = self.seat.place();
        let found = place.shared.store.look(key);
        let object = found.object.filter(|object| seen(place.filter.as_ref(), object));
        let object = object.zip(found.slot.and_then(|index| place.shared.slot(index)));
        let pending = match found.changing {
            _ if place.moving => Pending::Move,
            Some(sequence) => Pending::Since(sequence),
            None => Pending::Nothing,
        };
        Look { object, pending }
    }

    /// All objects, or those of one namespace. Costs one `Arc` for each, and one match for each
    /// object of the namespace if a wider informer serves a selector.
    pub fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        self.after(namespace, None, usize::MAX)
    }

    /// The number that the slots of the present informer's store have; no other store has it. And
    /// whether the registration stays there, as far as is known: else it is just moving.
    pub fn array(&self) -> (u32, bool) {
        let place = self.seat.place();
        (place.shared.id, !place.moving)
    }

    /// Has the store seen all that the handler of another registration was told, as far as
    /// versions are numbers?
    pub fn has_seen(&self, other: &Self) -> bool {
        number(&self.resource_version()) >= other.seat.told()
    }

    /// The version up to which this registration's handler was told, where versions are numbers.
    pub fn told(&self) -> u64 {
        self.seat.told()
    }

    /// Has the store seen this version, as far as versions are numbers? See [`Self::told`].
    pub fn has_reached(&self, version: u64) -> bool {
        number(&self.resource_version()) >= version
    }

    /// All objects with their places, in no particular order. Costs a walk over the store, also
    /// where the registration sees little of it.
    pub fn slotted(&self) -> Vec<(Arc<Object>, Slot)> {
        let place = self.seat.place();
        let all = place.shared.store.slotted().into_iter();
        let seen = all.filter(|(_, object)| seen(place.filter.as_ref(), object));
        seen.filter_map(|(index, object)| Some((object, place.shared.slot(index)?))).collect()
    }

    /// At most `max` objects after a key, in the order of [`Self::list`]: for readers that go
    /// through a large store in steps.
    pub fn after(&self, namespace: Option<&str>, after: Option<&ObjectKey>, max: usize) -> Vec<Arc<Object>> {
        let place = self.seat.place();
        page(&place.shared.store, place.filter.as_ref(), namespace, after, max)
    }

    /// Indexes the objects under a name, also when there are some already. The index goes with the
    /// registration, whichever informer serves it. See [`Store::add_indexer`].
    ///
    /// # Errors
    /// When this registration has an index of that name.
    pub fn add_indexer(&self, name: &str, indexer: Indexer) -> Result<(), IndexConflict> {
        self.seat.add_indexer(name, indexer)
    }

    /// The keys that an index has under a value, sorted.
    ///
    /// # Errors
    /// When there is no such index.
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, NoIndex> {
        let mut keys: Vec<_> = self.by_index(index, value)?.iter().map(|object| object.key().clone()).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// Number of objects. Costs a walk if a wider informer serves the registration.
    pub fn len(&self) -> usize {
        let place = self.seat.place();
        match &place.filter {
            None => place.shared.store.len(),
            Some(filter) => page(&place.shared.store, Some(filter), None, None, usize::MAX).len(),
        }
    }

    /// Is there none? Costs what [`Self::len`] costs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The resourceVersion up to which the store follows the server; empty before the first
    /// full list. After a move it is the other informer's, which is never older.
    pub fn resource_version(&self) -> Box<str> {
        self.seat.place().shared.store.resource_version()
    }
}

impl Reader for View {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        Self::get(self, key)
    }

    fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        Self::list(self, namespace)
    }

    fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<Object>>, NoIndex> {
        let place = self.seat.place();
        let found = place.shared.store.by_index(&self.seat.index_name(index), value).map_err(|_| NoIndex(index.into()))?;
        Ok(found.into_iter().filter(|object| seen(place.filter.as_ref(), object)).collect())
    }

    fn values_of(&self, index: &str, object: &Object) -> Result<Result<Vec<IndexValue>, IndexError>, NoIndex> {
        let store = &self.seat.place().shared.store;
        store.values_of(&self.seat.index_name(index), object).map_err(|_| NoIndex(index.into()))
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("of", &self.seat.want).finish_non_exhaustive()
    }
}

/// Objects of a store as a filter shows them.
pub(crate) fn page(
    store: &Store,
    filter: Option<&Filter>,
    namespace: Option<&str>,
    after: Option<&ObjectKey>,
    max: usize,
) -> Vec<Arc<Object>> {
    let Some(filter) = filter else { return store.after(namespace, after, max) };
    let within = match (filter.namespace(), namespace) {
        (Some(own), Some(asked)) if own != asked => return Vec::new(),
        (Some(own), _) => Some(own),
        (None, asked) => asked,
    };
    // A kind outside of namespaces has no such index, and a namespace no effect.
    let within = within.filter(|_| namespace.is_some() || store.has_namespaces());
    let (mut found, mut last) = (Vec::new(), after.cloned());
    while found.len() < max {
        let objects = store.after(within, last.as_ref(), STEP);
        last = objects.last().map(|object| object.key().clone());
        let end = objects.len() < STEP;
        found.extend(objects.into_iter().filter(|object| filter.matches(object)));
        found.truncate(max);
        if end {
            break;
        }
    }
    found
}

/// Objects that are looked at under one lock of the store.
const STEP: usize = 1024;

fn seen(filter: Option<&Filter>, object: &Object) -> bool {
    filter.is_none_or(|filter| filter.matches(object))
}
