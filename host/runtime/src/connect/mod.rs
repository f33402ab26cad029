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
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use http::Request;
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use tokio::time::Instant;
use tower::Layer;

use crate::app::StartError;
use crate::config::Way;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::rest::RequestLayer;
use credentials::OpenError;
use plan::Plan;

/// Between two attempts of a host that starts.
const PAUSE: Duration = Duration::from_secs(1);
/// How long all of an answer to `GET /version` may take; longer than a connection may, so that a
/// connection's own error is seen.
const ANSWER: Duration = Duration::from_secs(20);
/// A longer version is none, in bytes.
const MAX_VERSION: usize = 64 << 10;

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
/// `Config` if there is no usable configuration, `Unavailable` if there are no credentials or no
/// answer in time.
pub(crate) async fn connect(way: &Way, metrics: &Arc<Metrics>, wanted: Wanted) -> Result<Connection, StartError> {
    let way = way.clone();
    let plan = tokio::task::spawn_blocking(move || Plan::of(&way, &|name| std::env::var(name).ok()));
    let plan = plan.await.context("look for the way to the cluster").and_then(|plan| plan).map_err(StartError::Config)?;
    reach(plan, metrics, wanted).await
}

async fn reach(plan: Plan, metrics: &Arc<Metrics>, wanted: Wanted) -> Result<Connection, StartError> {
    let mut attempts = Attempts::new(plan.host(), wanted);
    let (host, namespace) = (plan.host(), plan.namespace.clone());
    let opened = loop {
        match plan.open().await {
            Ok(opened) => break opened,
            Err(OpenError::Unusable(error)) => return Err(StartError::Config(error)),
            Err(OpenError::NotNow(error)) => attempts.failed(error.context(format!("no credentials for {host}"))).await?,
        }
    };
    let swap = follow::start(plan, opened);
    let counted = RequestLayer::new(Arc::clone(metrics), host.as_str()).layer(swap);
    let client = kube::Client::new(counted, namespace.as_str());
    loop {
        match version(&client, wanted).await {
            Ok(version) => return Ok(Connection { client, version, namespace }),
            Err(error) => attempts.failed(error.context(format!("no answer from {host}"))).await?,
        }
    }
}

/// The attempts of one start.
struct Attempts {
    host: String,
    deadline: Instant,
}

impl Attempts {
    fn new(host: String, wanted: Wanted) -> Self {
        let patience = match wanted {
            Wanted::Accepted { patience } => patience,
            Wanted::Answered => Duration::ZERO,
        };
        Self { host, deadline: Instant::now() + patience }
    }

    /// Waits for the next attempt, if there is one.
    async fn failed(&mut self, error: anyhow::Error) -> Result<(), StartError> {
        if Instant::now() >= self.deadline {
            return Err(StartError::Unavailable(error));
        }
        tracing::warn!(
            target: "wharf::host", server = %self.host, reason = %wharf_core::Reason::ServerUnavailable,
            error = format!("{error:#}"), "API server cannot be used yet, trying again"
        );
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

async fn version(client: &kube::Client, wanted: Wanted) -> anyhow::Result<String> {
    let unknown = || "unknown".to_owned();
    let probe = async {
        let request = Request::get("/version").body(Body::empty())?;
        let response = client.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            return match (wanted, status.as_u16()) {
                (Wanted::Answered, _) => Ok(unknown()),
                (_, 401 | 403) => bail!("the server refuses the credentials (GET /version answered {status})"),
                _ => bail!("GET /version answered {status}"),
            };
        }
        let body = Limited::new(response.into_body(), MAX_VERSION).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("read the answer to GET /version: {error}"))?.to_bytes();
        match serde_json::from_slice::<serde_json::Value>(&body) {
            Ok(value) => Ok(value.get("gitVersion").and_then(serde_json::Value::as_str).map_or_else(unknown, str::to_owned)),
            Err(_) if matches!(wanted, Wanted::Answered) => Ok(unknown()),
            Err(error) => Err(error).context("GET /version answered something else than JSON"),
        }
    };
    tokio::time::timeout(ANSWER, probe).await.with_context(|| format!("no whole answer within {} s", ANSWER.as_secs()))?
}

/// Who writes Events: the pod's name, or the machine's.
pub(crate) fn instance_name() -> String {
    let machine = || std::fs::read_to_string("/etc/hostname").map(|name| name.trim().to_owned());
    std::env::var("POD_NAME").or_else(|_| machine()).unwrap_or_else(|_| "wharf".to_owned())
}
