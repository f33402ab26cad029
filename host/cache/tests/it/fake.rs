//! A scripted API server behind kube's client. Owns the script and the record of what was
//! asked; never judges.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::unfold;
use http::request::Parts;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tower::{BoxError, service_fn};
use wharf_cache::{InformerSpec, Informers, NoMetrics, Options, Scope};
use wharf_core::Gvk;

type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// What the server answers to one request.
pub(crate) enum Reply {
    /// A status code and a body.
    Json(u16, String),
    /// An open watch, fed by a [`Feed`].
    Stream(mpsc::Receiver<Result<Bytes, std::io::Error>>),
    /// An empty answer with a `content-encoding` header.
    Encoded(&'static str),
    /// An answer in these parts, one chunk each.
    Chunks(Vec<Vec<u8>>),
    /// No connection.
    Refuse,
    /// Never an answer.
    Hang,
}

/// One recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) uri: String,
    /// When.
    pub(crate) at: Instant,
    /// The `accept-encoding` header.
    pub(crate) encoding: Option<String>,
    /// The `accept` header.
    pub(crate) accept: String,
}

/// The server. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Fake {
    script: Arc<Mutex<Script>>,
    asked: Arc<watch::Sender<Vec<Asked>>>,
}

type ByUri = Box<dyn FnMut(&str) -> Reply + Send>;

#[derive(Default)]
struct Script {
    discovery: Replies,
    lists: Replies,
    by_uri: Option<ByUri>,
    watches: Replies,
}

#[derive(Default)]
struct Replies {
    next: VecDeque<Reply>,
    then: Option<Box<dyn FnMut() -> Reply + Send>>,
}

impl Replies {
    fn take(&mut self) -> Reply {
        self.next.pop_front().or_else(|| self.then.as_mut().map(|then| then())).unwrap_or(Reply::Hang)
    }
}

/// The sending end of an open watch. Dropping it ends the watch in order.
pub(crate) struct Feed(mpsc::Sender<Result<Bytes, std::io::Error>>);

impl Feed {
    pub(crate) async fn raw(&self, bytes: &str) {
        self.0.send(Ok(Bytes::copy_from_slice(bytes.as_bytes()))).await.expect("the watch is open");
    }

    /// The bookmark that ends what exists.
    pub(crate) async fn initial_end(&self, rv: &str) {
        let annotations = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
        self.event("BOOKMARK", &format!(r#"{{"kind":"ConfigMap","metadata":{{"resourceVersion":"{rv}",{annotations}}}}}"#)).await;
    }

    pub(crate) async fn event(&self, event: &str, object: &str) {
        self.raw(&format!("{{\"type\":\"{event}\",\"object\":{object}}}\n")).await;
    }

    /// As [`Self::event`], for a watch that the client may have closed.
    pub(crate) async fn try_event(&self, event: &str, object: &str) -> Result<(), ()> {
        let line = format!("{{\"type\":\"{event}\",\"object\":{object}}}\n");
        self.0.send(Ok(Bytes::from(line))).await.map_err(|_| ())
    }

    /// Breaks the connection.
    pub(crate) async fn cut(self) {
        self.0.send(Err(std::io::Error::other("connection reset"))).await.expect("the watch is open");
    }

    /// Waits until the client has closed the watch.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl Fake {
    /// A server that has ConfigMaps and Pods, and answers nothing else yet.
    pub(crate) fn new() -> Self {
        let fake = Self { script: Arc::default(), asked: Arc::new(watch::Sender::new(Vec::new())) };
        fake.script.lock().discovery.then = Some(Box::new(|| kinds(&["configmaps/ConfigMap", "pods/Pod"])));
        fake
    }

    /// A client's hub with the given options.
    pub(crate) fn informers_with(&self, options: Options) -> Informers {
        Informers::new(self.client(), options, Arc::new(NoMetrics))
    }

    /// A client's hub that gets the first state by lists.
    pub(crate) fn informers(&self) -> Informers {
        self.informers_with(by_lists())
    }

    pub(crate) fn client(&self) -> kube::Client {
        let fake = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move { fake.answer(request.into_parts().0).await }
        });
        kube::Client::new(service, "default")
    }

    /// The next answers to lists.
    pub(crate) fn lists(&self, replies: impl IntoIterator<Item = Reply>) -> &Self {
        self.script.lock().lists.next.extend(replies);
        self
    }

    /// What lists get when there are no next answers.
    pub(crate) fn lists_then(&self, then: impl FnMut() -> Reply + Send + 'static) -> &Self {
        self.script.lock().lists.then = Some(Box::new(then));
        self
    }

    /// What lists get by path and query when there are no next answers.
    pub(crate) fn lists_by(&self, by_uri: impl FnMut(&str) -> Reply + Send + 'static) -> &Self {
        self.script.lock().by_uri = Some(Box::new(by_uri));
        self
    }

    /// The next answers to watches.
    pub(crate) fn watches(&self, replies: impl IntoIterator<Item = Reply>) -> &Self {
        self.script.lock().watches.next.extend(replies);
        self
    }

    /// What watches get when there are no next answers.
    pub(crate) fn watches_then(&self, then: impl FnMut() -> Reply + Send + 'static) -> &Self {
        self.script.lock().watches.then = Some(Box::new(then));
        self
    }

    /// The next watch is open and fed by what is returned.
    pub(crate) fn open_watch(&self) -> Feed {
        let (feed, stream) = mpsc::channel(16);
        self.watches([Reply::Stream(stream)]);
        Feed(feed)
    }

