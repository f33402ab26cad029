//! One's own writes, shown until the informer has them: client-go's `MutationCache`. Owns
//! which of two states is newer; never writes to the informer's store.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use wharf_core::{Object, ObjectKey};

use super::index::NoIndex;
use super::reader::Reader;
use crate::change::{Change, ChangeHandler};

/// How many own writes are remembered, as in client-go, and how many deletions beside them.
const REMEMBERED: usize = 100;

/// Reads of one's own writes: the answer is the newer of what the informer has and what
/// [`Self::mutated`] was last told, by integer resourceVersion.
///
/// It never promises to show an own write: at most 100 are remembered, the ones not used
/// for longest are forgotten first, and each only for a time. What it shows was true at some moment.
///
/// Attach it to the informer as a handler. It then forgets an own write when the informer
/// has that state or a newer one, or reports the object's deletion, and ignores a write
/// that is reported after the deletion of its object (client-go: `OnAddOrUpdate`, `OnDelete`).
/// Deletions are remembered apart from the writes, so that a wave of them pushes no own
/// write out; in client-go both share the 100 places.
pub struct MutationCache {
    objects: Arc<dyn Reader>,
    ttl: Duration,
    include_adds: bool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    writes: Recent<Arc<Object>>,
    /// The final states that the informer has reported.
    deleted: Recent<Arc<Object>>,
}

impl MutationCache {
    /// A cache over what a registration sees of an informer. Own writes are shown for at most `ttl`.
    ///
    /// With `include_adds` an own write is shown also where the store has no object. Such a
    /// read may show an object that was deleted before the informer saw it, until `ttl` is over.
    pub fn new(objects: Arc<dyn Reader>, ttl: Duration, include_adds: bool) -> Self {
        Self { objects, ttl, include_adds, inner: Mutex::default() }
    }

    /// The object of a key, as the informer or the own write has it.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        match self.objects.get(key) {
            Some(object) => Some(inner.newer(object, now)),
            None if self.include_adds => inner.writes.get(key, now).cloned(),
            None => None,
        }
    }

    /// The objects that an index of the store has under a value, each in its newer state;
    /// with `include_adds` also own writes with that value of keys that the index does not
    /// have. In no particular order.
    ///
    /// As in client-go, a newer state is shown under the value that the store's state has.
    ///
    /// # Errors
    /// When the store has no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<Object>>, NoIndex> {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        let found = self.objects.by_index(index, value)?;
        let mut all: Vec<_> = found.into_iter().map(|object| inner.newer(object, now)).collect();
        if self.include_adds {
            for written in inner.writes.all(now) {
                if all.iter().any(|object| object.key() == written.key()) {
                    continue;
                }
                // An object that cannot be indexed is found by no value, here as in the store.
                let values = self.objects.values_of(index, &written)?.unwrap_or_default();
                if values.iter().any(|other| **other == *value) {
                    all.push(written);
                }
            }
        }
        Ok(all)
    }

    /// Remembers the answer to an own write. An older state than the one that is remembered,
    /// and any state of an object that is known to be deleted, is ignored.
    pub fn mutated(&self, object: Arc<Object>) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        let key = object.key();
        if inner.writes.get(key, now).is_some_and(|known| older(&object, known)) {
            return;
        }
        if inner.deleted.get(key, now).is_some_and(|gone| gone.uid() == object.uid() || !newer(&object, gone)) {
            return;
        }
        inner.writes.put(object.key().clone(), object, now, self.ttl);
    }

    /// Own writes that are remembered.
    pub fn len(&self) -> usize {
        self.inner.lock().writes.all(Instant::now()).len()
    }

    /// Is none remembered?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ChangeHandler for MutationCache {
    fn on_change(&self, change: &Change<'_>) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        if let Some(object) = change.new {
            inner.newer(object.clone(), now);
        } else if let Some(last) = change.final_state {
            let known = inner.writes.get(change.key, now);
            let gone = known.is_none_or(|known| known.uid() == last.uid() || !newer(known, last));
            if gone {
                inner.writes.remove(change.key);
                inner.deleted.put(change.key.clone(), last.clone(), now, self.ttl);
            }
        }
    }
}

impl fmt::Debug for MutationCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutationCache").field("ttl", &self.ttl).field("writes", &self.len()).finish_non_exhaustive()
    }
}

impl Inner {
    /// The own write if it is newer than the informer's object. If not, it is of no use any more.
    fn newer(&mut self, object: Arc<Object>, now: Instant) -> Arc<Object> {
        match self.writes.get(object.key(), now) {
            Some(written) if newer(written, &object) => written.clone(),
            Some(_) => {
                self.writes.remove(object.key());
                object
            }
            None => object,
        }
    }
}

/// Is `a` known to be newer than `b`?
fn newer(a: &Object, b: &Object) -> bool {
    compare(a.resource_version(), b.resource_version()) == Some(Ordering::Greater)
}

/// Is `a` known to be older than `b`?
fn older(a: &Object, b: &Object) -> bool {
    compare(a.resource_version(), b.resource_version()) == Some(Ordering::Less)
}

/// The order of two resourceVersions, if both are integers. They may be of any length.
fn compare(a: &str, b: &str) -> Option<Ordering> {
    let integer = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !integer(a) || !integer(b) {
        return None;
    }
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    Some(a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

/// The values used last, each for a time. A full one is searched through for the place to
/// give up, which its size allows.
struct Recent<V> {
    entries: HashMap<ObjectKey, Kept<V>>,
    uses: u64,
}

struct Kept<V> {
    value: V,
    until: Instant,
    used: u64,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), uses: 0 }
    }
}

impl<V: Clone> Recent<V> {
    fn get(&mut self, key: &ObjectKey, now: Instant) -> Option<&V> {
        if self.entries.get(key).is_some_and(|kept| kept.until <= now) {
            self.entries.remove(key);
        }
        let kept = self.entries.get_mut(key)?;
        self.uses += 1;
        kept.used = self.uses;
        Some(&kept.value)
    }

    /// All values whose time is not over. This is no use of them.
    fn all(&self, now: Instant) -> Vec<V> {
        self.entries.values().filter(|kept| kept.until > now).map(|kept| kept.value.clone()).collect()
    }

    fn put(&mut self, key: ObjectKey, value: V, now: Instant, ttl: Duration) {
        if self.entries.len() >= REMEMBERED && !self.entries.contains_key(&key) {
            self.entries.retain(|_, kept| kept.until > now);
        }
        if self.entries.len() >= REMEMBERED && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone());
            oldest.map(|key| self.entries.remove(&key));
        }
        self.uses += 1;
        self.entries.insert(key, Kept { value, until: now + ttl, used: self.uses });
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.entries.remove(key);
    }
}

#[cfg(test)]
mod tests;
