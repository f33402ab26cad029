//! The words between the machine and the driver: what happened, and what is done next.
//! Owns their meaning; decides nothing.

use std::time::Duration;

use wharf_core::Reason;

use crate::classify::Failure;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListRequest {
    /// `None` leaves the parameter out: the newest state, read from the quorum, or the
    /// list that the token continues. Otherwise a state that is not older than this.
    pub(crate) resource_version: Option<Box<str>>,
    /// Just the state of that version.
    pub(crate) exact: bool,
    pub(crate) limit: Option<u32>,
    pub(crate) token: Option<Box<str>>,
    /// Does this begin a full list?
    pub(crate) first: bool,
    /// Why there is a list.
    pub(crate) reason: Reason,
}

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchRequest {
    /// After which state; with `initial`, a state not older than this, or the newest if it
    /// is empty.
    pub(crate) resource_version: Box<str>,
    /// How long the server shall let it run.
    pub(crate) timeout: Duration,
    /// It begins with everything that exists, in place of a list; why.
    pub(crate) initial: Option<Reason>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask discovery for the kind; `fresh` does not trust what it remembers.
    Resolve {
        fresh: bool,
    },
    List(ListRequest),
    Watch(WatchRequest),
    Sleep(Duration),
}

/// What happens to the store before the next step. That a full list begins is in the
/// requests: [`ListRequest::first`] and [`WatchRequest::initial`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreCall {
    Nothing,
    /// The full list is complete.
    Finish {
        resource_version: Box<str>,
    },
    /// The kind is gone, with all its objects.
    Vanish,
}

/// What is said about the informer before the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Unchanged,
    Synced,
    Sleeping(Failure),
    Failing(Failure),
    /// Part of normal life, worth a line in the log at most.
    Noted(Failure),
}

/// The answer to an [`Input`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) store: StoreCall,
    pub(crate) health: Health,
    pub(crate) step: Step,
}

impl Decision {
    pub(super) const fn only(step: Step) -> Self {
        Self { store: StoreCall::Nothing, health: Health::Unchanged, step }
    }

    pub(super) const fn noted(failure: Failure, step: Step) -> Self {
        Self { store: StoreCall::Nothing, health: Health::Noted(failure), step }
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Discovery has the kind.
    Resolved,
    /// Discovery does not have it, or does not answer.
    Unresolved(Failure),
    /// A page is in the store.
    Page { resource_version: Box<str>, next: Option<Box<str>> },
    /// A list failed.
    ListFailed(Failure),
    /// A watch could not be started, or ended.
    WatchEnded(End),
    /// The sleep is over.
    Woke,
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It could not be started.
    Refused(Failure),
    /// The server closed it.
    Closed,
    /// The server neither sent nor closed anything in time.
    Silent,
    /// The connection broke.
    Broken(Failure),
    /// The server sent an ERROR event.
    Error(Failure),
    /// The server sent something that cannot be read.
    Undecodable(Failure),
}