    /// What discovery gets from now on.
    pub(crate) fn discovery_then(&self, then: impl FnMut() -> Reply + Send + 'static) -> &Self {
        self.script.lock().discovery.then = Some(Box::new(then));
        self
    }

    /// Requests so far whose path and query contain `part`.
    pub(crate) fn asked(&self, part: &str) -> Vec<Asked> {
        self.asked.borrow().iter().filter(|asked| asked.uri.contains(part)).cloned().collect()
    }

    /// Waits for that many requests that contain `part`; returns them.
    pub(crate) async fn wait(&self, part: &str, count: usize) -> Vec<Asked> {
        let enough = |all: &Vec<Asked>| all.iter().filter(|asked| asked.uri.contains(part)).count() >= count;
        self.asked.subscribe().wait_for(enough).await.unwrap();
        self.asked(part)
    }

    /// The lists so far, as query strings.
    pub(crate) fn list_queries(&self) -> Vec<String> {
        let all = self.asked("/configmaps").into_iter().filter(|asked| !asked.uri.contains("watch=1"));
        all.map(|asked| asked.uri.split_once('?').map_or(String::new(), |(_, query)| query.to_owned())).collect()
    }

    /// The watches so far, as query strings without their length.
    pub(crate) fn watch_queries(&self) -> Vec<String> {
        let all = self.asked("watch=1").into_iter();
        all.map(|asked| asked.uri.split_once("watch=1&").unwrap().1.split("&timeoutSeconds").next().unwrap().to_owned()).collect()
    }

    async fn answer(&self, request: Parts) -> Result<Answer, BoxError> {
        let uri = request.uri.to_string();
        let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let (encoding, accept) = (header("accept-encoding"), header("accept").unwrap_or_default());
        let reply = {
            let mut script = self.script.lock();
            if uri.contains("watch=1") {
                script.watches.take()
            } else if uri == "/api/v1" || (uri.starts_with("/apis/") && uri.split('/').count() == 4) {
                script.discovery.take()
            } else if script.lists.next.is_empty()
                && let Some(by_uri) = &mut script.by_uri
            {
                by_uri(&uri)
            } else {
                script.lists.take()
            }
        };
        self.asked.send_modify(|all| all.push(Asked { uri, at: Instant::now(), encoding, accept }));
        match reply {
            Reply::Json(code, body) => Ok(Response::builder().status(code).body(whole(body))?),
            Reply::Encoded(encoding) => Ok(Response::builder().header("content-encoding", encoding).body(whole(String::new()))?),
            Reply::Chunks(chunks) => {
                let chunks = futures::stream::iter(chunks.into_iter().map(|chunk| Ok(Frame::data(Bytes::from(chunk)))));
                Ok(Response::new(BodyExt::boxed_unsync(StreamBody::new(chunks))))
            }
            Reply::Stream(receiver) => {
                let chunks = unfold(receiver, |mut receiver| async { receiver.recv().await.map(|chunk| (chunk, receiver)) });
                Ok(Response::new(BodyExt::boxed_unsync(StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))))))
            }
            Reply::Refuse => Err(Box::new(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))),
            Reply::Hang => std::future::pending().await,
        }
    }
}

fn whole(body: String) -> UnsyncBoxBody<Bytes, std::io::Error> {
    Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The first state comes from a list, not from the beginning of a watch.
pub(crate) fn by_lists() -> Options {
    Options { watch_list: false, ..Options::default() }
}

/// ConfigMaps of the whole cluster.
pub(crate) fn config_maps() -> InformerSpec {
    InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), Scope::All)
}

/// An object of namespace `a`, with its name as uid.
pub(crate) fn object(name: &str, rv: &str) -> String {
    object_uid(name, name, rv)
}

pub(crate) fn object_uid(name: &str, uid: &str, rv: &str) -> String {
    object_in("a", name, uid, rv)
}

pub(crate) fn object_in(namespace: &str, name: &str, uid: &str, rv: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"{uid}","resourceVersion":"{rv}"}}}}"#
    )
}

/// A whole list, or its last page.
pub(crate) fn list(rv: &str, objects: &[String]) -> Reply {
    page(rv, "", objects)
}

/// A page of a list.
pub(crate) fn page(rv: &str, next: &str, objects: &[String]) -> Reply {
    let items = objects.join(",");
    Reply::Json(200, format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"{rv}","continue":"{next}"}},"items":[{items}]}}"#))
}

/// An answer that is an error.
pub(crate) fn status(code: u16, reason: &str) -> Reply {
    Reply::Json(code, status_object(code, reason))
}

pub(crate) fn status_object(code: u16, reason: &str) -> String {
    format!(r#"{{"kind":"Status","code":{code},"reason":"{reason}","message":"says the server"}}"#)
}

/// Discovery of a group and version; kinds as `plural/Kind`.
pub(crate) fn kinds(kinds: &[&str]) -> Reply {
    let resources = kinds.iter().map(|kind| {
        let (plural, kind) = kind.split_once('/').unwrap();
        format!(r#"{{"name":"{plural}","kind":"{kind}","namespaced":true,"verbs":["list","watch"]}}"#)
    });
    Reply::Json(200, format!(r#"{{"kind":"APIResourceList","resources":[{}]}}"#, resources.collect::<Vec<_>>().join(",")))
}
