//! The lease's way to the API server. Owns the three requests and what their answers mean to an
//! election; bounds no time and repeats nothing: that is the elector's.

use async_trait::async_trait;
use http::Method;
use wharf_core::{Gvk, Reason, ResourceKind};
use wharf_engine::ApiError;

use super::record::Lease;
use crate::ports::api::{Api, Call};

const JSON: &str = "application/json";

/// Where the lease is. All three are cancel safe in that nothing here is broken by it; a write may
/// have been carried out.
#[async_trait]
pub trait Leases: Send + Sync + 'static {
    /// The lease now.
    ///
    /// # Errors
    /// [`LeaseError::NotFound`] if there is none.
    async fn get(&self) -> Result<Lease, LeaseError>;

    /// Makes it.
    ///
    /// # Errors
    /// [`LeaseError::Conflict`] if somebody else did.
    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseError>;

    /// Puts it in the place of the version that it was made from.
    ///
    /// # Errors
    /// [`LeaseError::Conflict`] if there is another version by now.
    async fn update(&self, lease: &Lease) -> Result<Lease, LeaseError>;
}

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// There is no lease.
    #[error("there is no such lease")]
    NotFound,
    /// Somebody else was faster.
    #[error("the lease was changed by somebody else")]
    Conflict,
    /// The server cannot be asked, or says no.
    #[error("{message}")]
    Failed {
        /// `Forbidden` or `ServerUnavailable`.
        reason: Reason,
        /// What came back.
        message: String,
    },
}

/// A lease on the API server, in the host's own name.
pub(crate) struct ApiLeases {
    api: Api,
    kind: ResourceKind,
    namespace: String,
    name: String,
}

impl ApiLeases {
    /// The lease of this name.
    pub(crate) fn new(api: Api, namespace: &str, name: &str) -> Self {
        let kind = ResourceKind { gvk: Gvk::new("coordination.k8s.io", "v1", "Lease"), plural: "leases".into(), namespaced: true };
        Self { api, kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    async fn ask(&self, method: Method, name: Option<&str>, lease: Option<&Lease>) -> Result<Lease, LeaseError> {
        let path = Api::path(&self.kind, Some(&self.namespace), name, None).map_err(failed)?;
        let body = match lease.map(|lease| serde_json::to_vec(&lease.0)) {
            None => None,
            Some(Ok(body)) => Some((JSON, body)),
            Some(Err(error)) => return Err(failed(ApiError::Invalid(error.to_string()))),
        };
        let answer = self.api.send(Call { method, path, query: Vec::new(), body }).await.map_err(failed)?;
        match serde_json::from_str(&answer) {
            Ok(lease) => Ok(Lease(lease)),
            Err(error) => Err(failed(ApiError::Unavailable(format!("the answer is no lease: {error}")))),
        }
    }
}

#[async_trait]
impl Leases for ApiLeases {
    async fn get(&self) -> Result<Lease, LeaseError> {
        self.ask(Method::GET, Some(&self.name), None).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        self.ask(Method::POST, None, Some(lease)).await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        self.ask(Method::PUT, Some(&self.name), Some(lease)).await
    }
}

fn failed(error: ApiError) -> LeaseError {
    let failed = |reason, message| LeaseError::Failed { reason, message };
    match error {
        ApiError::NotFound => LeaseError::NotFound,
        ApiError::Conflict(_) | ApiError::AlreadyExists => LeaseError::Conflict,
        ApiError::Forbidden(message) => failed(Reason::Forbidden, message),
        other => failed(Reason::ServerUnavailable, other.to_string()),
    }
}
