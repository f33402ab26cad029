//! Documents that are made from the registry as a whole, made once per registry and kept as bytes with their hash.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{discovery, openapi};
use crate::kind::{GroupVersion, Registry};

/// Keeps the documents of the registry of the moment.
#[derive(Default)]
pub(crate) struct Documents {
    kept: Mutex<Option<Arc<Set>>>,
}

/// A written document.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) body: Bytes,
    /// Of its content, in hexadecimal digits.
    pub(crate) hash: String,
}

/// The documents of one registry, each made when it is first asked for.
pub(crate) struct Set {
    registry: Arc<Registry>,
    /// Of core and of the other groups, in `v2` and in `v2beta1`.
    aggregated: [OnceLock<Document>; 4],
    /// By place, e.g. `apis/apps/v1`.
    openapi: BTreeMap<String, (String, OnceLock<Document>)>,
}

impl Documents {
    /// The documents of a registry.
    pub(crate) fn of(&self, registry: &Arc<Registry>) -> Arc<Set> {
        let mut kept = self.kept.lock();
        match kept.as_ref() {
            Some(set) if Arc::ptr_eq(&set.registry, registry) => Arc::clone(set),
            _ => {
                let set = Arc::new(Set::new(Arc::clone(registry)));
                *kept = Some(Arc::clone(&set));
                set
            }
        }
    }
}

impl Set {
    fn new(registry: Arc<Registry>) -> Self {
        let openapi = registry.groups().iter().flat_map(|group| group.versions.iter().map(|served| (&*group.name, served)));
        let openapi =
            openapi.map(|(group, served)| (openapi::place(group, &served.version), (openapi::hash(served), OnceLock::new()))).collect();
        Self { registry, aggregated: Default::default(), openapi }
    }

    /// See [`discovery::aggregated`].
    pub(crate) fn aggregated(&self, core: bool, version: &str) -> Document {
        let make = || Document::new(&discovery::aggregated(self.registry.groups(), core, version));
        let [core_v2, core_beta, v2, beta] = &self.aggregated;
        let cell = match (core, version) {
            (true, "v2") => core_v2,
            (true, _) => core_beta,
            (false, "v2") => v2,
            (false, _) => beta,
        };
        cell.get_or_init(make).clone()
    }

    /// `/openapi/v3`.
    pub(crate) fn openapi_index(&self) -> Value {
        let paths: serde_json::Map<String, Value> = self
            .openapi
            .iter()
            .map(|(place, (hash, _))| (place.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash={hash}")})))
            .collect();
        json!({"paths": paths})
    }

    /// The OpenAPI document of a group version; none if it is not served.
    pub(crate) fn openapi(&self, place: &str) -> Option<&Document> {
        let (hash, cell) = self.openapi.get(place)?;
        let (group, served) = self.served(place)?;
        Some(cell.get_or_init(|| Document { body: write(&openapi::document(group, served)), hash: hash.clone() }))
    }

    fn served(&self, place: &str) -> Option<(&str, &GroupVersion)> {
        let all = self.registry.groups().iter().flat_map(|group| group.versions.iter().map(|served| (&*group.name, served)));
        all.into_iter().find(|(group, served)| openapi::place(group, &served.version) == place)
    }
}

impl Document {
    fn new(value: &Value) -> Self {
        let body = write(value);
        Self { hash: hash(&body), body }
    }
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02X}")).collect()
}

fn write(value: &Value) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}
