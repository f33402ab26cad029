//! Names of kinds and of objects.

use std::fmt;

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// Empty for the core group.
    pub group: String,
    /// For example `v1`.
    pub version: String,
    /// For example `ConfigMap`.
    pub kind: String,
}

impl Gvk {
    /// From `apiVersion` (`v1`, `apps/v1`) and `kind`.
    pub fn new(api_version: &str, kind: impl Into<String>) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.into() }
    }

    /// `apiVersion` as objects have it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Gvk,
    /// `None` for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; empty when not known.
    pub uid: String,
}

impl ObjectRef {
    /// An object of a namespaced kind, its uid not known.
    pub fn namespaced(kind: Gvk, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: Some(namespace.into()), name: name.into(), uid: String::new() }
    }

    /// An object of a cluster-scoped kind, its uid not known.
    pub fn cluster_scoped(kind: Gvk, name: impl Into<String>) -> Self {
        Self { kind, namespace: None, name: name.into(), uid: String::new() }
    }
}

/// `namespace/name`, or `name` alone.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_go_both_ways() {
        for (api_version, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1")] {
            let kind = Gvk::new(api_version, "X");
            assert_eq!((kind.group.as_str(), kind.version.as_str()), (group, version));
            assert_eq!(kind.api_version(), api_version);
        }
    }
}
