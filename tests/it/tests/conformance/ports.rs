//! The outside of the guests: remembers what it is asked, and answers by the object's name.

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::time::Duration;
use wharf_core::Gvk;
use wharf_engine::{ApiError, CallInfo, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Ports, WriteOptions, Written};

/// Every API error, by the word of the contract, which is also the name of an object that
/// gets it.
pub(crate) const ERRORS: [&str; 8] =
    ["forbidden", "not-found", "conflict", "already-exists", "invalid", "throttled", "unavailable", "too-large"];

/// The text of those that have one.
pub(crate) const ERROR_TEXT: &str = "no – «nein» 🙅";

/// Items of all pages.
pub(crate) const NAMES: [&str; 5] = ["a", "b", "c", "d", "é-no-name"];

/// Level, message and fields of a log line.
pub(crate) type Line = (Level, String, Vec<(String, String)>);

/// One revision's ports.
pub(crate) struct Recorder {
    level: Level,
    lines: Mutex<Vec<Line>>,
    asked: Mutex<Vec<Value>>,
}

impl Recorder {
    pub(crate) fn new(level: Level) -> Self {
        Self { level, lines: Mutex::default(), asked: Mutex::default() }
    }

    /// What there was since the last time.
    pub(crate) fn take(&self) -> (Vec<Line>, Vec<Value>) {
        (std::mem::take(&mut *self.lines.lock()), std::mem::take(&mut *self.asked.lock()))
    }

    fn ask(&self, what: Value) {
        self.asked.lock().push(what);
    }

    fn write(&self, verb: &str, target: &ObjectRef, body: &str, options: &WriteOptions) -> Result<Written, ApiError> {
        self.ask(json!({
            verb: place(target),
            "body": body,
            "dryRun": options.dry_run,
            "force": options.force,
            "ifResourceVersion": options.if_resource_version,
            "status": options.status,
        }));
        error(&target.name).map_or_else(|| Ok(Written { resource_version: "8".to_owned(), object: body.to_owned().into() }), Err)
    }
}

fn error(name: &str) -> Option<ApiError> {
    let text = ERROR_TEXT.to_owned();
    Some(match name {
        "forbidden" => ApiError::Forbidden(text),
        "not-found" => ApiError::NotFound,
        "conflict" => ApiError::Conflict(text),
        "already-exists" => ApiError::AlreadyExists,
        "invalid" => ApiError::Invalid(text),
        "throttled" => ApiError::Throttled(Duration::from_millis(1234)),
        "unavailable" => ApiError::Unavailable(text),
        "too-large" => ApiError::TooLarge,
        _ => return None,
    })
}

fn place(target: &ObjectRef) -> String {
    format!("{} {} {}", target.kind, target.namespace.as_deref().unwrap_or("-"), target.name)
}

#[async_trait]
impl Ports for Recorder {
    fn log_enabled(&self, level: Level) -> bool {
        level >= self.level
    }

    fn log(&self, _: &CallInfo, level: Level, message: &str, fields: &[(String, String)]) {
        self.lines.lock().push((level, message.to_owned(), fields.to_vec()));
    }

    async fn place(&self, kind: &Gvk) -> Result<bool, ApiError> {
        Ok(&*kind.kind != "Namespace")
    }

    async fn get(&self, kind: &Gvk, namespace: Option<&str>, name: &str, live: bool) -> Result<Document, ApiError> {
        self.ask(json!({"get": format!("{kind} {} {name}", namespace.unwrap_or("-")), "live": live}));
        if let Some(error) = error(name) {
            return Err(error);
        }
        let object = json!({
            "apiVersion": kind.api_version(),
            "kind": &*kind.kind,
            "metadata": {"name": name, "namespace": namespace, "labels": {"a/b": "ü"}},
            "data": {"list": [1, {"x": 2}], "word": "wörd \u{1f600}"},
        });
        Ok(object.to_string().into())
    }

    /// Pages of `limit` items, all in one where it is 0; none in the namespace `empty`.
    async fn list(&self, kind: &Gvk, options: ListOptions) -> Result<Page, ApiError> {
        let namespace = options.namespace.as_deref().unwrap_or("-");
        self.ask(json!({
            "list": format!("{kind} {namespace}"),
            "labelSelector": options.label_selector.to_string(),
            "limit": options.limit,
            "token": options.continue_token,
        }));
        if let Some(error) = error(namespace) {
            return Err(error);
        }
        let all: &[&str] = if namespace == "empty" { &[] } else { &NAMES };
        let start: usize = options.continue_token.strip_prefix("from-").and_then(|at| at.parse().ok()).unwrap_or(0);
        let limit = if options.limit == 0 { all.len() } else { options.limit as usize };
        let items = all.iter().skip(start).take(limit);
        let items = items.map(|name| json!({"metadata": {"name": name}}).to_string().into()).collect();
        let next = start.saturating_add(limit);
        Ok(Page { items, continue_token: if next < all.len() { format!("from-{next}") } else { String::new() } })
    }

    async fn create(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write("create", target, &object, &options)
    }

    async fn apply(&self, target: &ObjectRef, object: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write("apply", target, &object, &options)
    }

    async fn merge_patch(&self, target: &ObjectRef, patch: String, options: WriteOptions) -> Result<Written, ApiError> {
        self.write("patch", target, &patch, &options)
    }

    async fn delete(&self, target: &ObjectRef, options: DeleteOptions) -> Result<(), ApiError> {
        self.ask(json!({
            "delete": place(target),
            "dryRun": options.dry_run,
            "ifUid": options.if_uid,
            "ifResourceVersion": options.if_resource_version,
            "propagation": options.propagation.as_str(),
        }));
        error(&target.name).map_or(Ok(()), Err)
    }

    fn record_event(&self, about: &ObjectRef, warning: bool, reason: &str, message: &str) {
        self.ask(json!({"event": place(about), "uid": about.uid, "warning": warning, "reason": reason, "message": message}));
    }
}
