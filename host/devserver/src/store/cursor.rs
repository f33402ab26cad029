//! A reader's place in the history. Pulls: no buffer per watch, so a slow reader costs nothing and is told when it fell out.
//!
//! Never holds a lock while it waits, and never keeps an event alive that the history has dropped.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Event, Gone, Store};

/// A place in the history of one storage.
pub(crate) struct Cursor {
    store: Arc<Store>,
    storage: Arc<str>,
    /// All changes up to this version are seen.
    position: u64,
    /// How often the history had been forgotten when the reader came.
    epoch: u64,
    woken: watch::Receiver<u64>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A change.
    Event(Event),
    /// The reader was too slow or the history was cut: the version it stood at has left.
    Gone(Gone),
}

impl Cursor {
    pub(super) fn new(store: Arc<Store>, storage: Arc<str>, position: u64, epoch: u64, woken: watch::Receiver<u64>) -> Self {
        Self { store, storage, position, epoch, woken }
    }

    /// Waits for the next change. Cancel safe.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            // Marked as seen before looking: a change that comes between the look and the wait wakes at once.
            self.woken.borrow_and_update();
            if let Some(next) = self.try_next() {
                return next;
            }
            if self.woken.changed().await.is_err() {
                // The storage lives as long as the store, which this cursor holds.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The next change if there is one already.
    pub(crate) fn try_next(&mut self) -> Option<Next> {
        match self.store.after(&self.storage, self.position, self.epoch) {
            Ok(None) => None,
            Ok(Some(event)) => {
                self.position = event.version;
                Some(Next::Event(event))
            }
            Err(gone) => Some(Next::Gone(gone)),
        }
    }

    /// The version up to which this reader has seen everything, for bookmarks: the global counter if nothing of this storage is waiting.
    /// A reader that waits for a version in the future is at that version.
    pub(crate) fn seen(&self) -> u64 {
        self.store.seen(&self.storage, self.position)
    }

    /// Whether the version at which this reader began has been reached.
    pub(crate) fn has_begun(&self) -> bool {
        self.position <= self.store.version()
    }
}
