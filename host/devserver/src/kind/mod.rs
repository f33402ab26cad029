//! What kinds of objects there are: built in (from the generated table) or defined by a CustomResourceDefinition.
//!
//! Owns what discovery tells of a resource and how a request finds it. A resource never knows its objects.

mod builtin;
mod registry;

use std::sync::Arc;

use crate::crd::CustomVersion;
use crate::schema::TypeId;
use crate::status::About;

pub(crate) use registry::{Group, GroupVersion, Registry};

/// One served resource of one version of a group: what a line of `kubectl api-resources` says, and more.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) plural: Arc<str>,
    pub(crate) singular: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) list_kind: Arc<str>,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<Arc<str>>,
    pub(crate) categories: Vec<Arc<str>>,
    /// As discovery lists them: create, delete, deletecollection, get, list, patch, update, watch.
    pub(crate) verbs: Vec<Arc<str>>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) schema: Schema,
    /// What every answer warns of, if this version is deprecated.
    pub(crate) deprecation: Option<Arc<str>>,
    /// Where its objects lie: group and plural, the same for all versions of a resource.
    pub(crate) storage: Arc<str>,
}

/// `status`, `scale`, `binding`, `log`, …
#[derive(Debug, Clone)]
pub(crate) struct Subresource {
    pub(crate) name: Arc<str>,
    /// Group, version and kind of its body; differ from the resource's for `scale` and `eviction`.
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) verbs: Vec<Arc<str>>,
}

/// What is known of the shape of a resource's objects.
#[derive(Debug, Clone)]
pub(crate) enum Schema {
    /// A type of Kubernetes' own.
    Builtin(TypeId),
    /// A version of a CustomResourceDefinition.
    Custom(Arc<CustomVersion>),
}

impl Resource {
    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// For storage errors: the plural.
    pub(crate) fn about(&self) -> About<'_> {
        About { group: &self.group, kind: &self.plural }
    }

    /// For validation errors: the kind.
    pub(crate) fn about_kind(&self) -> About<'_> {
        About { group: &self.group, kind: &self.kind }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| &**known == verb)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| &*one.name == name)
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.schema, Schema::Custom(_))
    }
}
