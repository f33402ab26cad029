//! What an informer watches. Owns the key by which informers are shared; never says for
//! whom they are.

use std::fmt;
use std::sync::Arc;

use wharf_core::Gvk;

/// Kind, scope and selectors of an informer. Two users of equal specs share one informer:
/// one list, one watch, one store.
///
/// Selectors are compared as text, so write them in one canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InformerSpec {
    /// The kind; it need not exist on the server (yet).
    pub kind: Gvk,
    /// Which part of the cluster. For a cluster-scoped kind a namespace has no effect.
    pub scope: Scope,
    /// Label selector in the API's syntax; empty selects everything.
    pub label_selector: String,
    /// Field selector in the API's syntax; empty selects everything.
    pub field_selector: String,
    /// How much of each object is kept.
    pub content: Content,
}

impl InformerSpec {
    /// All objects of a kind in a scope.
    pub fn new(kind: Gvk, scope: Scope) -> Self {
        Self { kind, scope, label_selector: String::new(), field_selector: String::new(), content: Content::Full }
    }

    /// Is it about one object, by its name? Such a registration is no reason to watch more.
    pub(crate) fn names_one(&self) -> bool {
        let name = self.field_selector.strip_prefix("metadata.name=");
        name.is_some_and(|name| !name.is_empty() && !name.contains([',', '=']))
    }

    /// What the objects say that they are, in the form in which they are asked for.
    pub(crate) fn sent_kind(&self) -> Gvk {
        match self.content {
            Content::Full | Content::Redacted => self.kind.clone(),
            Content::Metadata => Gvk::new("meta.k8s.io", "v1", "PartialObjectMetadata"),
        }
    }

    /// The same without selectors and for the whole cluster: what covers every other spec of
    /// the kind and content.
    pub(crate) fn widest(&self) -> Self {
        Self { label_selector: String::new(), field_selector: String::new(), scope: Scope::All, ..self.clone() }
    }
}

/// How much of each object a store keeps. `metadata.managedFields` is never part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content {
    /// All of it.
    #[default]
    Full,
    /// A Secret without its data: the keys of `data` and `stringData` stay, their values are
    /// empty, and the annotation with the last applied configuration is gone. Objects of other
    /// kinds are kept whole.
    Redacted,
    /// Only `metadata`, and the server sends no more: for who wants to know of changes, and reads
    /// what changed by other means. The objects are of kind `PartialObjectMetadata`.
    Metadata,
}

/// The whole cluster or one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// All namespaces, or a cluster-scoped kind.
    All,
    /// One namespace.
    Namespace(Arc<str>),
}

impl Scope {
    /// The namespace, if it is only one.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Namespace(namespace) => Some(namespace),
        }
    }
}

impl fmt::Display for Scope {
    /// Prints the namespace, or `*` for the whole cluster.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.namespace().unwrap_or("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_by_its_name() {
        let mut spec = InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), Scope::Namespace("a".into()));
        for (selector, want) in [
            ("", false),
            ("metadata.name=x", true),
            ("metadata.name=", false),
            ("metadata.name!=x", false),
            ("metadata.name==x", false),
            ("metadata.name=x,metadata.namespace=a", false),
            ("metadata.namespace=a", false),
        ] {
            spec.field_selector = selector.into();
            assert_eq!(spec.names_one(), want, "{selector}");
        }
    }
}
