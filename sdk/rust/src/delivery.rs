//! Why the host calls: the small record that comes with every call, by value.

use std::fmt;
use std::time::Duration;

use crate::object::ObjectRef;

/// Which function of the handler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// [`Handler::add`](crate::Handler::add).
    Add,
    /// [`Handler::update`](crate::Handler::update).
    Update,
    /// [`Handler::delete`](crate::Handler::delete).
    Delete,
}

impl Change {
    /// The word used in documents and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The record of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The object that the call is for.
    pub key: ObjectRef,
    /// Its `metadata.resourceVersion`; compare for equality only.
    pub resource_version: String,
    /// `metadata.deletionTimestamp` is set: finalizers are still pending.
    pub deleting: bool,
    /// The name of the subscription that the call is for.
    pub subscription: String,
    /// Why `delete` is called.
    pub removal: Removal,
    /// Only in `delete`: the delete itself was missed, and the current object is an older
    /// state, which may lack the last changes.
    pub final_state_unknown: bool,
    /// Why the host calls. Several changes may have been folded into one call, which then
    /// has the cause of the last of them.
    pub cause: Cause,
    /// 1, plus the calls for this key that failed or were interrupted since the last one
    /// that succeeded.
    pub attempt: u32,
    /// Time that the key waited in the queue.
    pub queued: Duration,
    /// Wall time that this call may take.
    pub budget: Duration,
    /// Bytes of the current object's JSON; 0 if it is absent.
    pub size: u32,
    /// W3C traceparent; empty when not sampled.
    pub traceparent: String,
}

/// Why the host is calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The first full list after the plugin's subscription started.
    InitialList,
    /// The watch reported a change.
    Watch,
    /// A pass over everything; nothing need have changed.
    Resync,
    /// The plugin asked for it with [`Outcome::RequeueAfter`](crate::Outcome::RequeueAfter).
    Requeue,
    /// The last call for this key failed.
    Retry,
    /// A new revision or configuration of the plugin went into service.
    Reload,
    /// The object changed while no host was watching.
    ChangedOffline,
    /// An object that a subscription maps to this one changed.
    Related,
    /// An operator asked for it.
    Manual,
    /// A time of the plugin's schedule has come.
    Schedule,
}

impl Cause {
    /// The word used in the contract and in logs.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// Not a `delete`.
    None,
    /// The object was deleted, or its whole kind was.
    Gone,
    /// The object exists but no longer matches the subscription's selectors.
    Unmatched,
    /// Another object (another uid) that matches too has taken its name; `add` follows.
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

macro_rules! display_as_str {
    ($($name:ty),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}

display_as_str!(Change, Cause, Removal);
