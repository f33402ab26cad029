//! The layer that writes the request log. Owns the order of lines, and how much of a request
//! and its answer each depth shows; bodies are `body`'s, secrets `mask`'s.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::Body as _;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use tracing::Level;

use super::body::{LogBody, Tap};
use super::mask;

/// Whole bodies end here; the rest is counted.
const WHOLE: usize = 1 << 20;
/// What is shown of a body otherwise, as kubectl does.
pub(super) const START: usize = 1024;

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Off,
    Lines,
    Headers,
    Bodies,
    Whole,
}

impl Depth {
    fn now() -> Self {
        if !tracing::enabled!(target: "wharf::http", Level::DEBUG) {
            Self::Off
        } else if tracing::enabled!(target: "wharf::http::curl", Level::TRACE) {
            Self::Whole
        } else if tracing::enabled!(target: "wharf::http::body", Level::TRACE) {
            Self::Bodies
        } else if tracing::enabled!(target: "wharf::http::headers", Level::TRACE) {
            Self::Headers
        } else {
            Self::Lines
        }
    }

    fn body_bytes(self) -> usize {
        if self == Self::Whole { WHOLE } else { START }
    }
}

/// Logs the requests of the service below it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpLog;

impl<S> Layer<S> for HttpLog {
    type Service = HttpLogService<S>;

    fn layer(&self, inner: S) -> HttpLogService<S> {
        HttpLogService { inner }
    }
}

/// The service that [`HttpLog`] makes.
#[derive(Clone, Debug)]
pub(crate) struct HttpLogService<S> {
    inner: S,
}

impl<S, R> Service<Request<Body>> for HttpLogService<S>
where
    S: Service<Request<Body>, Response = Response<R>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
{
    type Response = Response<LogBody<R>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let depth = Depth::now();
        if depth == Depth::Off {
            let response = self.inner.call(request);
            return Box::pin(async move { Ok(response.await?.map(LogBody::plain)) });
        }
        // The one that is ready goes with the request.
        let ready = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, ready);
        Box::pin(logged(inner, request, depth))
    }
}

async fn logged<S, R>(mut inner: S, request: Request<Body>, depth: Depth) -> Result<Response<LogBody<R>>, BoxError>
where
    S: Service<Request<Body>, Response = Response<R>, Error = BoxError>,
    R: http_body::Body<Data = Bytes> + Unpin,
{
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let request = log_request(request, depth).await?;
    let started = Instant::now();
    let result = inner.call(request).await;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let response = match result {
        Ok(response) => response,
        Err(error) => {
            let why = chain(&*error);
            tracing::debug!(target: "wharf::http", verb = %method, url = %uri, milliseconds, error = why, "no response");
            return Err(error);
        }
    };
    let status = response.status();
    tracing::debug!(target: "wharf::http", verb = %method, url = %uri, status = %status, milliseconds, "response");
    if depth >= Depth::Headers {
        let headers = mask::headers(response.headers());
        tracing::trace!(target: "wharf::http::headers", verb = %method, url = %uri, headers, "response headers");
    }
    if depth < Depth::Bodies {
        return Ok(response.map(LogBody::plain));
    }
    let tap = Tap::response(&uri, response.headers(), depth.body_bytes());
    Ok(response.map(|body| LogBody::tapped(body, tap)))
}

/// Writes what is about to be sent; hands back the same request.
async fn log_request(request: Request<Body>, depth: Depth) -> Result<Request<Body>, BoxError> {
    if depth < Depth::Headers {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let headers = mask::headers(&parts.headers);
    if depth == Depth::Whole {
        let command = curl(&parts.method, &parts.uri, &parts.headers);
        tracing::trace!(target: "wharf::http::curl", command, "request");
    }
    tracing::trace!(target: "wharf::http::headers", verb = %parts.method, url = %parts.uri, headers, "request headers");
    let size = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    if depth < Depth::Bodies || size == Some(0) || size.is_none_or(|bytes| bytes > WHOLE) {
        return Ok(Request::from_parts(parts, body));
    }
    // Complete already: requests are made from bytes.
    let bytes = body.collect().await?.to_bytes();
    let mut tap = Tap::request(&parts.uri, &parts.headers, depth.body_bytes());
    tap.push(&bytes);
    tap.finish();
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// A command that sends the same request, less what is masked. Which certificates belong to it is not
/// said.
fn curl(method: &Method, uri: &Uri, headers: &HeaderMap) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = format!("curl -v -X {method}");
    for (name, value) in headers {
        command.push_str(&format!(" -H {}", quoted(&format!("{name}: {}", mask::header(name, value)))));
    }
    command.push_str(&format!(" {}", quoted(&uri.to_string())));
    command
}

/// An error with its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
