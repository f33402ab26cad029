//! HTTP: connections (TLS or plain), paths, negotiation, discovery, OpenAPI, health; who asks and whether they may; shapes answers.
//! Decides nothing about objects.

mod accept;
mod account;
mod authorize;
mod body;
mod browser;
mod call;
mod certificate;
mod discovery;
mod documents;
mod duration;
mod events;
mod handle;
mod identity;
mod impersonate;
mod listen;
mod metrics;
mod objects;
mod openapi;
mod path;
mod percent;
mod plain;
mod policies;
mod presets;
mod random;
mod rbac;
mod response;
mod review;
mod rows;
mod schemas;
mod shape;
mod stream;
mod words;

use std::sync::Arc;

use tokio::sync::watch;

pub(crate) use account::Accounts;
pub(crate) use authorize::Authorizer;
pub(crate) use browser::Doorkeeper;
pub(crate) use certificate::Certificates;
pub(crate) use documents::Documents;
pub(crate) use handle::handle;
pub(crate) use identity::{Authenticator, MASTERS};
pub(crate) use listen::{Listening, listen};
pub(crate) use metrics::Metrics;
pub(crate) use random::{bytes as random_bytes, token as random_token};

use crate::fault::Faults;
use crate::verbs::Api;

/// All that the requests of one server share.
pub(crate) struct Front {
    pub(crate) api: Arc<Api>,
    pub(crate) faults: Arc<Faults>,
    /// None with TLS, where requests have credentials.
    pub(crate) doorkeeper: Option<Doorkeeper>,
    pub(crate) authenticator: Authenticator,
    pub(crate) authorizer: Authorizer,
    pub(crate) documents: Documents,
    pub(crate) metrics: Metrics,
    /// Bytes of a request's body at most.
    pub(crate) body_limit: usize,
    /// Host and port, as `/api` tells.
    pub(crate) address: String,
    /// True when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Front {
    /// The server's time, in seconds since the epoch.
    pub(crate) fn now(&self) -> i64 {
        self.api.now().as_second()
    }
}
