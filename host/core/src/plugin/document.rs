//! The types of the Plugin document and of what comes out of it. Owns no reading: a value
//! of these types is known to be whole and within its ranges.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::changes::Changes;
use super::fields::{Problem, excerpt};
use super::limits::AskedLimits;
use super::names::{LABEL_HINT, is_label};
use super::read::{API_VERSION, KIND};
use crate::Reason;
use crate::event::Event;
use crate::filter::Filters;
use crate::grant::{Grants, Namespaces};
use crate::kind::Gvk;
use crate::mapping::Mapping;
use crate::selector::Selector;

/// Namespace (the tenant) and name of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginName {
    /// The tenant.
    pub namespace: Arc<str>,
    /// Unique within the namespace.
    pub name: Arc<str>,
}

impl PluginName {
    /// The namespace of a plugin that names none.
    pub const DEFAULT_NAMESPACE: &'static str = "default";

    /// A name if both parts are DNS-1123 labels.
    pub fn new(namespace: &str, name: &str) -> Option<Self> {
        (is_label(namespace) && is_label(name)).then(|| Self { namespace: namespace.into(), name: name.into() })
    }
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
    /// own namespace. Never empty.
    pub subscribe: Option<Vec<SubscribeEntry>>,
    /// `spec.grants`.
    pub grants: Grants,
    /// `spec.limits`: only what the document gives.
    pub limits: AskedLimits,
    /// `spec.suspend`: it is told of nothing until this is false again, and then of what has changed.
    pub suspend: bool,
    /// `spec.rollout.replay`.
    pub replay: Replay,
    /// `spec.rollout.bake`: for so long a new revision is compared with the one before it; zero: not
    /// at all.
    pub bake: Duration,
    /// `spec.isolation`.
    pub isolation: Isolation,
    /// `spec.config` as compact JSON text; `{}` if absent.
    pub config: Arc<str>,
    /// The document itself, as compact JSON, with nothing of its metadata but the name: from this it
    /// can be read again.
    pub source: Arc<str>,
}

impl PluginDocument {
    /// `spec.rollout.bake` where the document does not give it.
    pub const BAKE: Duration = Duration::from_secs(60);
    /// What `spec.rollout.bake` may be.
    pub const BAKES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);

    /// The document that stands for a bare `.wasm` file, in the namespace `default`: no
    /// grants, everything that the component asks for in that namespace, the host's
    /// identity.
    ///
    /// # Errors
    /// When the name cannot be a plugin's.
    pub fn bare(name: &str, file: &str) -> Result<Self, Problem> {
        let name = PluginName::new(PluginName::DEFAULT_NAMESPACE, name).ok_or_else(|| Problem {
            pointer: String::new(),
            reason: Reason::DocumentInvalid,
            message: format!("{} is no name for a plugin", excerpt(name)),
            hint: format!("rename the file, or write a document for it: {LABEL_HINT}"),
        })?;
        let source = json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": &*name.name, "namespace": &*name.namespace},
            "spec": {"component": {"file": file}},
        });
        Ok(Self {
            name,
            component: ComponentRef::File(file.to_owned()),
            service_account: None,
            subscribe: None,
            grants: Grants::default(),
            limits: AskedLimits::default(),
            suspend: false,
            replay: Replay::default(),
            bake: Self::BAKE,
            isolation: Isolation::default(),
            config: "{}".into(),
            source: source.to_string().into(),
        })
    }
}

/// Where the component's bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentRef {
    /// A file, relative to the folder of plugins; never absolute, never with `..`.
    File(String),
    /// An entry of `binaryData` of a ConfigMap in the plugin's own namespace.
    ConfigMap {
        /// The ConfigMap.
        name: Arc<str>,
        /// The entry.
        key: Arc<str>,
    },
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
    /// `resync`: all objects are due again each time this has passed; `None`: never.
    pub resync: Option<Duration>,
    /// `content: redacted`: Secrets come without their data. Never there in a description.
    pub redacted: bool,
    /// `delivery`: is each change told, or the latest state? `None`: no wish.
    pub every_event: Option<bool>,
    /// Which changes count, and for whom.
    pub changes: Changes,
}

impl SubscribeEntry {
    /// What `resync` may be: 1s, as in client-go, to 24h.
    pub const RESYNC: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
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

/// Whether calls may share an instance of the component, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// An instance serves the calls of a burst, up to a bound; between bursts it is kept if it is dear to make.
    #[default]
    Reuse,
    /// The same, and it is kept between bursts whatever it costs to make.
    Warm,
    /// Every call has an instance of its own.
    Fresh,
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
    /// Which calls are made, in the order of an object's life; empty: none, the kind is
    /// only cached.
    pub events: Vec<Event>,
    /// All objects are due again each time this has passed; `None`: never.
    pub resync: Option<Duration>,
    /// Secrets come without their data.
    pub redacted: bool,
    /// Each change makes a call of its own, in order, as far as the backlog reaches.
    pub every_event: bool,
    /// Other changes than those that these want are dropped.
    pub filters: Filters,
    /// Changes that the plugin made itself are dropped.
    pub ignore_own_writes: bool,
    /// Changes make objects of another subscription due.
    pub map: Option<Mapping>,
}
