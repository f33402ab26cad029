//! The store itself: commits, snapshots and the counter.
//!
//! One lock guards counter, objects and histories, so that versions and what they show never disagree. It is held for map operations
//! and copies of bytes only: objects are written to JSON before it is taken, readers are woken after it is released.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::watch;

use super::object::Draft;
use super::persist::Disk;
use super::shelf::Shelf;
use super::{Change, Cursor, Event, Gone, Key, Refused, Snapshot, StoreOptions, Stored};

/// The store. Shared behind an `Arc`; all methods take `&self`.
pub(crate) struct Store {
    inner: RwLock<Inner>,
    /// The last committed version, for those who wait for one.
    counter: watch::Sender<u64>,
    history: usize,
    disk: Option<Disk>,
}

struct Inner {
    version: u64,
    /// Where the history of a storage that nobody has written to begins.
    floor: u64,
    /// How often the history was forgotten.
    epoch: u64,
    /// One per resource that was written or watched: as many as there are kinds.
    shelves: HashMap<Arc<str>, Shelf>,
}

impl Store {
    /// Opens a store; with a file, the objects that are in it. Old versions are not: the history begins now. The counter goes on above
    /// every version that was ever given out, also after a kill.
    ///
    /// # Errors
    /// The file cannot be read or written, is used by another process, or is not a data file of this server.
    pub(crate) fn open(options: StoreOptions) -> io::Result<Arc<Self>> {
        let first = || options.first_version.unwrap_or_else(now);
        let (disk, version, objects) = match &options.data {
            None => (None, first(), Vec::new()),
            Some(path) => {
                let (disk, loaded) = Disk::open(path, first)?;
                (Some(disk), loaded.version, loaded.objects)
            }
        };
        let mut inner = Inner { version, floor: version, epoch: 0, shelves: HashMap::new() };
        for (key, object) in objects {
            inner.shelf(&key.storage, options.history).put(&key.namespace, &key.name, Arc::new(object));
        }
        Ok(Arc::new(Self { inner: RwLock::new(inner), counter: watch::Sender::new(version), history: options.history, disk }))
    }

    /// The last committed version.
    pub(crate) fn version(&self) -> u64 {
        self.inner.read().version
    }

