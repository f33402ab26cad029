//! How a call of a guest ends. Owns the three ways: an outcome, a failure that the guest
//! declared, a strike that the host counts. Never says when a key comes back (that is the
//! queue's and the ledger's).

use std::time::Duration;

use crate::reason::Reason;

/// A call that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Forget the key until it changes again.
    Done,
    /// Call again after this time even if nothing changes.
    RequeueAfter(Duration),
}

/// What a guest says of its failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A CamelCase word; one that the description does not list counts as `Other`.
    pub reason: String,
    /// For people; capped by the engine.
    pub message: String,
    /// For a retry: not before this time.
    pub retry_after: Option<Duration>,
}

/// A call that the guest itself declared as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Try again with the queue's backoff.
    Retry(Fault),
    /// Do not try again until the object changes.
    Permanent(Fault),
}

/// A call that the host ended, or that trapped: a retry with a strike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// What happened, for example [`Reason::Trap`].
    pub reason: Reason,
    /// Details for people.
    pub message: String,
}
