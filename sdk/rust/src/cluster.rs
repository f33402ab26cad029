//! The cluster, as far as the Plugin document grants it: reads, writes and Kubernetes
//! Events under the plugin's own identity.
//!
//! Objects go in and out as any serde type: a struct with the few fields that matter, or
//! [`serde_json::Value`]. Each function has a short form and one with options (`_with`).
//! Every call crosses to the host; reads that are not served from its cache and all writes
//! also cross the network, and count against the call's deadline.

mod error;
mod options;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend;
use crate::object::{Gvk, ObjectRef};

pub use error::ApiError;
pub use options::{DeleteOptions, EventType, ListOptions, Page, Propagation, ReadOptions, WriteOptions, Written};

/// One object. Kinds that the plugin subscribes to come from the host's cache.
///
/// # Errors
/// `NotFound`, or what else the API server or the host says.
pub fn get<T: DeserializeOwned>(kind: &Gvk, namespace: Option<&str>, name: &str) -> Result<T, ApiError> {
    get_with(kind, namespace, name, &ReadOptions::default())
}

/// [`get`] with a choice of fields, or past the cache.
///
/// # Errors
/// As [`get`].
pub fn get_with<T: DeserializeOwned>(kind: &Gvk, namespace: Option<&str>, name: &str, options: &ReadOptions) -> Result<T, ApiError> {
    decode(&backend::cluster_get(kind, namespace, name, options)?)
}

/// One page of objects; [`list_all`] follows the pages.
///
/// # Errors
/// What the API server or the host says.
pub fn list<T: DeserializeOwned>(kind: &Gvk, options: &ListOptions) -> Result<Page<T>, ApiError> {
    let (items, continue_token) = backend::cluster_list(kind, options)?;
    let items = items.iter().map(|json| decode(json)).collect::<Result<_, _>>()?;
    Ok(Page { items, continue_token })
}

/// All objects, page by page. All of them are in the plugin's memory at once: ask for few
/// fields where there are many.
///
/// # Errors
/// What the API server or the host says.
pub fn list_all<T: DeserializeOwned>(kind: &Gvk, options: &ListOptions) -> Result<Vec<T>, ApiError> {
    let mut options = options.clone();
    let mut all = Vec::new();
    loop {
        let page = list(kind, &options)?;
        all.extend(page.items);
        if page.continue_token.is_empty() {
            return Ok(all);
        }
        options.continue_token = page.continue_token;
    }
}

/// Makes an object.
///
/// # Errors
/// `AlreadyExists`, or what else the API server or the host says.
pub fn create<T: Serialize>(object: &T) -> Result<Written, ApiError> {
    create_with(object, &WriteOptions::default())
}

/// [`create`] with options.
///
/// # Errors
/// As [`create`].
pub fn create_with<T: Serialize>(object: &T, options: &WriteOptions) -> Result<Written, ApiError> {
    backend::cluster_create(&encode(object)?, options)
}

/// Server-side apply: the object has these fields afterwards, and those that the plugin
/// applied before and left out now are gone.
///
/// # Errors
/// `Conflict` if another manager owns one of the fields, or what else the API server or
/// the host says.
pub fn apply<T: Serialize>(object: &T) -> Result<Written, ApiError> {
    apply_with(object, &WriteOptions::default())
}

/// [`apply`] with options, for example `force`.
///
/// # Errors
/// As [`apply`].
pub fn apply_with<T: Serialize>(object: &T, options: &WriteOptions) -> Result<Written, ApiError> {
    backend::cluster_apply(&encode(object)?, options)
}

/// A JSON merge patch.
///
/// # Errors
/// `NotFound`, or what else the API server or the host says.
pub fn merge_patch<T: Serialize>(target: &ObjectRef, patch: &T) -> Result<Written, ApiError> {
    merge_patch_with(target, patch, &WriteOptions::default())
}

/// [`merge_patch`] with options, for example a subresource.
///
/// # Errors
/// As [`merge_patch`].
pub fn merge_patch_with<T: Serialize>(target: &ObjectRef, patch: &T, options: &WriteOptions) -> Result<Written, ApiError> {
    backend::cluster_merge_patch(target, &encode(patch)?, options)
}

/// Deletes an object, in the background; only this very one if `target` has a uid.
///
/// # Errors
/// `NotFound`, or what else the API server or the host says.
pub fn delete(target: &ObjectRef) -> Result<(), ApiError> {
    delete_with(target, &DeleteOptions { if_uid: target.uid.clone(), ..DeleteOptions::default() })
}

/// [`delete`] with options. Checks `options.if_uid`, not the target's.
///
/// # Errors
/// As [`delete`].
pub fn delete_with(target: &ObjectRef, options: &DeleteOptions) -> Result<(), ApiError> {
    backend::cluster_delete(target, options)
}

/// A Kubernetes Event about an object: what `kubectl describe` shows. The host folds
/// repeats and limits the rate. Without the grant nothing happens but a line in its log.
pub fn record_event(about: &ObjectRef, event_type: EventType, reason: &str, message: &str) {
    backend::record_event(about, event_type, reason, message);
}

fn decode<T: DeserializeOwned>(json: &str) -> Result<T, ApiError> {
    serde_json::from_str(json).map_err(|error| ApiError::Decode(error.to_string()))
}

fn encode<T: Serialize>(object: &T) -> Result<String, ApiError> {
    serde_json::to_string(object).map_err(|error| ApiError::Decode(error.to_string()))
}
