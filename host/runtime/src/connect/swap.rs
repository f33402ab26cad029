//! One client in front, the current one behind it. Owns the hand-over: requests that run end
//! on the client they began with, new ones go to the newest. Never decides when.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tokio::sync::Notify;
use tower::Service;

/// The client in use, and what its requests say about it.
pub(super) struct Current {
    client: ArcSwap<kube::Client>,
    /// A request failed in a way that new credentials or certificates could mend.
    pub(super) doubt: Notify,
    /// At least one of those was refused with 401.
    pub(super) refused: std::sync::atomic::AtomicBool,
}

impl Current {
    pub(super) fn new(client: kube::Client) -> Arc<Self> {
        Arc::new(Self { client: ArcSwap::from_pointee(client), doubt: Notify::new(), refused: false.into() })
    }

    /// The client for the next request.
    pub(super) fn in_use(&self) -> Arc<kube::Client> {
        self.client.load_full()
    }

    /// Puts another client in place. Connections of the old one live as long as their requests.
    pub(super) fn replace(&self, client: kube::Client) {
        self.client.store(Arc::new(client));
    }
}

/// The service that forwards to the client in use.
#[derive(Clone)]
pub(super) struct Swap(pub(super) Arc<Current>);

impl Service<Request<Body>> for Swap {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        // The client behind waits for its own turn when it sends.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let current = Arc::clone(&self.0);
        Box::pin(async move {
            let client = current.in_use();
            let result = client.send(request).await;
            let refused = result.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED);
            if refused {
                current.refused.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            if refused || result.is_err() {
                current.doubt.notify_one();
            }
            result
        })
    }
}
