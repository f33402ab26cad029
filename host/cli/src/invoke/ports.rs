//! The outside of the one call: a cluster in memory, and a record of what the guest did and
//! was told. Owns what is kept and how much; never decides what is allowed (that is the
//! engine's, by the grants).

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use wharf_core::{Gvk, Object, Verb};
use wharf_engine::{
    ApiError, CallInfo, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Ports, Propagation, Task, WriteOptions, Written,
};

use super::memory::{Effect, Memory, Write};
use super::scope::Scopes;

/// Uses of the cluster that are kept; more are only counted.
const MAX_USES: usize = 1000;

/// A log line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) task: Task,
    pub(super) level: Level,
    pub(super) message: String,
    pub(super) fields: Vec<(String, String)>,
}

/// One use of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// The function of the contract; the verb where the grants refused it.
    pub(super) call: &'static str,
    /// On what; `None` where the grants refused it: then the answer says.
    pub(super) target: Option<ObjectRef>,
    /// What else was passed, an object of the options that differ from their defaults.
    pub(super) request: Value,
    /// What came back.
    pub(super) answer: Result<Answer, ApiError>,
}

/// What came back from a use that succeeded.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// `get`.
    Found(Document),
    /// `list-objects`.
    Items(Vec<Document>, String),
    /// A write.
    Written(Effect, Arc<Object>),
    /// `delete`, `record-event`.
    Done,
}

/// What was kept of a call.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) lines: Vec<Line>,
    pub(super) uses: Vec<Use>,
    pub(super) uses_left_out: usize,
}

/// The ports.
#[derive(Debug)]
pub(super) struct Recorder {
    level: Level,
    scopes: Scopes,
    memory: Mutex<Memory>,
    record: Mutex<Record>,
}

impl Recorder {
    /// Lines below `level` are not kept.
    pub(super) fn new(level: Level, scopes: Scopes, memory: Memory) -> Self {
        Self { level, scopes, memory: Mutex::new(memory), record: Mutex::default() }
    }

    /// All that was kept until now.
    pub(super) fn take(&self) -> Record {
        std::mem::take(&mut *self.record.lock())
    }

    fn note(&self, call: &'static str, target: Option<ObjectRef>, request: Value, answer: Result<Answer, ApiError>) {
        let mut record = self.record.lock();
        if record.uses.len() < MAX_USES {
            record.uses.push(Use { call, target, request, answer });
        } else {
            record.uses_left_out = record.uses_left_out.saturating_add(1);
        }
    }

    fn write(&self, write: Write, target: &ObjectRef, body: &str, options: &WriteOptions) -> Result<Written, ApiError> {
        let (call, field) = match write {
            Write::Create => ("create", "object"),
            Write::Apply => ("apply", "object"),
            Write::MergePatch => ("merge-patch", "patch"),
        };
        let body: Value = serde_json::from_str(body).map_err(|e| ApiError::Invalid(e.to_string()))?;
        let written = self.memory.lock().write(write, target, &body, options);
        let mut request = json!({field: body});
        for (name, value) in [
            ("dryRun", options.dry_run.then(|| Value::from(true))),
            ("force", options.force.then(|| Value::from(true))),
            ("ifResourceVersion", text(&options.if_resource_version)),
            ("subresource", options.status.then(|| Value::from("status"))),
        ] {
            add(&mut request, name, value);
        }
        let answer = written.clone().map(|(effect, object)| Answer::Written(effect, object));
        self.note(call, Some(target.clone()), request, answer);
        let (_, object) = written?;
        Ok(Written { resource_version: object.resource_version().to_owned(), object: Document::Cached(object) })
    }
}

/// A text, unless it is empty.
fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| Value::from(text))
}

/// Adds a field that has a value.
fn add(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(fields), Some(value)) = (object.as_object_mut(), value) {
        fields.insert(name.to_owned(), value);
    }
}

#[async_trait]
impl Ports for Recorder {
    fn log_enabled(&self, level: Level) -> bool {
        level >= self.level
    }

    /// The engine bounds the lines of a call.
    fn log(&self, call: &CallInfo, level: Level, message: &str, fields: &[(String, String)]) {
        let line = Line { task: call.task, level, message: message.to_owned(), fields: fields.to_vec() };
        self.record.lock().lines.push(line);
    }

    fn denied(&self, verb: Verb, what: &str) {
        self.note(verb.as_str(), None, json!({}), Err(ApiError::NotGranted(what.to_owned())));
    }

    async fn place(&self, kind: &Gvk) -> Result<bool, ApiError> {
        Ok(self.scopes.namespaced(kind))
    }

