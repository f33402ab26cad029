//! The connection to the API server: which one, as whom, and whether it answers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http::Request;
use http_body_util::BodyExt;
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::time::Instant;

use crate::app::StartError;
use crate::config::Settings;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::rest::RequestLayer;

/// How long a host waits for its API server when it starts.
const DEADLINE: Duration = Duration::from_secs(30);
/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// A client that has been answered.
pub(crate) struct Connection {
    /// Speaks in the host's own name; does not repeat requests by itself.
    pub client: kube::Client,
    /// `gitVersion` of the server.
    pub version: String,
}

/// Connects with the settings' kubeconfig and context, else with what the environment
/// offers (KUBECONFIG, the home folder, the pod's ServiceAccount).
///
/// # Errors
/// `Config` if there is no usable configuration, `Unavailable` if nobody answers in time.
pub(crate) async fn connect(settings: &Settings, metrics: &Arc<Metrics>) -> Result<Connection, StartError> {
    let mut config = load(settings).await.map_err(StartError::Config)?;
    // The reflectors and ports have rules of their own for what is repeated.
    config.default_retry = false;
    // A watch is silent for minutes; its own idle deadline ends it.
    config.read_timeout = None;
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let counted = RequestLayer::new(Arc::clone(metrics), host.as_str());
    let builder = ClientBuilder::try_from(config).context("make a client").map_err(StartError::Config)?;
    let client = builder.with_layer(&counted).build();
    let deadline = Instant::now() + DEADLINE;
    loop {
        match version(&client).await {
            Ok(version) => return Ok(Connection { client, version }),
            Err(error) if Instant::now() >= deadline => {
                let error = error.context(format!("no answer from {host} within {} s", DEADLINE.as_secs()));
                return Err(StartError::Unavailable(error));
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

async fn load(settings: &Settings) -> anyhow::Result<kube::Config> {
    let options = KubeConfigOptions { context: settings.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &settings.kubeconfig {
        let kubeconfig = Kubeconfig::read_from(path).with_context(|| format!("read the kubeconfig {}", path.display()))?;
        return kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .with_context(|| format!("use the kubeconfig {}", path.display()));
    }
    if settings.context.is_some() {
        return kube::Config::from_kubeconfig(&options).await.context("use the kubeconfig of the environment");
    }
    kube::Config::infer().await.context("find an API server: no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and not in a pod")
}

async fn version(client: &kube::Client) -> anyhow::Result<String> {
    let request = Request::get("/version").body(Body::empty())?;
    let response = tokio::time::timeout(Duration::from_secs(10), client.send(request)).await.context("no answer within 10 s")??;
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
