//! The connection to the API server: which one, as whom, and whether it answers.
//!
//! [`plan`] works out where to go, `kubeconfig` reads the files of that name, `credentials`
//! reads what changes while a process runs (tokens, certificates, exec plugins), `proxy` picks
//! a proxy, `stack` builds a client, `swap` puts another one in the place of the one in use,
//! and `follow` decides when. Callers hold one `kube::Client` for ever.

mod credentials;
mod exec;
mod follow;
mod kubeconfig;
mod plan;
mod proxy;
mod stack;
mod swap;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;
use tower::Layer;

use crate::app::StartError;
use crate::config::Way;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::rest::RequestLayer;
use plan::Plan;

/// Between two attempts of a host that starts.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an answer to `GET /version` may take.
const ANSWER: Duration = Duration::from_secs(10);

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

/// Connects, and asks the server for its version until it answers or `patience` has passed;
/// zero means one attempt.
///
/// # Errors
/// `Config` if there is no usable configuration, `Unavailable` if nobody answers in time.
pub(crate) async fn connect(way: &Way, metrics: &Arc<Metrics>, patience: Duration) -> Result<Connection, StartError> {
    let deadline = Instant::now() + patience;
    let way = way.clone();
    let plan = tokio::task::spawn_blocking(move || Plan::of(&way, &|name| std::env::var(name).ok()));
    let plan = plan.await.context("look for the way to the cluster").and_then(|plan| plan).map_err(StartError::Config)?;
    let (host, namespace) = (plan.host(), plan.namespace.clone());
    let opened = plan.open().await.map_err(StartError::Config)?;
    let swap = follow::start(plan, opened);
    let counted = RequestLayer::new(Arc::clone(metrics), host.as_str()).layer(swap);
    let client = kube::Client::new(counted, namespace.as_str());
    loop {
        match version(&client).await {
            Ok(version) => return Ok(Connection { client, version, namespace }),
            Err(error) if Instant::now() >= deadline => {
                return Err(StartError::Unavailable(error.context(format!("no answer from {host}"))));
            }
            Err(error) => {
                tracing::warn!(
                    target: "wharf::host", server = %host, reason = %wharf_core::Reason::ServerUnavailable,
                    error = format!("{error:#}"), "API server does not answer, trying again"
                );
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn version(client: &kube::Client) -> anyhow::Result<String> {
    let request = Request::get("/version").body(Body::empty())?;
    let response = tokio::time::timeout(ANSWER, client.send(request)).await.context("no answer within 10 s")??;
    anyhow::ensure!(response.status().is_success(), "GET /version answered {}", response.status());
    let body = response.into_body().collect().await?.to_bytes();
    let value: serde_json::Value = serde_json::from_slice(&body).context("GET /version answered something else than JSON")?;
    Ok(value.get("gitVersion").and_then(serde_json::Value::as_str).unwrap_or("unknown").to_owned())
}

/// Who writes Events: the pod's name, or the machine's.
pub(crate) fn instance_name() -> String {
    let machine = || std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned());
    std::env::var("POD_NAME").or_else(|_| machine()).unwrap_or_else(|_| "wharf".to_owned())
}
