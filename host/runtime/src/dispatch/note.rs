//! From what happens in a dispatcher to records of its history. Owns the translation; decides
//! nothing, and is called after the decision.

use std::sync::Arc;
use std::time::Duration;

use wharf_cache::{Change, ChangeCause};
use wharf_core::ledger::{Finished, Next};
use wharf_core::{Cause, Delivery, Object, TargetKey};
use wharf_engine::{CallInfo, ObjectRef};

use super::dispatcher::{Dispatcher, Serving};
use super::history::{Dropped, End, Follows, Idle, Sight, What, Why, Write, milliseconds, number};

impl Dispatcher {
    /// Something that needs no more words.
    pub(super) fn note(&self, key: &TargetKey, what: What) {
        self.history.note(self.shared.clock.now(), key, what);
    }

    /// A change is about to be queued. Called under the informer's lock.
    pub(super) fn note_seen(&self, key: &TargetKey, change: &Change<'_>) {
        let how = match change.cause {
            ChangeCause::InitialList => Sight::InitialList,
            ChangeCause::Watch => Sight::Watch,
            ChangeCause::Relist => Sight::Relist,
            ChangeCause::Resync => Sight::Resync,
        };
        let object = change.new.or(change.final_state).or(change.old);
        let version = object.map_or(0, |object| number(object.resource_version()));
        self.note(key, What::Seen { how, version, gone: change.new.is_none() });
    }

    /// A worker took the key and makes no call. Only what came with a change is worth a record: a
    /// pass over everything would leave no room for anything else.
    pub(super) fn note_idle(&self, key: &TargetKey, cause: Cause, now: Option<&Arc<Object>>, matches: bool, dropped: Option<Dropped>) {
        let version = now.map_or(0, |object| number(object.resource_version()));
        let what = match (dropped, now) {
            (Some(by), _) => What::Dropped { by, version },
            _ if cause != Cause::Watch => return,
            (None, None) => What::Nothing(Idle::Gone),
            (None, Some(_)) if matches => What::Nothing(Idle::Told),
            (None, Some(_)) => What::Nothing(Idle::Unmatched),
        };
        self.note(key, what);
    }

    /// A call is about to begin, for a `single` change or for the last state.
    pub(super) fn note_called(&self, key: &TargetKey, delivery: &Delivery, serving: &Serving, single: bool) {
        let what = What::Called {
            event: delivery.event,
            cause: delivery.cause,
            attempt: delivery.attempt,
            revision: serving.number,
            version: delivery.current.as_ref().map_or(0, |object| number(object.resource_version())),
            queued: milliseconds(delivery.queued),
            single,
        };
        self.note(key, what);
    }

    /// A call ended, and the ledger knows.
    pub(super) fn note_ended(&self, key: &TargetKey, ended: (End, Why), took: Duration, next: &Next) {
        let now = self.shared.clock.now();
        let follows = match next.due {
            _ if skips(&ended, next) => Follows::Skipped,
            _ if next.parked => Follows::Parked,
            Some(due) => Follows::Due(milliseconds(due.saturating_sub(now))),
            None => Follows::Nothing,
        };
        let (end, why) = ended;
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.history.note(now, key, What::Ended { end, why, took, next: follows });
    }

    /// The guest wrote something during a call. The object's text is not looked at.
    pub(crate) fn note_written(&self, call: &CallInfo, verb: &'static str, target: &ObjectRef) {
        if let (Some(kind), Some(key)) = (&call.kind, &call.key) {
            let written = wharf_core::ObjectKey::new(target.namespace.as_deref().unwrap_or_default(), &target.name);
            let write = Write { verb, kind: target.kind.clone(), key: written };
            self.note(&TargetKey::object(Arc::clone(kind), key.clone()), What::Wrote(Box::new(write)));
        }
    }
}

/// Was one change of several given up? Then its key is parked no longer than until the next one is told.
pub(super) fn skips(ended: &(End, Why), next: &Next) -> bool {
    ended.0 == End::Permanent && next.parked && next.again
}

/// How a call ended, in the history's words: a reason that the plugin did not declare counts as
/// `Other`, since it could be anything.
pub(super) fn ending(finished: &Finished, serving: &Serving) -> (End, Why) {
    let declared = |reason: &str| match serving.reasons.iter().find(|known| ***known == *reason) {
        Some(known) => Why::Declared(Arc::clone(known)),
        None => Why::Host(wharf_core::Reason::Other),
    };
    match finished {
        Finished::Done => (End::Done, Why::None),
        Finished::RequeueAfter(_) => (End::RequeueAfter, Why::None),
        Finished::Retry(fault) => (End::Retry, declared(&fault.reason)),
        Finished::Permanent(fault) => (End::Permanent, declared(&fault.reason)),
        Finished::Strike(strike) => (End::Strike, Why::Host(strike.reason)),
        Finished::Waiting { reason, .. } => (End::Waiting, Why::Host(*reason)),
        Finished::Cancelled => (End::Cancelled, Why::None),
    }
}
