//! What a plugin was granted, and the one rule that says whether a use is covered. Pure:
//! the point of use is in the engine, the cluster's own RBAC comes on top.

use std::fmt;
use std::sync::Arc;

use crate::kind::Gvk;

/// What a plugin may do with objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many objects.
    List,
    /// Make an object; for kind Event also `record-event`.
    Create,
    /// Server-side apply.
    Apply,
    /// JSON merge patch.
    Patch,
    /// Delete one object.
    Delete,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 6] = [Self::Get, Self::List, Self::Create, Self::Apply, Self::Patch, Self::Delete];

    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Apply => "apply",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// Where a use of the cluster takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// In one namespace.
    Namespace(&'a str),
    /// Across all namespaces.
    AllNamespaces,
    /// On a cluster-scoped kind: naming the kind in a grant is enough.
    Cluster,
}

/// Namespaces that a grant or a subscription covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// All of them: `["*"]`.
    All,
    /// The named ones; never empty.
    Some(Vec<Arc<str>>),
}

impl Namespaces {
    /// Is a namespace covered?
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some(names) => names.iter().any(|n| **n == *namespace),
        }
    }
}

/// One entry `cluster: {…}` of a document's grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterGrant {
    /// The kind that may be used.
    pub kind: Gvk,
    /// What may be done with it.
    pub verbs: Vec<Verb>,
    /// Where; for cluster-scoped kinds without meaning.
    pub namespaces: Namespaces,
}

/// All that a document grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Uses of the cluster; empty: the interface `cluster` is not granted at all.
    pub cluster: Vec<ClusterGrant>,
}

/// A use without a grant; its text says how to grant it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Denied {
    verb: Verb,
    kind: Gvk,
    namespace: Option<String>,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not granted: {} {}; to allow it, add to spec.grants: - cluster: {{apiVersion: {}, kind: {}, verbs: [{}]",
            self.verb.as_str(),
            self.kind,
            self.kind.api_version(),
            self.kind.kind,
            self.verb.as_str(),
        )?;
        if let Some(namespace) = &self.namespace {
            write!(f, ", namespaces: [{namespace:?}]")?;
        }
        f.write_str("}")
    }
}

impl Grants {
    /// The word for a kind, group or version that stands for all of them. No document can
    /// say it: it is not a name of Kubernetes.
    const ANY: &str = "*";

    /// Everything, everywhere: for a call without a cluster behind it, where what is
    /// granted protects nothing. Never for a plugin of a host.
    pub fn everything() -> Self {
        let kind = Gvk::new(Self::ANY, Self::ANY, Self::ANY);
        Self { cluster: vec![ClusterGrant { kind, verbs: Verb::ALL.to_vec(), namespaces: Namespaces::All }] }
    }

    /// Is a use covered by at least one grant?
    ///
    /// # Errors
    /// Says what is missing and how to grant it.
    pub fn check(&self, verb: Verb, kind: &Gvk, place: Place<'_>) -> Result<(), Denied> {
        let covered = self.cluster.iter().any(|grant| {
            (grant.kind == *kind || [&grant.kind.group, &grant.kind.version, &grant.kind.kind].iter().all(|part| ***part == *Self::ANY))
                && grant.verbs.contains(&verb)
                && match place {
                    Place::Namespace(namespace) => grant.namespaces.contains(namespace),
                    Place::AllNamespaces => grant.namespaces == Namespaces::All,
                    Place::Cluster => true,
                }
        });
        if covered {
            return Ok(());
        }
        let namespace = match place {
            Place::Namespace(namespace) => Some(namespace.to_owned()),
            Place::AllNamespaces => Some("*".to_owned()),
            Place::Cluster => None,
        };
        Err(Denied { verb, kind: kind.clone(), namespace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_everything_and_no_document_can_say_it() {
        let everything = Grants::everything();
        for (verb, kind, place) in [
            (Verb::Delete, Gvk::new("", "v1", "Secret"), Place::AllNamespaces),
            (Verb::Apply, Gvk::new("example.com", "v1", "Thing"), Place::Namespace("a")),
            (Verb::Create, Gvk::new("", "v1", "Namespace"), Place::Cluster),
        ] {
            assert!(everything.check(verb, &kind, place).is_ok(), "{verb:?} {kind} {place:?}");
        }
        let document = serde_json::json!({
            "apiVersion": "wharf.dev/v1alpha1", "kind": "Plugin", "metadata": {"name": "a"},
            "spec": {
                "component": {"file": "a.wasm"},
                "grants": [{"cluster": {"apiVersion": "*", "kind": "*", "verbs": ["get"], "namespaces": ["*"]}}],
            },
        });
        let wrong: Vec<_> = crate::plugin::read_document(&document).unwrap_err().into_iter().map(|p| p.pointer).collect();
        assert_eq!(wrong, ["/spec/grants/0/cluster/apiVersion", "/spec/grants/0/cluster/kind"]);
    }

    #[test]
    fn covered_and_not() {
        let secret = Gvk::new("", "v1", "Secret");
        let map = Gvk::new("", "v1", "ConfigMap");
        let grant =
            |namespaces| Grants { cluster: vec![ClusterGrant { kind: map.clone(), verbs: vec![Verb::Get, Verb::Apply], namespaces }] };
        let some = grant(Namespaces::Some(vec!["a".into()]));
        let all = grant(Namespaces::All);
        for (grants, verb, kind, place, want) in [
            (&some, Verb::Get, &map, Place::Namespace("a"), true),
            (&some, Verb::Get, &map, Place::Namespace("b"), false),
            (&some, Verb::Delete, &map, Place::Namespace("a"), false),
            (&some, Verb::Get, &secret, Place::Namespace("a"), false),
            (&some, Verb::Get, &map, Place::AllNamespaces, false),
            (&all, Verb::Get, &map, Place::AllNamespaces, true),
            (&all, Verb::Apply, &map, Place::Namespace("b"), true),
            (&some, Verb::Get, &map, Place::Cluster, true),
            (&Grants::default(), Verb::Get, &map, Place::Cluster, false),
        ] {
            assert_eq!(grants.check(verb, kind, place).is_ok(), want, "{verb:?} {kind} {place:?}");
        }
        let text = some.check(Verb::Delete, &map, Place::Namespace("b")).unwrap_err().to_string();
        assert_eq!(
            text,
            "not granted: delete v1 ConfigMap; to allow it, add to spec.grants: - cluster: {apiVersion: v1, kind: ConfigMap, verbs: [delete], namespaces: [\"b\"]}"
        );
    }
}
