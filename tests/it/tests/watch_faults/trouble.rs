//! Trouble above TLS: a layer around the client of one run. Owns answers that refuse, bodies
//! that break off or go bad, and the count of what was asked; the rest of the trouble is the
//! proxy's and the cluster's.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};
use wharf_cache::InformerSpec;

use crate::pace::Paces;

/// What was asked, and what came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asks {
    pub(crate) lists: u64,
    pub(crate) watches: u64,
    /// Watches that ask for the initial state as well.
    pub(crate) streaming_lists: u64,
    /// What the server itself refused, by status: one that is about to stop says 429.
    pub(crate) denied: BTreeMap<u16, u64>,
    /// Requests that were refused here, by status.
    pub(crate) refused: BTreeMap<u16, u64>,
    /// Lists and watches among them, by status and path with selector: of one informer each.
    pub(crate) refused_each: BTreeMap<(u16, String), u64>,
    /// Requests that found nobody, and bodies that ended with an error.
    pub(crate) broken: u64,
    pub(crate) truncated: u64,
    pub(crate) garbled: u64,
    /// All lists and watches that were begun.
    pub(crate) begun: u64,
}

/// What happens to the next body that has data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyTrouble {
    /// It ends without an error after so many bytes.
    Truncate(usize),
    /// Bytes come in between that are no text.
    Garble,
}

/// The layer, and the handle to control it.
#[derive(Clone)]
pub(crate) struct Trouble {
    state: Arc<State>,
}

struct State {
    /// The server shall be one without streaming lists.
    lists_only: bool,
    paces: Mutex<Paces>,
    refuse: Mutex<Option<u16>>,
    body: Mutex<Option<BodyTrouble>>,
    asks: watch::Sender<Asks>,
}

impl Trouble {
    pub(crate) fn new(lists_only: bool) -> Self {
        let state =
            State { lists_only, paces: Mutex::default(), refuse: Mutex::default(), body: Mutex::default(), asks: watch::Sender::default() };
        Self { state: Arc::new(state) }
    }

    /// Answers everything with this status from now on.
    pub(crate) fn refuse(&self, status: u16) {
        *self.state.refuse.lock() = Some(status);
    }

    /// Disturbs one body.
    pub(crate) fn disturb(&self, trouble: BodyTrouble) {
        *self.state.body.lock() = Some(trouble);
    }

    /// Ends all trouble.
    pub(crate) fn lift(&self) {
        *self.state.refuse.lock() = None;
        *self.state.body.lock() = None;
    }

    /// An informer begins, so without a failure before.
    pub(crate) fn begins(&self, spec: &InformerSpec) {
        let namespace = spec.scope.namespace().map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        self.state.paces.lock().begins(&format!("/api/v1{namespace}/configmaps"));
    }

    /// Who has asked too soon after a failure.
    pub(crate) fn too_soon(&self) -> Vec<String> {
        self.state.paces.lock().too_soon().to_vec()
    }

    pub(crate) fn asks(&self) -> watch::Receiver<Asks> {
        self.state.asks.subscribe()
    }
}

impl Asks {
    /// How often the server was not there, or about to go.
    pub(crate) fn away(&self) -> u64 {
        self.broken + self.denied.iter().filter(|(status, _)| matches!(**status, 429 | 503)).map(|(_, count)| count).sum::<u64>()
    }
}

impl<S> Layer<S> for Trouble {
    type Service = Troubled<S>;

    fn layer(&self, inner: S) -> Troubled<S> {
        Troubled { inner, state: Arc::clone(&self.state) }
    }
}

/// A client in trouble.
pub(crate) struct Troubled<S> {
    inner: S,
    state: Arc<State>,
}

impl<S, B> Service<Request<Body>> for Troubled<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<TroubledBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let state = Arc::clone(&self.state);
        let ask = Ask::of(&request);
        let refused = state.answer(&ask);
        let sent = if refused.is_none() { Some(self.inner.call(request)) } else { None };
        Box::pin(async move {
            let response = match (refused, sent) {
                (Some(status), _) => return state.refusal(&ask, status),
                (None, Some(sent)) => sent.await.map_err(Into::into),
                (None, None) => Err("neither sent nor refused".into()),
            };
            match response {
                Ok(response) => {
                    let status = response.status();
                    if status.is_success() {
                        state.succeeded(&ask);
                    } else {
                        state.denied(&ask, status.as_u16());
                    }
                    let state = ask.group.is_some().then_some(state);
                    Ok(response.map(|body| TroubledBody { inner: body.map_err(Into::into).boxed_unsync(), state, left: None }))
                }
                Err(error) => {
                    state.asks.send_modify(|asks| asks.broken += 1);
                    state.failed(&ask);
                    Err(error)
                }
            }
        })
    }
}

