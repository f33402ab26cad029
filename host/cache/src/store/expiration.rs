//! A store whose objects expire: client-go's `ExpirationCache`. Owns when an object is too
//! old; never runs a timer, so what nobody reads stays until something is put in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use wharf_core::{Object, ObjectKey};

/// Says when an object has expired.
pub trait ExpirationPolicy: Send + Sync {
    /// Has an object expired that was put in (or put in again) so long ago? Runs under the
    /// store's lock.
    fn expired(&self, object: &Object, age: Duration) -> bool;
}

/// Objects expire when they are older than this; zero means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(pub Duration);

impl ExpirationPolicy for Ttl {
    fn expired(&self, _object: &Object, age: Duration) -> bool {
        !self.0.is_zero() && age > self.0
    }
}

/// Objects that are forgotten after a while. All methods look at tokio's clock.
///
/// As in client-go, expired objects leave when they are read, alone or in a list, and
/// putting an object in again starts its time anew. In addition, each put looks for expired
/// objects once the store has doubled since the last look, so that keys that are never
/// read again do not pile up; this costs O(1) per put on average.
pub struct ExpirationStore<P = Ttl> {
    policy: P,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: BTreeMap<ObjectKey, Entry>,
    /// Number of objects after the last look for expired ones.
    purged: usize,
}

struct Entry {
    object: Arc<Object>,
    put: Instant,
}

/// A store smaller than this is not searched for expired objects.
const PURGE_FROM: usize = 64;

impl ExpirationStore<Ttl> {
    /// Objects expire when they are older than `ttl`; zero means never.
    pub fn with_ttl(ttl: Duration) -> Self {
        Self::new(Ttl(ttl))
    }
}

impl<P: ExpirationPolicy> ExpirationStore<P> {
    /// A store with a policy of its own.
    pub fn new(policy: P) -> Self {
        Self { policy, inner: Mutex::default() }
    }

    /// Adds or replaces an object; its time starts now.
    pub fn put(&self, object: Arc<Object>) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        inner.entries.insert(object.key().clone(), Entry { object, put: now });
        if inner.entries.len() > PURGE_FROM.max(inner.purged * 2) {
            self.purge(&mut inner, now);
        }
    }

    /// Takes an object out; one that had expired counts as gone before.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let entry = self.inner.lock().entries.remove(key)?;
        (!self.expired(&entry, Instant::now())).then_some(entry.object)
    }

    /// Makes the store hold just these objects; their time starts now.
    pub fn replace(&self, objects: Vec<Arc<Object>>) {
        let put = Instant::now();
        let entries: BTreeMap<_, _> = objects.into_iter().map(|object| (object.key().clone(), Entry { object, put })).collect();
        let purged = entries.len();
        *self.inner.lock() = Inner { entries, purged };
    }

    /// An object that has not expired. An expired one leaves the store.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        let entry = inner.entries.get(key)?;
        if self.expired(entry, now) {
            inner.entries.remove(key);
            return None;
        }
        Some(entry.object.clone())
    }

    /// The objects that have not expired, by namespace and name. The others leave the store.
    pub fn list(&self) -> Vec<Arc<Object>> {
        let mut inner = self.inner.lock();
        self.purge(&mut inner, Instant::now());
        inner.entries.values().map(|entry| entry.object.clone()).collect()
    }

    /// The keys of all objects in the store, also of those that have expired but were not
    /// read since; sorted.
    pub fn list_keys(&self) -> Vec<ObjectKey> {
        self.inner.lock().entries.keys().cloned().collect()
    }

    fn purge(&self, inner: &mut Inner, now: Instant) {
        inner.entries.retain(|_, entry| !self.expired(entry, now));
        inner.purged = inner.entries.len();
    }

    fn expired(&self, entry: &Entry, now: Instant) -> bool {
        self.policy.expired(&entry.object, now.saturating_duration_since(entry.put))
    }
}

