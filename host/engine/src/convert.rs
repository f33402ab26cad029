//! Between core's words and the contract's. Owns the cutting of what a guest says of its
//! failure; decides nothing.

use std::time::Duration;

use wharf_core::{Cause, Delivery, Failure, Fault, Outcome, Removal};

use crate::bindings::wharf::plugin::types;
use crate::limits::{MAX_REASON_BYTES, MAX_TEXT_BYTES, clean};

/// The record that a handler gets.
pub(crate) fn delivery(d: &Delivery, budget: Duration) -> types::Delivery {
    let current = d.current.as_deref();
    types::Delivery {
        key: types::ObjectRef {
            kind: types::Gvk {
                group: d.kind.group.as_ref().to_owned(),
                version: d.kind.version.as_ref().to_owned(),
                kind: d.kind.kind.as_ref().to_owned(),
            },
            namespace: d.key.namespace.as_deref().map(str::to_owned),
            name: d.key.name.as_ref().to_owned(),
            uid: d.uid.as_ref().to_owned(),
        },
        resource_version: current.map_or_else(String::new, |object| object.resource_version().to_owned()),
        deleting: current.is_some_and(|object| object.deleting()),
        subscription: d.subscription.as_ref().to_owned(),
        removal: removal(d.removal),
        final_state_unknown: d.final_state_unknown,
        cause: cause(d.cause),
        attempt: d.attempt,
        queued_ms: millis(d.queued),
        budget_ms: millis(budget),
        size: current.map_or(0, |object| u32::try_from(object.json().len()).unwrap_or(u32::MAX)),
        // Nothing is sampled yet.
        traceparent: String::new(),
    }
}

/// What a handler answered.
pub(crate) fn answer(answer: Result<types::Outcome, types::Failure>) -> Result<Outcome, Failure> {
    match answer {
        Ok(types::Outcome::Done) => Ok(Outcome::Done),
        Ok(types::Outcome::RequeueAfter(ms)) => Ok(Outcome::RequeueAfter(Duration::from_millis(u64::from(ms)))),
        Err(types::Failure::Retry(f)) => Err(Failure::Retry(fault(&f))),
        Err(types::Failure::Permanent(f)) => Err(Failure::Permanent(fault(&f))),
    }
}

fn fault(fault: &types::Fault) -> Fault {
    Fault {
        reason: clean(&fault.reason, MAX_REASON_BYTES),
        message: clean(&fault.message, MAX_TEXT_BYTES),
        retry_after: fault.retry_after_ms.map(|ms| Duration::from_millis(u64::from(ms))),
    }
}

fn removal(removal: Removal) -> types::Removal {
    match removal {
        Removal::None => types::Removal::None,
        Removal::Gone => types::Removal::Gone,
        Removal::Unmatched => types::Removal::Unmatched,
        Removal::Replaced => types::Removal::Replaced,
    }
}

fn cause(cause: Cause) -> types::Cause {
    match cause {
        Cause::InitialList => types::Cause::InitialList,
        Cause::Watch => types::Cause::Watch,
        Cause::Resync => types::Cause::Resync,
        Cause::Requeue => types::Cause::Requeue,
        Cause::Retry => types::Cause::Retry,
        Cause::Reload => types::Cause::Reload,
        Cause::ChangedOffline => types::Cause::ChangedOffline,
        Cause::Related => types::Cause::Related,
        Cause::Manual => types::Cause::Manual,
        Cause::Schedule => types::Cause::Schedule,
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
