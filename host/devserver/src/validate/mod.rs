//! What the server refuses: names, labels, owners, finalizers, and of built-in kinds what is required or immutable.
//!
//! Objects come decoded and defaulted. Changes nothing, and leaves definitions and custom
//! objects' schemas to `crd`.

mod check;
mod config;
mod core;
mod kinds;
mod metadata;
mod names;
mod pods;
mod policy;
mod schedule;
#[cfg(test)]
mod tests;
mod workloads;

use serde_json::Value;

use crate::json::Read;
use crate::kind::Resource;
use crate::status::{Cause, Causes};

/// The rules of every object's metadata and of its kind, for a create.
pub(crate) fn create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut out = Causes::default();
    metadata::create(resource, object.at("metadata"), &mut out);
    if let Some((whole, _)) = kinds::rules(resource) {
        whole(object, &mut out);
    }
    out.into_vec()
}

/// The same for an update: immutable fields, finalizers of an object that is being deleted, …
pub(crate) fn update(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Causes::default();
    metadata::update(resource, new.at("metadata"), old.at("metadata"), &mut out);
    if let Some((whole, change)) = kinds::rules(resource) {
        // What is told of a change says more than the rules that a changed object then breaks as well.
        change(new, old, &mut out);
        let changed: Vec<String> = out.iter().map(|cause| cause.field.clone()).collect();
        let mut broken = Causes::default();
        whole(new, &mut broken);
        out.extend(broken.into_iter().filter(|cause| !changed.contains(&cause.field)));
    }
    out.into_vec()
}
