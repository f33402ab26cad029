//! From an object to those that it matters to: its owners, or one that it names. Owns that
//! rule; which plugin follows it, and when, is the dispatcher's.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::key::ObjectKey;
use crate::kind::Gvk;
use crate::object::Object;
use crate::pointer::{Key, Pointer};

/// How the objects of a subscription name those of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The kind of those that are named.
    pub to: Arc<Gvk>,
    /// Is that a kind in namespaces? Taken for true as long as the server does not know it.
    pub namespaced: bool,
    /// Where the names are.
    pub by: MapBy,
}

/// Where an object names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapBy {
    /// `metadata.ownerReferences` of the other's group and kind, whatever the version.
    Owner {
        /// Only the one that is the controller.
        controller: bool,
    },
    /// A label, an annotation or a field with `NAME` or `NAMESPACE/NAME`.
    Value {
        /// Which of these, in the document's word.
        word: &'static str,
        /// What the document says of it.
        text: Box<str>,
        /// Where it is.
        at: Pointer,
    },
}

impl MapBy {
    /// By the value of a label.
    pub fn label(key: &str) -> Self {
        Self::Value { word: "label", text: key.into(), at: Pointer::of(["metadata", "labels", key]) }
    }

    /// By the value of an annotation.
    pub fn annotation(key: &str) -> Self {
        Self::Value { word: "annotation", text: key.into(), at: Pointer::of(["metadata", "annotations", key]) }
    }

    /// By the value of a field.
    pub fn field(at: Pointer) -> Self {
        Self::Value { word: "field", text: at.to_string().into(), at }
    }
}

impl fmt::Display for MapBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner { controller: false } => f.write_str("owner any"),
            Self::Owner { controller: true } => f.write_str("owner controller"),
            Self::Value { word, text, .. } => write!(f, "{word} {text}"),
        }
    }
}

impl Mapping {
    /// More owners than these are not looked at.
    pub const MAX_TARGETS: usize = 16;

