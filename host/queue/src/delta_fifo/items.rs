//! The deltas that are queued for each key, and which key has the most bytes of them. Owns their
//! sizes; never knows whose turn it is, nor what is in work.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::size_of;

use super::delta::{Deletion, Delta, Keep, merge};
use crate::Key;
use crate::delay::Due;

/// Bytes that each delta counts in addition to the size of its object, so that objects that
/// claim to have none cannot fill the memory.
pub const DELTA_OVERHEAD: usize = 64;

/// A delta and what it counts.
#[derive(Debug)]
pub(super) struct Counted<T> {
    pub(super) delta: Delta<T>,
    pub(super) cost: usize,
}

/// The queued deltas of one key; at least one.
pub(super) struct Queued<T> {
    pub(super) deltas: VecDeque<Counted<T>>,
    pub(super) place: Place,
    pub(super) bytes: usize,
    /// Tells it from others that have as many bytes.
    number: u64,
}

/// Where a key waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Ready(u64),
    Waiting(Due),
}

/// All keys that have queued deltas. Every change costs the logarithm of their number.
pub(super) struct Items<K, T> {
    keys: HashMap<K, Queued<T>>,
    by_size: BTreeMap<(usize, u64), K>,
    bytes: usize,
    numbers: u64,
}

/// The deltas of a key that were dropped while they were queued.
#[derive(Debug)]
pub struct Evicted<K, T> {
    key: K,
    deltas: VecDeque<Counted<T>>,
}

impl<K, T> Evicted<K, T> {
    pub(super) fn new(key: K, deltas: VecDeque<Counted<T>>) -> Self {
        Self { key, deltas }
    }

    /// Whose they were.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The deltas, the oldest first.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = &Delta<T>> {
        self.deltas.iter().map(|counted| &counted.delta)
    }
}

