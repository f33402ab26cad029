//! A cluster in memory: the objects that files gave, and what a guest writes. Owns the answers
//! of an API server as far as a single call can tell them apart: what is missing, what is
//! taken, what changed meanwhile. Knows no schemas, defaults, admission, RBAC and finalizers,
//! and one field manager only: an apply is a merge.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Map, Value};
use wharf_core::{Gvk, Object, ObjectKey, Selector};
use wharf_engine::{ApiError, DeleteOptions, ListOptions, ObjectRef, WriteOptions};

use super::given::Numbers;
use super::merge;

/// Items of a page if the guest does not say, and at most: as in a host.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

type Key = (Gvk, ObjectKey);

/// The objects.
#[derive(Debug, Default)]
pub(super) struct Memory {
    objects: BTreeMap<Key, Arc<Object>>,
    numbers: Numbers,
}

/// Which write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Make an object that is not there.
    Create,
    /// Make or change it.
    Apply,
    /// Change it.
    MergePatch,
}

/// What a write did, or would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A new object.
    Created,
    /// Another state.
    Changed,
    /// The same as before.
    Unchanged,
}

impl Effect {
    /// The word in the output.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Memory {
    /// An empty cluster that goes on with some numbers.
    pub(super) fn new(numbers: Numbers) -> Self {
        Self { objects: BTreeMap::new(), numbers }
    }

    /// Puts an object in; false if there is one of that name.
    pub(super) fn put(&mut self, kind: &Gvk, object: Arc<Object>) -> bool {
        let key = (kind.clone(), object.key().clone());
        let free = !self.objects.contains_key(&key);
        if free {
            self.objects.insert(key, object);
        }
        free
    }

    /// One object.
    pub(super) fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str) -> Result<Arc<Object>, ApiError> {
        self.objects.get(&(kind.clone(), key(namespace, name))).cloned().ok_or(ApiError::NotFound)
    }

    /// A page, and the next page's token: the key of the last object.
    pub(super) fn list(&self, kind: &Gvk, options: &ListOptions) -> Result<(Vec<Arc<Object>>, String), ApiError> {
        let fields = Selector::parse(&options.field_selector).map_err(|e| ApiError::Invalid(format!("field-selector: {e}")))?;
        let after = match options.continue_token.split_once('/') {
            None if options.continue_token.is_empty() => Bound::Unbounded,
            None => Bound::Excluded((kind.clone(), key(None, &options.continue_token))),
            Some((namespace, name)) => Bound::Excluded((kind.clone(), key(Some(namespace), name))),
        };
        let wanted = |object: &Object| {
            (options.namespace.is_none() || object.key().namespace.as_deref() == options.namespace.as_deref())
                && object.matches_labels(&options.label_selector)
                && matches_fields(object, &fields)
        };
        let rest = self.objects.range((after, Bound::Unbounded)).filter(|((of, _), _)| of == kind).map(|(_, object)| object);
        let limit = match options.limit as usize {
            0 => DEFAULT_LIMIT,
            limit => limit.min(MAX_LIMIT),
        };
        let mut items: Vec<_> = rest.filter(|object| wanted(object)).take(limit.saturating_add(1)).cloned().collect();
        if items.len() <= limit {
            return Ok((items, String::new()));
        }
        items.truncate(limit);
        let token = items.last().map(|object| object.key().to_string()).unwrap_or_default();
        Ok((items, token))
    }

    /// Writes what a body says; with `dry_run` only says what would come of it.
    pub(super) fn write(
        &mut self,
        write: Write,
        target: &ObjectRef,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<(Effect, Arc<Object>), ApiError> {
        let mut key = (target.kind.clone(), key(target.namespace.as_deref(), &target.name));
        if write == Write::Create && target.name.is_empty() {
            key.1.name = self.generated(body).into();
        }
        let live = self.objects.get(&key);
        check_body(&key.1, body, live)?;
        check_version(live, &options.if_resource_version)?;
        let before = live.map(|live| parsed(live.json())).transpose()?;
        let mut after = match (write, before.clone()) {
            (Write::Create, Some(_)) => return Err(ApiError::AlreadyExists),
            (Write::MergePatch, None) => return Err(ApiError::NotFound),
            (_, None) if options.status => return Err(ApiError::NotFound),
            (_, before) => before.unwrap_or_else(|| Value::Object(Map::new())),
        };
        merge_into(&mut after, body, options.status);
        let effect = match &before {
            None => Effect::Created,
            Some(before) if *before == after => Effect::Unchanged,
            Some(_) => Effect::Changed,
        };
        self.finish(&key.1, effect, &mut after);
        let object = Object::parse(&after.to_string(), &target.kind).map_err(|e| ApiError::Invalid(e.to_string()))?;
        let object = Arc::new(object);
        if !options.dry_run {
            self.objects.insert(key, Arc::clone(&object));
        }
        Ok((effect, object))
    }

    /// Takes an object away; with `dry_run` only checks.
    pub(super) fn delete(&mut self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), ApiError> {
        let key = (target.kind.clone(), key(target.namespace.as_deref(), &target.name));
        let live = self.objects.get(&key).ok_or(ApiError::NotFound)?;
        if !options.if_uid.is_empty() && options.if_uid != **live.uid() {
            return Err(ApiError::Conflict(format!("the uid of the live object is {}, not {}", live.uid(), options.if_uid)));
        }
        check_version(Some(live), &options.if_resource_version)?;
        if !options.dry_run {
            self.objects.remove(&key);
        }
        Ok(())
    }

    /// A name that `metadata.generateName` begins.
    fn generated(&self, body: &Value) -> String {
        let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        format!("{prefix}{:05}", self.numbers.made())
    }

    /// What a server sets by itself.
    fn finish(&mut self, key: &ObjectKey, effect: Effect, object: &mut Value) {
        if effect == Effect::Unchanged {
            return;
        }
        let (version, uid) = (self.numbers.version(), (effect == Effect::Created).then(|| self.numbers.uid()));
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        set(metadata, "name", &key.name);
        if let Some(namespace) = &key.namespace {
            set(metadata, "namespace", namespace);
        }
        if let Some(uid) = uid {
            set(metadata, "uid", &uid);
        }
        set(metadata, "resourceVersion", &version);
    }
}

