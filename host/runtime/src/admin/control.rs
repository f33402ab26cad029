//! The control API: JSON over HTTP/1 for the `wharf` command on the same machine. On a Unix
//! socket, or on loopback TCP with a bearer token. Shows status; what an operator works
//! with is in `operate`, what is logged in `logs`.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::logs::{self, Logs};
use super::operate::{self, Operations};
use super::rows::{ErrorRow, StatusSource, VersionRow};
use super::server::bind;
use super::{http, socket::Socket};

/// Connections at a time.
const MAX_CONNECTIONS: usize = 32;
/// Name of the token's file in the data folder.
const TOKEN_FILE: &str = "control.token";
/// Shortest token that is accepted, in characters.
const MIN_TOKEN: usize = 16;

/// Where the control API is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEndpoint {
    /// A Unix socket, for the host's own user.
    Unix(PathBuf),
    /// A loopback address, for those who can read the token.
    Tcp {
        /// `HOST:PORT`.
        address: String,
        /// A file that only its owner can read; made with a random token if it is missing.
        token_file: PathBuf,
    },
}

impl ControlEndpoint {
    /// What a setting means: `HOST:PORT` is a loopback address whose token lies in the data
    /// folder, everything else the path of a Unix socket.
    pub fn of(setting: &Path, data: &Path) -> Self {
        match setting.to_str().filter(|text| text.parse::<SocketAddr>().is_ok()) {
            Some(address) => Self::Tcp { address: address.to_owned(), token_file: data.join(TOKEN_FILE) },
            None => Self::Unix(setting.to_owned()),
        }
    }
}

/// A control server that runs. Dropping it does not stop it; its token does.
#[derive(Debug)]
pub struct ControlServer {
    address: String,
    task: JoinHandle<()>,
}

impl ControlServer {
    /// Starts serving.
    ///
    /// # Errors
    /// The endpoint cannot be used: see the message.
    pub async fn start(
        endpoint: &ControlEndpoint,
        status: Arc<dyn StatusSource>,
        operations: Arc<dyn Operations>,
        logs: Arc<dyn Logs>,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let router = router(status).merge(operate::router(operations)).merge(logs::router(logs, stop.clone()));
        let (address, task) = match endpoint {
            ControlEndpoint::Unix(path) => {
                let socket = Socket::bind(path)?;
                (path.display().to_string(), tokio::spawn(http::serve(socket, router, MAX_CONNECTIONS, stop)))
            }
            ControlEndpoint::Tcp { address, token_file } => {
                let token = Digested::of(&read_or_make_token(token_file)?);
                let listener = bind(address).await.with_context(|| format!("cannot listen on {address:?} for the control API"))?;
                let listener = listener.context("the control API needs an address; to have none, use its Unix socket")?;
                let local = listener.local_addr().context("a socket without an address")?;
                if !local.ip().is_loopback() {
                    bail!("the control API is served on loopback only, not on {local}; use 127.0.0.1:PORT or [::1]:PORT");
                }
                let router = router.layer(middleware::from_fn_with_state(token, authorize));
                (local.to_string(), tokio::spawn(http::serve(listener, router, MAX_CONNECTIONS, stop)))
            }
        };
        tracing::info!(target: "wharf::admin", server = "control", %address, "server listens");
        Ok(Self { address, task })
    }

    /// The socket's path, or `HOST:PORT` with the port that was chosen.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns when it was stopped and its last connection has ended.
    ///
    /// # Errors
    /// The server's task panicked.
    pub async fn stopped(self) -> anyhow::Result<()> {
        self.task.await.context("the control server ended unexpectedly")
    }
}

#[derive(Clone)]
struct Shared {
    status: Arc<dyn StatusSource>,
    version: VersionRow,
}

fn router(status: Arc<dyn StatusSource>) -> Router {
    let version =
        VersionRow { version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id(), started: format!("{:.0}", Timestamp::now()) };
    Router::new()
        .route("/v1/plugins", get(|State(s): State<Shared>| async move { Json(s.status.plugins()) }))
        .route("/v1/informers", get(|State(s): State<Shared>| async move { Json(s.status.informers()) }))
        .route("/v1/queues", get(|State(s): State<Shared>| async move { Json(s.status.queues()) }))
        .route("/v1/usage", get(|State(s): State<Shared>| async move { Json(s.status.usage()) }))
        .route("/v1/version", get(|State(s): State<Shared>| async move { Json(s.version) }))
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "no such path; this host may be of another version") })
        .method_not_allowed_fallback(|| async { refuse(StatusCode::METHOD_NOT_ALLOWED, "no such method for this path") })
        .with_state(Shared { status, version })
}

/// The digest of a secret: comparing digests takes the same time wherever the secrets differ.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Digested([u8; 32]);

impl Digested {
    fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }
}

async fn authorize(State(token): State<Digested>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match given.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(given) if Digested::of(given.trim()) == token => next.run(request).await,
        _ => refuse(StatusCode::UNAUTHORIZED, "a valid bearer token is needed; it stands in the host's token file"),
    }
}

fn refuse(status: StatusCode, error: &str) -> Response {
    (status, Json(ErrorRow { error: error.to_owned(), hint: String::new() })).into_response()
}

