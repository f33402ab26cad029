//! The part of the control API that operators work with: which keys fail, calling them again, and
//! why a plugin was or was not called. Owns paths and bodies; an [`Operations`] does it.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use wharf_core::explain::Finding;

use super::calls::{FailedCallsAsk, FailedCallsRow, failed_calls};
use super::rows::ErrorRow;

/// Who knows, and who can. Each answer is bounded.
#[async_trait]
pub trait Operations: Send + Sync {
    /// The keys that fail.
    ///
    /// # Errors
    /// When there is no such plugin.
    async fn failures(&self, ask: FailuresAsk) -> Result<FailuresRow, Refused>;
    /// The last failed calls with what they were told.
    ///
    /// # Errors
    /// When there is no such plugin, or no such call.
    async fn failed_calls(&self, ask: FailedCallsAsk) -> Result<FailedCallsRow, Refused>;
    /// Calls keys again.
    ///
    /// # Errors
    /// When there is no such plugin, or this host stands by. Keys that cannot be called again are part of the answer.
    async fn retry(&self, ask: RetryAsk) -> Result<RetryRow, Refused>;
    /// Says why a plugin was or was not called. That there is no such plugin is an answer.
    ///
    /// # Errors
    /// When the question cannot be read, or this host stands by.
    async fn explain(&self, ask: ExplainAsk) -> Result<ExplainRow, Refused>;
    /// Does something with a plugin as a whole.
    ///
    /// # Errors
    /// When there is no such plugin, or it cannot be done.
    async fn order(&self, ask: OrderAsk) -> Result<OrderRow, Refused>;
    /// The revisions that are kept of plugins.
    ///
    /// # Errors
    /// When there is no such plugin, or what is kept cannot be read.
    async fn revisions(&self, ask: RevisionsAsk) -> Result<Vec<RevisionRow>, Refused>;
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refused {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: String,
    /// What was named is not there; else the question is wrong.
    pub missing: bool,
}

/// Which failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailuresAsk {
    /// Of this plugin, `namespace/name` or `name`; of all if absent.
    pub plugin: Option<String>,
    /// Of plugins of this namespace.
    pub namespace: Option<String>,
}

/// Failed keys, by plugin, kind, namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailuresRow {
    /// The first ones.
    pub items: Vec<FailureRow>,
    /// So many more there are.
    pub more: u64,
}

/// One failed key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureRow {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// For example `v1` or `apps/v1`.
    pub api_version: String,
    /// For example `ConfigMap`.
    pub kind: String,
    /// Empty for kinds outside of namespaces.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// `Parked`, `Retrying` or `Waiting`.
    pub state: String,
    /// `permanent` or `strikes`, if it is parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_by: Option<String>,
    /// The CamelCase word.
    pub reason: String,
    /// For people; at most 1 KiB, and empty beyond the limit of failing keys.
    pub message: String,
    /// Strikes since the last success.
    pub strikes: u32,
    /// Calls since the last success.
    pub attempts: u32,
    /// Since the first of these calls failed, in seconds.
    pub age_seconds: u64,
    /// Until it is tried again by itself, in seconds; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_seconds: Option<u64>,
}

/// What to call again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryAsk {
    /// The plugin, `namespace/name` or `name`.
    pub plugin: String,
    /// Where an object is whose namespace is not given; of several plugins of one name, the one there is meant.
    pub namespace: Option<String>,
    /// As people write them: `KIND/NAMESPACE/NAME` and shorter.
    pub keys: Vec<String>,
    /// Instead of keys: all that failed.
    pub all: bool,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRow {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// Keys that are called again, as they are printed. Empty if all were asked for.
    pub queued: Vec<String>,
    /// How many keys are called again.
    pub count: u64,
    /// Keys that are not.
    pub refused: Vec<KeyRefused>,
}

/// A key that is not called again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRefused {
    /// As it was asked for.
    pub key: String,
    /// Why not.
    pub error: String,
    /// What to do about it.
    pub hint: String,
}

/// What to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainAsk {
    /// The plugin, `namespace/name` or `name`.
    pub plugin: String,
    /// Where an object is whose namespace is not given; of several plugins of one name, the one there is meant.
    pub namespace: Option<String>,
    /// As people write them: `KIND/NAMESPACE/NAME` and shorter.
    pub key: String,
}

/// The explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainRow {
    /// The plugin, `namespace/name` if there is one, else as it was asked for.
    pub plugin: String,
    /// The key as it is printed, or as it was asked for.
    pub key: String,
    /// The finding that answers the question.
    pub answer: Option<Finding>,
    /// All of them, in the order of an event's way.
    pub findings: Vec<Finding>,
    /// What is remembered of the key, the oldest first.
    pub history: Vec<DecisionRow>,
    /// Decisions of all keys of the plugin that are remembered.
    pub kept: u64,
    /// Decisions of the plugin that are forgotten, being older.
    pub forgotten: u64,
    /// Since when everything is remembered, in milliseconds; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
}

