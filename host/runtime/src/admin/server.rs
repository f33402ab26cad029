//! The health server and the metrics server: two addresses, each with its own routes only.
//! Owns what an address may look like.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::health::Health;
use super::http;
use crate::telemetry::metrics::{CONTENT_TYPE, Metrics};

/// Connections of one server at a time: many, since whoever can reach the port could else
/// keep probes out.
const MAX_CONNECTIONS: usize = 256;

/// A server that runs. Dropping it does not stop it; its token does.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Where it listens; with the port that was chosen if none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when it was stopped and its last connection has ended.
    ///
    /// # Errors
    /// The server's task panicked.
    pub async fn stopped(self) -> anyhow::Result<()> {
        self.task.await.context("a server of the host ended unexpectedly")
    }
}

/// Serves `/livez`, `/readyz` and `/healthz`. `None` if the address is `0` or empty.
///
/// # Errors
/// An address that cannot be read or listened on.
pub async fn serve_health(address: &str, health: Health, stop: CancellationToken) -> anyhow::Result<Option<Server>> {
    start(Purpose::Health, address, health.router(), stop).await
}

/// Serves `/metrics` and nothing else. `None` if the address is `0` or empty.
///
/// # Errors
/// An address that cannot be read or listened on.
pub async fn serve_metrics(address: &str, metrics: Arc<Metrics>, stop: CancellationToken) -> anyhow::Result<Option<Server>> {
    let router = Router::new().route("/metrics", get(exposition)).with_state(metrics);
    start(Purpose::Metrics, address, router, stop).await
}

async fn exposition(State(metrics): State<Arc<Metrics>>) -> Response {
    match metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[derive(Clone, Copy)]
enum Purpose {
    Health,
    Metrics,
}

impl Purpose {
    const fn flag(self) -> &'static str {
        match self {
            Self::Health => "--health-probe-bind-address",
            Self::Metrics => "--metrics-bind-address",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Health => "health",
            Self::Metrics => "metrics",
        })
    }
}

async fn start(purpose: Purpose, address: &str, router: Router, stop: CancellationToken) -> anyhow::Result<Option<Server>> {
    let flag = purpose.flag();
    let bound = bind(address)
        .await
        .with_context(|| format!("cannot listen on {address:?} for {purpose}; set {flag} to another HOST:PORT, or to 0 for none"))?;
    let Some(listener) = bound else { return Ok(None) };
    let address = listener.local_addr().context("a socket without an address")?;
    tracing::info!(target: "wharf::admin", server = %purpose, %address, "server listens");
    let task = tokio::spawn(http::serve(listener, router, MAX_CONNECTIONS, stop));
    Ok(Some(Server { address, task }))
}

