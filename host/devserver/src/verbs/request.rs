//! A routed request: what is wanted of which resource. Who asks and whether they may is decided before.

use std::sync::Arc;

use bytes::Bytes;

use super::Query;
use crate::kind::Resource;
use crate::store::Key;

/// As authorization and audit name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

/// How the body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Yaml,
    Protobuf,
    JsonPatch,
    MergePatch,
    StrategicMergePatch,
    /// `application/apply-patch+yaml`.
    Apply,
}

/// A body.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    pub(crate) content: Content,
    pub(crate) bytes: Bytes,
}

/// A request after routing. `namespace` is empty for cluster-scoped resources and for lists over all namespaces.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) verb: Verb,
    /// Whole; the manager of fields if `fieldManager` is not given is what stands before `/`.
    pub(crate) user_agent: String,
    pub(crate) resource: Arc<Resource>,
    pub(crate) subresource: Option<Arc<str>>,
    pub(crate) namespace: Arc<str>,
    /// None for collections.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) query: Query,
    pub(crate) body: Option<Payload>,
}

impl Request {
    /// The object that is meant; with an empty name for collections.
    pub(crate) fn key(&self) -> Key {
        let name = self.name.clone().unwrap_or_else(|| Arc::from(""));
        Key { storage: Arc::clone(&self.resource.storage), namespace: Arc::clone(&self.namespace), name }
    }
}
