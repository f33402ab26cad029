//! What a guest is told when it is called. Owns the words of the contract's delivery;
//! never decides which call is made (that is `diff`).

use std::sync::Arc;
use std::time::Duration;

use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::object::Object;

/// Which function of the guest handler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// The key was not known to the plugin and the object exists.
    Add,
    /// The object changed, or it is time again.
    Update,
    /// The object is gone, no longer matches, or was replaced.
    Delete,
}

impl Event {
    /// All of them, in the order of an object's life.
    pub const ALL: [Self; 3] = [Self::Add, Self::Update, Self::Delete];

    /// The word used in documents, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Why a key is worked on; of several reasons the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The first full list after the subscription started.
    InitialList,
    /// The watch reported a change.
    Watch,
    /// A pass over everything; nothing need have changed.
    Resync,
    /// The plugin asked for it.
    Requeue,
    /// The last call failed.
    Retry,
    /// A new revision or configuration went into service.
    Reload,
    /// Changed while no host was watching.
    ChangedOffline,
    /// An object that maps to this one changed.
    Related,
    /// An operator asked for it.
    Manual,
    /// A time of the schedule has come.
    Schedule,
}

impl Cause {
    /// The word used in the contract, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InitialList => "initial-list",
            Self::Watch => "watch",
            Self::Resync => "resync",
            Self::Requeue => "requeue",
            Self::Retry => "retry",
            Self::Reload => "reload",
            Self::ChangedOffline => "changed-offline",
            Self::Related => "related",
            Self::Manual => "manual",
            Self::Schedule => "schedule",
        }
    }
}

/// Why `delete` is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Removal {
    /// Not a `delete`.
    #[default]
    None,
    /// The object was deleted, or its whole kind was.
    Gone,
    /// It exists but no longer matches the subscription.
    Unmatched,
    /// Another object that matches too has taken its name.
    Replaced,
}

impl Removal {
    /// The word used in the contract and in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gone => "gone",
            Self::Unmatched => "unmatched",
            Self::Replaced => "replaced",
        }
    }
}

/// One call of a guest handler: what it is told, and the objects it may look at.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Which function is called.
    pub event: Event,
    /// Kind of the object.
    pub kind: Arc<Gvk>,
    /// Namespace and name of the object.
    pub key: ObjectKey,
    /// Uid of the object that the call is about.
    pub uid: Arc<str>,
    /// Name of the subscription that the call is for.
    pub subscription: Arc<str>,
    /// Why `delete` is called.
    pub removal: Removal,
    /// `delete` only: the final state was missed, `current` is an older one.
    pub final_state_unknown: bool,
    /// Why the key is worked on.
    pub cause: Cause,
    /// 1, plus the calls that failed or were interrupted since the last success.
    pub attempt: u32,
    /// Time that the key waited in the queue.
    pub queued: Duration,
    /// The object now; in `delete` its final state. May be absent after a restart.
    pub current: Option<Arc<Object>>,
    /// The object at the last delivery that succeeded or was filtered; absent in `add`.
    pub previous: Option<Arc<Object>>,
}
