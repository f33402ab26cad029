//! The mock's cluster: objects by kind and name, with the API server's answers for what is
//! missing, taken or changed. One field manager.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::merge;
use super::record::Operation;
use super::selector;
use crate::cluster::{ApiError, DeleteOptions, ListOptions, WriteOptions, Written};
use crate::object::{Gvk, ObjectRef};

type Key = (Gvk, Option<String>, String);

#[derive(Debug, Default)]
pub(super) struct Cluster {
    objects: BTreeMap<Key, Stored>,
    missing_namespaces: BTreeSet<String>,
    last_version: u64,
}

#[derive(Debug)]
struct Stored {
    object: Value,
    /// What the plugin applied last: what it leaves out next time is removed.
    applied: Value,
}

impl Cluster {
    /// An object comes or changes from outside.
    pub(super) fn put(&mut self, object: &Value) {
        let target = reference(object);
        let applied = self.objects.get(&key(&target)).map_or(Value::Null, |stored| stored.applied.clone());
        self.store(&target, object.clone(), applied);
    }

    pub(super) fn remove(&mut self, target: &ObjectRef) {
        self.objects.remove(&key(target));
    }

    pub(super) fn set_namespace(&mut self, namespace: &str, exists: bool) {
        if exists {
            self.missing_namespaces.remove(namespace);
        } else {
            self.missing_namespaces.insert(namespace.to_owned());
        }
    }

    pub(super) fn peek(&self, kind: &Gvk, namespace: Option<&str>, name: &str) -> Option<&Value> {
        let key = (kind.clone(), namespace.map(ToOwned::to_owned), name.to_owned());
        self.objects.get(&key).map(|stored| &stored.object)
    }

    /// Objects of a page, and the next page's token: the number of objects to leave out.
    pub(super) fn list(&self, kind: &Gvk, options: &ListOptions) -> Result<(Vec<Value>, String), ApiError> {
        let labels = selector::parse(&options.label_selector)?;
        let fields = selector::parse(&options.field_selector)?;
        let of_kind = self
            .objects
            .iter()
            .filter(|((of, namespace, _), _)| of == kind && (options.namespace.is_none() || *namespace == options.namespace));
        let matching = of_kind.map(|(_, stored)| &stored.object).filter(|object| {
            labels.iter().all(|term| term.matches(label(object, term.key())))
                && fields.iter().all(|term| term.matches(field(object, term.key())))
        });
        let start = if options.continue_token.is_empty() { Ok(0) } else { options.continue_token.parse::<usize>() };
        let start = start.map_err(|_| ApiError::Invalid("the continue token is not one of this host".to_owned()))?;
        let mut rest: Vec<Value> = matching.skip(start).map(|object| keep(object, &options.fields)).collect();
        let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
        if limit == 0 || rest.len() <= limit {
            return Ok((rest, String::new()));
        }
        rest.truncate(limit);
        Ok((rest, (start + limit).to_string()))
    }

    /// Create, apply or merge patch.
    pub(super) fn write(
        &mut self,
        operation: Operation,
        target: &ObjectRef,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        if target.namespace.as_ref().is_some_and(|namespace| self.missing_namespaces.contains(namespace)) {
            return Err(ApiError::NotFound);
        }
        let live = self.objects.get(&key(target));
        check_version(live.map(|stored| &stored.object), &options.if_resource_version)?;
        let (object, applied) = match (operation, live) {
            (Operation::Create, Some(_)) => return Err(ApiError::AlreadyExists),
            (Operation::MergePatch, None) => return Err(ApiError::NotFound),
            (Operation::MergePatch, Some(live)) => {
                let mut object = live.object.clone();
                merge::patch(&mut object, body);
                (object, live.applied.clone())
            }
            (Operation::Apply, Some(live)) => {
                let mut object = live.object.clone();
                merge::prune(&mut object, &live.applied, body);
                merge::overlay(&mut object, body);
                (object, body.clone())
            }
            (Operation::Apply, None) => (body.clone(), body.clone()),
            _ => (body.clone(), Value::Null),
        };
        if options.dry_run {
            return Ok(answer(&object, options));
        }
        Ok(answer(self.store(target, object, applied), options))
    }

    pub(super) fn check_delete(&self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), ApiError> {
        let live = &self.objects.get(&key(target)).ok_or(ApiError::NotFound)?.object;
        if !options.if_uid.is_empty() && text(live, "/metadata/uid") != options.if_uid {
            return Err(ApiError::Conflict("the uid is another one".to_owned()));
        }
        check_version(Some(live), &options.if_resource_version)
    }

    fn store(&mut self, target: &ObjectRef, mut object: Value, applied: Value) -> &Value {
        self.last_version += 1;
        let version = self.last_version;
        let key = key(target);
        let old_uid = self.objects.get(&key).map(|stored| text(&stored.object, "/metadata/uid").to_owned());
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
            if !metadata.contains_key("uid") {
                metadata.insert("uid".to_owned(), json!(old_uid.unwrap_or_else(|| format!("uid-{version}"))));
            }
        }
        let stored = Stored { object, applied };
        &self.objects.entry(key).insert_entry(stored).into_mut().object
    }
}

/// Which object this is.
///
/// # Panics
/// If it has no apiVersion, kind or name.
#[expect(clippy::panic, reason = "a test's own mistake, told where it is made")]
pub(super) fn reference(object: &Value) -> ObjectRef {
    try_reference(object).unwrap_or_else(|| panic!("no apiVersion, kind or metadata.name: {object}"))
}

pub(super) fn try_reference(object: &Value) -> Option<ObjectRef> {
    let get = |pointer| object.pointer(pointer).and_then(Value::as_str);
    Some(ObjectRef {
        kind: Gvk::new(get("/apiVersion")?, get("/kind")?),
        namespace: get("/metadata/namespace").map(ToOwned::to_owned),
        name: get("/metadata/name")?.to_owned(),
        uid: get("/metadata/uid").unwrap_or_default().to_owned(),
    })
}

/// The object cut to some pointers; whole if there are none.
pub(super) fn keep(object: &Value, pointers: &[String]) -> Value {
    if pointers.is_empty() {
        return object.clone();
    }
    let mut kept = Value::Object(Map::new());
    for pointer in pointers {
        if let Some(value) = object.pointer(pointer) {
            merge::set(&mut kept, pointer, value.clone());
        }
    }
    kept
}

fn key(target: &ObjectRef) -> Key {
    (target.kind.clone(), target.namespace.clone(), target.name.clone())
}

fn check_version(live: Option<&Value>, wanted: &str) -> Result<(), ApiError> {
    match live {
        _ if wanted.is_empty() => Ok(()),
        Some(live) if text(live, "/metadata/resourceVersion") == wanted => Ok(()),
        Some(_) => Err(ApiError::Conflict("the object has been modified".to_owned())),
        None => Err(ApiError::NotFound),
    }
}

fn answer(object: &Value, options: &WriteOptions) -> Written {
    let cut = if options.fields.is_empty() { String::new() } else { keep(object, &options.fields).to_string() };
    Written { resource_version: text(object, "/metadata/resourceVersion").to_owned(), object: cut }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(key)?.as_str()
}

fn field<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    object.pointer(&format!("/{}", path.replace('.', "/")))?.as_str()
}
