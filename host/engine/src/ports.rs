//! What the engine needs from the rest of the host, one object per plugin. Owns the trait and
//! the plain types that cross it; never a wasmtime type, and never a decision: by the time a
//! method is called, the grants were checked and the names were found to be names.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wharf_core::{Cause, Event, Gvk, Object, ObjectKey, Selector, Verb};

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Every step.
    Trace,
    /// For the plugin's author.
    Debug,
    /// For the operator.
    Info,
    /// Something is wrong, the plugin went on.
    Warn,
    /// Something failed.
    Error,
}

/// What a guest is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// `setup.validate-config`.
    ValidateConfig,
    /// `setup.describe`.
    Describe,
    /// A function of `handler`.
    Handle(Event),
}

impl Task {
    /// The word used in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ValidateConfig => "validate-config",
            Self::Describe => "describe",
            Self::Handle(event) => event.as_str(),
        }
    }
}

/// The call that a log line belongs to.
#[derive(Clone, Debug)]
pub struct CallInfo {
    /// What the guest is doing.
    pub task: Task,
    /// Kind of the object; `None` in `setup`.
    pub kind: Option<Arc<Gvk>>,
    /// The object; `None` in `setup`.
    pub key: Option<ObjectKey>,
    /// Why the handler is called; `None` in `setup`.
    pub cause: Option<Cause>,
    /// As in the delivery; 1 in `setup`.
    pub attempt: u32,
}

/// One object, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Gvk,
    /// `None` for cluster-scoped kinds, and only for those.
    pub namespace: Option<String>,
    /// Its name; empty in a `create` that leaves the name to the server.
    pub name: String,
    /// Empty when not known.
    pub uid: String,
}

/// JSON text of one object.
#[derive(Clone, Debug)]
pub enum Document {
    /// An object of a store.
    Cached(Arc<Object>),
    /// An answer of the API server.
    Text(String),
}

impl Document {
    /// The text.
    pub fn json(&self) -> &str {
        match self {
            Self::Cached(object) => object.json(),
            Self::Text(text) => text,
        }
    }
}

impl From<Arc<Object>> for Document {
    fn from(object: Arc<Object>) -> Self {
        Self::Cached(object)
    }
}

impl From<String> for Document {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// What to list.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// Only this namespace; `None`: all, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Labels that must match.
    pub label_selector: Selector,
    /// As the guest wrote it, at most 1 KiB; empty: everything.
    pub field_selector: String,
    /// From the API server, not from the cache.
    pub live: bool,
    /// Items per page; 0: the default.
    pub limit: u32,
    /// As the guest passed it, at most 16 KiB; empty for the first page.
    pub continue_token: String,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects.
    pub items: Vec<Document>,
    /// Empty on the last page.
    pub continue_token: String,
}

/// How to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Store nothing.
    pub dry_run: bool,
    /// `apply`: take over fields of other managers.
    pub force: bool,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_resource_version: String,
    /// Write to the subresource `status`.
    pub status: bool,
}

/// How to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Delete nothing.
    pub dry_run: bool,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_uid: String,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_resource_version: String,
    /// What becomes of owned objects.
    pub propagation: Propagation,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

impl Propagation {
    /// The word in a delete request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// The answer to a write.
#[derive(Clone, Debug)]
pub struct Written {
    /// Of the object as stored.
    pub resource_version: String,
    /// The object as stored.
    pub object: Document,
}

/// Why the host or the API server did not do something, as the guest is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No grant of the Plugin document covers it.
    #[error("{0}")]
    NotGranted(String),
    /// The API server refused for lack of rights.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// No such object.
    #[error("not found")]
    NotFound,
    /// The object changed meanwhile, or another manager owns a field.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The name is taken.
    #[error("already exists")]
    AlreadyExists,
    /// Not acceptable as it is.
    #[error("invalid: {0}")]
    Invalid(String),
    /// Try again after this time.
    #[error("throttled, try again after {0:?}")]
    Throttled(Duration),
    /// The server cannot answer now.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The answer is larger than is handed out.
    #[error("too large")]
    TooLarge,
}

impl ApiError {
    /// The contract's word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotGranted(_) => "not-granted",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound => "not-found",
            Self::Conflict(_) => "conflict",
            Self::AlreadyExists => "already-exists",
            Self::Invalid(_) => "invalid",
            Self::Throttled(_) => "throttled",
            Self::Unavailable(_) => "unavailable",
            Self::TooLarge => "too-large",
        }
    }
}

/// What a plugin can reach, after its grants were checked.
///
/// The async methods run on the runtime from which [`Revision::call`](crate::Revision::call)
/// was awaited, never on the threads of guests, and are dropped when the call ends early: they
/// must be cancel safe. A panic in one of them ends the call with `HostError`.
#[async_trait]
pub trait Ports: Send + Sync + 'static {
    /// Would a line of this level be kept? Called often; must be cheap.
    fn log_enabled(&self, level: Level) -> bool;

    /// Takes a log line. Texts are capped and their control characters escaped. Runs on a
    /// guest thread and must not block.
    fn log(&self, call: &CallInfo, level: Level, message: &str, fields: &[(String, String)]);

    /// The guest tried what no grant covers; nothing was sent. `what` says what it was and how
    /// to grant it. Runs on a guest thread and must not block.
    fn denied(&self, _verb: Verb, _what: &str) {}

    /// A write of the guest succeeded; nothing was dry. Runs on a guest thread and must not block.
    fn wrote(&self, _call: &CallInfo, _verb: Verb, _target: &ObjectRef) {}

    /// Where objects of a kind live: true in namespaces, false in the cluster itself.
    ///
    /// # Errors
    /// When the kind is not known, or that cannot be found out now.
    async fn place(&self, kind: &Gvk) -> Result<bool, ApiError>;

    /// One object.
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError>;

    /// One page of objects. Bytes of a page are the implementation's to bound; more than
    /// 16 MiB reach the guest as [`ApiError::TooLarge`].
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError>;

    /// Makes an object.
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn create(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError>;

    /// Applies an object.
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn apply(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError>;

    /// Applies a JSON merge patch.
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError>;

    /// Deletes an object; `target.uid` is empty, the precondition stands in the options.
    ///
    /// # Errors
    /// As the guest shall see them.
    async fn delete(&self, target: &ObjectRef, options: DeleteOptions) -> Result<(), ApiError>;

    /// Takes a Kubernetes Event to be written later, or dropped. Runs on a guest thread and
    /// must not block.
    fn record_event(&self, about: &ObjectRef, warning: bool, reason: &str, message: &str);
}
