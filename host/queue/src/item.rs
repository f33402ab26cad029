//! A key in work. Owns the guard that ends the work when it is dropped; never decides what
//! comes next.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Key;
use crate::queue::{Shared, WorkQueue};

/// A key in work. No other worker gets the key while this exists; dropping it, in
/// whatever way, is client-go's `Done`.
///
/// Dropping says that the work has ended, not that it succeeded: the key does not come
/// back by itself. Who needs that adds the key before the drop.
#[must_use = "dropping the item ends the work on its key"]
pub struct Item<K: Key> {
    pub(crate) shared: Arc<Shared<K>>,
    pub(crate) key: K,
    pub(crate) priority: i32,
    pub(crate) queued: Duration,
}

impl<K: Key> Item<K> {
    /// The key to work on.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The priority of this run: the highest of the adds that it answers. A caller that adds
    /// the key again because of what came of this run passes it on ([`Add::priority`]);
    /// the queue does not know why a key is added.
    ///
    /// [`Add::priority`]: crate::Add::priority
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// How long the key was ready before it was handed out. For a key that was added
    /// while it was in work this includes the rest of that work.
    pub fn queued(&self) -> Duration {
        self.queued
    }

    /// Ends the work; the same as a drop, for code that wants to say so.
    pub fn done(self) {}
}

impl<K: Key> Drop for Item<K> {
    fn drop(&mut self) {
        self.shared.release(&self.key);
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .field("queued", &self.queued)
            .finish_non_exhaustive()
    }
}

/// There was a key to work on; see [`WorkQueue::ready`].
#[must_use = "dropping it leaves the key to others"]
pub struct Ready<K: Key> {
    pub(crate) queue: WorkQueue<K>,
    pub(crate) taken: bool,
}

impl<K: Key> Ready<K> {
    /// The key whose turn it is now, unless others have taken all.
    pub fn take(mut self) -> Option<Item<K>> {
        self.taken = true;
        self.queue.try_get()
    }
}

impl<K: Key> Drop for Ready<K> {
    fn drop(&mut self) {
        // Any change wakes a worker if there is a key.
        if !self.taken {
            self.queue.shared.change(|_, _| {});
        }
    }
}

impl<K: Key> fmt::Debug for Ready<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("queue", &self.queue).finish_non_exhaustive()
    }
}