    /// One object as it is now.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Stored>> {
        self.inner.read().get(key).cloned()
    }

    /// Adds an object, as long as those of `within`, on which it relies, are at these versions. `value` is the whole object (apiVersion and
    /// kind in it are dropped: they belong to the version it is read as); the store sets `metadata.resourceVersion`.
    ///
    /// # Errors
    /// [`Refused::Taken`] if there is an object of this name, [`Refused::Raced`] if one that it relies on has changed or gone.
    pub(crate) fn create_within(&self, key: &Key, value: Value, within: &[(Key, u64)]) -> Result<Arc<Stored>, Refused> {
        let draft = Draft::new(key, value);
        self.commit(key, Change::Created, within, |present, version| match present {
            Some(present) => Err(Refused::Taken(Arc::clone(present))),
            None => Ok(Arc::new(draft.at(version))),
        })
    }

    /// Adds an object that relies on nothing.
    #[cfg(test)]
    pub(crate) fn create(&self, key: &Key, value: Value) -> Result<Arc<Stored>, Refused> {
        self.create_within(key, value, &[])
    }

    /// Exchanges the object that is at version `expected`.
    ///
    /// # Errors
    /// [`Refused::Raced`] if it is at another version or not there.
    pub(crate) fn replace(&self, key: &Key, expected: u64, value: Value) -> Result<Arc<Stored>, Refused> {
        let draft = Draft::new(key, value);
        self.commit(key, Change::Updated, &[], |present, version| {
            expect(present, expected)?;
            Ok(Arc::new(draft.at(version)))
        })
    }

    /// Removes the object that is at version `expected`. The result is its last state, with the version of the removal.
    ///
    /// # Errors
    /// [`Refused::Raced`] if it is at another version or not there.
    pub(crate) fn remove(&self, key: &Key, expected: u64) -> Result<Arc<Stored>, Refused> {
        self.commit(key, Change::Deleted, &[], |present, version| Ok(Arc::new(expect(present, expected)?.at_version(version))))
    }

    /// The objects of a storage, of one namespace or of all, now or at exactly `at`. A version that is not reached yet is now.
    ///
    /// # Errors
    /// [`Gone`] if `at` has left the history.
    pub(crate) fn list(&self, storage: &str, namespace: Option<&str>, at: Option<u64>) -> Result<Snapshot, Gone> {
        let inner = self.inner.read();
        let version = at.map_or(inner.version, |at| at.min(inner.version));
        let items = match inner.shelves.get(storage) {
            None if version < inner.floor => return Err(Gone { oldest: inner.floor }),
            None => Vec::new(),
            Some(shelf) if at.is_some() => shelf.list_at(namespace, version)?,
            Some(shelf) => shelf.list(namespace),
        };
        Ok(Snapshot { version, items })
    }

    /// A place in the history of a storage, just after `version`, which may be in the future.
    ///
    /// # Errors
    /// [`Gone`] if changes after `version` have left the history.
    pub(crate) fn watch(self: &Arc<Self>, storage: &Arc<str>, version: u64) -> Result<Cursor, Gone> {
        let mut inner = self.inner.write();
        let epoch = inner.epoch;
        let shelf = inner.shelf(storage, self.history);
        let oldest = shelf.history.floor();
        if version < oldest {
            return Err(Gone { oldest });
        }
        Ok(Cursor::new(Arc::clone(self), Arc::clone(storage), version, epoch, shelf.woken.subscribe()))
    }

    /// A consistent snapshot of now and the cursor after it.
    pub(crate) fn list_and_watch(self: &Arc<Self>, storage: &Arc<str>, namespace: Option<&str>) -> (Snapshot, Cursor) {
        let mut inner = self.inner.write();
        let (version, epoch) = (inner.version, inner.epoch);
        let shelf = inner.shelf(storage, self.history);
        let cursor = Cursor::new(Arc::clone(self), Arc::clone(storage), version, epoch, shelf.woken.subscribe());
        (Snapshot { version, items: shelf.list(namespace) }, cursor)
    }

    /// Waits until the counter has reached `version`. Cancel safe.
    pub(crate) async fn reached(&self, version: u64) {
        // It fails only if the counter is dropped, and that is held here.
        let _ = self.counter.subscribe().wait_for(|counter| *counter >= version).await;
    }

    /// Makes all versions before now too old, as if the history had been compacted; present cursors get [`Gone`].
    pub(crate) fn forget_history(&self) {
        let mut inner = self.inner.write();
        let version = inner.version;
        inner.floor = version;
        inner.epoch += 1;
        for shelf in inner.shelves.values_mut() {
            shelf.history.cut(version);
            shelf.woken.send_modify(|_| {});
        }
    }

    /// Writes what is not on disk yet. Without a file there is nothing to do.
    ///
    /// # Errors
    /// The file cannot be written; what is missing in it is tried again.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.disk.as_ref().map_or(Ok(()), Disk::flush)
    }

    /// The first change of a storage after `position`, for a cursor that came at `epoch`.
    pub(super) fn after(&self, storage: &str, position: u64, epoch: u64) -> Result<Option<Event>, Gone> {
        let inner = self.inner.read();
        let Some(shelf) = inner.shelves.get(storage) else {
            return Ok(None);
        };
        if inner.epoch != epoch {
            return Err(Gone { oldest: shelf.history.floor() });
        }
        Ok(shelf.history.after(position)?.next().cloned())
    }

    /// Up to which version a reader at `position` has seen everything.
    pub(super) fn seen(&self, storage: &str, position: u64) -> u64 {
        let inner = self.inner.read();
        let waiting = inner.shelves.get(storage).is_some_and(|shelf| match shelf.history.after(position) {
            Ok(mut events) => events.next().is_some(),
            Err(_) => true,
        });
        if waiting { position } else { position.max(inner.version) }
    }

    /// One revision, if the objects of `within` are as they were: `decide` sees what is there and the version that the change would have.
    fn commit(
        &self,
        key: &Key,
        change: Change,
        within: &[(Key, u64)],
        decide: impl FnOnce(Option<&Arc<Stored>>, u64) -> Result<Arc<Stored>, Refused>,
    ) -> Result<Arc<Stored>, Refused> {
        let mut inner = self.inner.write();
        for (holder, expected) in within {
            expect(inner.get(holder), *expected)?;
        }
        let version = inner.version + 1;
        let shelf = inner.shelf(&key.storage, self.history);
        let previous = shelf.get(&key.namespace, &key.name).cloned();
        let object = decide(previous.as_ref(), version)?;
        if change == Change::Deleted {
            shelf.take(&key.namespace, &key.name);
        } else {
            shelf.put(&key.namespace, &key.name, Arc::clone(&object));
        }
        shelf.history.push(Event { version, change, object: Arc::clone(&object), previous });
        let woken = Arc::clone(&shelf.woken);
        inner.version = version;
        if let Some(disk) = &self.disk {
            disk.changed(key, version, (change != Change::Deleted).then(|| Arc::clone(&object)));
        }
        drop(inner);

        advance(&woken, version);
        advance(&self.counter, version);
        if let Some(disk) = &self.disk {
            disk.relieve();
        }
        Ok(object)
    }
}

impl Inner {
    fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.shelves.get(&key.storage)?.get(&key.namespace, &key.name)
    }

    fn shelf(&mut self, storage: &Arc<str>, history: usize) -> &mut Shelf {
        let floor = self.floor;
        self.shelves.entry(Arc::clone(storage)).or_insert_with(|| Shelf::new(floor, history))
    }
}

fn expect(present: Option<&Arc<Stored>>, expected: u64) -> Result<&Arc<Stored>, Refused> {
    match present {
        Some(present) if present.version == expected => Ok(present),
        _ => Err(Refused::Raced),
    }
}

/// Commits come here after the lock is released, maybe in another order: the value never goes back.
fn advance(sender: &watch::Sender<u64>, version: u64) {
    sender.send_if_modified(|value| {
        let newer = *value < version;
        *value = version.max(*value);
        newer
    });
}

/// Microseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|age| u64::try_from(age.as_micros()).ok()).unwrap_or(1)
}