/// What a request is about.
struct Ask {
    /// Path, and selector if there is one, of a list or watch; `None` for everything else.
    group: Option<String>,
    watch: bool,
    streaming: bool,
    /// Must a failure be followed by a wait? Not where a plain list may be tried instead, nor for
    /// the list that only compares. Informers with a selector are left out.
    paced: bool,
}

impl Ask {
    fn of(request: &Request<Body>) -> Self {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let selector = query.split('&').find(|part| part.starts_with("labelSelector=")).unwrap_or_default();
        let group = path.ends_with("/configmaps").then(|| format!("{path}{selector}"));
        let has = |part: &str| query.split('&').any(|other| other == part);
        let streaming = has("sendInitialEvents=true");
        let paced = selector.is_empty() && !streaming && !has("resourceVersionMatch=Exact");
        Self { group, paced, watch: has("watch=1") || has("watch=true"), streaming }
    }
}

impl State {
    /// The status with which to refuse, if it shall be refused.
    fn answer(&self, ask: &Ask) -> Option<u16> {
        if let Some(group) = &ask.group {
            self.asks.send_modify(|asks| asks.begun += 1);
            self.paces.lock().asks(group, Instant::now());
        }
        if ask.streaming && self.lists_only {
            return Some(422);
        }
        *self.refuse.lock()
    }

    fn refusal(&self, ask: &Ask, status: u16) -> Result<Response<TroubledBody>, BoxError> {
        self.asks.send_modify(|asks| {
            *asks.refused.entry(status).or_default() += 1;
            if let Some(group) = &ask.group {
                *asks.refused_each.entry((status, group.clone())).or_default() += 1;
            }
        });
        if matches!(status, 429 | 500) {
            self.failed(ask);
        }
        let reason = match status {
            410 => "Expired",
            422 => "Invalid",
            429 => "TooManyRequests",
            _ => "InternalError",
        };
        let body =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": "trouble"});
        let body =
            TroubledBody { inner: Body::from(body.to_string().into_bytes()).map_err(Into::into).boxed_unsync(), state: None, left: None };
        Ok(Response::builder().status(status).header("Content-Type", "application/json").body(body)?)
    }

    fn succeeded(&self, ask: &Ask) {
        if ask.group.is_some() {
            self.asks.send_modify(|asks| match ask {
                Ask { streaming: true, .. } => asks.streaming_lists += 1,
                Ask { watch: true, .. } => asks.watches += 1,
                Ask { .. } => asks.lists += 1,
            });
        }
    }

    fn denied(&self, ask: &Ask, status: u16) {
        self.asks.send_modify(|asks| *asks.denied.entry(status).or_default() += 1);
        if matches!(status, 429 | 500) {
            self.failed(ask);
        }
    }

    /// A failure after which nothing but waiting is right.
    fn failed(&self, ask: &Ask) {
        if let Some(group) = ask.group.as_ref().filter(|_| ask.paced) {
            self.paces.lock().fails(group, Instant::now());
        }
    }
}

/// The body of an answer.
pub(crate) struct TroubledBody {
    inner: UnsyncBoxBody<Bytes, BoxError>,
    /// Of a list or watch only.
    state: Option<Arc<State>>,
    /// So many bytes are left until it ends too early.
    left: Option<usize>,
}

impl TroubledBody {
    /// What becomes of data from the server; `None` is an end that is too early.
    fn pass(&mut self, data: Bytes) -> Option<Bytes> {
        const GARBAGE: &[u8] = b"\xff\xfe{\n";
        let Some(state) = &self.state else { return Some(data) };
        if self.left.is_none() {
            match state.body.lock().take() {
                Some(BodyTrouble::Truncate(bytes)) => self.left = Some(bytes),
                Some(BodyTrouble::Garble) => {
                    state.asks.send_modify(|asks| asks.garbled += 1);
                    return Some([GARBAGE, &data].concat().into());
                }
                None => {}
            }
        }
        let Some(left) = &mut self.left else { return Some(data) };
        let now = data.slice(..data.len().min(*left));
        *left -= now.len();
        if now.is_empty() {
            state.asks.send_modify(|asks| asks.truncated += 1);
            return None;
        }
        Some(now)
    }

    /// The body was shorter than what was to be let through: the next one is disturbed.
    fn came_too_late(&mut self) {
        if let (Some(state), Some(left @ 1..)) = (&self.state, self.left.take()) {
            state.body.lock().get_or_insert(BodyTrouble::Truncate(left));
        }
    }
}

impl http_body::Body for TroubledBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = std::task::ready!(Pin::new(&mut self.inner).poll_frame(context));
        let frame = match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => self.pass(data).map(|data| Ok(Frame::data(data))),
            Some(Ok(Err(trailers))) => Some(Ok(trailers)),
            Some(Err(error)) => {
                if let Some(state) = &self.state {
                    state.asks.send_modify(|asks| asks.broken += 1);
                }
                Some(Err(error))
            }
            None => {
                self.came_too_late();
                None
            }
        };
        Poll::Ready(frame)
    }
}
