//! What an informer counts. Owns the words; the series (`wharf_informer_*`) are made by
//! whoever implements [`CacheMetrics`], so this crate knows no metrics library.

use std::time::Duration;

use wharf_core::Reason;

use crate::spec::InformerSpec;

/// The kinds of watch events, as metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchEventType {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
    /// BOOKMARK.
    Bookmark,
    /// ERROR.
    Error,
    /// Anything else; reported and ignored.
    Unknown,
}

impl WatchEventType {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Added, Self::Modified, Self::Deleted, Self::Bookmark, Self::Error, Self::Unknown];

    /// The word of the watch API; `UNKNOWN` for what it does not have.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
            Self::Unknown => "UNKNOWN",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|event| event.as_str() == text).unwrap_or(Self::Unknown)
    }
}

/// Receives the figures of informers. Calls come from under an informer's apply lock:
/// they must be quick and must not call back into this crate.
///
/// Several informers may watch one kind; each reports under its own spec, and after
/// [`stopped`](Self::stopped) nothing more comes from it.
pub trait CacheMetrics: Send + Sync {
    /// An informer came into being; its series may be created at zero.
    fn started(&self, _spec: &InformerSpec) {}
    /// The store's size now: number of objects and bytes of their JSON.
    fn size(&self, _spec: &InformerSpec, _objects: usize, _bytes: u64) {}
    /// Does the store follow the server now?
    fn synced(&self, _spec: &InformerSpec, _synced: bool) {}
    /// A full list after the first one begins, because of `reason`.
    fn relist(&self, _spec: &InformerSpec, _reason: Reason) {}
    /// The watch delivered an event.
    fn watch_event(&self, _spec: &InformerSpec, _event: WatchEventType) {}
    /// A list or a watch ended with a failure or could not be started, or the kind could not
    /// be looked up. Once for each; a watch that the server ends in order is none, and neither
    /// is a kind that does not exist.
    fn failed(&self, _spec: &InformerSpec, _reason: Reason) {}
    /// A watch that begins with everything that exists has not come to the end of that since
    /// it was accepted so long ago. Every ten seconds, until it does.
    fn initial_events_late(&self, _spec: &InformerSpec, _waited: Duration) {}
    /// A list at the same version showed so many objects otherwise than the watch did
    /// ([`Options::verify_watch_list`](crate::Options::verify_watch_list)).
    fn watch_list_differs(&self, _spec: &InformerSpec, _objects: usize) {}
    /// The informer is gone; its series are to be removed.
    fn stopped(&self, _spec: &InformerSpec) {}
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMetrics;

impl CacheMetrics for NoMetrics {}
