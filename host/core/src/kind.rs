//! Names of Kubernetes types. Owns parsing and printing of group, version and kind; never
//! asks a server which of them exist (that is discovery, in the cache crate).

use std::fmt;
use std::sync::Arc;

/// Group, version and kind of an object. The group is empty for the core group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// API group, for example `apps`; empty for the core group.
    pub group: Arc<str>,
    /// Version, for example `v1`.
    pub version: Arc<str>,
    /// Kind, for example `ConfigMap`.
    pub kind: Arc<str>,
}

impl Gvk {
    /// Makes a kind from its three parts.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Makes a kind from `apiVersion` and `kind` as they stand in an object.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        match api_version.split_once('/') {
            Some((group, version)) => Self::new(group, version, kind),
            None => Self::new("", api_version, kind),
        }
    }

    /// `group/version`, or `version` alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Gvk {
    /// Prints `v1 ConfigMap` or `apps/v1 Deployment`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{} {}", self.version, self.kind)
    }
}

/// A kind as a server serves it: with its resource name and its scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceKind {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// The plural name in URLs, for example `configmaps`.
    pub plural: Arc<str>,
    /// False for cluster-scoped kinds.
    pub namespaced: bool,
}

impl ResourceKind {
    /// URL path of the collection: of one namespace, or of the whole cluster.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.gvk.group.is_empty() {
            format!("/api/{}", self.gvk.version)
        } else {
            format!("/apis/{}/{}", self.gvk.group, self.gvk.version)
        };
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{}", self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_version_round_trip() {
        for (api_version, text) in [("v1", "v1 Pod"), ("apps/v1", "apps/v1 Pod")] {
            let gvk = Gvk::from_api_version(api_version, "Pod");
            assert_eq!(gvk.api_version(), api_version);
            assert_eq!(gvk.to_string(), text);
        }
    }

    #[test]
    fn paths() {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true };
        assert_eq!(kind.path(Some("a")), "/api/v1/namespaces/a/configmaps");
        assert_eq!(kind.path(None), "/api/v1/configmaps");
        let kind = ResourceKind { gvk: Gvk::new("g.io", "v1", "X"), plural: "xs".into(), namespaced: false };
        assert_eq!(kind.path(Some("a")), "/apis/g.io/v1/xs");
    }
}
