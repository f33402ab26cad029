//! The cluster as wharf sees it, for commands that only look: the same connection, discovery
//! and cache that a host has, without plugins.
//!
//! Owns what is asked for and how a failure is told; what it looks like is the command's.

mod ask;
mod failure;
mod inbox;
mod raw;
mod request;
mod table;
mod view;
mod warnings;

use std::sync::Arc;

use wharf_cache::{CacheMetrics, Informers};

use crate::app::StartError;
use crate::config::Way;
use crate::connect::{self, Wanted};
use crate::telemetry::Metrics;

pub use ask::Ask;
pub use failure::LookError;
pub use inbox::{Seen, SeenType};
pub use raw::RawWatch;
pub use table::{ServerRow, ServerTable};
pub use view::{View, age};
pub use warnings::Tell;
pub use wharf_cache::{Catalog, CatalogError, CatalogFailure, LookupError, ServedResource};

/// A connection to look through.
pub struct Look {
    client: kube::Client,
    informers: Informers,
    namespace: String,
}

impl Look {
    /// Connects; one attempt. `tell` hears of each warning of the server once. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn connect(way: &Way, tell: Tell) -> Result<Self, StartError> {
        let metrics = Metrics::new();
        let connection = connect::connect(way, &metrics, Wanted::Answered).await?;
        let metrics: Arc<dyn CacheMetrics> = metrics;
        let client = warnings::watched(connection.client, &connection.namespace, tell);
        let informers = Informers::new(client.clone(), wharf_cache::Options::default(), metrics);
        Ok(Self { client, informers, namespace: connection.namespace })
    }

    /// The namespace of who does not say one.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Everything that the server serves.
    ///
    /// # Errors
    /// The server does not say. Groups that are missing in the answer are noted in it.
    pub async fn catalog(&self) -> Result<Catalog, CatalogError> {
        self.informers.discovery().catalog().await
    }

    /// Starts an informer, and with `follow` notes each change after its first list, for
    /// [`View::next`].
    pub fn open(&self, ask: &Ask, follow: bool) -> View {
        View::open(&self.informers, ask, follow)
    }

    /// A list in the server's own columns, beside the cache. `None` if it has none for this kind.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn table(&self, ask: &Ask) -> Result<Option<ServerTable>, LookError> {
        ServerTable::read(&self.client, ask).await
    }

    /// Opens a plain watch beside the cache.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn raw(&self, ask: &Ask) -> Result<RawWatch, LookError> {
        RawWatch::open(&self.client, ask).await
    }

    /// Stops all informers.
    pub async fn close(self) {
        self.informers.shutdown().await;
    }
}
