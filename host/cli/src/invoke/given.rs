//! An object as a file gives it: what it must have, and what is filled in where a server would
//! have done it. Owns uids, versions and namespaces that are missing; never reads a file.

use std::path::Path;
use std::sync::Arc;

use wharf_core::{Gvk, Object, ObjectKey};

use super::fields::Fields;
use super::input::wrong;
use super::scope::Scopes;
use crate::report::CliError;

/// The namespace of a namespaced object that names none, as for kubectl.
const DEFAULT_NAMESPACE: &str = "default";

/// An object of a file.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Its kind.
    pub(super) kind: Gvk,
    /// Its namespace and name.
    pub(super) key: ObjectKey,
    /// `metadata.uid`; empty if it has none.
    pub(super) uid: String,
    fields: Fields,
    metadata: Fields,
}

impl Given {
    /// Reads what must be there.
    ///
    /// # Errors
    /// Names the first field that is missing or wrong.
    pub(super) fn read(file: &Path, json: &str) -> Result<Self, CliError> {
        // What is no object lacks all fields.
        let fields = Fields::of(json).unwrap_or_default();
        let metadata = fields.get("metadata").and_then(Fields::of).unwrap_or_default();
        let must = |within: &Fields, name: &str, path: &str| {
            within.text(name).ok_or_else(|| {
                wrong(format!("{}: the object has no {path}", file.display()))
                    .hint("an object needs apiVersion, kind and metadata.name, each of them text")
            })
        };
        let kind = Gvk::from_api_version(&must(&fields, "apiVersion", "apiVersion")?, &must(&fields, "kind", "kind")?);
        let name = must(&metadata, "name", "metadata.name")?;
        let key = ObjectKey::new(&metadata.text("namespace").unwrap_or_default(), &name);
        let uid = metadata.text("uid").unwrap_or_default();
        Ok(Self { kind, key, uid, fields, metadata })
    }

    /// Puts it where its kind lives.
    ///
    /// # Errors
    /// When it has a namespace and its kind has none.
    pub(super) fn place(&mut self, file: &Path, scopes: &Scopes) -> Result<(), CliError> {
        match (scopes.namespaced(&self.kind), &self.key.namespace) {
            (true, None) => {
                self.key.namespace = Some(DEFAULT_NAMESPACE.into());
                self.metadata.set_text("namespace", DEFAULT_NAMESPACE);
                Ok(())
            }
            (false, Some(namespace)) => {
                let message = format!("{}: {} {} is in the namespace {namespace}", file.display(), self.kind, self.key.name);
                Err(wrong(message).hint(format!("remove metadata.namespace: objects of {} are in no namespace", self.kind)))
            }
            _ => Ok(()),
        }
    }

    /// The object as a store would have it, with the uid and the version that it lacks.
    ///
    /// # Errors
    /// When it is no object for reasons that only a full reading finds.
    pub(super) fn into_object(mut self, file: &Path, numbers: &mut Numbers) -> Result<Arc<Object>, CliError> {
        if self.uid.is_empty() {
            self.metadata.set_text("uid", &numbers.uid());
        }
        if self.metadata.text("resourceVersion").is_none() {
            self.metadata.set_text("resourceVersion", &numbers.version());
        }
        self.fields.set("metadata", self.metadata.to_string());
        Object::parse(&self.fields.to_string(), &self.kind).map(Arc::new).map_err(|e| wrong(format!("{}: {e}", file.display())))
    }

    /// `metadata.resourceVersion`, where it is a number.
    pub(super) fn version(&self) -> Option<u64> {
        self.metadata.text("resourceVersion")?.parse().ok()
    }

    /// Makes this the state of an object with another uid.
    pub(super) fn set_uid(&mut self, uid: &str) {
        uid.clone_into(&mut self.uid);
        self.metadata.set_text("uid", uid);
    }
}

/// Hands out uids and versions: the same in each run, and versions that grow.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    uids: u64,
    versions: u64,
}

impl Numbers {
    /// Versions go on behind those that the files have.
    pub(super) fn after<'a>(given: impl IntoIterator<Item = &'a Given>) -> Self {
        Self { uids: 0, versions: given.into_iter().filter_map(Given::version).max().unwrap_or_default() }
    }

    /// A new uid.
    pub(super) fn uid(&mut self) -> String {
        self.uids = self.uids.saturating_add(1);
        format!("00000000-0000-4000-8000-{:012x}", self.uids)
    }

    /// How many uids were handed out.
    pub(super) fn made(&self) -> u64 {
        self.uids
    }

    /// A new resourceVersion.
    pub(super) fn version(&mut self) -> String {
        self.versions = self.versions.saturating_add(1);
        self.versions.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn given(value: Value) -> Result<Given, CliError> {
        Given::read(Path::new("o.yaml"), &value.to_string())
    }

    #[test]
    fn what_is_missing_is_named() {
        for (value, field) in [
            (json!({"kind": "ConfigMap", "metadata": {"name": "a"}}), "apiVersion"),
            (json!({"apiVersion": "v1", "metadata": {"name": "a"}}), "kind"),
            (json!({"apiVersion": "v1", "kind": 7, "metadata": {"name": "a"}}), "kind"),
            (json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}), "metadata.name"),
            (json!([]), "apiVersion"),
        ] {
            assert_eq!(given(value).unwrap_err().message, format!("o.yaml: the object has no {field}"));
        }
    }

    #[test]
    fn uid_version_and_namespace_are_filled_in() {
        let file = Path::new("o.yaml");
        let mut map = given(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})).unwrap();
        map.place(file, &Scopes::of([&map])).unwrap();
        let full =
            given(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u", "resourceVersion": "41"}})).unwrap();
        let mut numbers = Numbers::after([&map, &full]);
        let map = map.into_object(file, &mut numbers).unwrap();
        let full = full.into_object(file, &mut numbers).unwrap();
        assert_eq!(map.key().to_string(), "default/a");
        assert_eq!((&**map.uid(), map.resource_version()), ("00000000-0000-4000-8000-000000000001", "42"));
        assert_eq!((&**full.uid(), full.resource_version()), ("u", "41"));
    }

    #[test]
    fn all_else_stays_as_it_was_written() {
        let file = Path::new("o.json");
        let text = r#"{"spec":{"b":[1e3,1e400,0.10],"a":123456789012345678901234567890},"kind":"Widget","apiVersion":"example.com/v1","metadata":{"uid":"","name":"w","generation":1.0}}"#;
        let object = Given::read(file, text).unwrap().into_object(file, &mut Numbers::default()).unwrap();
        let uid = r#""uid":"00000000-0000-4000-8000-000000000001","name""#;
        let want = text.replace(r#""uid":"","name""#, uid).replace("1.0}}", r#"1.0,"resourceVersion":"1"}}"#);
        assert_eq!(object.json(), want);
    }

    #[test]
    fn a_node_is_in_no_namespace() {
        let file = Path::new("o.yaml");
        let mut node = given(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "a"}})).unwrap();
        let error = node.place(file, &Scopes::of([&node.clone()])).unwrap_err();
        assert_eq!(error.message, "o.yaml: v1 Node n is in the namespace a");
    }
}
