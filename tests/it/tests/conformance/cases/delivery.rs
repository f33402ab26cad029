//! What a call is told: every field, every cause, every removal.

use std::time::Duration;

use serde_json::{Value, json};
use wharf_core::{Cause, Event, Gvk, Removal};

use crate::conformance::case::{Call, Case, METADATA, add, object, of};

const CAUSES: [Cause; 10] = [
    Cause::InitialList,
    Cause::Watch,
    Cause::Resync,
    Cause::Requeue,
    Cause::Retry,
    Cause::Reload,
    Cause::ChangedOffline,
    Cause::Related,
    Cause::Manual,
    Cause::Schedule,
];

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("delivery", name);
    vec![
        case("add-has-every-field").call(told(add("delivery", json!({})), &[])),
        case("every-cause").calls(CAUSES.map(|cause| {
            let call = Call { cause, ..add("delivery", json!({})) };
            told(call, &[("cause", cause.as_str().into())])
        })),
        case("update").call(told(
            add("delivery", json!({})).event(Event::Update).previous(object("done", &json!({}), "")),
            &[("event", "update".into())],
        )),
        case("delete-says-why").calls([Removal::Gone, Removal::Unmatched, Removal::Replaced].map(|removal| {
            let call = Call { removal, ..add("delivery", json!({})).event(Event::Delete) };
            told(call, &[("event", "delete".into()), ("removal", removal.as_str().into())])
        })),
        case("final-state-unknown").call(told(
            Call { final_state_unknown: true, ..add("delivery", json!({})).event(Event::Delete) },
            &[("event", "delete".into()), ("removal", "gone".into()), ("finalStateUnknown", true.into())],
        )),
        case("largest-numbers").call(told(
            Call { attempt: u32::MAX, queued: Duration::from_secs(1 << 40), ..add("delivery", json!({})) },
            &[("attempt", u32::MAX.into()), ("queuedMs", u32::MAX.into())],
        )),
        case("deleting").call(told(
            about(r#"{"namespace":"team-a","name":"x","uid":"u1","resourceVersion":"8","deletionTimestamp":"2026-01-01T00:00:00Z"}"#),
            &[("deleting", true.into()), ("resourceVersion", "8".into())],
        )),
        case("cluster-scoped").call(told(
            Call { kind: Gvk::new("", "v1", "Namespace"), ..about(r#"{"name":"x","uid":"u1","resourceVersion":"7"}"#) },
            &[("namespace", Value::Null), ("kind", json!({"group": "", "version": "v1", "kind": "Namespace"}))],
        )),
        case("kind-of-a-group").call(told(
            Call { kind: Gvk::new("example.com", "v1beta1", "Thing"), ..add("delivery", json!({})) },
            &[("kind", json!({"group": "example.com", "version": "v1beta1", "kind": "Thing"}))],
        )),
        case("empty-texts")
            .call(told(about(r#"{"namespace":"team-a","name":"x"}"#), &[("uid", "".into()), ("resourceVersion", "".into())])),
        case("long-names")
            .call(told(about(&METADATA.replace("\"x\"", &format!("{:?}", "n".repeat(253)))), &[("name", "n".repeat(253).into())])),
    ]
}

/// `add` of an object with this metadata.
fn about(metadata: &str) -> Call {
    of(Event::Add, object("delivery", &json!({}), "").replace(METADATA, metadata))
}

/// The call reports the usual delivery, but for these fields.
fn told(call: Call, fields: &[(&str, Value)]) -> Call {
    let mut want = json!({
        "event": "add",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "namespace": "team-a",
        "name": "x",
        "uid": "u1",
        "resourceVersion": "7",
        "deleting": false,
        "subscription": "main",
        "removal": "none",
        "finalStateUnknown": false,
        "cause": "watch",
        "attempt": 1,
        "queuedMs": 12,
        "budgetMs": 60_000,
        "size": call.current.as_ref().map_or(0, String::len),
        "traceparent": "",
    });
    if let Some(want) = want.as_object_mut() {
        want.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    }
    call.reports(want)
}