/// Reads the token of a file that only its owner can read.
///
/// # Errors
/// A file that others can read, or one without a usable token.
pub(super) fn read_token(path: &Path) -> anyhow::Result<String> {
    let file = fs::metadata(path).with_context(|| format!("cannot read the token file {}", path.display()))?;
    if file.mode() & 0o077 != 0 {
        bail!("others can read the token file {}; run `chmod 600` on it", path.display());
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the token file {}", path.display()))?;
    let token = text.trim();
    if token.len() < MIN_TOKEN || !token.chars().all(|c| c.is_ascii_graphic()) {
        bail!("the token file {} must hold one word of at least {MIN_TOKEN} characters", path.display());
    }
    Ok(token.to_owned())
}

fn read_or_make_token(path: &Path) -> anyhow::Result<String> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
            writeln!(file, "{token}").with_context(|| format!("cannot write the token file {}", path.display()))?;
            Ok(token)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read_token(path),
        Err(error) => Err(error).with_context(|| format!("cannot make the token file {}", path.display())),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::super::client::{self, ControlTarget};
    use super::super::operate::tests::Fake;
    use super::super::rows::{InformerRow, PluginRow, QueueRow, UsageRow};
    use super::*;

    struct Status;

    impl StatusSource for Status {
        fn plugins(&self) -> Vec<PluginRow> {
            vec![PluginRow {
                namespace: "team-a".into(),
                name: "guard".into(),
                state: "Serving".into(),
                age_seconds: 7,
                ..Default::default()
            }]
        }

        fn informers(&self) -> Vec<InformerRow> {
            vec![InformerRow { kind: "ConfigMap".into(), api_version: "v1".into(), scope: "*".into(), ..Default::default() }]
        }

        fn queues(&self) -> Vec<QueueRow> {
            vec![QueueRow { plugin: "team-a/guard".into(), longest_running_seconds: 0.25, ..Default::default() }]
        }

        fn usage(&self) -> UsageRow {
            UsageRow { at_seconds: 1.5, ..Default::default() }
        }
    }

    pub(in crate::admin) async fn start(endpoint: &ControlEndpoint, stop: &CancellationToken) -> anyhow::Result<ControlServer> {
        ControlServer::start(endpoint, Arc::new(Status), Arc::new(Fake), Arc::new(logs::tests::Fake), stop.clone()).await
    }

    #[tokio::test]
    async fn round_trip_over_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let stop = CancellationToken::new();
        let server = start(&ControlEndpoint::Unix(path.clone()), &stop).await.unwrap();

        let plugins: Vec<PluginRow> = serde_json::from_value(client::get(&path, "/v1/plugins").await.unwrap()).unwrap();
        assert_eq!(plugins, Status.plugins());
        let informers = client::get(&path, "/v1/informers").await.unwrap();
        assert_eq!((&informers[0]["apiVersion"], informers[0].get("lastEventAgeSeconds")), (&json!("v1"), None));
        assert_eq!(client::get(&path, "/v1/queues").await.unwrap()[0]["longestRunningSeconds"], 0.25);
        assert_eq!(client::get(&path, "/v1/usage").await.unwrap()["atSeconds"], 1.5);
        let version: VersionRow = serde_json::from_value(client::get(&path, "/v1/version").await.unwrap()).unwrap();
        assert_eq!((version.version.as_str(), version.pid), (env!("CARGO_PKG_VERSION"), std::process::id()));

        let too_big = client::put(&path, "/v1/log-level", json!({"level": "x".repeat(100 << 10)})).await.unwrap_err();
        assert!(too_big.to_string().contains("413"), "{too_big}");
        assert!(client::get(&path, "/v2/plugins").await.unwrap_err().to_string().contains("404"));

        stop.cancel();
        server.stopped().await.unwrap();
        assert!(!path.exists());
        let gone = client::get(&path, "/v1/plugins").await.unwrap_err().to_string();
        assert!(gone.contains("no wharf host listens at") && gone.contains("`wharf run`"), "{gone}");
    }

    #[tokio::test]
    async fn loopback_needs_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        let stop = CancellationToken::new();
        let endpoint = ControlEndpoint::Tcp { address: "127.0.0.1:0".into(), token_file: token_file.clone() };
        let server = start(&endpoint, &stop).await.unwrap();
        assert_eq!(fs::metadata(&token_file).unwrap().mode() & 0o777, 0o600);

        let address = server.address().to_owned();
        let target = ControlTarget::tcp(&address, &token_file).unwrap();
        assert_eq!(client::get(target, "/v1/plugins").await.unwrap()[0]["name"], "guard");
        let wrong = ControlTarget::Tcp { address, token: "0123456789abcdef".into() };
        let refused = client::get(wrong, "/v1/plugins").await.unwrap_err().to_string();
        assert!(refused.contains("401") && refused.contains("token"), "{refused}");
        stop.cancel();
        server.stopped().await.unwrap();
    }

    #[tokio::test]
    async fn what_would_let_others_in_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        let stop = CancellationToken::new();
        let tcp = |address: &str| ControlEndpoint::Tcp { address: address.into(), token_file: token_file.clone() };
        let error = start(&tcp(":0"), &stop).await.unwrap_err();
        assert!(error.to_string().contains("loopback only"), "{error}");
        fs::set_permissions(&token_file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = start(&tcp("127.0.0.1:0"), &stop).await.unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        fs::write(&token_file, "short\n").unwrap();
        fs::set_permissions(&token_file, fs::Permissions::from_mode(0o600)).unwrap();
        let error = start(&tcp("127.0.0.1:0"), &stop).await.unwrap_err();
        assert!(error.to_string().contains("at least 16 characters"), "{error}");
    }
}
