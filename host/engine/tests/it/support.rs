//! What the tests share: a small engine, a plugin's ports that remember, a delivery.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Isolation, Limits, PluginName};
use wharf_core::{Cause, ClusterGrant, Delivery, Event, Grants, Gvk, Object, Removal, Verb};
use wharf_engine::{
    ApiError, Artifact, CallInfo, DeleteOptions, Document, Engine, EngineConfig, Level, ListOptions, LoadError, ObjectRef, Page, Ports,
    Revision, RevisionSpec, WriteOptions, Written,
};

use crate::encode;

pub(crate) const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"team-a","uid":"u-1","resourceVersion":"7"},"data":{"a":"1","b":"2"}}"#;

pub(crate) fn engine(instances: u32) -> Engine {
    Engine::new(EngineConfig { instances, threads: 1, ..EngineConfig::default() }).unwrap()
}

/// Generous: the tests run on busy machines. A test that wants a limit to strike sets it.
pub(crate) fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(60), cpu: Duration::from_secs(30), ..Limits::default() }
}

pub(crate) async fn artifact(engine: &Engine, guest: &str) -> Result<Arc<Artifact>, LoadError> {
    engine.load(encode::guest(guest).unwrap().into()).await
}

pub(crate) fn spec(limits: Limits, ports: &Arc<Recorder>) -> RevisionSpec {
    RevisionSpec {
        name: PluginName { namespace: "team-a".into(), name: "test".into() },
        limits,
        grants: Grants::default(),
        config: "{}".into(),
        ports: Arc::clone(ports) as Arc<dyn Ports>,
        isolation: Isolation::Reuse,
    }
}

pub(crate) async fn revision_of(engine: &Engine, guest: &str, limits: Limits, ports: &Arc<Recorder>) -> Arc<Revision> {
    let artifact = artifact(engine, guest).await.unwrap();
    engine.prepare(artifact, spec(limits, ports)).unwrap()
}

pub(crate) async fn revision(engine: &Engine, guest: &str) -> Arc<Revision> {
    revision_of(engine, guest, limits(), &Recorder::new()).await
}

pub(crate) fn grants(kind: Gvk, verbs: &[Verb], namespaces: Namespaces) -> Grants {
    Grants { cluster: vec![ClusterGrant { kind, verbs: verbs.to_vec(), namespaces }] }
}

pub(crate) fn delivery(event: Event, current: &str) -> Delivery {
    let kind = Arc::new(Gvk::new("", "v1", "ConfigMap"));
    let current = Arc::new(Object::parse(current, &kind).unwrap());
    Delivery {
        event,
        key: current.key().clone(),
        uid: Arc::clone(current.uid()),
        kind,
        subscription: "main".into(),
        removal: if event == Event::Delete { Removal::Gone } else { Removal::None },
        final_state_unknown: false,
        cause: Cause::Watch,
        attempt: 1,
        queued: Duration::ZERO,
        current: Some(current),
        previous: None,
    }
}

/// Waits for something that has no event of its own.
pub(crate) async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::task::yield_now().await;
    }
}

/// What `Ports::get` does.
#[derive(Default)]
pub(crate) enum Get {
    /// Answers with the object's own name.
    #[default]
    Answer,
    /// The same, after so long.
    Slow(Duration),
    /// Never comes back.
    Hang,
    /// Panics.
    Panic,
}

/// Level, message and fields of a log line.
type Line = (Level, String, Vec<(String, String)>);

/// Ports that remember what they were asked.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) get: Get,
    /// Whether taking a log line panics.
    pub(crate) log_panics: bool,
    pub(crate) lines: Mutex<Vec<Line>>,
    pub(crate) asked: Mutex<Vec<String>>,
    /// Writes that succeeded: the object of the call, verb and target.
    pub(crate) wrote: Mutex<Vec<String>>,
    /// Told when `get` hangs.
    pub(crate) hanging: Notify,
    /// Names of the threads on which async methods ran.
    pub(crate) threads: Mutex<Vec<String>>,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn with(get: Get) -> Arc<Self> {
        Arc::new(Self { get, ..Self::default() })
    }

    fn ask(&self, what: String) {
        self.asked.lock().push(what);
        self.threads.lock().push(std::thread::current().name().unwrap_or_default().to_owned());
    }
}

fn place(target: &ObjectRef) -> String {
    format!("{} {} {}", target.kind, target.namespace.as_deref().unwrap_or("-"), target.name)
}

#[async_trait]
impl Ports for Recorder {
    fn log_enabled(&self, level: Level) -> bool {
        level >= Level::Info
    }

    fn log(&self, _call: &CallInfo, level: Level, message: &str, fields: &[(String, String)]) {
        assert!(!self.log_panics, "a port that panics");
        self.lines.lock().push((level, message.to_owned(), fields.to_vec()));
    }

    fn wrote(&self, call: &CallInfo, verb: Verb, target: &ObjectRef) {
        let key = call.key.as_ref().map(ToString::to_string).unwrap_or_default();
        self.wrote.lock().push(format!("{key}: {} {}", verb.as_str(), place(target)));
    }

    async fn place(&self, kind: &Gvk) -> Result<bool, ApiError> {
        self.ask(format!("place {kind}"));
        Ok(&*kind.kind != "Node")
    }

    async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError> {
        self.ask(format!("get {kind} {} {name} {live}", namespace.unwrap_or("-")));
        match self.get {
            Get::Answer if name == "gone" => Err(ApiError::NotFound),
            Get::Slow(wait) => {
                tokio::time::sleep(wait).await;
                Ok("{}".to_owned().into())
            }
            Get::Answer => Ok(format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"k":"v"}}}}"#).into()),
            Get::Hang => {
                self.hanging.notify_one();
                std::future::pending().await
            }
            Get::Panic => panic!("a port that panics"),
        }
    }

    async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError> {
        self.ask(format!("list {kind} {} {}", options.namespace.as_deref().unwrap_or("-"), options.label_selector));
        let items = vec![r#"{"metadata":{"name":"first"}}"#.to_owned().into()];
        Ok(Page { items, continue_token: String::new() })
    }

    async fn create(&self, target: &ObjectRef, _object: String, _options: WriteOptions) -> Result<Written, ApiError> {
        self.ask(format!("create {}", place(target)));
        Ok(Written { resource_version: "8".to_owned(), object: "{}".to_owned().into() })
    }

    async fn apply(&self, target: &ObjectRef, _object: String, _options: WriteOptions) -> Result<Written, ApiError> {
        self.ask(format!("apply {}", place(target)));
        Ok(Written { resource_version: "8".to_owned(), object: "{}".to_owned().into() })
    }

    async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.ask(format!("patch {} {patch} {}", place(target), options.status));
        Ok(Written { resource_version: "8".to_owned(), object: "{}".to_owned().into() })
    }

    async fn delete(&self, target: &ObjectRef, _options: DeleteOptions) -> Result<(), ApiError> {
        self.ask(format!("delete {}", place(target)));
        Ok(())
    }

    fn record_event(&self, about: &ObjectRef, warning: bool, reason: &str, message: &str) {
        self.asked.lock().push(format!("event {} {warning} {reason} {message}", place(about)));
    }
}
