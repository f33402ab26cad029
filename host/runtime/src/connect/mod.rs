//! The connection to the API server: which one, as whom, and whether it answers.
//!
//! [`plan`] works out where to go, `kubeconfig` reads the files of that name, `credentials`
//! reads what changes while a process runs (tokens, certificates, exec plugins), `proxy` picks
//! a proxy, `stack` builds a client, `swap` puts another one in the place of the one in use,
//! `follow` decides when, `reach` waits for the first answer, and `trouble` says why there is none. Callers hold one `kube::Client` for ever.

mod credentials;
mod exec;
mod follow;
mod kubeconfig;
mod plan;
mod proxy;
mod reach;
mod stack;
mod swap;
#[cfg(test)]
mod tests;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::app::StartError;
use crate::config::Way;
use crate::telemetry::metrics::Metrics;
use plan::Plan;
use reach::reach;

/// When a connection is good enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// The server takes the credentials, after some attempts if need be. For those who go on alone.
    Accepted {
        /// How long it is tried.
        patience: Duration,
    },
    /// The server says something at the first attempt; who asks shows what it says.
    Answered,
}

/// A client that has been answered.
pub(crate) struct Connection {
    /// Speaks in the name that the way gives; does not repeat requests by itself, and goes on when
    /// tokens and certificates change.
    pub client: kube::Client,
    /// `gitVersion` of the server.
    pub version: String,
    /// The context's namespace, the pod's own, or `default`.
    pub namespace: String,
}

/// Connects, and asks the server for its version.
///
/// # Errors
/// `Config` if no server is named, `Unusable` if something that is named cannot be used, else why there is no
/// answer in time.
pub(crate) async fn connect(way: &Way, metrics: &Arc<Metrics>, wanted: Wanted) -> Result<Connection, StartError> {
    let way = way.clone();
    let plan = tokio::task::spawn_blocking(move || Plan::of(&way, &|name| std::env::var(name).ok()));
    let plan = plan.await.context("look for the way to the cluster").and_then(|plan| plan).map_err(StartError::Config)?;
    reach(plan, metrics, wanted).await
}

/// Who writes Events: the pod's name, or the machine's.
pub(crate) fn instance_name() -> String {
    let machine = || std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned());
    std::env::var("POD_NAME").or_else(|_| machine()).unwrap_or_else(|_| "wharf".to_owned())
}
