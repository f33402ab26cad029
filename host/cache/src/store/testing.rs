//! Objects for the tests of the stores.

use std::sync::Arc;

use wharf_core::{Gvk, Object, ObjectKey};

pub(super) fn object(namespace: &str, name: &str, rv: &str) -> Arc<Object> {
    object_with(namespace, name, &format!("u-{name}"), rv, "{}")
}

/// With a uid and labels as JSON.
pub(super) fn object_with(namespace: &str, name: &str, uid: &str, rv: &str, labels: &str) -> Arc<Object> {
    let text = format!(
        r#"{{"apiVersion":"v1","kind":"C","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"{uid}","resourceVersion":"{rv}","labels":{labels}}}}}"#
    );
    Arc::new(Object::parse(&text, &Gvk::new("", "v1", "C")).unwrap())
}

pub(super) fn key(text: &str) -> ObjectKey {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    ObjectKey::new(namespace, name)
}

/// Keys and resourceVersions, as `namespace/name:rv`.
pub(super) fn shown(objects: &[Arc<Object>]) -> Vec<String> {
    objects.iter().map(|object| format!("{}:{}", object.key(), object.resource_version())).collect()
}
