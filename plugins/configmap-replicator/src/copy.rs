//! What a copy is made of, and how one is known again. Never reads or writes the cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wharf_sdk::{Gvk, ObjectRef};

/// On a copy: the uid of the source that it was made of.
const SOURCE_UID: &str = "wharf.dev/source-uid";

/// The kind of all objects here.
pub(crate) fn config_map() -> Gvk {
    Gvk::new("v1", "ConfigMap")
}

/// What is copied: `data` and `binaryData`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    data: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    binary_data: BTreeMap<String, String>,
}

/// The ConfigMap of the event.
#[derive(Debug, Deserialize)]
pub(crate) struct Source {
    #[serde(flatten)]
    content: Content,
}

impl Source {
    /// The copy as it shall be.
    pub(crate) fn copy(&self, key: &ObjectRef, namespace: &str) -> impl Serialize {
        let metadata = Metadata {
            namespace: namespace.to_owned(),
            name: key.name.clone(),
            labels: BTreeMap::from([(marker::LABEL.to_owned(), marker::value(key))]),
            annotations: BTreeMap::from([(SOURCE_UID.to_owned(), key.uid.clone())]),
            ..Metadata::default()
        };
        CopyMap { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned(), metadata, content: self.content.clone() }
    }
}

/// A ConfigMap with the marker of a source.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopyMap {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: Metadata,
    #[serde(flatten)]
    content: Content,
}

impl CopyMap {
    pub(crate) fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    pub(crate) fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// Is there nothing to write?
    pub(crate) fn is_current(&self, source: &Source, source_uid: &str) -> bool {
        self.content == source.content && self.metadata.annotations.get(SOURCE_UID).is_some_and(|uid| uid == source_uid)
    }

    /// This very object, its uid included.
    pub(crate) fn reference(&self) -> ObjectRef {
        let Metadata { namespace, name, uid, .. } = self.metadata.clone();
        ObjectRef { uid, ..ObjectRef::namespaced(config_map(), namespace, name) }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// The label by which the copies of a source are found.
pub(crate) mod marker {
    use wharf_sdk::ObjectRef;

    /// The label's name.
    pub(crate) const LABEL: &str = "wharf.dev/replica-of";

    /// What a label's value may hold.
    const MAX: usize = 63;

    /// `NAMESPACE.NAME`; where that is too long for a label, its beginning and a hash. No
    /// namespace has a dot, so two sources never share a value that is not cut.
    pub(crate) fn value(source: &ObjectRef) -> String {
        let full = format!("{}.{}", source.namespace.as_deref().unwrap_or_default(), source.name);
        if full.len() <= MAX {
            return full;
        }
        let hash = format!("{:016x}", fnv1a(full.as_bytes()));
        let start: String = full.chars().take(MAX - 1 - hash.len()).collect();
        format!("{start}-{hash}")
    }

    /// Selects all copies of a source.
    pub(crate) fn selector(source: &ObjectRef) -> String {
        format!("{LABEL}={}", value(source))
    }

    /// The 64-bit hash of Fowler, Noll and Vo: the same in every build of the plugin.
    fn fnv1a(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