fn set(metadata: &mut Map<String, Value>, field: &str, text: &str) {
    metadata.insert(field.to_owned(), Value::from(text));
}

fn key(namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey::new(namespace.unwrap_or_default(), name)
}

fn parsed(text: &str) -> Result<Value, ApiError> {
    serde_json::from_str(text).map_err(|e| ApiError::Invalid(e.to_string()))
}

/// The status alone, or everything.
fn merge_into(object: &mut Value, body: &Value, status: bool) {
    if !status {
        return merge::patch(object, body);
    }
    if let (Some(object), Some(status)) = (object.as_object_mut(), body.get("status")) {
        merge::patch(object.entry("status").or_insert(Value::Null), status);
    }
}

/// The body may say which object it means, but no other one.
fn check_body(key: &ObjectKey, body: &Value, live: Option<&Arc<Object>>) -> Result<(), ApiError> {
    let said = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    if said("/metadata/name").is_some_and(|name| *name != *key.name) {
        return Err(ApiError::Invalid("metadata.name cannot be changed".to_owned()));
    }
    if said("/metadata/namespace").is_some_and(|namespace| Some(namespace) != key.namespace.as_deref()) {
        return Err(ApiError::Invalid(format!("metadata.namespace is not the one of {key}")));
    }
    if let (Some(uid), Some(live)) = (said("/metadata/uid"), live)
        && *uid != **live.uid()
    {
        return Err(ApiError::Conflict(format!("the uid of the live object is {}, not {uid}", live.uid())));
    }
    match (said("/metadata/resourceVersion"), live) {
        (Some(version), Some(_)) => check_version(live, version),
        (Some(_), None) => Err(ApiError::Invalid("resourceVersion should not be set on objects to be created".to_owned())),
        (None, _) => Ok(()),
    }
}

fn check_version(live: Option<&Arc<Object>>, wanted: &str) -> Result<(), ApiError> {
    match live {
        _ if wanted.is_empty() => Ok(()),
        Some(live) if live.resource_version() == wanted => Ok(()),
        Some(live) => Err(ApiError::Conflict(format!("the live object has the resourceVersion {}, not {wanted}", live.resource_version()))),
        None => Err(ApiError::Conflict(format!("there is no object with the resourceVersion {wanted}"))),
    }
}

/// Field selectors of any path, as text; a server knows some per kind.
fn matches_fields(object: &Object, fields: &Selector) -> bool {
    if fields.is_empty() {
        return true;
    }
    let Ok(value) = serde_json::from_str::<Value>(object.json()) else { return false };
    // As on a server, what is not there is like an empty text.
    fields.matches(|path| {
        let found = value.pointer(&format!("/{}", path.replace('.', "/")));
        Some(found.and_then(Value::as_str).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests;
