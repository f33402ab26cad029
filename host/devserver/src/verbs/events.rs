//! Events have two shapes over one store: core `v1` and `events.k8s.io/v1`. They are kept in the core shape; this file renames the
//! members on the way in and out, and does nothing for any other kind.

use std::sync::Arc;

use serde_json::Value;

use crate::kind::Resource;
use crate::store::{Key, Stored};

/// Core's name, and that of `events.k8s.io`. What is not here has the same name in both.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Whether objects of this resource are kept in another shape than they are shown in.
pub(crate) fn differs(resource: &Resource) -> bool {
    &*resource.group == "events.k8s.io" && &*resource.kind == "Event"
}

/// From the shape in which it is kept to that of the resource.
pub(crate) fn shown(resource: &Resource, mut value: Value) -> Value {
    if differs(resource) {
        rename(&mut value, |(core, new)| (core, new));
    }
    value
}

/// From the shape of the resource to that in which it is kept.
pub(crate) fn kept(resource: &Resource, mut value: Value) -> Value {
    if differs(resource) {
        rename(&mut value, |(core, new)| (new, core));
    }
    value
}

/// A stored object as this resource shows it.
pub(crate) fn view(resource: &Resource, stored: Arc<Stored>) -> Arc<Stored> {
    if !differs(resource) {
        return stored;
    }
    let Ok(value) = serde_json::from_slice::<Value>(&stored.json) else { return stored };
    let (namespace, name) = (Arc::from(&*stored.namespace), Arc::from(&*stored.name));
    let key = Key { storage: Arc::clone(&resource.storage), namespace, name };
    Arc::new(Stored::new(&key, shown(resource, value), stored.version))
}

fn rename(value: &mut Value, way: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str)) {
    let Some(object) = value.as_object_mut() else { return };
    for (from, to) in NAMES.map(way) {
        if let Some(member) = object.remove(from) {
            object.insert(to.to_owned(), member);
        }
    }
}
