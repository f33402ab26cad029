//! The deltas of each key, the order of the keys, and what is in work. Owns these and their
//! size in bytes; never locks, waits, wakes or reads a clock.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::mem::size_of;
use std::time::Duration;

use tokio::time::Instant;

use super::delta::{Deletion, Delta, Keep, merge};
use super::fifo::{Full, KnownObjects};
use crate::Key;
use crate::delay::{Delayed, deadline};

/// Bytes that each delta counts in addition to the size of its object, so that objects that
/// claim to have none cannot fill the memory.
pub const DELTA_OVERHEAD: usize = 64;

/// A delta and what it counts.
#[derive(Debug)]
pub(super) struct Counted<T> {
    pub(super) delta: Delta<T>,
    pub(super) cost: usize,
}

/// The sets of one queue. A key is in `items` while it has deltas that nobody works on.
pub(super) struct State<K, T> {
    items: HashMap<K, Queued<T>>,
    /// The keys to hand out, in the order in which they were first queued. It may have keys
    /// in work, which are passed over.
    ready: BTreeMap<u64, K>,
    /// The keys that wait for their retry.
    delayed: Delayed<K>,
    working: HashMap<K, Working<T>>,
    places: u64,
    bytes: usize,
    limit: usize,
    overflowed: bool,
    closed: bool,
    populated: bool,
    /// What is left of the first full list: queued, and in work.
    initial_queued: usize,
    initial_working: usize,
    /// Counts the calls of `clear`.
    epoch: u64,
}

struct Queued<T> {
    deltas: VecDeque<Counted<T>>,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Ready(u64),
    Waiting,
}

/// A key in work.
struct Working<T> {
    /// The object of its newest delta; `None` if that is a deletion: the key is as good as gone.
    newest: Option<T>,
    /// In which order keys were taken.
    order: u64,
}

/// What a worker takes.
#[derive(Debug)]
pub(super) struct Taken<K, T> {
    pub(super) key: K,
    pub(super) deltas: VecDeque<Counted<T>>,
    pub(super) in_initial_list: bool,
    pub(super) initial: bool,
    pub(super) epoch: u64,
}

