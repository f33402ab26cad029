//! Keeps copies of a ConfigMap in other namespaces.
//!
//! A ConfigMap with the label `wharf.dev/replicate: "true"` and the annotation
//! `wharf.dev/replicate-to: "team-b, team-c"` has a copy of its data in these namespaces. A
//! copy goes with its namespace's place in the annotation, with the label, and with the
//! source. What is not a copy of the source is never overwritten nor deleted.

mod copy;

use std::collections::BTreeSet;

use serde::Deserialize;
use wharf_sdk::cluster::{ListOptions, ReadOptions, WriteOptions};
use wharf_sdk::prelude::*;

use copy::{CopyMap, Source, config_map, marker};

/// Names the target namespaces, separated by commas.
const TARGETS: &str = "wharf.dev/replicate-to";

/// The plugin; it has no configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replicator {}

impl Handler for Replicator {
    fn describe() -> Description {
        Description::new("configmap-replicator", env!("CARGO_PKG_VERSION"))
            .subscribe(Subscription::new("main", "v1", "ConfigMap").labels("wharf.dev/replicate=true"))
            .reasons(["NotACopy", "NamespaceMissing"])
    }

    fn add(&self, event: &Event) -> Result {
        let Some(source) = event.object::<Source>()? else { return Ok(Outcome::done()) };
        let targets = targets(&event.annotation(TARGETS)?.unwrap_or_default());
        let copies = copies_of(event.key())?;
        for stale in copies.iter().filter(|copy| !targets.contains(copy.namespace())) {
            remove(stale)?;
        }
        let mut failures = Vec::new();
        for target in &targets {
            let copy = copies.iter().find(|copy| copy.namespace() == target);
            failures.extend(write_copy(event.key(), &source, target, copy).err());
        }
        // One bad namespace must not keep the copy from the others, and a retry must not be
        // lost behind a failure that no retry cures.
        failures.sort_by_key(Failure::is_permanent);
        failures.into_iter().next().map_or(Ok(Outcome::done()), Err)
    }

    fn delete(&self, event: &Event) -> Result {
        for copy in copies_of(event.key())? {
            remove(&copy)?;
        }
        Ok(Outcome::done())
    }
}

/// The namespaces that an annotation names.
fn targets(annotation: &str) -> BTreeSet<String> {
    annotation.split(',').map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect()
}

/// All copies of a source, in any namespace. Live: the host's cache has the sources only.
fn copies_of(source: &ObjectRef) -> Result<Vec<CopyMap>, ApiError> {
    let options = ListOptions { label_selector: marker::selector(source), live: true, ..ListOptions::default() };
    cluster::list_all(&config_map(), &options)
}

/// Makes the copy in one namespace what the source is, if it is not already.
fn write_copy(key: &ObjectRef, source: &Source, namespace: &str, copy: Option<&CopyMap>) -> Result<(), Failure> {
    if copy.is_some_and(|copy| copy.is_current(source, &key.uid)) {
        return Ok(());
    }
    if copy.is_none() && exists(namespace, &key.name)? {
        let message = format!("ConfigMap {namespace}/{} exists and is no copy of {key}", key.name);
        log::warn!("not a copy", namespace = namespace);
        return Err(Failure::permanent("NotACopy", message));
    }
    // With the version that was looked at: what another client made of it meanwhile is not overwritten.
    let if_resource_version = copy.map(CopyMap::resource_version).unwrap_or_default().to_owned();
    let options = WriteOptions { force: true, if_resource_version, ..WriteOptions::default() };
    match cluster::apply_with(&source.copy(key, namespace), &options) {
        Ok(_) => {
            log::info!("copied", namespace = namespace);
            Ok(())
        }
        // The API server's answer for a namespace that is not there.
        Err(ApiError::NotFound) if copy.is_none() => Err(Failure::retry("NamespaceMissing", format!("there is no namespace {namespace}"))),
        Err(error) => Err(error.into()),
    }
}

/// Is there a ConfigMap of this name? Asked only where no copy is.
fn exists(namespace: &str, name: &str) -> Result<bool, ApiError> {
    let options = ReadOptions { fields: vec!["/metadata/uid".to_owned()], live: true };
    match cluster::get_with::<serde_json::Value>(&config_map(), Some(namespace), name, &options) {
        Ok(_) => Ok(true),
        Err(ApiError::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes this very copy; gone already is as good.
fn remove(copy: &CopyMap) -> Result<(), ApiError> {
    match cluster::delete(&copy.reference()) {
        Ok(()) => log::info!("removed", namespace = copy.namespace()),
        Err(ApiError::NotFound) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

wharf_sdk::plugin!(Replicator);

#[cfg(test)]
mod tests;
