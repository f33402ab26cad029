//! HTTP/1 with limits, for every server of the host: connections, sizes, times, and a
//! graceful end. Knows no route.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bytes of a request's head, and number of its headers.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Bytes of a request's body.
const MAX_BODY: usize = 64 << 10;
/// A head must arrive within this time; an idle connection is closed after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// A request must be answered within this time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection is asked to end after this time, so that none is held for ever.
const CONNECTION_AGE: Duration = Duration::from_secs(600);
/// Requests in work may go on for this time when the server stops.
const DRAIN: Duration = Duration::from_secs(2);
/// Waiting time after a failed accept (too many open files, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Something that connections come from.
pub(super) trait Accept: Send + Sync + 'static {
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Cancel safe.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Io>> + Send;
}

impl Accept for TcpListener {
    type Io = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _peer) = Self::accept(self).await?;
        Ok(stream)
    }
}

/// Serves until stopped, and returns when the last connection has ended. Beyond `max`
/// connections more wait in the kernel's backlog.
pub(super) async fn serve<A: Accept>(listener: A, router: Router, max: usize, stop: CancellationToken) {
    let router = router.layer(middleware::from_fn(deadline)).layer(DefaultBodyLimit::max(MAX_BODY));
    let slots = Arc::new(Semaphore::new(max));
    let connections = TaskTracker::new();
    loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((slot, listener.accept().await?))
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = next => accepted,
        };
        match accepted {
            Ok((slot, io)) => {
                let (router, stop) = (router.clone(), stop.clone());
                connections.spawn(async move {
                    connection(io, router, stop).await;
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::warn!(target: "wharf::admin", %error, "connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router, stop: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled() => None,
        () = tokio::time::sleep(CONNECTION_AGE) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(DRAIN, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        // A client that went away or sent nonsense; of interest only to who looks for it.
        tracing::debug!(target: "wharf::admin", %error, "connection ended");
    }
}

async fn deadline(request: Request, next: Next) -> Response {
    match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "not answered in time\n").into_response(),
    }
}
