//! The component's exports: what [`plugin!`](crate::plugin!) connects to the host. Owns the
//! way from the generated types to this crate's, and the panic hook.

use std::marker::PhantomData;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::time::Duration;

use crate::bindings::exports::wharf::plugin::{handler as wit_handler, setup as wit_setup};
use crate::bindings::wharf::plugin::types as wit;
use crate::bridge;
use crate::delivery::{Cause, Change, Delivery, Removal};
use crate::handler::{self, Handler};
use crate::log;
use crate::object::{Gvk, ObjectRef};
use crate::outcome::{Failure, Outcome};

/// A handler, seen from the host.
#[derive(Debug)]
pub struct Export<H>(PhantomData<H>);

impl<H: Handler> wit_setup::Guest for Export<H> {
    fn validate_config(config: String) -> Result<(), Vec<String>> {
        log_panics();
        handler::validate::<H>(&config)
    }

    fn describe() -> String {
        log_panics();
        bridge::install();
        H::describe().to_json()
    }
}

impl<H: Handler> wit_handler::Guest for Export<H> {
    fn add(delivery: wit::Delivery) -> Result<wit::Outcome, wit::Failure> {
        call::<H>(Change::Add, delivery)
    }

    fn update(delivery: wit::Delivery) -> Result<wit::Outcome, wit::Failure> {
        call::<H>(Change::Update, delivery)
    }

    fn delete(delivery: wit::Delivery) -> Result<wit::Outcome, wit::Failure> {
        call::<H>(Change::Delete, delivery)
    }
}

fn call<H: Handler>(change: Change, delivery: wit::Delivery) -> Result<wit::Outcome, wit::Failure> {
    log_panics();
    match handler::call::<H>(change, delivery.into()) {
        Ok(outcome) => Ok(outcome.into()),
        Err(failure) => Err(failure.into()),
    }
}

/// A panic in a component is a bare trap: without this nobody would learn its message. The
/// host shows the last error line of a call that trapped, so all of it stands in the message.
fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
            let message = info.payload_as_str().unwrap_or("(no message)");
            let location = info.location().map(ToString::to_string).unwrap_or_default();
            log::emit(log::Level::Error, &format!("panic at {location}: {message}"), &[]);
        }));
    });
}

impl From<wit::Delivery> for Delivery {
    fn from(delivery: wit::Delivery) -> Self {
        Self {
            key: delivery.key.into(),
            resource_version: delivery.resource_version,
            deleting: delivery.deleting,
            subscription: delivery.subscription,
            removal: match delivery.removal {
                wit::Removal::None => Removal::None,
                wit::Removal::Gone => Removal::Gone,
                wit::Removal::Unmatched => Removal::Unmatched,
                wit::Removal::Replaced => Removal::Replaced,
            },
            final_state_unknown: delivery.final_state_unknown,
            cause: delivery.cause.into(),
            attempt: delivery.attempt,
            queued: Duration::from_millis(delivery.queued_ms.into()),
            budget: Duration::from_millis(delivery.budget_ms.into()),
            size: delivery.size,
            traceparent: delivery.traceparent,
        }
    }
}

impl From<wit::Cause> for Cause {
    fn from(cause: wit::Cause) -> Self {
        match cause {
            wit::Cause::InitialList => Self::InitialList,
            wit::Cause::Watch => Self::Watch,
            wit::Cause::Resync => Self::Resync,
            wit::Cause::Requeue => Self::Requeue,
            wit::Cause::Retry => Self::Retry,
            wit::Cause::Reload => Self::Reload,
            wit::Cause::ChangedOffline => Self::ChangedOffline,
            wit::Cause::Related => Self::Related,
            wit::Cause::Manual => Self::Manual,
            wit::Cause::Schedule => Self::Schedule,
        }
    }
}

impl From<wit::ObjectRef> for ObjectRef {
    fn from(object: wit::ObjectRef) -> Self {
        let wit::Gvk { group, version, kind } = object.kind;
        Self { kind: Gvk { group, version, kind }, namespace: object.namespace, name: object.name, uid: object.uid }
    }
}

impl From<Outcome> for wit::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::RequeueAfter(after) => Self::RequeueAfter(milliseconds(after)),
        }
    }
}

impl From<Failure> for wit::Failure {
    fn from(failure: Failure) -> Self {
        let fault = wit::Fault {
            reason: failure.reason().to_owned(),
            message: failure.message().to_owned(),
            retry_after_ms: failure.retry_after().map(milliseconds),
        };
        if failure.is_permanent() { Self::Permanent(fault) } else { Self::Retry(fault) }
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