impl<K: Key, T> Items<K, T> {
    pub(super) fn new() -> Self {
        Self { keys: HashMap::new(), by_size: BTreeMap::new(), bytes: 0, numbers: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Of all keys together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn contains(&self, key: &K) -> bool {
        self.keys.contains_key(key)
    }

    pub(super) fn place(&self, key: &K) -> Option<Place> {
        self.keys.get(key).map(|queued| queued.place)
    }

    pub(super) fn set_place(&mut self, key: &K, place: Place) {
        if let Some(queued) = self.keys.get_mut(key) {
            queued.place = place;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &Queued<T>)> {
        self.keys.iter()
    }

    /// The key that has the most bytes; of several the one that was queued last.
    pub(super) fn largest(&self) -> Option<&K> {
        self.by_size.last_key_value().map(|(_, key)| key)
    }

    /// Queues a key that is not queued.
    pub(super) fn put(&mut self, key: K, place: Place, deltas: VecDeque<Counted<T>>) {
        self.numbers += 1;
        let queued = Queued { bytes: costs(&deltas), deltas, place, number: self.numbers };
        self.bytes += queued.bytes;
        self.by_size.insert((queued.bytes, queued.number), key.clone());
        self.keys.insert(key, queued);
    }

    /// Takes all of a key.
    pub(super) fn take(&mut self, key: &K) -> Option<Queued<T>> {
        let queued = self.keys.remove(key)?;
        self.by_size.remove(&(queued.bytes, queued.number));
        self.bytes -= queued.bytes;
        Some(queued)
    }

    /// Takes the oldest delta of a key. With the key's place if none is left.
    pub(super) fn take_oldest(&mut self, key: &K) -> Option<(Counted<T>, Option<Place>)> {
        let queued = self.keys.get_mut(key)?;
        if queued.deltas.len() < 2 {
            let mut queued = self.take(key)?;
            return Some((queued.deltas.pop_front()?, Some(queued.place)));
        }
        let oldest = queued.deltas.pop_front()?;
        let (from, number) = (queued.bytes, queued.number);
        queued.bytes -= oldest.cost;
        let to = queued.bytes;
        self.resized(number, from, to);
        Some((oldest, None))
    }

    /// Puts a delta behind the others of its key, if it has any; else gives it back. Returns the
    /// bytes that were dropped for it.
    pub(super) fn append(&mut self, key: &K, delta: Counted<T>) -> Result<usize, Counted<T>> {
        let Some(queued) = self.keys.get_mut(key) else { return Err(delta) };
        let (from, number) = (queued.bytes, queued.number);
        queued.bytes += delta.cost;
        let dropped = append(&mut queued.deltas, delta);
        queued.bytes -= dropped;
        let to = queued.bytes;
        self.resized(number, from, to);
        Ok(dropped)
    }

    /// Puts deltas before the others of their key, if it has any; else gives them back. Returns the
    /// bytes that were dropped for it.
    pub(super) fn prepend(&mut self, key: &K, deltas: VecDeque<Counted<T>>) -> Result<usize, VecDeque<Counted<T>>> {
        let Some(queued) = self.keys.get_mut(key) else { return Err(deltas) };
        let (from, number) = (queued.bytes, queued.number);
        queued.bytes += costs(&deltas);
        let (all, dropped) = joined(deltas, std::mem::take(&mut queued.deltas));
        queued.deltas = all;
        queued.bytes -= dropped;
        let to = queued.bytes;
        self.resized(number, from, to);
        Ok(dropped)
    }

    /// Drops all of all keys. Returns how many deltas that were.
    pub(super) fn clear(&mut self) -> usize {
        let dropped = self.keys.values().map(|queued| queued.deltas.len()).sum();
        self.keys.clear();
        self.by_size.clear();
        self.bytes = 0;
        dropped
    }

    fn resized(&mut self, number: u64, from: usize, to: usize) {
        if from != to
            && let Some(key) = self.by_size.remove(&(from, number))
        {
            self.by_size.insert((to, number), key);
        }
        self.bytes = self.bytes - from + to;
    }
}

/// What deltas count.
pub(super) fn costs<T>(deltas: &VecDeque<Counted<T>>) -> usize {
    deltas.iter().map(|counted| counted.cost).sum()
}

/// Puts a delta behind others; of two deletions in a row one is dropped. Returns its bytes.
fn append<T>(deltas: &mut VecDeque<Counted<T>>, delta: Counted<T>) -> usize {
    let Some(last) = deltas.back_mut() else {
        deltas.push_back(delta);
        return 0;
    };
    match merge(&last.delta, &delta.delta) {
        None => {
            deltas.push_back(delta);
            0
        }
        Some(Keep::Earlier) => delta.cost,
        Some(Keep::Later) => std::mem::replace(last, delta).cost,
    }
}

/// Puts deltas before later ones of the same key, by moving those that are fewer. Returns also the
/// bytes that were dropped where the two meet.
fn joined<T>(mut earlier: VecDeque<Counted<T>>, mut later: VecDeque<Counted<T>>) -> (VecDeque<Counted<T>>, usize) {
    let Some(first) = later.pop_front() else { return (earlier, 0) };
    let dropped = append(&mut earlier, first);
    if earlier.len() > later.len() {
        earlier.append(&mut later);
        return (earlier, dropped);
    }
    while let Some(delta) = earlier.pop_back() {
        later.push_front(delta);
    }
    (later, dropped)
}

pub(super) fn counted<T>(delta: Delta<T>, size: &dyn Fn(&T) -> usize) -> Counted<T> {
    // The memory of the delta itself is part of the overhead, unless objects are kept in it.
    let own = DELTA_OVERHEAD.max(size_of::<Counted<T>>());
    let cost = delta.object().map_or(0, size).saturating_add(own);
    Counted { delta, cost }
}

pub(super) fn tombstone<T>(last: Option<T>, size: &dyn Fn(&T) -> usize) -> Counted<T> {
    counted(Delta::Deleted(Deletion::FinalStateUnknown(last)), size)
}
