//! Connections: accepts them up to a limit, shakes hands, speaks HTTP/1.1 on them, and ends them with the server.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::Front;
use super::handle::handle;

/// How long a client may take to shake hands.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may take for the head of a request; also how long a connection may idle. Longer than clients keep theirs.
const IDLE: Duration = Duration::from_secs(180);
/// How long requests may go on when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// The rest after a connection could not be accepted, for example because the process has no file left.
const AFTER_ERROR: Duration = Duration::from_millis(50);

/// What a server listens with.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) front: Arc<Front>,
    /// Connections at a time; more wait in the system's queue.
    pub(crate) connections: usize,
}

/// Serves until the server stops, then ends its connections.
pub(crate) async fn listen(listening: Listening) {
    let Listening { listener, tls, front, connections } = listening;
    let mut stopping = front.stopping.clone();
    let mut tasks = JoinSet::new();
    loop {
        let room = tasks.len() < connections;
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            accepted = listener.accept(), if room => match accepted {
                Ok((socket, _)) => {
                    tasks.spawn(connection(socket, tls.clone(), Arc::clone(&front)));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(AFTER_ERROR).await;
                }
            },
        }
    }
    // Nobody new is let in while the rest goes on.
    drop(listener);
    let rest = async { while tasks.join_next().await.is_some() {} };
    if timeout(GRACE, rest).await.is_err() {
        tracing::warn!("requests were still running when the server stopped");
    }
}

async fn connection(socket: TcpStream, tls: Option<TlsAcceptor>, front: Arc<Front>) {
    // Events are small and wanted at once.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let Some(tls) = tls else { return serve(socket, front).await };
    match timeout(HANDSHAKE, tls.accept(socket)).await {
        Ok(Ok(stream)) => serve(stream, front).await,
        Ok(Err(error)) => tracing::debug!(%error, "a client shook no hands"),
        Err(_) => tracing::debug!("a client took too long to shake hands"),
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S, front: Arc<Front>) {
    let mut stopping = front.stopping.clone();
    let service = service_fn(move |request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(handle(front, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Waits until the server stops; one that is gone has stopped.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