    /// The objects that `source` names; mostly one or none. A name without a namespace is in the
    /// source's own. Costs one read of the text, up to the names.
    pub fn targets(&self, source: &Object) -> Vec<ObjectKey> {
        let own = source.key().namespace.as_ref();
        match &self.by {
            MapBy::Owner { controller } => {
                let owners = owners(source.json()).into_iter().filter(|owner| self.is(owner) && (!controller || owner.controller));
                owners.take(Self::MAX_TARGETS).filter_map(|owner| self.key(None, &owner.name, own)).collect()
            }
            MapBy::Value { at, .. } => {
                let value = source.get(at).and_then(|json| serde_json::from_str::<Key<'_>>(json).ok());
                let key = value.and_then(|Key(value)| match value.split_once('/') {
                    Some((namespace, name)) => self.key(Some(namespace), name, own),
                    None => self.key(None, &value, own),
                });
                key.into_iter().collect()
            }
        }
    }

    fn is(&self, owner: &Owner<'_>) -> bool {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        *group == *self.to.group && *owner.kind == *self.to.kind
    }

    /// `None` for what can be no object of the kind.
    fn key(&self, namespace: Option<&str>, name: &str, own: Option<&Arc<str>>) -> Option<ObjectKey> {
        if name.is_empty() || name.len() > 253 || name.contains('/') {
            return None;
        }
        let namespace = match (namespace, self.namespaced) {
            (None, true) => Some(Arc::clone(own?)),
            (Some(namespace), true) if !namespace.is_empty() && namespace.len() <= 63 => Some(namespace.into()),
            (None, false) => None,
            (Some(_), _) => return None,
        };
        Some(ObjectKey { namespace, name: name.into() })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(default)]
    controller: bool,
}

fn owners(json: &str) -> Vec<Owner<'_>> {
    // What is there is a list of them, or the API server has not checked the object.
    let found = Pointer::of(["metadata", "ownerReferences"]).lookup(json);
    found.and_then(|owners| serde_json::from_str(owners).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn source(metadata: &Value) -> Object {
        let mut metadata = metadata.clone();
        metadata["name"] = json!("source");
        let json = json!({"metadata": metadata, "spec": {"ref": {"name": "é"}, "n": 1}});
        Object::parse(&json.to_string(), &Gvk::new("", "v1", "ConfigMap")).unwrap()
    }

    fn targets(mapping: &Mapping, metadata: &Value) -> Vec<String> {
        mapping.targets(&source(metadata)).iter().map(ToString::to_string).collect()
    }

    fn to(by: MapBy) -> Mapping {
        Mapping { to: Arc::new(Gvk::new("apps", "v1", "Deployment")), namespaced: true, by }
    }

    #[test]
    fn cc9_owners_of_the_kind() {
        let owner = |version: &str, kind: &str, name: &str, controller: Value| {
            let mut owner = json!({"apiVersion": version, "kind": kind, "name": name, "uid": "u", "blockOwnerDeletion": true});
            if controller != Value::Null {
                owner["controller"] = controller;
            }
            owner
        };
        let all = json!({"namespace": "ns", "ownerReferences": [
            owner("apps/v1", "Deployment", "a", Value::Null),
            owner("apps/v1beta1", "Deployment", "b", json!(true)),
            owner("apps/v1", "ReplicaSet", "c", json!(false)),
            owner("other/v1", "Deployment", "d", Value::Null),
            owner("v1", "Deployment", "e", Value::Null),
        ]});
        assert_eq!(targets(&to(MapBy::Owner { controller: false }), &all), ["ns/a", "ns/b"]);
        assert_eq!(targets(&to(MapBy::Owner { controller: true }), &all), ["ns/b"]);
        let cluster = Mapping { namespaced: false, ..to(MapBy::Owner { controller: false }) };
        assert_eq!(targets(&cluster, &all), ["a", "b"]);
        for none in [json!({"namespace": "ns"}), json!({"namespace": "ns", "ownerReferences": "x"})] {
            assert_eq!(targets(&to(MapBy::Owner { controller: false }), &none), [""; 0]);
        }
        let many: Vec<_> = (0..100).map(|n| owner("apps/v1", "Deployment", &n.to_string(), Value::Null)).collect();
        let many = json!({"namespace": "ns", "ownerReferences": many});
        assert_eq!(targets(&to(MapBy::Owner { controller: false }), &many).len(), Mapping::MAX_TARGETS);
    }

    #[test]
    fn cc9_objects_that_a_value_names() {
        let labelled = json!({"namespace": "ns", "labels": {"a.b/c": "web"}, "annotations": {"x": "other/web", "y": "a/b/c", "z": ""}});
        let by = |by| targets(&to(by), &labelled);
        assert_eq!(by(MapBy::label("a.b/c")), ["ns/web"]);
        assert_eq!(by(MapBy::annotation("x")), ["other/web"]);
        assert_eq!(by(MapBy::field(Pointer::parse("/spec/ref/name").unwrap())), ["ns/é"]);
        for none in [MapBy::label("x"), MapBy::annotation("y"), MapBy::annotation("z"), MapBy::field(Pointer::parse("/spec/n").unwrap())] {
            assert_eq!(by(none.clone()), [""; 0], "{none}");
        }
        let cluster = |by| targets(&Mapping { namespaced: false, ..to(by) }, &labelled);
        assert_eq!(cluster(MapBy::label("a.b/c")), ["web"]);
        assert_eq!(cluster(MapBy::annotation("x")), [""; 0]);
        // An object outside of namespaces has no namespace to look in.
        let outside = json!({"labels": {"l": "web"}, "annotations": {"x": "other/web"}});
        assert_eq!(targets(&to(MapBy::label("l")), &outside), [""; 0]);
        assert_eq!(targets(&to(MapBy::annotation("x")), &outside), ["other/web"]);
    }
}
