//! Writes of whoever holds the server in its own process: an object as it is, applied or deleted, without HTTP.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::cluster::own;
use super::options::DeleteOptions;
use super::{Answer, Api, Body, Content, Payload, Query, Verb, delete, object, update};
use crate::kind::Resource;
use crate::status::Status;
use crate::store::Key;

/// Which object, in words that outlive its definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Empty for core.
    pub group: String,
    /// The Kind.
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// metadata.name.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) };
        write!(f, "{} {place}{}", self.kind, self.name)
    }
}

/// What an apply did.
#[derive(Debug)]
pub struct Applied {
    /// Which object.
    pub name: ObjectName,
    /// Whether it was made by this.
    pub created: bool,
    /// Whether it was made by this, or is another than before.
    pub changed: bool,
}

impl Api {
    /// Applies an object (server-side apply, forced) in the name of a manager. Without a namespace it goes to `default`. Cancel safe: the
    /// object is written or not.
    ///
    /// # Errors
    /// As PATCH: a kind that is not served, an object that is not valid.
    pub async fn apply(self: &Arc<Self>, manager: &str, mut value: Value) -> Result<Applied, Status> {
        let resource = self.resource_of(&value)?;
        let name = object::text(&value, "name").to_owned();
        if name.is_empty() {
            return Err(Status::bad_request("metadata.name is missing"));
        }
        let namespace = match (resource.namespaced, object::text(&value, "namespace")) {
            (false, _) => String::new(),
            (true, "") => "default".to_owned(),
            (true, given) => given.to_owned(),
        };
        object::unset(&mut value, &["managedFields", "resourceVersion", "uid"]);
        let key = Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*namespace), name: Arc::from(&*name) };
        let version = || self.store().get(&key).map(|stored| stored.version);
        let before = version();
        let mut request = own(&resource, &namespace, Verb::Patch);
        request.name = Some(Arc::from(&*name));
        request.query = Query::of(&[("fieldManager", manager), ("force", "true")]);
        request.body = Some(Payload { content: Content::Apply, bytes: value.to_string().into() });
        let answer: Answer = update::update(self, &request, update::Scope::Object).await?;
        let created = answer.code == 201 && !matches!(answer.body, Body::Other(_));
        let (group, kind) = (resource.group.to_string(), resource.kind.to_string());
        let changed = created || version() != before;
        Ok(Applied { name: ObjectName { group, kind, namespace, name }, created, changed })
    }

    /// Deletes an object; one that is not there, or whose kind is not served any more, is gone as was asked for. One
    /// with finalizers, and a namespace or definition with content, may go later. Cancel safe.
    ///
    /// # Errors
    /// As DELETE: a namespace that every cluster needs.
    pub async fn delete_object(self: &Arc<Self>, object: &ObjectName) -> Result<(), Status> {
        let registry = self.registry();
        let Some(resource) = registry.any_version(&object.group, &object.kind) else { return Ok(()) };
        let key = Key { storage: Arc::clone(&resource.storage), namespace: Arc::from(&*object.namespace), name: Arc::from(&*object.name) };
        match delete::object(self, resource, &key, &DeleteOptions::default()) {
            Err(status) if status.code != 404 => Err(status),
            _ => Ok(()),
        }
    }

    fn resource_of(&self, value: &Value) -> Result<Arc<Resource>, Status> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        // As kubectl words it.
        if kind.is_empty() {
            return Err(Status::bad_request("Object 'Kind' is missing"));
        }
        if version.is_empty() {
            return Err(Status::bad_request("Object 'apiVersion' is missing"));
        }
        let (group, number) = version.split_once('/').unwrap_or(("", version));
        let found = self.registry().by_kind(group, number, kind).cloned();
        found.ok_or_else(|| Status::bad_request(format!("no matches for kind {kind:?} in version {version:?}")))
    }
}
