//! One [`PluginPorts`] per revision: log, cluster and Events of a plugin in its own name.
//! Grants were checked by the engine before a method here is called.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use wharf_core::plugin::PluginDocument;
use wharf_core::{Gvk, Reason, Verb};
use wharf_engine::{ApiError, CallInfo, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Ports, WriteOptions, Written};

use super::api::{Api, Identity};
use super::cluster::Cluster;
use super::rate::Rates;
use super::recorder::{Record, Recorder};
use crate::dispatch::Dispatcher;
use crate::telemetry::LogHandle;
use crate::telemetry::events::{GrantDenied, GuestLog};
use crate::telemetry::metrics::Metrics;

/// The longest field manager that the API server accepts.
const MAX_FIELD_MANAGER: usize = 128;
/// How a denial begins that a plugin may not hear of.
const EVENT_NOT_GRANTED: &str = "not granted: create events.k8s.io/v1 Event;";

/// Makes the host side of plugins.
pub struct PortsFactory {
    /// The API server in the host's own name.
    pub api: Api,
    /// Where Events go.
    pub recorder: Recorder,
    /// Where host calls and log lines are counted.
    pub metrics: Arc<Metrics>,
    /// How often tenants may ask the API server.
    pub rates: Rates,
    /// What plugins may log.
    pub log: LogHandle,
}

impl PortsFactory {
    /// The host side of one revision of a plugin. Cached reads go to what the dispatcher is
    /// subscribed to at that moment.
    pub fn make(&self, document: &PluginDocument, dispatcher: Weak<Dispatcher>) -> Arc<PluginPorts> {
        let name = &document.name;
        let identity = Identity::of(&name.namespace, document.service_account.as_deref());
        let mut manager = format!("wharf/{name}");
        manager.truncate(manager.floor_char_boundary(MAX_FIELD_MANAGER));
        let api = self.api.with_identity(identity);
        let rated = api.clone().at_the_rate(self.rates.of(&name.namespace));
        Arc::new(PluginPorts {
            label: name.to_string().into(),
            revision: OnceLock::new(),
            cluster: Cluster::new(rated, manager, dispatcher),
            events: api,
            recorder: self.recorder.clone(),
            metrics: Arc::clone(&self.metrics),
            log: self.log.clone(),
        })
    }
}

/// The host side of one revision of a plugin.
pub struct PluginPorts {
    label: Arc<str>,
    revision: OnceLock<Arc<str>>,
    cluster: Cluster,
    /// For its Events, which have bounds of their own and must not hold back those of others.
    events: Api,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    log: LogHandle,
}

impl PluginPorts {
    /// The revision goes into service under this name. Says it once.
    pub fn serve_as(&self, revision: Arc<str>) {
        // Set by the one task that serves this revision, once.
        let _first = self.revision.set(revision);
        if let Some(dispatcher) = self.cluster.dispatcher() {
            dispatcher.refusals().forget();
        }
    }

    /// Counts a host call by how it ended.
    fn count<T>(&self, capability: &'static str, result: Result<T, ApiError>) -> Result<T, ApiError> {
        let label = match &result {
            Ok(_) => "ok",
            Err(ApiError::NotFound) => "not-found",
            Err(ApiError::Forbidden(_) | ApiError::NotGranted(_)) => "forbidden",
            Err(ApiError::Conflict(_) | ApiError::AlreadyExists) => "conflict",
            Err(ApiError::Throttled(_) | ApiError::Unavailable(_)) => "unavailable",
            Err(ApiError::Invalid(_) | ApiError::TooLarge) => "invalid",
        };
        self.metrics.host_call(&self.label, capability, label);
        result
    }
}

#[async_trait]
impl Ports for PluginPorts {
    fn log_enabled(&self, level: Level) -> bool {
        GuestLog::enabled(level, self.log.level_of(&self.label))
    }

    fn log(&self, call: &CallInfo, level: Level, message: &str, fields: &[(String, String)]) {
        GuestLog { plugin: &self.label, revision: self.revision.get().map_or("", |tag| tag), call, level, message, fields }
            .emit(&self.metrics);
    }

    fn denied(&self, verb: Verb, what: &str) {
        let capability = match verb {
            Verb::Get => "cluster.get",
            Verb::List => "cluster.list",
            Verb::Create => "cluster.create",
            Verb::Apply => "cluster.apply",
            Verb::Patch => "cluster.merge-patch",
            Verb::Delete => "cluster.delete",
        };
        GrantDenied { plugin: &self.label, capability, what, hint: Reason::GrantMissing.hint() }.emit(&self.metrics);
        if what.starts_with(EVENT_NOT_GRANTED)
            && let Some(dispatcher) = self.cluster.dispatcher()
        {
            dispatcher.refusals().refused(Reason::GrantMissing, what.to_owned(), None);
        }
    }

    fn wrote(&self, call: &CallInfo, verb: Verb, target: &ObjectRef) {
        if let Some(dispatcher) = self.cluster.dispatcher() {
            dispatcher.note_written(call, verb.as_str(), target);
        }
    }

    async fn place(&self, kind: &Gvk) -> Result<bool, ApiError> {
        self.cluster.namespaced(kind).await
    }

    async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError> {
        self.count("cluster.get", self.cluster.get(kind, namespace, name, live).await)
    }

    async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError> {
        self.count("cluster.list", self.cluster.list(kind, options).await)
    }

    async fn create(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.count("cluster.create", self.cluster.create(target, object, options).await)
    }

    async fn apply(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.count("cluster.apply", self.cluster.apply(target, object, options).await)
    }

    async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.count("cluster.merge-patch", self.cluster.merge_patch(target, patch, options).await)
    }

    async fn delete(&self, target: &ObjectRef, options: DeleteOptions) -> Result<(), ApiError> {
        self.count("cluster.delete", self.cluster.delete(target, options).await)
    }

    fn record_event(&self, about: &ObjectRef, warning: bool, reason: &str, message: &str) {
        self.recorder.record(Record {
            plugin: Arc::clone(&self.label),
            api: self.events.clone(),
            manager: self.cluster.manager().to_owned(),
            kind: about.kind.clone(),
            namespace: about.namespace.clone(),
            name: about.name.clone(),
            uid: about.uid.clone(),
            warning,
            reason: reason.to_owned(),
            note: message.to_owned(),
            state: false,
            refusals: self.cluster.dispatcher().map(|dispatcher| dispatcher.refusals()),
        });
    }
}

#[cfg(test)]
mod tests {
    use wharf_core::grant::{Grants, Place};

    use super::*;

    #[test]
    fn the_denial_of_an_event_is_known_by_its_words() {
        let denied = |kind| Grants::default().check(Verb::Create, &kind, Place::Namespace("a")).unwrap_err().to_string();
        assert!(denied(Gvk::new("events.k8s.io", "v1", "Event")).starts_with(EVENT_NOT_GRANTED));
        assert!(!denied(Gvk::new("", "v1", "ConfigMap")).starts_with(EVENT_NOT_GRANTED));
    }
}
