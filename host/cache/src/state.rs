//! What can be said about an informer from outside. Owns the words of `wharf get
//! informers`; never decides anything.

use std::sync::Arc;
use std::time::Duration;

use wharf_core::Reason;

use crate::spec::InformerSpec;

/// How an informer is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InformerState {
    /// The first full list is not in the store yet.
    Starting,
    /// The store follows the server.
    Synced,
    /// There is nothing to watch now, and that is known: the kind does not exist. It is
    /// looked for every few seconds.
    Sleeping {
        /// Why.
        reason: Reason,
    },
    /// The last request failed. The store keeps what it had, and the informer keeps trying.
    Failing {
        /// What kind of failure.
        reason: Reason,
        /// What was asked and what came back.
        message: Arc<str>,
    },
    /// The informer was stopped; nothing more happens to the store.
    Stopped,
}

impl InformerState {
    /// The word used in logs and tables.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Synced => "Synced",
            Self::Sleeping { .. } => "Sleeping",
            Self::Failing { .. } => "Failing",
            Self::Stopped => "Stopped",
        }
    }
}

/// A moment's view of one informer.
#[derive(Clone, Debug)]
pub struct InformerStatus {
    /// Kind, scope and selectors.
    pub spec: InformerSpec,
    /// Attached handlers.
    pub handlers: usize,
    /// Objects in the store.
    pub objects: usize,
    /// Bytes of JSON in the store.
    pub bytes: u64,
    /// How it is doing.
    pub state: InformerState,
    /// Time since the server last sent anything (an answer, an event or a bookmark);
    /// `None` if it never did.
    pub last_event_age: Option<Duration>,
    /// Full lists after the first one.
    pub relists: u64,
    /// The last failure, also if it has passed.
    pub last_error: Option<Arc<str>>,
}
