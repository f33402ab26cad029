//! The deltas of each key, the order of the keys, and what is in work. Owns these and their
//! size in bytes; never locks, waits, wakes or reads a clock.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::delta::Delta;
use super::fifo::{Full, KnownObjects};
use super::items::{Counted, Evicted, Items, Place, Queued, costs, counted, tombstone};
use crate::Key;
use crate::delay::{Delayed, deadline};

/// The sets of one queue. A key is in `items` while it has deltas that nobody works on.
pub(super) struct State<K, T> {
    items: Items<K, T>,
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
    pub(super) initial: usize,
    pub(super) epoch: u64,
}

impl<K: Key, T: Clone> State<K, T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            items: Items::new(),
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
            self.items.set_place(&key, place);
        }
    }

    /// Queues a change that is none of a list.
    pub(super) fn change(&mut self, key: K, delta: Counted<T>) -> Result<(), Full<K>> {
        self.populated = true;
        self.reserve([(&key, delta.cost)].into_iter(), true)?;
        self.push(key, delta);
        Ok(())
    }

    /// Queues a change that is none of a list. Where there is no room for it, the keys that have the
    /// most lose theirs, until there is; where what is in work leaves none, the change is dropped itself.
    pub(super) fn change_evicting(&mut self, key: K, delta: Counted<T>) -> Result<Vec<Evicted<K, T>>, Full<K>> {
        self.populated = true;
        let in_work = self.bytes - self.items.bytes();
        if !self.overflowed && delta.cost > self.limit.saturating_sub(in_work) {
            return Ok(vec![Evicted::new(key, VecDeque::from([delta]))]);
        }
        let mut evicted = Vec::new();
        while !self.overflowed
            && delta.cost > self.limit.saturating_sub(self.bytes)
            && let Some(largest) = self.items.largest().cloned()
        {
            evicted.extend(self.evict(&largest));
        }
        self.change(key, delta)?;
        Ok(evicted)
    }

    /// Drops what is queued of a key.
    pub(super) fn evict(&mut self, key: &K) -> Option<Evicted<K, T>> {
        let queued = self.items.take(key)?;
        match queued.place {
            Place::Ready(place) => drop(self.ready.remove(&place)),
            Place::Waiting(due) => self.delayed.remove(due),
        }
        self.initial_queued = self.initial_queued.saturating_sub(1);
        self.bytes -= queued.bytes;
        Some(Evicted::new(key.clone(), queued.deltas))
    }

    /// Queues a deletion, unless nobody knows the key.
    pub(super) fn delete(&mut self, key: K, delta: Counted<T>, known: Option<&dyn KnownObjects<K, T>>) -> Result<(), Full<K>> {
        self.populated = true;
        let present = match self.working.get(&key) {
            _ if self.items.contains(&key) => true,
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
        let idle = known.keys().into_iter().filter(|key| !self.items.contains(key) && !self.working.contains_key(key));
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

    /// The oldest delta of one key, before its turn. `None` also if it is in work or waits for a retry.
    pub(super) fn take_oldest(&mut self, key: &K) -> Option<Taken<K, T>> {
        if self.working.contains_key(key) || !matches!(self.items.place(key)?, Place::Ready(_)) {
            return None;
        }
        let (oldest, last) = self.items.take_oldest(key)?;
        let in_initial_list = self.in_initial_list();
        let initial = last.is_some_and(|place| self.left(place));
        Some(self.begin(key.clone(), VecDeque::from([oldest]), in_initial_list, initial))
    }

    /// The next delta for a key in work that has none left. Also whether it was the last of a key of
    /// the first full list.
    pub(super) fn take_next(&mut self, key: &K) -> Option<(Counted<T>, bool, u64)> {
        let (oldest, last) = self.items.take_oldest(key)?;
        let initial = last.is_some_and(|place| self.left(place));
        if let Some(working) = self.working.get_mut(key) {
            working.newest = present(&oldest.delta);
        }
        Some((oldest, initial, self.epoch))
    }

    fn take_at(&mut self, place: u64) -> Option<Taken<K, T>> {
        let key = self.ready.get(&place)?.clone();
        let deltas = self.items.take(&key)?.deltas;
        let in_initial_list = self.in_initial_list();
        let initial = self.left(Place::Ready(place));
        Some(self.begin(key, deltas, in_initial_list, initial))
    }

    fn begin(&mut self, key: K, deltas: VecDeque<Counted<T>>, in_initial_list: bool, initial: bool) -> Taken<K, T> {
        let newest = deltas.back().and_then(|last| present(&last.delta));
        self.places += 1;
        self.working.insert(key.clone(), Working { newest, order: self.places });
        Taken { key, deltas, in_initial_list, initial: usize::from(initial), epoch: self.epoch }
    }

    fn in_initial_list(&self) -> bool {
        !self.populated || self.initial_queued > 0
    }

    /// A key goes into work with the last that was queued of it. Is it one of the first full list?
    fn left(&mut self, place: Place) -> bool {
        if let Place::Ready(place) = place {
            self.ready.remove(&place);
        }
        let initial = self.initial_queued > 0;
        self.initial_queued -= usize::from(initial);
        self.initial_working += usize::from(initial);
        initial
    }

    /// A delta is done with, or dropped.
    pub(super) fn free(&mut self, cost: usize) {
        self.bytes -= cost;
    }

    /// Ends the work on a key; what is left of its deltas comes again, before newer ones.
    pub(super) fn release(&mut self, taken: Taken<K, T>, delay: Duration, now: Instant) {
        let Taken { key, deltas, initial, epoch, .. } = taken;
        self.working.remove(&key);
        self.initial_working -= initial;
        if epoch != self.epoch || (self.closed && !delay.is_zero()) {
            return self.bytes -= costs(&deltas);
        }
        if deltas.is_empty() {
            return;
        }
        match self.items.prepend(&key, deltas) {
            Ok(dropped) => self.bytes -= dropped,
            Err(deltas) => {
                let place = self.place(key.clone());
                self.items.put(key.clone(), place, deltas);
            }
        }
        if !delay.is_zero() {
            if let Some(Place::Ready(place)) = self.items.place(&key) {
                self.ready.remove(&place);
            }
            let due = self.delayed.insert(deadline(now, delay), key.clone());
            self.items.set_place(&key, Place::Waiting(due));
        }
    }

    /// Takes no change any more, and drops what waits for a retry. Returns the dropped deltas.
    pub(super) fn close(&mut self) -> usize {
        self.closed = true;
        self.delayed.clear();
        let waits = |(key, queued): (&K, &Queued<T>)| matches!(queued.place, Place::Waiting(_)).then(|| key.clone());
        let waiting: Vec<K> = self.items.iter().filter_map(waits).collect();
        let mut dropped = 0;
        for queued in waiting.iter().filter_map(|key| self.items.take(key)) {
            dropped += queued.deltas.len();
            self.bytes -= queued.bytes;
        }
        dropped
    }

    /// Forgets everything but what is in work, and that it ever was full. Returns the
    /// dropped deltas.
    pub(super) fn clear(&mut self) -> usize {
        self.bytes -= self.items.bytes();
        let dropped = self.items.clear();
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
        let idle = |key: &K| !listed.contains(key) && !self.items.contains(key);
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
        self.bytes += delta.cost;
        match self.items.append(&key, delta) {
            Ok(dropped) => self.bytes -= dropped,
            Err(delta) => {
                let place = self.place(key.clone());
                self.items.put(key, place, VecDeque::from([delta]));
            }
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

/// The object after a delta; `None` if that is a deletion.
fn present<T: Clone>(delta: &Delta<T>) -> Option<T> {
    delta.object().filter(|_| !delta.is_deleted()).cloned()
}
