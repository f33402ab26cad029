//! The Plugin document, read: what an operator wrote about one plugin. Owns the resolved
//! types; reading them from JSON and naming every mistake is `plugin/read.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::event::Event;
use crate::grant::{Grants, Namespaces};
use crate::kind::Gvk;
use crate::selector::Selector;

/// Namespace (the tenant) and name of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginName {
    /// The tenant.
    pub namespace: Arc<str>,
    /// Unique within the namespace.
    pub name: Arc<str>,
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Plugin document in which everything is known and within its range.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDocument {
    /// `metadata.namespace` (default `default`) and `metadata.name`.
    pub name: PluginName,
    /// `spec.component`.
    pub component: ComponentRef,
    /// `spec.serviceAccountName`: who reads and writes; `None`: the host itself.
    pub service_account: Option<Arc<str>>,
    /// `spec.subscribe`: `None` takes all that the component asks for, in the plugin's
    /// own namespace.
    pub subscribe: Option<Vec<SubscribeEntry>>,
    /// `spec.grants`.
    pub grants: Grants,
    /// `spec.limits`, with defaults filled in.
    pub limits: Limits,
    /// `spec.rollout.replay`.
    pub replay: Replay,
    /// `spec.config` as compact JSON text; `{}` if absent.
    pub config: Arc<str>,
}

/// Where the component's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentRef {
    /// A file, relative to the folder of the document.
    File(String),
}

/// One entry of `subscribe`, in a document or in a component's description. In a
/// document only `name` is required: the rest narrows what the component asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscribeEntry {
    /// By which a document refers to a description's entry.
    pub name: Arc<str>,
    /// The kind; always there in a description.
    pub kind: Option<Gvk>,
    /// `namespaces`; `None`: the plugin's own. Never there in a description.
    pub namespaces: Option<Namespaces>,
    /// `labelSelector`; empty matches everything.
    pub label_selector: Selector,
    /// `fieldSelector`: `metadata.name` and `metadata.namespace` only.
    pub field_selector: Selector,
    /// `events`; `None`: all. Empty: cached for reading, never delivered.
    pub events: Option<Vec<Event>>,
}

/// Ceilings of one plugin's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes over all memories of an instance.
    pub memory: u64,
    /// Wall time of one call, host calls included.
    pub deadline: Duration,
    /// Processor time of one call.
    pub cpu: Duration,
    /// Calls at the same time.
    pub concurrency: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 64 << 20, deadline: Duration::from_secs(10), cpu: Duration::from_millis(200), concurrency: 4 }
    }
}

/// What is delivered again when a new revision goes into service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// Everything that the plugin knows.
    #[default]
    All,
    /// What failed or is parked.
    Failed,
    /// Nothing.
    None,
}

/// What a component says of itself (`setup.describe`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// Its own name, for people.
    pub name: String,
    /// Its own version, for people.
    pub version: String,
    /// Failure reasons that count by themselves in metrics; at most 16.
    pub reasons: Vec<Arc<str>>,
    /// What it asks for.
    pub subscribe: Vec<SubscribeEntry>,
    /// Limits that it would like; a document's own win. `None`: no wish.
    pub memory: Option<u64>,
    /// As above.
    pub deadline: Option<Duration>,
    /// As above.
    pub cpu: Option<Duration>,
    /// As above.
    pub concurrency: Option<u32>,
}

/// What is asked for and granted: one kind that a plugin is told about.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// Its name in document and description.
    pub name: Arc<str>,
    /// The kind.
    pub kind: Arc<Gvk>,
    /// Where.
    pub namespaces: Namespaces,
    /// Labels that must match: the description's selector and the document's together.
    pub label_selector: Selector,
    /// Fields that must match, likewise.
    pub field_selector: Selector,
    /// Which calls are made; empty: none, the kind is only cached.
    pub events: Vec<Event>,
}

/// One mistake in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// RFC 6901 pointer of the field.
    pub pointer: String,
    /// `DocumentInvalid`, or `NotSupported` for what is not built yet.
    pub reason: crate::Reason,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}