/// Listens on `HOST:PORT`, or on `:PORT` of all interfaces. `None` for `0` and for nothing.
///
/// # Errors
/// An address that cannot be read, resolved or listened on.
pub(super) async fn bind(address: &str) -> anyhow::Result<Option<TcpListener>> {
    let address = address.trim();
    if address.is_empty() || address == "0" {
        return Ok(None);
    }
    let Some(port) = address.strip_prefix(':') else {
        return Ok(Some(TcpListener::bind(address).await?));
    };
    let port: u16 = port.parse().with_context(|| format!("{port:?} is no port"))?;
    // One socket for IPv6 and IPv4 where the kernel has both.
    match TcpListener::bind(("::", port)).await {
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => Ok(Some(TcpListener::bind(("0.0.0.0", port)).await?)),
        bound => Ok(Some(bound?)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::super::health::Probe;
    use super::*;

    async fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    #[tokio::test]
    async fn health_answers_as_an_api_server_does() {
        let health = Health::new();
        let synced = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&synced);
        let informers = move || if seen.load(Ordering::SeqCst) { Ok(()) } else { Err("v1 ConfigMap\nis not synced".to_owned()) };
        health.add("informers", Probe::Ready, informers);
        health.add("epoch", Probe::Live, || Ok(()));
        let stop = CancellationToken::new();
        let server = serve_health("127.0.0.1:0", health.clone(), stop.clone()).await.unwrap().unwrap();
        let ask = |path: &'static str| get(server.address(), path);

        for path in ["/livez", "/healthz", "/livez/epoch", "/readyz/epoch"] {
            let (status, _, body) = ask(path).await;
            assert_eq!((status, body.as_str()), (200, "ok"), "{path}");
        }
        let failed = "[+]ping ok\n[-]informers failed: v1 ConfigMap; is not synced\n[+]epoch ok\nreadyz check failed\n";
        for path in ["/readyz", "/readyz?verbose"] {
            let (status, _, body) = ask(path).await;
            assert_eq!((status, body.as_str()), (500, failed), "{path}");
        }
        let (status, _, body) = ask("/readyz?verbose&exclude=informers&exclude=nonsense").await;
        assert_eq!(status, 200);
        assert!(body.contains("[+]informers excluded: ok\n") && body.contains("warn: some health checks"), "{body}");
        assert_eq!(ask("/readyz/informers").await.0, 500);
        assert_eq!(ask("/livez/informers").await.0, 404, "it is no matter of life");
        assert_eq!(ask("/metrics").await.0, 404);
        assert_eq!(health.failing(Probe::Live), []);
        assert_eq!(health.failing(Probe::Ready).len(), 1);

        synced.store(true, Ordering::SeqCst);
        let (status, _, body) = ask("/readyz?verbose").await;
        assert_eq!((status, body.as_str()), (200, "[+]ping ok\n[+]informers ok\n[+]epoch ok\nreadyz check passed\n"));
        stop.cancel();
        server.stopped().await.unwrap();
    }

    #[tokio::test]
    async fn metrics_are_served_as_openmetrics() {
        let stop = CancellationToken::new();
        let server = serve_metrics("127.0.0.1:0", Metrics::new(), stop.clone()).await.unwrap().unwrap();
        let (status, head, body) = get(server.address(), "/metrics").await;
        assert_eq!(status, 200);
        assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"), "{head}");
        assert!(body.ends_with("# EOF\n"));
        assert_eq!(get(server.address(), "/readyz").await.0, 404);
        stop.cancel();
        server.stopped().await.unwrap();
    }

    #[tokio::test]
    async fn stopping_ends_idle_connections() {
        let stop = CancellationToken::new();
        let server = serve_health("127.0.0.1:0", Health::new(), stop.clone()).await.unwrap().unwrap();
        let mut idle = TcpStream::connect(server.address()).await.unwrap();
        idle.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        idle.read_exact(&mut first).await.unwrap();
        stop.cancel();
        server.stopped().await.unwrap();
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test]
    async fn a_head_that_is_too_long_is_refused() {
        let stop = CancellationToken::new();
        let server = serve_health("127.0.0.1:0", Health::new(), stop.clone()).await.unwrap().unwrap();
        let path = format!("/livez?{}", "x".repeat(15 << 10));
        let (status, ..) = get(server.address(), &path).await;
        assert_eq!(status, 200, "15 KiB fit");
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let long = format!("GET /livez?{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(17 << 10));
        stream.write_all(long.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert!(start.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&start));
        stop.cancel();
        server.stopped().await.unwrap();
    }

    #[tokio::test]
    async fn addresses() {
        for off in ["0", "", " "] {
            assert!(bind(off).await.unwrap().is_none(), "{off:?}");
        }
        for address in [":0", "127.0.0.1:0", "localhost:0"] {
            assert!(bind(address).await.unwrap().is_some(), "{address}");
        }
        for wrong in [":http", "8080", "127.0.0.1"] {
            bind(wrong).await.unwrap_err();
        }
        let taken = bind("127.0.0.1:0").await.unwrap().unwrap().local_addr().unwrap().to_string();
        let _holder = bind(&taken).await.unwrap();
        let error = serve_metrics(&taken, Metrics::new(), CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains("--metrics-bind-address"), "{error}");
    }
}