/// One decision about a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRow {
    /// When, RFC 3339.
    pub at: String,
    /// How long ago, in milliseconds.
    pub ago_ms: u64,
    /// What.
    #[serde(flatten)]
    pub what: Decision,
}

/// What was decided, or happened. Versions are 0 where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields say what they are, and the variants when they come")]
pub enum Decision {
    /// A change was announced: by `watch`, `initial-list`, `relist` or `resync`.
    Seen { how: String, resource_version: u64, gone: bool },
    /// An operator asked for a call.
    Asked {},
    /// A change was dropped by a field of the document.
    Dropped { by: String, resource_version: u64 },
    /// Changes that were to be told one by one were given up for lack of room.
    Merged { changes: u64 },
    /// There was nothing to do: `gone`, `unmatched` or `told`.
    Nothing { why: String },
    /// The guest had asked not to be called yet.
    Held { after_ms: u64 },
    /// Too many other keys fail.
    Full {},
    /// A call began, for so many changes.
    Called { event: String, cause: String, attempt: u32, revision: u64, resource_version: u64, queued_ms: u64, changes: u64 },
    /// The guest wrote.
    Wrote { verb: String, api_version: String, kind: String, namespace: String, name: String },
    /// The call ended. `skipped`: its change is given up, and the next one is told.
    Ended { outcome: String, reason: String, took_us: u64, parked: bool, skipped: bool, next_ms: Option<u64> },
    /// The subscription does not cover the key any more.
    Left {},
}

/// What to do with a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderAsk {
    /// The plugin, `namespace/name` or `name`.
    pub plugin: String,
    /// Of several plugins of one name, the one there is meant.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What.
    pub order: OrderWord,
    /// The number of the revision to go back to; of `rollback` only.
    #[serde(default)]
    pub revision: Option<u64>,
}

/// What can be done with a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderWord {
    /// Stage what is wished once more.
    Reload,
    /// Go back to an earlier revision.
    Rollback,
    /// Tell it of nothing.
    Pause,
    /// Tell it of what has happened.
    Resume,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRow {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// In words.
    pub said: String,
}

/// Whose revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RevisionsAsk {
    /// Of this plugin, `namespace/name` or `name`; of all if absent.
    pub plugin: Option<String>,
    /// Of plugins of this namespace.
    pub namespace: Option<String>,
}

/// One revision of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RevisionRow {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// Its number.
    pub number: u64,
    /// `sha256:…` of its component.
    pub digest: String,
    /// `New`, `Good`, `Superseded` or `Withdrawn`.
    pub standing: String,
    /// It serves now.
    pub serving: bool,
    /// Why it was withdrawn.
    pub message: String,
    /// When it went into service, RFC 3339.
    pub since: String,
    /// The same, in seconds ago.
    pub age_seconds: u64,
}

/// The paths of all this.
pub(super) fn router(operations: Arc<dyn Operations>) -> Router {
    Router::new()
        .route("/v1/failures", get(failures))
        .route("/v1/failedcalls", get(failed_calls))
        .route("/v1/retry", post(retry))
        .route("/v1/explain", post(explain))
        .route("/v1/order", post(order))
        .route("/v1/revisions", get(revisions))
        .with_state(operations)
}

type Shared = State<Arc<dyn Operations>>;

