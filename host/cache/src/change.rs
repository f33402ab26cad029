//! What a store tells its handlers. Owns the form of an announcement; never says what is
//! to be done about it.

use std::sync::Arc;

use wharf_core::ledger::Slot;
use wharf_core::{Object, ObjectKey};

/// One difference between the store before and after.
///
/// A change of the uid under one key (the object was deleted and made anew, and the
/// deletion was not seen) is one change with `old` and `new` of different uids.
/// An object that a relist shows unchanged (same uid and resourceVersion) is not
/// announced; client-go would call its update handlers.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Which key.
    pub key: &'a ObjectKey,
    /// What the handler was told before; `None` if the object was not there or did not match.
    pub old: Option<&'a Arc<Object>>,
    /// What there is now; `None` for a removal.
    pub new: Option<&'a Arc<Object>>,
    /// For a removal: the last state that is known of the removed object. It is the state in the
    /// watch's DELETED event, or what the store held if that event was not seen, or the last
    /// state that matched if the object is still there and matches no more.
    pub final_state: Option<&'a Arc<Object>>,
    /// For a removal: does `final_state` come from the DELETED event? True otherwise.
    pub final_known: bool,
    /// Where the store keeps the object, or kept it until its removal: from then on another
    /// object may get the place. `None` for a removal that is told at a move.
    pub slot: Option<Slot>,
    /// How it became known.
    pub cause: ChangeCause,
    /// Number of the change in its store; grows by one with each. What a handler is told of the
    /// store's contents (when it comes late, moves, or at a resync) has the number of the last
    /// change.
    pub sequence: u64,
}

/// How a change became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeCause {
    /// The informer's first full list, or the contents of the store for a handler that
    /// came later.
    InitialList,
    /// The watch reported it.
    Watch,
    /// A later full list differs from the store, the kind itself is gone, or the registration
    /// has moved to another informer that knows more.
    Relist,
    /// Nothing changed (`old` is `new`): the registration asked to be told of everything from
    /// time to time.
    Resync,
}

/// Is told of every change of a store that its registration covers.
///
/// Calls come one after the other, in the order of the changes, while the informer's
/// apply lock is held; the store already holds the new state and may be read. They come
/// from tasks of the hub, or from the caller of `attach`. An implementation must be quick, must
/// not block, must not panic (what it was told is skipped then), and must not attach to any informer (that would wait for the lock
/// that is held). It may drop registrations.
///
/// Of the handlers that one informer serves, those that were attached first are told of a change first, also after moves.
pub trait ChangeHandler: Send + Sync {
    /// One change.
    fn on_change(&self, change: &Change<'_>);

    /// The handler was attached, after so many changes of the store; before anything else.
    fn on_attached(&self, _sequence: u64) {}

    /// A change of the store within the registration's namespace that its selectors hide: neither
    /// the old nor the new state matches.
    fn on_passed(&self, _key: &ObjectKey, _sequence: u64) {}

    /// The registration is about to read from another informer's store: `on_attached` with that
    /// store's number follows, then the differences (mostly none), then `on_recovered`.
    fn on_moving(&self) {}

    /// The store follows the server again after it could not: after errors, a refusal,
    /// the kind's absence, or a move. What differed has been announced.
    fn on_recovered(&self) {}

    /// The first full list has been announced completely. Called at most once for each
    /// registration, and not for a kind that does not exist.
    fn on_synced(&self) {}
}
