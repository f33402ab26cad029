//! The first answer of a server: attempts, their patience, and what counts as an answer. Owns the
//! loop of a start; never works out where to go (that is `plan`).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use http::Request;
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use tokio::time::Instant;
use tower::Layer;
use wharf_core::one_line;

use super::credentials::OpenError;
use super::plan::Plan;
use super::{Connection, Wanted, follow, trouble};
use crate::app::StartError;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::rest::RequestLayer;

/// Between two attempts of a host that starts.
const PAUSE: Duration = Duration::from_secs(1);
/// How long all of an answer to `GET /version` may take; longer than a connection may, so that a
/// connection's own error is seen.
const ANSWER: Duration = Duration::from_secs(20);
/// A longer version is none, in bytes.
const MAX_VERSION: usize = 64 << 10;

/// Opens the way and waits for an answer.
///
/// # Errors
/// As [`connect`](super::connect).
pub(super) async fn reach(plan: Plan, metrics: &Arc<Metrics>, wanted: Wanted) -> Result<Connection, StartError> {
    let mut attempts = Attempts::new(plan.host(), wanted);
    let (host, namespace) = (plan.host(), plan.namespace.clone());
    let opened = loop {
        match plan.open().await {
            Ok(opened) => break opened,
            Err(OpenError::Unusable(error)) => return Err(StartError::Unusable(error)),
            Err(OpenError::NotNow(error)) => {
                attempts.failed(StartError::NoCredentials(error.context(format!("no credentials for {host}")))).await?;
            }
        }
    };
    let swap = follow::start(plan, opened);
    let counted = RequestLayer::new(Arc::clone(metrics), host.as_str()).layer(swap);
    let client = kube::Client::new(counted, namespace.as_str());
    loop {
        match version(&client, wanted).await {
            Ok(version) => return Ok(Connection { client, version, namespace }),
            Err(error) => attempts.failed(trouble::of(error.context(format!("no answer from {host}")))).await?,
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
    async fn failed(&mut self, error: StartError) -> Result<(), StartError> {
        if Instant::now() >= self.deadline {
            return Err(error);
        }
        tracing::warn!(
            target: "wharf::host", server = %self.host, reason = %error.reason(),
            error = one_line(&error), "API server cannot be used yet, trying again"
        );
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

pub(super) async fn version(client: &kube::Client, wanted: Wanted) -> anyhow::Result<String> {
    let unknown = || "unknown".to_owned();
    let probe = async {
        let request = Request::get("/version").body(Body::empty())?;
        let response = client.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            return match (wanted, status.as_u16()) {
                (Wanted::Answered, _) => Ok(unknown()),
                (_, 401 | 403) => Err(trouble::Refused(status).into()),
                (_, 400) => bail!("GET /version answered {status}, as no Kubernetes API does; perhaps the port is one for https://"),
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
