//! A small API server: the ConfigMaps of one namespace in memory, lists and watches. Owns what is
//! true; never judges.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::unfold;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tower::{BoxError, service_fn};
use wharf_cache::{Informers, NoMetrics, Options};

type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;
type Feed = mpsc::Sender<Result<Bytes, std::io::Error>>;

/// Changes that a watch may be behind.
const BEHIND: usize = 65_536;

/// The server; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Cluster(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    truth: BTreeMap<String, Stored>,
    version: u64,
    feeds: Vec<Feed>,
    /// Watches hear of nothing: what happens now is missed.
    cut: bool,
    /// Bytes that each object is made larger by.
    padding: usize,
}

/// An object as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) uid: u64,
    pub(crate) version: u64,
    pub(crate) label: char,
    pub(crate) spec: u64,
    pub(crate) status: u64,
}

impl Cluster {
    /// Informers that read from this server.
    pub(crate) fn informers(&self) -> Informers {
        let cluster = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move { cluster.answer(&request.uri().to_string()) }
        });
        let options = Options { watch_list: false, ..Options::default() };
        Informers::new(kube::Client::new(service, "default"), options, Arc::new(NoMetrics))
    }

    /// All objects are larger by so many bytes.
    pub(crate) fn pad(&self, bytes: usize) {
        self.0.lock().padding = bytes;
    }

    /// Creates an object, or changes it. Returns its version.
    pub(crate) fn put(&self, name: &str, label: char, spec: u64, status: u64) -> u64 {
        let mut state = self.0.lock();
        state.version += 1;
        let version = state.version;
        let event = if state.truth.contains_key(name) { "MODIFIED" } else { "ADDED" };
        let uid = state.truth.get(name).map_or(version, |stored| stored.uid);
        let stored = Stored { uid, version, label, spec, status };
        state.tell(event, name, &stored);
        state.truth.insert(name.to_owned(), stored);
        version
    }

    /// Deletes an object if it is there.
    pub(crate) fn remove(&self, name: &str) {
        let mut state = self.0.lock();
        let Some(stored) = state.truth.remove(name) else { return };
        state.version += 1;
        let last = Stored { version: state.version, ..stored };
        state.tell("DELETED", name, &last);
    }

    /// From now on watches miss what happens.
    pub(crate) fn cut(&self) {
        self.0.lock().cut = true;
    }

    /// All watches are told that they are too old: what they missed is found by a list.
    pub(crate) fn expire(&self) {
        let mut state = self.0.lock();
        state.cut = false;
        let status = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#;
        let line = Bytes::from(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n"));
        for feed in state.feeds.drain(..) {
            // Who does not listen any more has nothing to be told.
            let _gone = feed.try_send(Ok(line.clone()));
        }
    }

    /// What there is.
    pub(crate) fn truth(&self) -> BTreeMap<String, Stored> {
        self.0.lock().truth.clone()
    }

    fn answer(&self, uri: &str) -> Result<Answer, BoxError> {
        let mut state = self.0.lock();
        if uri.contains("watch=1") {
            let (feed, lines) = mpsc::channel(BEHIND);
            state.feeds.push(feed);
            let chunks = unfold(lines, |mut lines| async { lines.recv().await.map(|chunk| (chunk, lines)) });
            return Ok(Response::new(BodyExt::boxed_unsync(StreamBody::new(chunks.map(|chunk| chunk.map(Frame::data))))));
        }
        let body = if uri == "/api/v1" {
            let resource = r#"{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list","watch"]}"#;
            format!(r#"{{"kind":"APIResourceList","resources":[{resource}]}}"#)
        } else {
            let items: Vec<String> = state.truth.iter().map(|(name, stored)| json(name, stored, state.padding)).collect();
            let version = state.version;
            format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, items.join(","))
        };
        let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed_unsync();
        Ok(Response::new(body))
    }
}

impl State {
    fn tell(&mut self, event: &str, name: &str, stored: &Stored) {
        if self.cut {
            return;
        }
        let line = Bytes::from(format!("{{\"type\":\"{event}\",\"object\":{}}}\n", json(name, stored, self.padding)));
        self.feeds.retain(|feed| feed.try_send(Ok(line.clone())).is_ok());
    }
}

fn json(name: &str, stored: &Stored, padding: usize) -> String {
    let Stored { uid, version, label, spec, status } = stored;
    let metadata = format!(r#"{{"namespace":"a","name":"{name}","uid":"{uid}","resourceVersion":"{version}","labels":{{"l":"{label}"}}}}"#);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata},"data":{{"spec":"{spec}","status":"{status}","pad":"{:padding$}"}}}}"#,
        ""
    )
}
