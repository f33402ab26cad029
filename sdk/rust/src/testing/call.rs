//! One call to be made: which function, with which objects, and what the host says of it.

use std::time::Duration;

use serde_json::Value;

use super::cluster;
use super::state::State;
use crate::delivery::{Cause, Change, Delivery, Removal};

/// A call of a handler. The short forms on [`Host`](super::Host) are enough for most tests.
#[derive(Clone, Debug)]
pub struct Call {
    change: Change,
    current: Option<Value>,
    previous: Option<Value>,
    delivery: Delivery,
}

impl Call {
    /// `add` of this object, first attempt, cause watch, subscription `main`.
    ///
    /// # Panics
    /// If the object has no apiVersion, kind or name; so do the other two.
    pub fn add(object: &Value) -> Self {
        Self::new(Change::Add, object, None)
    }

    /// `update` from one state to the other.
    pub fn update(previous: &Value, current: &Value) -> Self {
        Self::new(Change::Update, current, Some(previous.clone()))
    }

    /// `delete` with this final state, which is also the last one that was delivered.
    pub fn delete(last: &Value) -> Self {
        Self::new(Change::Delete, last, Some(last.clone())).removal(Removal::Gone)
    }

    /// Why the host calls.
    #[must_use]
    pub const fn cause(mut self, cause: Cause) -> Self {
        self.delivery.cause = cause;
        self
    }

    /// Counts from 1.
    #[must_use]
    pub const fn attempt(mut self, attempt: u32) -> Self {
        self.delivery.attempt = attempt;
        self
    }

    /// Why `delete` is called. After `Gone` the object is no longer in the cluster.
    #[must_use]
    pub const fn removal(mut self, removal: Removal) -> Self {
        self.delivery.removal = removal;
        self
    }

    /// The delete itself was missed.
    #[must_use]
    pub const fn final_state_unknown(mut self) -> Self {
        self.delivery.final_state_unknown = true;
        self
    }

    /// Neither state of the object is known any more, as after a restart of the host.
    #[must_use]
    pub fn without_object(mut self) -> Self {
        self.current = None;
        self.previous = None;
        self.delivery.size = 0;
        self
    }

    /// The subscription that the call is for.
    #[must_use]
    pub fn subscription(mut self, name: &str) -> Self {
        self.delivery.subscription = name.to_owned();
        self
    }

    /// Wall time that the call may take; 10 seconds by default.
    #[must_use]
    pub const fn budget(mut self, budget: Duration) -> Self {
        self.delivery.budget = budget;
        self
    }

    fn new(change: Change, object: &Value, previous: Option<Value>) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let delivery = Delivery {
            key: cluster::reference(object),
            resource_version: text("/metadata/resourceVersion"),
            deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
            subscription: "main".to_owned(),
            removal: Removal::None,
            final_state_unknown: false,
            cause: Cause::Watch,
            attempt: 1,
            queued: Duration::from_millis(1),
            budget: Duration::from_secs(10),
            size: u32::try_from(object.to_string().len()).unwrap_or(u32::MAX),
            traceparent: String::new(),
        };
        Self { change, current: Some(object.clone()), previous, delivery }
    }

    /// Makes the host's state that of the call.
    pub(super) fn begin(self, state: &mut State) -> (Change, Delivery) {
        match (self.change, self.delivery.removal) {
            (Change::Add | Change::Update, _) => {
                if let Some(object) = &self.current {
                    state.cluster.put(object);
                }
            }
            (Change::Delete, Removal::Gone) => state.cluster.remove(&self.delivery.key),
            (Change::Delete, _) => {}
        }
        state.current = self.current;
        state.previous = self.previous;
        state.remaining = self.delivery.budget;
        (self.change, self.delivery)
    }
}
