//! Plain HTTPS requests. Owns the client, whose answers are texts whatever their status, and the
//! short words for headers in `checks.yaml`; nothing is retried or followed.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::{HeaderMap, Method, Request};
use kube::client::Body;
use kube::{Client, Config};
use tokio::time::timeout;

use crate::server::Server;

/// The longest that anything here takes is a watch of five seconds.
const DEADLINE: Duration = Duration::from_secs(15);

/// Names and values in the order of sending.
pub(crate) type Headers = Vec<(String, String)>;

/// A client that carries no credentials by itself.
pub(crate) struct Http {
    client: Client,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Http {
    /// Connects lazily.
    pub(crate) fn new(server: &Server) -> Result<Self> {
        let mut config = Config::new(server.url.parse().context("read the server's address")?);
        config.root_cert_file = Some(server.authority.clone());
        config.default_retry = false;
        Ok(Self { client: Client::try_from(config)? })
    }

    /// Sends one request; an answer of any status is one.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(String, String)], body: Vec<u8>) -> Result<Answer> {
        let mut request = Request::builder().method(method.parse::<Method>()?).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).with_context(|| format!("make the request {method} {path}"))?;
        let answer = timeout(DEADLINE, async {
            let response = self.client.send(request).await?;
            let (head, body) = response.into_parts();
            let body = body.collect_bytes().await?;
            anyhow::Ok(Answer { status: head.status.as_u16(), headers: head.headers, text: String::from_utf8_lossy(&body).into_owned() })
        });
        answer.await.with_context(|| format!("{method} {path} has no end"))?.with_context(|| format!("{method} {path}"))
    }
}

/// Method, path and headers of `METHOD PATH` or `METHOD[word] PATH`.
pub(crate) fn parse(request: &str) -> Result<(&str, &str, Headers)> {
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (method, path) = request.split_once(' ').with_context(|| format!("{request:?} is no request"))?;
    let Some((method, word)) = method.trim_end_matches(']').split_once('[') else { return Ok((method, path, Vec::new())) };
    let (name, value) = match word {
        "Table" => ("Accept", TABLE),
        "Agg" => ("Accept", AGGREGATED),
        "merge" => ("Content-Type", "application/merge-patch+json"),
        "smp" => ("Content-Type", "application/strategic-merge-patch+json"),
        "jp" => ("Content-Type", "application/json-patch+json"),
        "apply" => ("Content-Type", "application/apply-patch+yaml"),
        "yaml" => ("Content-Type", "application/yaml"),
        _ => bail!("{word:?} in {request:?} stands for no header"),
    };
    Ok((method, path, vec![(name.to_owned(), value.to_owned())]))
}
