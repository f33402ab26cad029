//! The part of the control API that is about logging: the lines of lately and those that come, and what
//! is logged. Owns paths and bodies; a [`Logs`] has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::operate::{Refused, answered, unread};
use super::rows::ErrorRow;

/// Those who may wait for a line at a time. Each has a connection meanwhile, of which the others need some.
const MAX_WAITING: usize = 16;

/// Who has the lines, and decides which there are.
#[async_trait]
pub trait Logs: Send + Sync {
    /// Lines of lately. With `wait` and none there, this waits for one for as long as it is asked. Cancel safe.
    ///
    /// # Errors
    /// There is no such plugin.
    async fn lines(&self, ask: LogsAsk) -> Result<LogsRow, Refused>;
    /// What is logged.
    fn level(&self) -> LogLevelRow;
    /// Changes what is logged, until the host ends.
    ///
    /// # Errors
    /// There is no such plugin, or no such level.
    fn set_level(&self, ask: LogLevelAsk) -> Result<LogLevelRow, Refused>;
}

/// Which lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LogsAsk {
    /// Only those about this plugin, `namespace/name` or `name`.
    pub plugin: Option<String>,
    /// Of several plugins of one name, the one there is meant.
    pub namespace: Option<String>,
    /// The `next` of the last answer; without it this is the first question.
    pub after: Option<u64>,
    /// In a first question: not older than so many milliseconds.
    pub since_ms: Option<u64>,
    /// In a first question: only so many lines, the last ones.
    pub tail: Option<u64>,
    /// If there are none, wait a few seconds for one.
    pub wait: bool,
    /// As JSON, else as text for people.
    pub json: bool,
}

/// Lines of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsRow {
    /// As they are printed, each with its newline.
    pub lines: Vec<String>,
    /// What `after` is in the next question.
    pub next: u64,
    /// There are more already.
    pub more: bool,
    /// So many lines, of whichever plugin, were given up between the last question and this one.
    pub missed: u64,
}

/// What is logged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLevelRow {
    /// Of the host: a level, or `TARGET=LEVEL,…`.
    pub filter: String,
    /// Levels of the plugins, `namespace/name`, that have one of their own.
    pub plugins: BTreeMap<String, String>,
    /// The plugin, `namespace/name`, whose level was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
}

/// What shall be logged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLevelAsk {
    /// Of this plugin, `namespace/name` or `name`; without it: of the host.
    #[serde(default)]
    pub plugin: Option<String>,
    /// Of several plugins of one name, the one there is meant.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A level, or a filter of the host; null goes back to what was before, and must be said.
    #[serde(deserialize_with = "Option::deserialize")]
    pub level: Option<String>,
}

#[derive(Clone)]
struct Shared {
    logs: Arc<dyn Logs>,
    waiting: Arc<Semaphore>,
    stop: CancellationToken,
}

/// The paths of all this. Nobody waits beyond `stop`.
pub(super) fn router(logs: Arc<dyn Logs>, stop: CancellationToken) -> Router {
    Router::new()
        .route("/v1/logs", post(lines))
        .route("/v1/log-level", get(|State(s): State<Shared>| async move { Json(s.logs.level()) }).put(set_level))
        .with_state(Shared { logs, waiting: Arc::new(Semaphore::new(MAX_WAITING)), stop })
}

async fn lines(State(shared): State<Shared>, ask: Result<Json<LogsAsk>, JsonRejection>) -> Response {
    let Json(ask) = match ask {
        Ok(ask) => ask,
        Err(rejection) => return unread(rejection.status(), rejection.body_text()),
    };
    let at_once = LogsAsk { wait: false, ..ask.clone() };
    let _place = match ask.wait.then(|| shared.waiting.try_acquire()) {
        Some(Err(_)) => return full(),
        place => place,
    };
    tokio::select! {
        row = shared.logs.lines(ask) => return answered(row),
        () = shared.stop.cancelled() => {}
    }
    answered(shared.logs.lines(at_once).await)
}

