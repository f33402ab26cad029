//! The resources on the API server. Owns how their state is seen, by the informers that the source of
//! plugins has anyway, and the requests that write; decides neither what is written nor when.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use serde_json::Value;
use wharf_cache::{Change, ChangeHandler, InformerSpec, Informers, Registration, Scope};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{API_VERSION, KIND, PLURAL};
use wharf_core::{Gvk, Object, ObjectKey, ResourceKind};
use wharf_engine::ApiError;

use super::told::Note;
use crate::ports::api::{Api, Call};
use crate::ports::recorder::{Record, Recorder};

/// Of all that the host itself writes.
const MANAGER: &str = "wharf";

/// Where resources are seen and written.
#[async_trait]
pub(crate) trait Resources: Send + Sync + 'static {
    /// A resource as it was seen last; it may be a moment behind.
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>>;

    /// Those that are being deleted and are there still.
    fn ending(&self) -> Vec<Arc<Object>>;

    /// Applies a status, and returns the resource's version then.
    ///
    /// # Errors
    /// What the server said. Dropped early it may have been written all the same.
    async fn write(&self, key: &ObjectKey, document: &Value) -> Result<String, ApiError>;

    /// Hands an Event to whoever writes those. Never waits.
    fn tell(&self, object: &Object, note: &Note);
}

/// Those of a cluster.
pub(crate) struct ApiResources {
    registrations: Vec<Registration>,
    kind: ResourceKind,
    api: Api,
    recorder: Recorder,
}

/// Nobody is woken: the writer looks by itself.
struct Silent;

impl ChangeHandler for Silent {
    fn on_change(&self, _: &Change<'_>) {}
}

impl ApiResources {
    /// Those in these namespaces; `api` writes only as long as this host may.
    pub(crate) fn new(namespaces: &Namespaces, informers: &Informers, api: Api, recorder: Recorder) -> Self {
        let scopes = match namespaces {
            Namespaces::All => vec![Scope::All],
            Namespaces::Some(names) => names.iter().cloned().map(Scope::Namespace).collect(),
        };
        let gvk = Gvk::from_api_version(API_VERSION, KIND);
        let attach = |scope| informers.attach(InformerSpec::new(gvk.clone(), scope), Arc::new(Silent));
        let registrations = scopes.into_iter().map(attach).collect();
        Self { registrations, kind: ResourceKind { gvk, plural: PLURAL.into(), namespaced: true }, api, recorder }
    }
}

#[async_trait]
impl Resources for ApiResources {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.registrations.iter().find_map(|registration| registration.view().get(key))
    }

    fn ending(&self) -> Vec<Arc<Object>> {
        let all = self.registrations.iter().flat_map(|registration| registration.view().list(None));
        all.filter(|object| object.deleting()).collect()
    }

    async fn write(&self, key: &ObjectKey, document: &Value) -> Result<String, ApiError> {
        let call = Call {
            method: Method::PATCH,
            path: Api::path(&self.kind, key.namespace.as_deref(), Some(&key.name), Some("status"))?,
            query: vec![("fieldManager", MANAGER.to_owned()), ("force", "true".to_owned())],
            body: Some(("application/apply-patch+yaml", document.to_string().into_bytes())),
        };
        let answer = self.api.send(call).await?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| ApiError::Unavailable(error.to_string()))?;
        Ok(answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    fn tell(&self, object: &Object, note: &Note) {
        let ObjectKey { namespace, name } = object.key();
        self.recorder.record(Record {
            plugin: object.key().to_string().into(),
            api: self.api.clone(),
            manager: MANAGER.to_owned(),
            kind: self.kind.gvk.clone(),
            namespace: namespace.as_deref().map(str::to_owned),
            name: name.to_string(),
            uid: object.uid().to_string(),
            warning: note.warning,
            reason: note.reason.clone(),
            note: note.text.clone(),
            state: true,
            refusals: None,
        });
    }
}