    async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError> {
        let found = self.memory.lock().get(kind, namespace, name).map(Document::Cached);
        let target =
            ObjectRef { kind: kind.clone(), namespace: namespace.map(ToOwned::to_owned), name: name.to_owned(), uid: String::new() };
        let mut request = json!({});
        add(&mut request, "live", live.then(|| Value::from(true)));
        self.note("get", Some(target), request, found.clone().map(Answer::Found));
        found
    }

    async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError> {
        let page = self.memory.lock().list(kind, &options);
        let page = page.map(|(items, token)| (items.into_iter().map(Document::Cached).collect::<Vec<_>>(), token));
        let target = ObjectRef { kind: kind.clone(), namespace: options.namespace, name: String::new(), uid: String::new() };
        let mut request = json!({});
        for (name, value) in [
            ("labelSelector", text(&options.label_selector.to_string())),
            ("fieldSelector", text(&options.field_selector)),
            ("live", options.live.then(|| Value::from(true))),
            ("limit", (options.limit > 0).then(|| Value::from(options.limit))),
            ("continueToken", text(&options.continue_token)),
        ] {
            add(&mut request, name, value);
        }
        self.note("list-objects", Some(target), request, page.clone().map(|(items, token)| Answer::Items(items, token)));
        page.map(|(items, continue_token)| Page { items, continue_token })
    }

    async fn create(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write(Write::Create, target, &object, &options)
    }

    async fn apply(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write(Write::Apply, target, &object, &options)
    }

    async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write(Write::MergePatch, target, &patch, &options)
    }

    async fn delete(&self, target: &ObjectRef, options: DeleteOptions) -> Result<(), ApiError> {
        let deleted = self.memory.lock().delete(target, &options);
        let mut request = json!({});
        let propagation = match options.propagation {
            Propagation::Background => "",
            Propagation::Foreground => "foreground",
            Propagation::Orphan => "orphan",
        };
        for (name, value) in [
            ("propagation", text(propagation)),
            ("dryRun", options.dry_run.then(|| Value::from(true))),
            ("ifUid", text(&options.if_uid)),
            ("ifResourceVersion", text(&options.if_resource_version)),
        ] {
            add(&mut request, name, value);
        }
        self.note("delete", Some(target.clone()), request, deleted.clone().map(|()| Answer::Done));
        deleted
    }

    fn record_event(&self, about: &ObjectRef, warning: bool, reason: &str, message: &str) {
        let request = json!({"type": if warning { "warning" } else { "normal" }, "reason": reason, "message": message});
        self.note("record-event", Some(about.clone()), request, Ok(Answer::Done));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> ObjectRef {
        ObjectRef { kind: Gvk::new("", "v1", "ConfigMap"), namespace: Some("a".to_owned()), name: name.to_owned(), uid: String::new() }
    }

    #[tokio::test]
    async fn uses_are_kept_in_their_order_with_their_answers() {
        let ports = Recorder::new(Level::Debug, Scopes::default(), Memory::default());
        let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#;
        let dry = WriteOptions { dry_run: true, ..WriteOptions::default() };
        ports.apply(&target("x"), body.to_owned(), dry).await.unwrap();
        assert!(ports.get(&target("x").kind, Some("a"), "x", true).await.is_err());
        ports.create(&target("x"), body.to_owned(), WriteOptions::default()).await.unwrap();
        ports.record_event(&target("x"), true, "Why", "text");
        ports.denied(Verb::Delete, "not granted: delete");
        let record = ports.take();
        let seen: Vec<_> = record.uses.iter().map(|u| (u.call, u.request.to_string(), u.answer.is_ok())).collect();
        let object = r#""object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#;
        assert_eq!(
            seen,
            [
                ("apply", format!("{{\"dryRun\":true,{object}}}"), true),
                ("get", r#"{"live":true}"#.to_owned(), false),
                ("create", format!("{{{object}}}"), true),
                ("record-event", r#"{"message":"text","reason":"Why","type":"warning"}"#.to_owned(), true),
                ("delete", "{}".to_owned(), false),
            ]
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let ports = Recorder::new(Level::Info, Scopes::default(), Memory::default());
        for _ in 0..MAX_USES + 2 {
            ports.record_event(&target("x"), false, "Why", "text");
        }
        let record = ports.take();
        assert_eq!((record.uses.len(), record.uses_left_out), (MAX_USES, 2));
        assert!(ports.log_enabled(Level::Warn) && !ports.log_enabled(Level::Debug));
    }
}