fn full() -> Response {
    let error = format!("{MAX_WAITING} follow the log already, and the host has no room for more");
    let hint = "end one of them, or ask without -f".to_owned();
    (StatusCode::TOO_MANY_REQUESTS, Json(ErrorRow { error, hint })).into_response()
}

async fn set_level(State(shared): State<Shared>, ask: Result<Json<LogLevelAsk>, JsonRejection>) -> Response {
    match ask {
        Ok(Json(ask)) => answered(shared.logs.set_level(ask)).into_response(),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use futures::StreamExt;
    use futures::stream::FuturesUnordered;
    use serde_json::json;

    use super::super::client;
    use super::super::control::{ControlEndpoint, tests::start};
    use super::*;

    /// Answers with what it was asked, and has a line only for who does not wait.
    pub(in crate::admin) struct Fake;

    #[async_trait]
    impl Logs for Fake {
        async fn lines(&self, ask: LogsAsk) -> Result<LogsRow, Refused> {
            if ask.wait {
                std::future::pending::<()>().await;
            }
            Ok(LogsRow { lines: vec![format!("{:?}\n", ask.plugin)], next: ask.after.unwrap_or_default(), ..LogsRow::default() })
        }

        fn level(&self) -> LogLevelRow {
            LogLevelRow { filter: "info".into(), plugins: BTreeMap::from([("a/x".into(), "debug".into())]), changed: None }
        }

        fn set_level(&self, ask: LogLevelAsk) -> Result<LogLevelRow, Refused> {
            match ask.level {
                Some(level) if level == "loudest" => Err(Refused { error: "no such level".into(), hint: "trace".into(), missing: false }),
                level => Ok(LogLevelRow { filter: level.unwrap_or_default(), ..LogLevelRow::default() }),
            }
        }
    }

    #[tokio::test]
    async fn lines_and_levels_over_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let stop = CancellationToken::new();
        let server = start(&ControlEndpoint::Unix(path.clone()), &stop).await.unwrap();

        let asked = client::post(&path, "/v1/logs", json!({"plugin": "p", "after": 7, "sinceMs": 1, "tail": 2})).await.unwrap();
        assert_eq!(asked, json!({"lines": ["Some(\"p\")\n"], "next": 7, "more": false, "missed": 0}));
        assert!(client::post(&path, "/v1/logs", json!({"plug": "p"})).await.unwrap_err().to_string().contains("plug"));
        assert_eq!(client::get(&path, "/v1/log-level").await.unwrap(), json!({"filter": "info", "plugins": {"a/x": "debug"}}));
        let put = |body| client::put(&path, "/v1/log-level", body);
        assert_eq!(put(json!({"level": "warn"})).await.unwrap()["filter"], "warn");
        assert_eq!(put(json!({"plugin": "x", "level": null})).await.unwrap()["filter"], "");
        let refused = put(json!({"level": "loudest"})).await.unwrap_err();
        assert_eq!(refused.downcast_ref::<client::HostRefused>().unwrap().hint, "trace");

        // So many follow that they would take all connections: the last ones are told so, and other questions are answered.
        let mut follow: FuturesUnordered<_> = (0..40).map(|_| client::post(&path, "/v1/logs", json!({"wait": true}))).collect();
        for _ in MAX_WAITING..40 {
            let refused = follow.next().await.unwrap().unwrap_err().downcast::<client::HostRefused>().unwrap();
            let said = (refused.status, refused.error.as_str(), refused.hint.as_str());
            assert_eq!(said, (429, "16 follow the log already, and the host has no room for more", "end one of them, or ask without -f"));
        }
        assert_eq!(client::get(&path, "/v1/plugins").await.unwrap()[0]["name"], "guard");
        client::post(&path, "/v1/logs", json!({})).await.unwrap();
        drop(follow);

        // Who waits is answered when the host stops.
        let waits = tokio::spawn({
            let path = path.clone();
            async move { client::post(&path, "/v1/logs", json!({"wait": true})).await }
        });
        tokio::task::yield_now().await;
        stop.cancel();
        server.stopped().await.unwrap();
        // Either it was asked in time and has its line, or the host was gone.
        let _asked = waits.await.unwrap();
    }
}