impl<P: fmt::Debug> fmt::Debug for ExpirationStore<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.inner.lock().entries.len();
        f.debug_struct("ExpirationStore").field("policy", &self.policy).field("entries", &entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{key, object, shown};
    use tokio::time::advance;

    const TTL: Duration = Duration::from_secs(10);
    const SECOND: Duration = Duration::from_secs(1);

    fn keys(store: &ExpirationStore<impl ExpirationPolicy>) -> Vec<String> {
        store.list_keys().iter().map(ToString::to_string).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn cs1_crud_of_an_expiration_store() {
        let store = ExpirationStore::with_ttl(TTL);
        store.put(object("a", "2", "1"));
        store.put(object("a", "1", "1"));
        store.put(object("a", "1", "2"));
        assert_eq!(shown(&store.list()), ["a/1:2", "a/2:1"]);
        assert_eq!(store.get(&key("a/1")).unwrap().resource_version(), "2");
        assert!(store.remove(&key("a/1")).is_some());
        assert!(store.remove(&key("a/1")).is_none());
        assert!(store.get(&key("a/1")).is_none());
        store.replace(vec![object("b", "1", "7"), object("b", "2", "8")]);
        assert_eq!(shown(&store.list()), ["b/1:7", "b/2:8"]);
        assert_eq!(keys(&store), ["b/1", "b/2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_an_object_is_there_up_to_its_ttl_and_leaves_when_it_is_read_after() {
        let store = ExpirationStore::with_ttl(TTL);
        store.put(object("a", "1", "1"));
        advance(TTL).await;
        assert!(store.get(&key("a/1")).is_some());
        advance(SECOND).await;
        assert_eq!(keys(&store), ["a/1"], "lazy: nobody has read it");
        assert!(store.get(&key("a/1")).is_none());
        assert!(keys(&store).is_empty(), "the read took it out");
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_putting_an_object_in_again_starts_its_time_anew() {
        let store = ExpirationStore::with_ttl(TTL);
        store.put(object("a", "1", "1"));
        advance(TTL + SECOND).await;
        store.put(object("a", "1", "2"));
        advance(TTL).await;
        assert_eq!(store.get(&key("a/1")).unwrap().resource_version(), "2");
        advance(SECOND).await;
        assert!(store.get(&key("a/1")).is_none());
        store.replace(vec![object("a", "1", "3")]);
        advance(TTL).await;
        assert!(store.get(&key("a/1")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_a_list_drops_what_has_expired_and_a_list_of_keys_does_not() {
        let store = ExpirationStore::with_ttl(TTL);
        store.put(object("a", "old", "1"));
        advance(SECOND * 6).await;
        store.put(object("a", "young", "1"));
        advance(SECOND * 5).await;
        assert_eq!(keys(&store), ["a/old", "a/young"]);
        assert_eq!(shown(&store.list()), ["a/young:1"]);
        assert_eq!(keys(&store), ["a/young"]);
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_removing_what_has_expired_finds_nothing() {
        let store = ExpirationStore::with_ttl(TTL);
        store.put(object("a", "1", "1"));
        advance(TTL + SECOND).await;
        assert!(store.remove(&key("a/1")).is_none());
        assert!(keys(&store).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_a_ttl_of_zero_never_expires() {
        let store = ExpirationStore::with_ttl(Duration::ZERO);
        store.put(object("a", "1", "1"));
        advance(Duration::from_secs(100 * 24 * 3600)).await;
        assert!(store.get(&key("a/1")).is_some());
        assert_eq!(store.list().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn cs8_a_policy_may_look_at_the_object() {
        struct Short;
        impl ExpirationPolicy for Short {
            fn expired(&self, object: &Object, age: Duration) -> bool {
                &*object.key().name == "short" && age > SECOND
            }
        }
        let store = ExpirationStore::new(Short);
        store.put(object("a", "short", "1"));
        store.put(object("a", "long", "1"));
        advance(SECOND * 2).await;
        assert_eq!(shown(&store.list()), ["a/long:1"]);
    }

    /// Differs from client-go, whose cache grows with each key that is never read again.
    #[tokio::test(start_paused = true)]
    async fn cs8_keys_that_are_never_read_again_do_not_pile_up() {
        let store = ExpirationStore::with_ttl(TTL);
        for number in 0..5_000 {
            store.put(object("a", &number.to_string(), "1"));
            advance(SECOND).await;
            assert!(store.list_keys().len() <= PURGE_FROM + 1);
        }
    }
}
