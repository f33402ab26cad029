//! Asks a running host over its control API. Owns the errors that a user of the command
//! line sees when no host answers; prints nothing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::control::{ControlEndpoint, read_token};
use super::rows::ErrorRow;

/// Bytes of an answer.
const MAX_ANSWER: usize = 64 << 20;
/// From connecting to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The host said no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host refused ({status}): {error}")]
pub struct HostRefused {
    /// Status code of the answer.
    pub status: u16,
    /// What it said.
    pub error: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

/// Where a host's control API is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlTarget {
    /// A Unix socket.
    Unix(PathBuf),
    /// A loopback address, with the token.
    Tcp {
        /// `HOST:PORT`.
        address: String,
        /// What stands in the host's token file.
        token: String,
    },
}

impl ControlTarget {
    /// Where a host with this setting and data folder is: see [`ControlEndpoint::of`].
    ///
    /// # Errors
    /// The token of a loopback address cannot be read.
    pub fn of(setting: &Path, data: &Path) -> anyhow::Result<Self> {
        match ControlEndpoint::of(setting, data) {
            ControlEndpoint::Unix(path) => Ok(Self::Unix(path)),
            ControlEndpoint::Tcp { address, token_file } => Self::tcp(&address, &token_file),
        }
    }

    /// A loopback address, with the token of a file.
    ///
    /// # Errors
    /// The file cannot be read, others can read it, or it holds no token.
    pub fn tcp(address: &str, token_file: &Path) -> anyhow::Result<Self> {
        Ok(Self::Tcp { address: address.to_owned(), token: read_token(token_file)? })
    }
}

impl From<&Path> for ControlTarget {
    fn from(path: &Path) -> Self {
        Self::Unix(path.to_owned())
    }
}

impl From<&PathBuf> for ControlTarget {
    fn from(path: &PathBuf) -> Self {
        Self::Unix(path.clone())
    }
}

impl From<PathBuf> for ControlTarget {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

/// The JSON at a path of the control API. Cancel safe.
///
/// # Errors
/// No host listens, it does not answer in time, or it says no.
pub async fn get(target: impl Into<ControlTarget>, path: &str) -> anyhow::Result<Value> {
    exchange(target.into(), Method::GET, path, None).await
}

/// Changes what is at a path of the control API. Cancelled, it may have taken effect.
///
/// # Errors
/// No host listens, it does not answer in time, or it says no.
pub async fn put(target: impl Into<ControlTarget>, path: &str, body: Value) -> anyhow::Result<Value> {
    exchange(target.into(), Method::PUT, path, Some(body)).await
}

/// Asks for something at a path of the control API. Cancelled, it may have taken effect.
///
/// # Errors
/// No host listens, it does not answer in time, or it says no.
pub async fn post(target: impl Into<ControlTarget>, path: &str, body: Value) -> anyhow::Result<Value> {
    exchange(target.into(), Method::POST, path, Some(body)).await
}

async fn exchange(target: ControlTarget, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
    let work = async {
        match &target {
            ControlTarget::Unix(socket) => {
                let stream = UnixStream::connect(socket).await.map_err(|error| unreachable_host(&error, &socket.display().to_string()))?;
                send(stream, request(method, path, body, None)?).await
            }
            ControlTarget::Tcp { address, token } => {
                let stream = TcpStream::connect(address).await.map_err(|error| unreachable_host(&error, address))?;
                send(stream, request(method, path, body, Some(token))?).await
            }
        }
    };
    tokio::time::timeout(TIMEOUT, work).await.map_err(|_| anyhow!("the host did not answer within {} s", TIMEOUT.as_secs()))?
}

fn request(method: Method, path: &str, body: Option<Value>, token: Option<&str>) -> anyhow::Result<Request<Full<Bytes>>> {
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let body = match body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Bytes::from(body.to_string())
        }
        None => Bytes::new(),
    };
    request.body(Full::new(body)).context("not a path of the control API")
}

async fn send(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, request: Request<Full<Bytes>>) -> anyhow::Result<Value> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.context("the host does not speak HTTP")?;
    // Ends when the sender is dropped; what goes wrong in it is also seen by the sender.
    let driver = tokio::spawn(connection);
    let answer = receive(&mut sender, request).await;
    driver.abort();
    answer
}

async fn receive(sender: &mut http1::SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> anyhow::Result<Value> {
    let response = sender.send_request(request).await.context("the host closed the connection")?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let body = body.map_err(|error| anyhow!("the host's answer cannot be read: {error}"))?.to_bytes();
    if !status.is_success() {
        let said = serde_json::from_slice::<ErrorRow>(&body);
        let ErrorRow { error, hint } =
            said.unwrap_or_else(|_| ErrorRow { error: String::from_utf8_lossy(&body).into_owned(), hint: String::new() });
        return Err(HostRefused { status: status.as_u16(), error, hint }.into());
    }
    serde_json::from_slice(&body).context("the host's answer is no JSON")
}

fn unreachable_host(error: &std::io::Error, place: &str) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            anyhow!("no wharf host listens at {place}; start one with `wharf run`, or pass --data-dir")
        }
        ErrorKind::PermissionDenied => anyhow!("the wharf host at {place} belongs to another user; use its user, or root"),
        _ => anyhow!("cannot connect to the wharf host at {place}: {error}"),
    }
}