async fn failures(State(operations): Shared, ask: Result<Query<FailuresAsk>, QueryRejection>) -> Response {
    match ask {
        Ok(Query(ask)) => answered(operations.failures(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

async fn retry(State(operations): Shared, ask: Result<Json<RetryAsk>, JsonRejection>) -> Response {
    match ask {
        Ok(Json(ask)) => answered(operations.retry(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

async fn explain(State(operations): Shared, ask: Result<Json<ExplainAsk>, JsonRejection>) -> Response {
    match ask {
        Ok(Json(ask)) => answered(operations.explain(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

async fn order(State(operations): Shared, ask: Result<Json<OrderAsk>, JsonRejection>) -> Response {
    match ask {
        Ok(Json(ask)) => answered(operations.order(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

async fn revisions(State(operations): Shared, ask: Result<Query<RevisionsAsk>, QueryRejection>) -> Response {
    match ask {
        Ok(Query(ask)) => answered(operations.revisions(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

pub(super) fn answered<T: Serialize>(result: Result<T, Refused>) -> Response {
    match result {
        Ok(row) => Json(row).into_response(),
        Err(Refused { error, hint, missing }) => {
            let status = if missing { StatusCode::NOT_FOUND } else { StatusCode::UNPROCESSABLE_ENTITY };
            (status, Json(ErrorRow { error, hint })).into_response()
        }
    }
}

pub(super) fn unread(status: StatusCode, error: String) -> Response {
    (status, Json(ErrorRow { error, hint: String::new() })).into_response()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::super::calls::FailedCallRow;
    use super::super::client;
    use super::super::control::{ControlEndpoint, tests::start};
    use super::*;

    /// Answers with what it was asked.
    pub(in crate::admin) struct Fake;

    #[async_trait]
    impl Operations for Fake {
        async fn failures(&self, ask: FailuresAsk) -> Result<FailuresRow, Refused> {
            let plugin = ask.plugin.unwrap_or_default();
            if plugin == "nobody" {
                return Err(Refused { error: "there is no plugin nobody".into(), hint: "look".into(), missing: true });
            }
            Ok(FailuresRow { items: vec![FailureRow { plugin, strikes: 5, ..Default::default() }], more: 3 })
        }

        async fn failed_calls(&self, ask: FailedCallsAsk) -> Result<FailedCallsRow, Refused> {
            let row = FailedCallRow { plugin: ask.plugin, name: ask.key.unwrap_or_default(), ..FailedCallRow::default() };
            Ok(FailedCallsRow { items: vec![row] })
        }

        async fn retry(&self, ask: RetryAsk) -> Result<RetryRow, Refused> {
            Ok(RetryRow { plugin: ask.plugin, count: ask.keys.len() as u64, queued: ask.keys, refused: Vec::new() })
        }

        async fn explain(&self, ask: ExplainAsk) -> Result<ExplainRow, Refused> {
            let findings = vec![Finding::ObjectMissing {}];
            let what = Decision::Called {
                event: "add".into(),
                cause: "watch".into(),
                attempt: 1,
                revision: 1,
                resource_version: 7,
                queued_ms: 0,
                changes: 2,
            };
            let history = vec![DecisionRow { at: "2026-01-01T00:00:00Z".into(), ago_ms: 5, what }];
            let answer = findings.first().cloned();
            Ok(ExplainRow { plugin: ask.plugin, key: ask.key, answer, findings, history, kept: 1, forgotten: 0, since_ms: Some(5) })
        }

        async fn order(&self, ask: OrderAsk) -> Result<OrderRow, Refused> {
            Ok(OrderRow { plugin: ask.plugin, said: format!("{:?} {:?}", ask.order, ask.revision) })
        }

        async fn revisions(&self, ask: RevisionsAsk) -> Result<Vec<RevisionRow>, Refused> {
            Ok(vec![RevisionRow { plugin: ask.plugin.unwrap_or_default(), number: 7, ..RevisionRow::default() }])
        }
    }

    #[tokio::test]
    async fn operators_ask_and_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let stop = CancellationToken::new();
        let server = start(&ControlEndpoint::Unix(path.clone()), &stop).await.unwrap();

        let failures: FailuresRow = serde_json::from_value(client::get(&path, "/v1/failures?plugin=team-a/guard").await.unwrap()).unwrap();
        assert_eq!((failures.items[0].plugin.as_str(), failures.items[0].strikes, failures.more), ("team-a/guard", 5, 3));
        let refused = client::get(&path, "/v1/failures?plugin=nobody").await.unwrap_err();
        let said = refused.downcast_ref::<client::HostRefused>().unwrap();
        assert_eq!((said.error.as_str(), said.hint.as_str(), said.status), ("there is no plugin nobody", "look", 404));
        assert!(client::get(&path, "/v1/failures?plug=x").await.unwrap_err().to_string().contains("plug"));

        let retry = client::post(&path, "/v1/retry", json!({"plugin": "p", "keys": ["a/b"]})).await.unwrap();
        assert_eq!((&retry["count"], &retry["queued"]), (&json!(1), &json!(["a/b"])));
        assert!(client::post(&path, "/v1/retry", json!({"plugn": "p"})).await.unwrap_err().to_string().contains("plugn"));
        assert!(client::get(&path, "/v1/retry").await.unwrap_err().to_string().contains("405"));

        let failed = client::get(&path, "/v1/failedcalls?plugin=p&key=a/b").await.unwrap();
        assert_eq!((&failed["items"][0]["plugin"], &failed["items"][0]["name"]), (&json!("p"), &json!("a/b")));

        let explained = client::post(&path, "/v1/explain", json!({"plugin": "p", "key": "a/b"})).await.unwrap();
        assert_eq!((&explained["answer"]["finding"], &explained["history"][0]["decision"]), (&json!("ObjectMissing"), &json!("called")));
        let row: ExplainRow = serde_json::from_value(explained).unwrap();
        assert_eq!(row, Fake.explain(ExplainAsk { plugin: "p".into(), namespace: None, key: "a/b".into() }).await.unwrap());

        let ordered = client::post(&path, "/v1/order", json!({"plugin": "p", "order": "rollback", "revision": 3})).await.unwrap();
        assert_eq!(ordered["said"], json!("Rollback Some(3)"));
        assert!(client::post(&path, "/v1/order", json!({"plugin": "p", "order": "explode"})).await.is_err());
        assert_eq!(client::get(&path, "/v1/revisions?plugin=p").await.unwrap()[0]["number"], json!(7));
        stop.cancel();
        server.stopped().await.unwrap();
    }
}
