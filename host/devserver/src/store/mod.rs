//! What the server holds: objects by resource, one revision counter over all, and a bounded history for watches and old reads.
//!
//! Owns commits (each is one revision, all or nothing), snapshots and cursors into the history. Knows objects as bytes with a few
//! metadata fields; never interprets a spec. Nothing here waits but [`Store::reached`] and [`Cursor::next`].

mod commit;
mod contain;
mod cursor;
mod history;
mod object;
mod persist;
mod shelf;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use commit::Store;
pub(crate) use cursor::{Cursor, Next};
pub(crate) use object::Stored;

/// Which object: storage of its resource ([`crate::kind::Resource::storage`]), namespace (empty for cluster-scoped), name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Group and plural, as [`crate::kind::Resource::storage`].
    pub(crate) storage: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: Arc<str>,
    /// The object's name.
    pub(crate) name: Arc<str>,
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// There was none of this name.
    Created,
    /// It was exchanged.
    Updated,
    /// It is gone.
    Deleted,
}

/// One committed change, as watches see it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The version of the change: larger than that of every event before it.
    pub(crate) version: u64,
    /// What happened.
    pub(crate) change: Change,
    /// The new state; for a delete the last state, with the version of the delete.
    pub(crate) object: Arc<Stored>,
    /// The state before; none for a create.
    pub(crate) previous: Option<Arc<Stored>>,
}

/// Why a commit was not made.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Create: the name is taken, by this object.
    Taken(Arc<Stored>),
    /// The object is not there, or not at the expected version; for a create, one that it relies on.
    Raced,
}

/// The version asked for has left the history; the oldest that is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone {
    /// A watch may start here, and a list may be read at this version.
    pub(crate) oldest: u64,
}

/// Objects at one version.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The version at which this is the state.
    pub(crate) version: u64,
    /// In the order of namespace, then name.
    pub(crate) items: Vec<Arc<Stored>>,
}

/// Settings of the store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Changes that are kept per resource for watches and old reads; at least one is. However many are allowed, those of one resource
    /// never hold more than 64 MiB of JSON.
    pub history: usize,
    /// Where objects persist; none: in memory.
    pub data: Option<PathBuf>,
    /// Where the counter starts in an empty store; none: from the clock, in microseconds since 1970. A server in memory that is started
    /// again thus begins above every version of its earlier life (unless that one made a million changes a second): an old watch is
    /// told that its version is too old, and does not wait silently for one in the future.
    pub first_version: Option<u64>,
}
