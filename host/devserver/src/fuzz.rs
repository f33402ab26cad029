//! What fuzzers feed: each function takes bytes from outside, in the form of its seeds in `tests/fuzz/seeds`, and must neither panic nor
//! hang, whatever they are. No part of the API. Owns what a good outcome is; makes no input.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::apply::{self, Writer};
use crate::crd;
use crate::fault::Faults;
use crate::http::{Accounts, Authenticator, Authorizer, Documents, Front, Metrics, handle};
use crate::kind::{Registry, Resource, Schema};
use crate::patch;
use crate::schema::Shape;
use crate::select::{FieldSelector, LabelSelector};
use crate::server::{Anonymous, Authorization};
use crate::store::StoreOptions;
use crate::verbs::{Api, ApiOptions, Content, Payload, reread};

/// Separates the parts of an input.
const MARK: &[u8] = b"\n---\n";
/// Requests in one input.
const REQUESTS: usize = 8;
/// Inputs after which there is a new server, so that what is found can be found again.
const INPUTS: u32 = 200;
/// How long, on a clock that runs by itself, an answer is listened to.
const PATIENCE: Duration = Duration::from_secs(100);
const NOW: &str = "2026-01-01T00:00:00Z";

thread_local! {
    static SERVER: RefCell<Option<(Server, u32)>> = const { RefCell::new(None) };
}

/// A server without a socket, on a clock that jumps over every wait.
struct Server {
    runtime: Runtime,
    front: Arc<Front>,
    _stop: watch::Sender<bool>,
}

/// Whole requests, one after the other to the same server: `METHOD path`, headers, an empty line, the body.
pub fn request(data: &[u8]) {
    for one in split(data).take(REQUESTS) {
        let (head, body) = cut(one, b"\n\n");
        let Ok(head) = std::str::from_utf8(head) else { continue };
        let mut lines = head.lines();
        let Some((method, uri)) = lines.next().and_then(|line| line.split_once(' ')) else { continue };
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        if let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) {
            send(request);
        }
    }
}

/// A continue token in the place where it is read.
pub fn token(data: &[u8]) {
    for token in [URL_SAFE_NO_PAD.encode(data), String::from_utf8_lossy(data).chars().filter(char::is_ascii_alphanumeric).collect()] {
        let uri = format!("/api/v1/namespaces?limit=1&continue={token}");
        if let Ok(request) = Request::get(uri).body(Full::new(Bytes::new())) {
            send(request);
        }
    }
}

/// A body: the first byte chooses the kind, the second how it is written. What was read reads as itself.
pub fn body(data: &[u8]) {
    let [which, content, rest @ ..] = data else { return };
    let Some(resource) = choose(*which) else { return };
    let content = match content % 3 {
        0 => Content::Json,
        1 => Content::Yaml,
        _ => Content::Protobuf,
    };
    let Some(once) = reread(&Payload { content, bytes: Bytes::copy_from_slice(rest) }, &resource) else { return };
    let bytes = Bytes::from(once.to_string());
    let again = reread(&Payload { content: Content::Json, bytes }, &resource);
    assert_eq!(again.as_ref(), Some(&once), "what was read reads differently");
}

/// A label selector and a field selector.
pub fn selectors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (labels, fields) = text.split_once('\n').unwrap_or((&text, &text));
    if let Ok(selector) = LabelSelector::parse(labels) {
        for labels in [&[][..], &[("a".into(), "b".into())], &[("app".into(), "9".into()), ("tier".into(), "".into())]] {
            selector.matches(labels);
        }
    }
    for resource in [choose(0), choose(1)].into_iter().flatten() {
        // What is wrong with it is told by either.
        let _ = FieldSelector::parse(fields, &resource);
    }
}

/// A patch: the first byte chooses the kind of object, the second the kind of patch; the object, the patch, JSON both.
pub fn patches(data: &[u8]) {
    let [which, how, rest @ ..] = data else { return };
    let Some(resource) = choose(*which) else { return };
    let mut parts = split(rest).map(serde_json::from_slice::<Value>);
    let (Some(Ok(old)), Some(Ok(patch))) = (parts.next(), parts.next()) else { return };
    let shape = Shape::of(&resource);
    let version = resource.api_version();
    let writer = |manager| Writer { manager, api_version: &version, subresource: None, now: NOW };
    match how % 4 {
        0 => drop(patch::json_patch(old, &patch)),
        1 => {
            let mut next = old.clone();
            patch::merge_patch(&mut next, &patch);
            apply::track(Some(&old), &mut next, shape, writer("merger"));
        }
        2 => {
            if let Ok(mut next) = patch::strategic_merge_patch(old.clone(), &patch, shape) {
                apply::track(Some(&old), &mut next, shape, writer("merger"));
            }
        }
        _ => {
            let Ok(mut next) = apply::apply(Some(&old), &patch, shape, writer("applier"), true) else { return };
            apply::settle(Some(&old), &mut next);
            drop(apply::apply(Some(&next), &old, shape, writer("other"), false));
        }
    }
}

