//! A mock of the host, so that a plugin's logic is tested natively by plain `cargo test`.
//!
//! [`Host`] holds the configuration and a small cluster, makes calls of a
//! [`Handler`], and records what the handler did: log lines, writes, Kubernetes
//! Events. Any use of the cluster can be made to fail. The mock knows no RBAC and no
//! admission, and its server-side apply knows one field manager: what depends on those is
//! tested against a real API server.
//!
//! ```
//! # use wharf_sdk::prelude::*;
//! # #[derive(serde::Deserialize)] struct MyPlugin {}
//! # impl Handler for MyPlugin {
//! #     fn describe() -> Description { Description::new("x", "1") }
//! #     fn add(&self, event: &Event) -> Result { log::info!("seen", name = event.name()); Ok(Outcome::Done) }
//! # }
//! use serde_json::json;
//! use wharf_sdk::testing::Host;
//!
//! let mut host = Host::new();
//! let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}});
//! assert_eq!(host.add::<MyPlugin>(&object), Ok(Outcome::Done));
//! assert_eq!(host.logs()[0].message, "seen");
//! assert_eq!(host.logs()[0].fields["name"], "b");
//! ```

pub(crate) mod backend;
mod call;
mod cluster;
mod merge;
mod record;
mod selector;
mod state;

use std::time::Duration;

use serde_json::Value;

use crate::cluster::ApiError;
use crate::handler::{self, Handler};
use crate::log::Level;
use crate::outcome::Result;

pub use call::Call;
pub use record::{LogLine, Operation, RecordedEvent, Write};
use state::State;

/// The host of one test.
#[derive(Debug, Default)]
pub struct Host {
    state: State,
}

impl Host {
    /// A host with an empty cluster and the configuration `{}`.
    pub fn new() -> Self {
        Self::default()
    }

    /// A host with this configuration.
    pub fn with_config(config: Value) -> Self {
        let mut host = Self::new();
        host.state.config = config;
        host
    }

    /// Puts an object into the cluster, as another client would. Its uid is kept or made up.
    ///
    /// # Panics
    /// If it has no apiVersion, kind or name.
    pub fn object(&mut self, object: &Value) -> &mut Self {
        self.state.cluster.put(object);
        self
    }

    /// From now on, writes into this namespace are answered as the API server does where a
    /// namespace does not exist.
    pub fn missing_namespace(&mut self, namespace: &str) -> &mut Self {
        self.state.cluster.set_namespace(namespace, false);
        self
    }

    /// Takes [`Host::missing_namespace`] back.
    pub fn existing_namespace(&mut self, namespace: &str) -> &mut Self {
        self.state.cluster.set_namespace(namespace, true);
        self
    }

    /// The next use of this function of the cluster fails so. Several are used up in order.
    pub fn fail(&mut self, operation: Operation, error: ApiError) -> &mut Self {
        self.state.failures.push((operation, error));
        self
    }

    /// Lines below this level are dropped; all are kept by default.
    pub fn log_level(&mut self, level: Level) -> &mut Self {
        self.state.log_level = level;
        self
    }

    /// Sets the clock (since 1970). It stands still but for one millisecond with every look
    /// at it, so that waiting loops end.
    pub fn now(&mut self, now: Duration) -> &mut Self {
        self.state.now = now;
        self
    }

    /// What the handler would say of its configuration before going into service.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn validate<H: Handler>(&mut self) -> std::result::Result<(), Vec<String>> {
        let config = self.state.config.to_string();
        self.state.enter(|| handler::validate::<H>(&config))
    }

    /// What the handler asks for, as the host reads it.
    ///
    /// # Panics
    /// Never: a description is always JSON.
    pub fn describe<H: Handler>(&mut self) -> Value {
        let text = self.state.enter(|| H::describe().to_json());
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Calls `add`; the object is in the cluster from then on.
    ///
    /// # Errors
    /// The handler's failure.
    pub fn add<H: Handler>(&mut self, object: &Value) -> Result {
        self.call::<H>(Call::add(object))
    }

    /// Calls `update`; the cluster has the current object from then on.
    ///
    /// # Errors
    /// The handler's failure.
    pub fn update<H: Handler>(&mut self, previous: &Value, current: &Value) -> Result {
        self.call::<H>(Call::update(previous, current))
    }

    /// Calls `delete` with this final state; the object is no longer in the cluster.
    ///
    /// # Errors
    /// The handler's failure.
    pub fn delete<H: Handler>(&mut self, last: &Value) -> Result {
        self.call::<H>(Call::delete(last))
    }

    /// Makes a call with everything that a host can say about it.
    ///
    /// # Errors
    /// The handler's failure.
    pub fn call<H: Handler>(&mut self, call: Call) -> Result {
        let (change, delivery) = call.begin(&mut self.state);
        let result = self.state.enter(|| handler::call::<H>(change, delivery));
        self.state.end_call();
        result
    }

    /// The log lines of all calls so far.
    pub fn logs(&self) -> &[LogLine] {
        &self.state.logs
    }

    /// The Kubernetes Events of all calls so far.
    pub fn events(&self) -> &[RecordedEvent] {
        &self.state.events
    }

    /// The writes of all calls so far that did not fail.
    pub fn writes(&self) -> &[Write] {
        &self.state.writes
    }

    /// Forgets log lines, Events and writes.
    pub fn clear(&mut self) -> &mut Self {
        self.state.logs.clear();
        self.state.events.clear();
        self.state.writes.clear();
        self
    }

    /// An object of the cluster as it is now.
    pub fn get(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Option<&Value> {
        self.state.cluster.peek(&crate::Gvk::new(api_version, kind), namespace, name)
    }
}

#[cfg(test)]
mod tests;
