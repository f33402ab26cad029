//! Reading a store as one reads the API: by namespace, selector and name. Owns the words of
//! "not found"; never reaches the server.

use std::sync::Arc;

use wharf_core::{Object, ObjectKey, ResourceKind, Selector};

use super::reader::Reader;

/// Lists and gets the objects of one kind from a store: client-go's `GenericLister`.
///
/// A namespace is found through the store's order, which is always there: client-go needs
/// an index for it, and warns and scans where that is missing.
#[derive(Clone)]
pub struct Lister {
    objects: Arc<dyn Reader>,
    resource: Arc<str>,
}

/// There is no such object in the store. The text is the API server's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} {name:?} not found")]
pub struct NotFound {
    /// The resource: its plural name, with its group if it has one.
    pub resource: Arc<str>,
    /// The object's name.
    pub name: Arc<str>,
}

impl Lister {
    /// A lister over objects of this kind: a registration's view, or a store.
    pub fn new(objects: Arc<dyn Reader>, kind: &ResourceKind) -> Self {
        let group = &kind.gvk.group;
        let resource = if group.is_empty() { kind.plural.clone() } else { format!("{}.{group}", kind.plural).into() };
        Self { objects, resource }
    }

    /// The objects of a namespace, or of all, that a label selector matches; by namespace,
    /// then by name.
    ///
    /// An empty selector costs nothing; another one reads each object's text up to its
    /// labels, after the store's lock was released.
    pub fn list(&self, namespace: Option<&str>, selector: &Selector) -> Vec<Arc<Object>> {
        let mut objects = self.objects.list(namespace);
        if !selector.is_empty() {
            objects.retain(|object| object.matches_labels(selector));
        }
        objects
    }

    /// One object; `namespace` is `None` for cluster-scoped kinds.
    ///
    /// # Errors
    /// When the store does not have it.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Result<Arc<Object>, NotFound> {
        let key = ObjectKey::new(namespace.unwrap_or_default(), name);
        self.objects.get(&key).ok_or_else(|| NotFound { resource: self.resource.clone(), name: key.name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LocalStore;
    use crate::store::testing::{object_with, shown};
    use wharf_core::Gvk;

    fn lister(group: &str) -> Lister {
        let local = LocalStore::new();
        for (namespace, name, labels) in [
            ("b", "1", r#"{"app":"web","tier":"front"}"#),
            ("a", "1", r#"{"app":"web"}"#),
            ("a", "2", r#"{"app":"db"}"#),
            ("a", "3", "{}"),
            ("", "global", r#"{"app":"web"}"#),
        ] {
            local.put(object_with(namespace, name, name, "1", labels)).unwrap();
        }
        let kind = ResourceKind { gvk: Gvk::new(group, "v1", "Widget"), plural: "widgets".into(), namespaced: true };
        Lister::new(local.store().clone(), &kind)
    }

    fn list(namespace: Option<&str>, selector: &str) -> Vec<String> {
        shown(&lister("").list(namespace, &Selector::parse(selector).unwrap()))
    }

    #[test]
    fn cs12_selectors_in_one_namespace_and_in_all() {
        assert_eq!(list(None, ""), ["global:1", "a/1:1", "a/2:1", "a/3:1", "b/1:1"]);
        assert_eq!(list(None, "app=web"), ["global:1", "a/1:1", "b/1:1"]);
        assert_eq!(list(None, "app=web,tier"), ["b/1:1"]);
        assert_eq!(list(None, "!app"), ["a/3:1"]);
        assert_eq!(list(Some("a"), ""), ["a/1:1", "a/2:1", "a/3:1"]);
        assert_eq!(list(Some("a"), "app in (web, db)"), ["a/1:1", "a/2:1"]);
        assert!(list(Some("none"), "").is_empty());
    }

    /// What client-go calls the nothing selector is here one that contradicts itself.
    #[test]
    fn cs12_a_selector_that_matches_nothing() {
        assert!(list(None, "app,!app").is_empty());
        assert!(list(Some("a"), "app,!app").is_empty());
    }

    #[test]
    fn cs12_not_found_names_the_resource() {
        let core = lister("");
        assert_eq!(core.get(Some("a"), "2").unwrap().key().to_string(), "a/2");
        assert_eq!(core.get(None, "global").unwrap().key().to_string(), "global");
        assert_eq!(core.get(Some("a"), "x").unwrap_err().to_string(), r#"widgets "x" not found"#);
        assert_eq!(core.get(None, "1").unwrap_err().to_string(), r#"widgets "1" not found"#);
        assert_eq!(lister("g.io").get(Some("b"), "x").unwrap_err().to_string(), r#"widgets.g.io "x" not found"#);
    }
}