impl<K: Key, T: Clone> State<K, T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            items: HashMap::new(),
            ready: BTreeMap::new(),
            delayed: Delayed::new(),
            working: HashMap::new(),
            places: 0,
            bytes: 0,
            limit,
            overflowed: false,
            closed: false,
            populated: false,
            initial_queued: 0,
            initial_working: 0,
            epoch: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    pub(super) fn closed(&self) -> bool {
        self.closed
    }

    pub(super) fn has_synced(&self) -> bool {
        self.populated && self.initial_queued == 0 && self.initial_working == 0
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.next()
    }

    pub(super) fn finished(&self) -> bool {
        self.closed && self.items.is_empty()
    }

    pub(super) fn is_available(&self) -> bool {
        self.first_ready().is_some()
    }

    /// The keys that have deltas, in the order in which they would be handed out.
    pub(super) fn keys(&self) -> Vec<K> {
        self.ready.values().cloned().collect()
    }

    /// Makes ready what is due.
    pub(super) fn promote(&mut self, now: Instant) {
        while let Some((_, key)) = self.delayed.pop(now) {
            let place = self.place(key.clone());
            if let Some(queued) = self.items.get_mut(&key) {
                queued.place = place;
            }
        }
    }

    /// Queues a change that is none of a list.
    pub(super) fn change(&mut self, key: K, delta: Counted<T>) -> Result<(), Full<K>> {
        self.populated = true;
        self.reserve([(&key, delta.cost)].into_iter(), true)?;
        self.push(key, delta);
        Ok(())
    }

    /// Queues a deletion, unless nobody knows the key.
    pub(super) fn delete(&mut self, key: K, delta: Counted<T>, known: Option<&dyn KnownObjects<K, T>>) -> Result<(), Full<K>> {
        self.populated = true;
        let present = match self.working.get(&key) {
            _ if self.items.contains_key(&key) => true,
            Some(working) => working.newest.is_some(),
            None => known.is_some_and(|known| known.get(&key).is_some()),
        };
        if present { self.change(key, delta) } else { Ok(()) }
    }

    /// Queues a full list, and tombstones for what it does not have; all of it or nothing.
    pub(super) fn replace(
        &mut self,
        listed: Vec<(K, Counted<T>)>,
        known: Option<&dyn KnownObjects<K, T>>,
        size: &dyn Fn(&T) -> usize,
    ) -> Result<(), Full<K>> {
        let keys: HashSet<&K> = listed.iter().map(|(key, _)| key).collect();
        let gone = self.missing(&keys, known);
        let gone: Vec<_> = gone.into_iter().map(|(key, last)| (key, tombstone(last, size))).collect();
        let first_list = keys.len() + gone.len();
        drop(keys);
        self.reserve(listed.iter().chain(&gone).map(|(key, delta)| (key, delta.cost)), true)?;
        for (key, delta) in listed.into_iter().chain(gone) {
            self.push(key, delta);
        }
        if !self.populated {
            self.populated = true;
            self.initial_queued = first_list;
        }
        Ok(())
    }

    /// Queues a `Sync` for each known key that has nothing queued and is not in work.
    pub(super) fn resync(&mut self, known: &dyn KnownObjects<K, T>, size: &dyn Fn(&T) -> usize) -> Result<(), Full<K>> {
        let idle = known.keys().into_iter().filter(|key| !self.items.contains_key(key) && !self.working.contains_key(key));
        let found = idle.filter_map(|key| known.get(&key).map(|object| (key, counted(Delta::Sync(object), size))));
        let found: Vec<_> = found.collect();
        self.reserve(found.iter().map(|(key, delta)| (key, delta.cost)), false)?;
        for (key, delta) in found {
            self.push(key, delta);
        }
        Ok(())
    }

    /// All deltas of the first key that is not in work.
    pub(super) fn take(&mut self) -> Option<Taken<K, T>> {
        let place = self.first_ready()?;
        self.take_at(place)
    }

    /// All deltas of one key, before its turn. `None` also if it is in work or waits for a retry.
    pub(super) fn take_key(&mut self, key: &K) -> Option<Taken<K, T>> {
        if self.working.contains_key(key) {
            return None;
        }
        let Place::Ready(place) = self.items.get(key)?.place else { return None };
        self.take_at(place)
    }

    fn take_at(&mut self, place: u64) -> Option<Taken<K, T>> {
        let key = self.ready.remove(&place)?;
        let deltas = self.items.remove(&key)?.deltas;
        let in_initial_list = !self.populated || self.initial_queued > 0;
        let initial = self.initial_queued > 0;
        if initial {
            self.initial_queued -= 1;
            self.initial_working += 1;
        }
        let newest = deltas.back().filter(|last| !last.delta.is_deleted()).and_then(|last| last.delta.object().cloned());
        self.places += 1;
        self.working.insert(key.clone(), Working { newest, order: self.places });
        Some(Taken { key, deltas, in_initial_list, initial, epoch: self.epoch })
    }

    /// A delta is done with, or dropped.
    pub(super) fn free(&mut self, cost: usize) {
        self.bytes -= cost;
    }

    /// Ends the work on a key; what is left of its deltas comes again, before newer ones.
    pub(super) fn release(&mut self, taken: Taken<K, T>, delay: Duration, now: Instant) {
        let Taken { key, mut deltas, initial, epoch, .. } = taken;
        self.working.remove(&key);
        self.initial_working -= usize::from(initial);
        if epoch != self.epoch || (self.closed && !delay.is_zero()) {
            self.bytes -= deltas.drain(..).map(|delta| delta.cost).sum::<usize>();
        }
        if deltas.is_empty() {
            return;
        }
        let newer = self.items.remove(&key);
        let mut place = newer.as_ref().map(|queued| queued.place);
        for delta in newer.into_iter().flat_map(|queued| queued.deltas) {
            self.append(&mut deltas, delta);
        }
        if !delay.is_zero() {
            if let Some(Place::Ready(place)) = place {
                self.ready.remove(&place);
            }
            self.delayed.insert(deadline(now, delay), key.clone());
            place = Some(Place::Waiting);
        }
        let place = place.unwrap_or_else(|| self.place(key.clone()));
        self.items.insert(key, Queued { deltas, place });
    }

    /// Takes no change any more, and drops what waits for a retry. Returns the dropped deltas.
    pub(super) fn close(&mut self) -> usize {
        self.closed = true;
        self.delayed.clear();
        let (mut dropped, mut freed) = (0, 0);
        self.items.retain(|_, queued| {
            let waits = matches!(queued.place, Place::Waiting);
            if waits {
                dropped += queued.deltas.len();
                freed += queued.deltas.iter().map(|delta| delta.cost).sum::<usize>();
            }
            !waits
        });
        self.bytes -= freed;
        dropped
    }

    /// Forgets everything but what is in work, and that it ever was full. Returns the
    /// dropped deltas.
    pub(super) fn clear(&mut self) -> usize {
        let dropped = self.items.values().map(|queued| queued.deltas.len()).sum();
        self.bytes -= self.items.values().flat_map(|queued| &queued.deltas).map(|delta| delta.cost).sum::<usize>();
        self.items.clear();
        self.ready.clear();
        self.delayed.clear();
        self.overflowed = false;
        self.populated = false;
        self.initial_queued = 0;
        self.epoch += 1;
        dropped
    }

    /// Keys that a full list does not have, with their latest objects: those in the queue,
    /// those in work, and then those that are known only.
    fn missing(&self, listed: &HashSet<&K>, known: Option<&dyn KnownObjects<K, T>>) -> Vec<(K, Option<T>)> {
        let queued = self.items.iter().filter(|(key, _)| !listed.contains(key));
        let mut missing: Vec<_> =
            queued.map(|(key, queued)| (key.clone(), queued.deltas.back().and_then(|last| last.delta.object().cloned()))).collect();
        let idle = |key: &K| !listed.contains(key) && !self.items.contains_key(key);
        let mut working: Vec<_> = self.working.iter().filter(|(key, working)| idle(key) && working.newest.is_some()).collect();
        working.sort_unstable_by_key(|(_, working)| working.order);
        missing.extend(working.into_iter().map(|(key, working)| (key.clone(), working.newest.clone())));
        let known = known.into_iter().flat_map(|known| known.keys().into_iter().map(move |key| (known, key)));
        let known = known.filter(|(_, key)| idle(key) && !self.working.contains_key(key));
        missing.extend(known.map(|(known, key)| {
            let last = known.get(&key);
            (key, last)
        }));
        missing
    }

    /// Is there room for all of these?
    fn reserve<'a>(&mut self, deltas: impl Iterator<Item = (&'a K, usize)>, overflows: bool) -> Result<(), Full<K>>
    where
        K: 'a,
    {
        let mut used = self.bytes;
        for (key, size) in deltas {
            if self.overflowed || size > self.limit.saturating_sub(used) {
                self.overflowed |= overflows;
                return Err(Full { key: key.clone(), size, used: self.bytes, limit: self.limit });
            }
            used += size;
        }
        Ok(())
    }

    fn push(&mut self, key: K, delta: Counted<T>) {
        if let Some(mut queued) = self.items.remove(&key) {
            self.bytes += delta.cost;
            self.append(&mut queued.deltas, delta);
            self.items.insert(key, queued);
            return;
        }
        self.bytes += delta.cost;
        let place = self.place(key.clone());
        self.items.insert(key, Queued { deltas: VecDeque::from([delta]), place });
    }

    /// Puts a delta behind others; of two deletions in a row one is dropped.
    fn append(&mut self, deltas: &mut VecDeque<Counted<T>>, delta: Counted<T>) {
        let Some(last) = deltas.back_mut() else { return deltas.push_back(delta) };
        match merge(&last.delta, &delta.delta) {
            None => deltas.push_back(delta),
            Some(Keep::Earlier) => self.bytes -= delta.cost,
            Some(Keep::Later) => self.bytes -= std::mem::replace(last, delta).cost,
        }
    }

    /// A place behind all others.
    fn place(&mut self, key: K) -> Place {
        self.places += 1;
        self.ready.insert(self.places, key);
        Place::Ready(self.places)
    }

    /// Passes over as many keys as are in work at most.
    fn first_ready(&self) -> Option<u64> {
        self.ready.iter().find(|(_, key)| !self.working.contains_key(key)).map(|(place, _)| *place)
    }
}

pub(super) fn counted<T>(delta: Delta<T>, size: &dyn Fn(&T) -> usize) -> Counted<T> {
    // The memory of the delta itself is part of the overhead, unless objects are kept in it.
    let own = DELTA_OVERHEAD.max(size_of::<Counted<T>>());
    let cost = delta.object().map_or(0, size).saturating_add(own);
    Counted { delta, cost }
}

fn tombstone<T>(last: Option<T>, size: &dyn Fn(&T) -> usize) -> Counted<T> {
    counted(Delta::Deleted(Deletion::FinalStateUnknown(last)), size)
}
