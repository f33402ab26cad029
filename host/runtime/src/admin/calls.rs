//! Failed calls in the control API, and what a call cost in the words that all outputs share. Owns the
//! rows; which calls are kept is the dispatcher's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wharf_engine::CallReport;

use super::operate::{Operations, answered, unread};

/// Which failed calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailedCallsAsk {
    /// The plugin, `namespace/name` or `name`.
    pub plugin: String,
    /// Where an object is whose namespace is not given; of several plugins of one name, the one there is meant.
    pub namespace: Option<String>,
    /// As people write it: `KIND/NAMESPACE/NAME` and shorter. All that are kept if absent.
    pub key: Option<String>,
}

/// Failed calls, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedCallsRow {
    /// One for each key.
    pub items: Vec<FailedCallRow>,
}

/// One failed call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedCallRow {
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
    /// When it ended, RFC 3339.
    pub at: String,
    /// The same, in seconds ago.
    pub age_seconds: u64,
    /// Short name of the revision that was called.
    pub revision: String,
    /// `retry`, `permanent` or `strike`.
    pub outcome: String,
    /// The CamelCase word.
    pub reason: String,
    /// For people; of a trap with the functions that were running.
    pub message: String,
    /// What it did and cost.
    pub usage: UsageRow,
    /// What the plugin was told; what `wharf invoke --call` reads.
    pub input: InputRow,
}

/// What a handler was told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputRow {
    /// `add`, `update` or `delete`.
    pub event: String,
    /// The name of the subscription.
    pub subscription: String,
    /// In the contract's words.
    pub cause: String,
    /// Why `delete` was called; `none` in others.
    pub removal: String,
    /// The state of a `delete` is an older one.
    pub final_state_unknown: bool,
    /// How often it was tried, this time included.
    pub attempt: u32,
    /// Time in the queue.
    pub queued_millis: u64,
    /// The object; null if it was not known or was too large.
    pub object: Value,
    /// The object at the last call; null if there was none.
    pub old: Value,
    /// The values of the Secret were left out.
    pub redacted: bool,
    /// So many bytes were too large to be kept; absent if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_large: Option<u64>,
}

/// What a call did, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageRow {
    /// Wall time.
    pub time_micros: u64,
    /// Processor time.
    pub cpu_micros: u64,
    /// What it took by its own doing: see `CallReport`.
    pub own_micros: u64,
    /// Wall time in which it waited for answers of the cluster.
    pub waited_answers_micros: u64,
    /// Time before it in which it waited for an instance.
    pub waited_instance_micros: u64,
    /// Time in which it waited for its turn on a thread.
    pub waited_turns_micros: u64,
    /// The most memory that the instance had, in bytes.
    pub peak_memory: u64,
    /// Calls of the host's functions.
    pub host_calls: u32,
    /// The same by interface and function, those that were called.
    pub host_calls_by: BTreeMap<String, u32>,
    /// What was asked of the cluster; at most 32 sorts.
    pub requests: Vec<RequestRow>,
    /// Requests of further sorts.
    pub more_requests: u32,
    /// Log lines that were handed on.
    pub log_lines: u32,
    /// Log lines that were dropped.
    pub log_dropped: u32,
    /// The instance had answered calls before.
    pub reused: bool,
}

/// Requests of one sort.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestRow {
    /// For example `get`.
    pub verb: String,
    /// For example `v1` or `apps/v1`.
    pub api_version: String,
    /// For example `ConfigMap`.
    pub kind: String,
    /// `ok`, the contract's word of an error, or `unanswered`.
    pub answer: String,
    /// How many.
    pub count: u32,
}

impl From<&CallReport> for UsageRow {
    fn from(report: &CallReport) -> Self {
        let activity = &report.activity;
        let request = |request: &wharf_engine::Request| RequestRow {
            verb: request.verb.as_str().to_owned(),
            api_version: request.kind.api_version(),
            kind: request.kind.kind.to_string(),
            answer: request.answer.to_owned(),
            count: request.count,
        };
        Self {
            time_micros: micros(report.wall),
            cpu_micros: micros(report.cpu),
            own_micros: micros(report.own),
            waited_answers_micros: micros(activity.waited),
            waited_instance_micros: micros(report.waited_instance),
            waited_turns_micros: micros(report.waited_turns),
            peak_memory: report.peak_memory,
            host_calls: activity.total(),
            host_calls_by: activity.host_calls().map(|(function, count)| (function.as_str().to_owned(), count)).collect(),
            requests: activity.requests.iter().map(request).collect(),
            more_requests: activity.more_requests,
            log_lines: report.log_lines,
            log_dropped: report.log_dropped,
            reused: report.reused,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

pub(super) async fn failed_calls(
    State(operations): State<Arc<dyn Operations>>,
    ask: Result<Query<FailedCallsAsk>, QueryRejection>,
) -> Response {
    match ask {
        Ok(Query(ask)) => answered(operations.failed_calls(ask).await),
        Err(rejection) => unread(rejection.status(), rejection.body_text()),
    }
}
