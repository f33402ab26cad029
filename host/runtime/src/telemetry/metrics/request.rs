//! `rest_client_*`: requests to the API server, as client-go counts them.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::{OfRequest, OfVerb};
use super::series::Series;
use super::{Metrics, buckets};

#[derive(Debug)]
pub(super) struct RequestMetrics {
    requests: Series<OfRequest, Counter>,
    duration: Series<OfVerb, Histogram>,
}

impl RequestMetrics {
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        let help = "Requests to the API server, by status code, method and host";
        let requests = Series::register(r, x, "rest_client_requests", help, Counter::default);
        let help = "Time from a request to the head of its response, by method and host";
        let duration = Series::register(r, x, "rest_client_request_duration_seconds", help, buckets::request);
        Self { requests, duration }
    }
}

impl Metrics {
    /// Counts a request; `code` is absent if there was no response.
    pub fn request(&self, method: &Method, host: &str, code: Option<StatusCode>, took: Duration) {
        let method = word(method);
        let host: Arc<str> = host.into();
        let code = code.map_or_else(|| "<error>".into(), |code| code.as_str().into());
        self.request.requests.get(&OfRequest { code, method, host: Arc::clone(&host) }).inc();
        self.request.duration.get(&OfVerb { verb: method, host }).observe(took.as_secs_f64());
    }
}

fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "OTHER",
    }
}
