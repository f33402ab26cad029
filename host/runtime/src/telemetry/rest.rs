//! A tower layer for the Kubernetes client that counts its requests (`rest_client_*`).
//! Never changes a request or a response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::metrics::Metrics;

/// Counts the requests of the service below it.
#[derive(Clone, Debug)]
pub struct RequestLayer {
    metrics: Arc<Metrics>,
    host: Arc<str>,
}

impl RequestLayer {
    /// A layer that counts in these metrics, for one server: `HOST:PORT`.
    pub fn new(metrics: Arc<Metrics>, host: impl Into<Arc<str>>) -> Self {
        Self { metrics, host: host.into() }
    }
}

impl<S> Layer<S> for RequestLayer {
    type Service = RequestService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestService { inner, metrics: Arc::clone(&self.metrics), host: Arc::clone(&self.host) }
    }
}

/// The service that [`RequestLayer`] makes.
#[derive(Clone, Debug)]
pub struct RequestService<S> {
    inner: S,
    metrics: Arc<Metrics>,
    host: Arc<str>,
}

impl<S, B, R> Service<Request<B>> for RequestService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = request.method().clone();
        let (metrics, host) = (Arc::clone(&self.metrics), Arc::clone(&self.host));
        let started = Instant::now();
        let response = self.inner.call(request);
        Box::pin(async move {
            let result = response.await;
            let code = result.as_ref().ok().map(Response::status);
            metrics.request(&method, &host, code, started.elapsed());
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test]
    async fn counts_answers_and_failures() {
        let metrics = Metrics::new();
        let service = service_fn(|request: Request<()>| async move {
            if request.uri().path() == "/down" { Err("refused") } else { Ok(Response::builder().status(404).body(()).unwrap()) }
        });
        let service = RequestLayer::new(Arc::clone(&metrics), "server:6443").layer(service);
        for path in ["/api/v1/pods", "/api/v1/pods/secret-name", "/down"] {
            let request = Request::get(path).body(()).unwrap();
            // The second and third answers are of interest through the metrics only.
            let _counted = service.clone().oneshot(request).await;
        }
        let text = metrics.encode().unwrap();
        for line in [
            r#"rest_client_requests_total{code="404",method="GET",host="server:6443"} 2"#,
            r#"rest_client_requests_total{code="<error>",method="GET",host="server:6443"} 1"#,
            r#"rest_client_request_duration_seconds_count{verb="GET",host="server:6443"} 3"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("secret-name"));
    }
}
