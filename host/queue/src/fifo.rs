//! The latest object of every key, oldest key first: client-go's `FIFO`. Owns the order of
//! the keys; never keeps an older object, and never tells of a deletion.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;

use crate::Key;

/// A queue of objects by key, after client-go's `FIFO`. Clones are the same queue.
///
/// A key is handed out once with the object that was put in last; a worker that is slow sees
/// no object in between. A deleted key is not handed out. To come back to an object after
/// a failure, put it in again with [`add_if_absent`](Self::add_if_absent), which gives way to
/// a newer one.
///
/// Differs from client-go: a deleted key that is added again goes to the end (there it may
/// still have its old place); a deleted key counts as handed out for [`has_synced`](Self::has_synced);
/// a closed queue takes nothing. Memory is bounded by the distinct keys that the caller adds.
pub struct Fifo<K, T> {
    shared: Arc<Shared<K, T>>,
}

struct Shared<K, T> {
    state: Mutex<State<K, T>>,
    available: Notify,
}

struct State<K, T> {
    items: HashMap<K, Item<T>>,
    order: BTreeMap<u64, K>,
    places: u64,
    populated: bool,
    /// Keys of the first full list that are still queued.
    initial: usize,
    closed: bool,
}

struct Item<T> {
    object: T,
    place: u64,
    /// Is it one of the keys of the first full list?
    initial: bool,
}

impl<K: Key, T> Fifo<K, T> {
    /// An empty queue.
    pub fn new() -> Self {
        let state = State { items: HashMap::new(), order: BTreeMap::new(), places: 0, populated: false, initial: 0, closed: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), available: Notify::new() }) }
    }

    /// Puts an object in, in the place of the one with this key if there is one. False if the
    /// queue is closed.
    pub fn add(&self, key: K, object: T) -> bool {
        self.change(|state| state.put(key, object, true))
    }

    /// Puts an object in unless its key is queued: the queued one is newer. False if the
    /// queue is closed.
    pub fn add_if_absent(&self, key: K, object: T) -> bool {
        self.change(|state| state.put(key, object, false))
    }

    /// Takes a key out; returns its object.
    pub fn delete(&self, key: &K) -> Option<T> {
        let mut state = self.shared.state.lock();
        state.populated = true;
        state.remove(key)
    }

    /// Makes the queue hold just these objects, in this order; what else was queued is not
    /// handed out. False if the queue is closed.
    pub fn replace(&self, objects: Vec<(K, T)>) -> bool {
        self.change(|state| state.replace(objects))
    }

    /// Waits for the oldest key. `None` means that the queue is closed and empty.
    ///
    /// Cancel safe: if the future is dropped before it returns, nothing was taken, and
    /// another worker that waits is woken in its place.
    pub async fn pop(&self) -> Option<(K, T)> {
        consume_budget().await;
        loop {
            let woken = self.shared.available.notified();
            if let Some(taken) = self.try_pop() {
                return Some(taken);
            }
            if self.shared.state.lock().finished() {
                return None;
            }
            woken.await;
        }
    }

    /// The oldest key if there is one now.
    pub fn try_pop(&self) -> Option<(K, T)> {
        let mut state = self.shared.state.lock();
        let taken = state.take();
        let more = !state.order.is_empty();
        drop(state);
        if more {
            self.shared.available.notify_one();
        }
        taken
    }

    /// Takes nothing any more. What is queued is still handed out, and then [`Self::pop`] ends.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.available.notify_waiters();
    }

    /// Was the queue filled, and has what was in it at first been handed out? True too if
    /// a change came before the first full list. A first list that is empty counts.
    pub fn has_synced(&self) -> bool {
        let state = self.shared.state.lock();
        state.populated && state.initial == 0
    }

    /// The queued keys, oldest first.
    pub fn keys(&self) -> Vec<K> {
        self.shared.state.lock().order.values().cloned().collect()
    }

    /// Number of queued keys.
    pub fn len(&self) -> usize {
        self.shared.state.lock().items.len()
    }

    /// Is no key queued?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes the queue if it is open.
    fn change(&self, act: impl FnOnce(&mut State<K, T>)) -> bool {
        let mut state = self.shared.state.lock();
        if state.closed {
            return false;
        }
        act(&mut state);
        drop(state);
        self.shared.available.notify_one();
        true
    }
}

impl<K: Key, T: Clone> Fifo<K, T> {
    /// The object that is queued for a key.
    pub fn get(&self, key: &K) -> Option<T> {
        self.shared.state.lock().items.get(key).map(|item| item.object.clone())
    }

    /// The queued objects, oldest key first.
    pub fn list(&self) -> Vec<T> {
        let state = self.shared.state.lock();
        state.order.values().filter_map(|key| state.items.get(key)).map(|item| item.object.clone()).collect()
    }
}

impl<K: Key, T> State<K, T> {
    fn put(&mut self, key: K, object: T, over: bool) {
        self.populated = true;
        match self.items.get_mut(&key) {
            Some(item) if over => item.object = object,
            Some(_) => {}
            None => self.push(key, object, false),
        }
    }

    fn push(&mut self, key: K, object: T, initial: bool) {
        self.places += 1;
        self.initial += usize::from(initial);
        self.order.insert(self.places, key.clone());
        self.items.insert(key, Item { object, place: self.places, initial });
    }

    fn remove(&mut self, key: &K) -> Option<T> {
        let item = self.items.remove(key)?;
        self.order.remove(&item.place);
        self.initial -= usize::from(item.initial);
        Some(item.object)
    }

    fn replace(&mut self, objects: Vec<(K, T)>) {
        // What is left of a first list that was replaced is not waited for.
        let initial = !std::mem::replace(&mut self.populated, true) || self.initial > 0;
        self.items.clear();
        self.order.clear();
        self.initial = 0;
        for (key, object) in objects {
            match self.items.get_mut(&key) {
                Some(item) => item.object = object,
                None => self.push(key, object, initial),
            }
        }
    }

    fn take(&mut self) -> Option<(K, T)> {
        let (_, key) = self.order.first_key_value()?;
        let key = key.clone();
        let object = self.remove(&key)?;
        Some((key, object))
    }

    fn finished(&self) -> bool {
        self.closed && self.items.is_empty()
    }
}

impl<K: Key, T> Default for Fifo<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, T> Clone for Fifo<K, T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K: Key, T> fmt::Debug for Fifo<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo").field("keys", &self.len()).finish_non_exhaustive()
    }
}