/// The schema of a definition's version, then an object of it and its next state.
pub fn definition(data: &[u8]) {
    let mut parts = split(data).map(serde_json::from_slice::<Value>);
    let Some(Ok(schema)) = parts.next() else { return };
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    crd::prepare(&mut definition);
    if !crd::validate_definition(&definition, None).is_empty() {
        return;
    }
    crd::establish(&mut definition, &crd::Taken::default(), NOW);
    let resources = crd::resources(&definition).unwrap_or_default();
    let Some(resource) = resources.first() else { return };
    let Schema::Custom(version) = &resource.schema else { return };
    let mut old: Option<Value> = None;
    for mut object in parts.take(2).flatten() {
        crd::prune_and_default(version, &mut object);
        let once = object.clone();
        crd::prune_and_default(version, &mut object);
        assert_eq!(object, once, "pruning and defaulting twice");
        drop(crd::validate(version, &object, old.as_ref()));
        let writer = Writer { manager: "m", api_version: "example.com/v1", subresource: None, now: NOW };
        apply::track(old.as_ref(), &mut object, Shape::of(resource), writer);
        old = Some(object);
    }
}

fn send(request: Request<Full<Bytes>>) {
    SERVER.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(_, used)| *used >= INPUTS) {
            *kept = Server::new().map(|server| (server, 0));
        }
        // Without a server every input would be a good one.
        assert!(kept.is_some(), "the server does not start");
        let Some((server, used)) = kept else { return };
        *used += 1;
        server.runtime.block_on(async {
            let response = handle(Arc::clone(&server.front), request).await;
            // A watch goes on; what it shows at first is enough.
            let _ = tokio::time::timeout(PATIENCE, response.into_body().collect()).await;
        });
    });
}

impl Server {
    fn new() -> Option<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().ok()?;
        let store = StoreOptions { history: 100, data: None, first_version: Some(1) };
        let api = runtime.block_on(Api::open(ApiOptions { store, controllers: true })).ok()?;
        let (stop, stopping) = watch::channel(false);
        let front = Front {
            faults: Faults::new(0),
            doorkeeper: None,
            authenticator: Authenticator::new(Vec::new(), Anonymous::Admin, Accounts::new([1; 32])),
            authorizer: Authorizer::new(Authorization::AlwaysAllow, &api),
            documents: Documents::default(),
            metrics: Metrics::default(),
            body_limit: 1 << 20,
            address: "127.0.0.1:1".to_owned(),
            stopping,
            api,
        };
        Some(Self { runtime, front: Arc::new(front), _stop: stop })
    }
}

/// One of the kinds that have the most to read.
fn choose(which: u8) -> Option<Arc<Resource>> {
    const KINDS: [(&str, &str, &str); 8] = [
        ("", "v1", "pods"),
        ("apps", "v1", "deployments"),
        ("", "v1", "services"),
        ("", "v1", "secrets"),
        ("networking.k8s.io", "v1", "ingresses"),
        ("autoscaling", "v2", "horizontalpodautoscalers"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        ("events.k8s.io", "v1", "events"),
    ];
    let (group, version, plural) = KINDS.get(usize::from(which) % KINDS.len())?;
    let found = Registry::builtin().find(group, version, plural).cloned();
    assert!(found.is_some(), "there are no {plural}");
    found
}

fn split(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let present = rest?;
        let (one, more) = cut(present, MARK);
        rest = (one.len() < present.len()).then_some(more);
        Some(one)
    })
}

/// What stands before and after the first mark.
fn cut<'a>(data: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    match data.windows(mark.len()).position(|window| window == mark) {
        Some(at) => (data.get(..at).unwrap_or_default(), data.get(at + mark.len()..).unwrap_or_default()),
        None => (data, &[]),
    }
}
