//! The end of storage that is in use: a claim goes when no pod uses it any more, a volume when no claim is bound to it. Owns what is in
//! use by whom; binds nothing, and deletes nothing itself.

use memchr::memmem;
use serde_json::Value;

use super::owned::unfinalize;
use crate::defaults::{CLAIM_PROTECTION, VOLUME_PROTECTION};
use crate::json::Read as _;
use crate::kind::Resource;
use crate::store::{Key, Stored};
use crate::verbs::{Api, object, policy};

const PODS: &str = "pods";
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";

/// Looks at a claim or a volume that is being deleted, and lets it go if nobody uses it.
pub(super) fn look(api: &Api, resource: &Resource, key: &Key) {
    let (finalizer, users, namespace) = if policy::is_claim(resource) {
        (CLAIM_PROTECTION, PODS, Some(&*key.namespace))
    } else if policy::is_volume(resource) {
        (VOLUME_PROTECTION, CLAIMS, None)
    } else {
        return;
    };
    let Some(stored) = api.store().get(key) else { return };
    let value = Api::value(resource, &stored);
    if !object::is_deleting(&value) || !object::finalizers(&value).contains(&finalizer) {
        return;
    }
    let Ok(all) = api.store().list(users, namespace, None) else { return };
    if !all.items.iter().any(|user| used(users, user).contains(key)) {
        unfinalize(api, key, finalizer);
    }
}

/// The claims that a pod uses once it is bound to a node, or the volume that a claim is bound to. Cheap for what uses none.
pub(super) fn used(storage: &str, stored: &Stored) -> Vec<Key> {
    let member: &[u8] = match storage {
        PODS => b"\"nodeName\"",
        CLAIMS => b"\"volumeName\"",
        _ => return Vec::new(),
    };
    if memmem::find(&stored.json, member).is_none() {
        return Vec::new();
    }
    let value = stored.value("v1", "");
    let spec = value.at("spec");
    let key = |storage: &str, namespace: &str, name: &str| Key { storage: storage.into(), namespace: namespace.into(), name: name.into() };
    if storage == CLAIMS {
        let volume = spec.text("volumeName");
        return if volume.is_empty() { Vec::new() } else { vec![key(VOLUMES, "", volume)] };
    }
    if spec.text("nodeName").is_empty() {
        return Vec::new();
    }
    let ended = matches!(value.path(&["status", "phase"]).as_str(), Some("Succeeded" | "Failed"));
    let claim = |volume: &Value| {
        let name = if volume.has("persistentVolumeClaim") {
            volume.at("persistentVolumeClaim").text("claimName").to_owned()
        } else if volume.has("ephemeral") && !ended {
            format!("{}-{}", stored.name, volume.text("name"))
        } else {
            return None;
        };
        Some(key(CLAIMS, &stored.namespace, &name))
    };
    spec.list("volumes").iter().filter_map(claim).collect()
}
