//! The cluster: what reaches the host, what comes back, each API error caught and not, and
//! what was never granted.

use serde_json::{Value, json};
use wharf_core::Event;

use crate::conformance::case::{Call, Case, Lines, Text, Want, add};
use crate::conformance::ports::{ERROR_TEXT, ERRORS, NAMES};

/// Error, reason of an uncaught one, time.
const UNCAUGHT: [(&str, &str, Option<u32>); 8] = [
    ("forbidden", "Forbidden", None),
    ("not-found", "ApiError", None),
    ("conflict", "Conflict", None),
    ("already-exists", "ApiError", None),
    ("invalid", "ApiError", None),
    ("throttled", "ServerUnavailable", Some(1234)),
    ("unavailable", "ServerUnavailable", None),
    ("too-large", "ApiError", None),
];

pub(crate) fn cases() -> Vec<Case> {
    [reads(), lists(), writes(), patches_and_deletes(), events(), refusals()].into_iter().flatten().collect()
}

fn case(name: &'static str) -> Case {
    Case::new("cluster", name)
}

fn reads() -> Vec<Case> {
    let whole = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "team-a", "labels": {"a/b": "ü"}},
        "data": {"list": [1, {"x": 2}], "word": "wörd \u{1f600}"},
    });
    let got = |live: bool| json!({"get": "v1 ConfigMap team-a settings", "live": live});
    vec![
        case("get").call(get(json!({"namespace": "team-a", "name": "settings"})).reports(whole.clone()).asked([got(false)])),
        case("get-in-the-plugins-own-namespace").call(get(json!({"name": "settings"})).reports(whole.clone()).asked([got(false)])),
        case("get-live").call(get(json!({"name": "settings", "live": true})).reports(whole).asked([got(true)])),
        case("get-some-fields").call(
            get(json!({"name": "settings", "fields": ["/metadata/labels/a~1b", "/data/list/1/x", "/none"]}))
                .reports(json!({"metadata": {"labels": {"a/b": "ü"}}, "data": {"list": [null, {"x": 2}]}}))
                .asked([got(false)]),
        ),
        case("get-in-delete").call(
            get(json!({"name": "settings", "fields": ["/kind"]}))
                .event(Event::Delete)
                .reports(json!({"kind": "ConfigMap"}))
                .asked([got(false)]),
        ),
        case("get-errors-caught").calls(ERRORS.map(|word| get(json!({"name": word})).reports(caught(word)).asked([asked_get(word)]))),
        case("get-errors-uncaught").calls(UNCAUGHT.map(|(word, reason, after)| {
            let text = Text::Has(if has_text(word) { vec![ERROR_TEXT.to_owned()] } else { Vec::new() });
            uncaught(json!({"name": word})).want(Want::Retry(reason.to_owned(), text, after)).any_lines().asked([asked_get(word)])
        })),
        case("get-uncaught-that-works")
            .call(uncaught(json!({"name": "settings", "fields": ["/kind"]})).reports(json!({"kind": "ConfigMap"})).asked([got(false)])),
        case("get-by-what-is-no-name")
            .call(get(json!({"name": "a/../b"})).holds("invalid", |said| said["error"] == "invalid" && said["text"].is_string())),
    ]
}

fn lists() -> Vec<Case> {
    let page = |namespace: &str, selector: &str, limit: u32, token: &str| json!({"list": format!("v1 ConfigMap {namespace}"), "labelSelector": selector, "limit": limit, "token": token});
    vec![
        case("list-on-one-page")
            .call(list(json!({"namespace": "team-a"})).reports(json!({"pages": 1, "names": NAMES})).asked([page("team-a", "", 0, "")])),
        case("list-page-by-page").call(
            list(json!({"namespace": "team-a", "labelSelector": "app=x,tier in (a, b)", "limit": 2}))
                .reports(json!({"pages": 3, "names": NAMES}))
                .asked(["", "from-2", "from-4"].map(|token| page("team-a", "app=x,tier in (a,b)", 2, token))),
        ),
        case("list-of-nothing")
            .call(list(json!({"namespace": "empty"})).reports(json!({"pages": 1, "names": []})).asked([page("empty", "", 0, "")])),
        case("list-errors").calls(ERRORS.map(|word| list(json!({"namespace": word})).reports(caught(word)).asked([page(word, "", 0, "")]))),
        case("list-by-a-wrong-selector")
            .call(list(json!({"namespace": "team-a", "labelSelector": "a b"})).holds("invalid", |said| said["error"] == "invalid")),
        case("list-of-all-namespaces-is-not-granted").call(not_granted(list(json!({})))),
    ]
}

fn writes() -> Vec<Case> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-a", "name": "made"},
        "data": {"text": "ü \u{1f600} \"q\"", "empty": "", "list": [1, 2.5, true, null, {}], "deep": {"a/b": {"": -7}}},
    });
    let mut cases = Vec::new();
    for verb in ["create", "apply"] {
        let command = format!("cluster-{verb}");
        let call = |more: Value| {
            let mut args = json!({"object": object});
            merge(&mut args, more);
            add(&command, args)
        };
        let sent = |dry_run: bool, force: bool| write(verb, "made", object.clone(), dry_run, force);
        let done = |object: Value| json!({"resourceVersion": "8", "object": object});
        let named = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-a", "name": name}});
        cases.extend([
            Case::new("cluster", verb).call(call(json!({})).reports(done(Value::Null)).asked([sent(false, false)])),
            Case::new("cluster", format!("{verb}-answers-with-fields")).call(
                call(json!({"fields": ["/metadata/name", "/data/text"]}))
                    .reports(done(json!({"metadata": {"name": "made"}, "data": {"text": "ü \u{1f600} \"q\""}})))
                    .asked([sent(false, false)]),
            ),
            Case::new("cluster", format!("{verb}-dry-run"))
                .call(call(json!({"dryRun": true})).reports(done(Value::Null)).asked([sent(true, false)])),
            Case::new("cluster", format!("{verb}-errors")).calls(ERRORS.map(|word| {
                add(&command, json!({"object": named(word)})).reports(caught(word)).asked([write(verb, word, named(word), false, false)])
            })),
            Case::new("cluster", format!("{verb}-of-no-object"))
                .call(add(&command, json!({"object": {"kind": "ConfigMap"}})).holds("invalid", |said| said["error"] == "invalid")),
        ]);
    }
    cases.push(
        case("apply-with-force").call(
            add("cluster-apply", json!({"object": object, "force": true}))
                .reports(json!({"resourceVersion": "8", "object": null}))
                .asked([write("apply", "made", object.clone(), false, true)]),
        ),
    );
    cases
}

fn patches_and_deletes() -> Vec<Case> {
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let patch = |more: Value| {
        let mut args = json!({"kind": kind, "namespace": "team-a", "name": "made", "patch": {"data": {"a": "ü", "gone": null}}});
        merge(&mut args, more);
        add("cluster-patch", args)
    };
    let delete = |more: Value| {
        let mut args = json!({"kind": kind, "namespace": "team-a", "name": "made"});
        merge(&mut args, more);
        add("cluster-delete", args)
    };
    let patched = |name: &str, version: &str, status: bool| {
        let mut write = write("patch", name, json!({"data": {"a": "ü", "gone": null}}), false, false);
        merge(&mut write, json!({"ifResourceVersion": version, "status": status}));
        write
    };
    let deleted = |name: &str, uid: &str, propagation: &str| json!({"delete": format!("v1 ConfigMap team-a {name}"), "dryRun": false, "ifUid": uid, "ifResourceVersion": "", "propagation": propagation});
    let done = json!({"resourceVersion": "8", "object": null});
    vec![
        case("patch").call(patch(json!({})).reports(done.clone()).asked([patched("made", "", false)])),
        case("patch-the-status-of-one-version")
            .call(patch(json!({"subresource": "status", "ifResourceVersion": "41"})).reports(done).asked([patched("made", "41", true)])),
        case("patch-another-subresource").call(patch(json!({"subresource": "token"})).holds("invalid", |said| said["error"] == "invalid")),
        case("patch-errors").calls(ERRORS.map(|word| patch(json!({"name": word})).reports(caught(word)).asked([patched(word, "", false)]))),
        case("delete").call(delete(json!({})).reports("deleted").asked([deleted("made", "", "Background")])),
        case("delete-one-uid-with-each-propagation").calls(
            [("background", "Background"), ("foreground", "Foreground"), ("orphan", "Orphan")].map(|(word, sent)| {
                delete(json!({"ifUid": "u-9", "propagation": word})).reports("deleted").asked([deleted("made", "u-9", sent)])
            }),
        ),
        case("delete-errors")
            .calls(ERRORS.map(|word| delete(json!({"name": word})).reports(caught(word)).asked([deleted(word, "", "Background")]))),
    ]
}

fn events() -> Vec<Case> {
    let record = |event_type: &str| add("record-event", json!({"type": event_type, "reason": "Because", "message": "it is so"}));
    let recorded = |warning: bool| json!({"event": "v1 ConfigMap team-a x", "uid": "u1", "warning": warning, "reason": "Because", "message": "it is so"});
    let elsewhere = |call: Call| {
        let current = call.current.as_ref().map(|text| text.replace("\"team-a\"", "\"team-b\""));
        Call { current, ..call }
    };
    vec![
        case("record-event").calls([record("normal").asked([recorded(false)]), record("warning").asked([recorded(true)])]),
        case("record-event-where-it-is-not-granted").call(elsewhere(record("normal")).lines(Lines::Any)),
    ]
}

fn refusals() -> Vec<Case> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret"});
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "team-a", "name": "s"}});
    let named = json!({"kind": secret, "namespace": "team-a", "name": "s", "patch": {}});
    vec![
        case("not-granted-caught").calls([
            not_granted(add("cluster-get", named.clone())),
            not_granted(add("cluster-list", json!({"kind": secret, "namespace": "team-a"}))),
            not_granted(add("cluster-create", json!({"object": object}))),
            not_granted(add("cluster-apply", json!({"object": object}))),
            not_granted(add("cluster-patch", named.clone())),
            not_granted(add("cluster-delete", named.clone())),
        ]),
        case("not-granted-uncaught").call(
            add("cluster-get-uncaught", named).want(Want::Retry("GrantMissing".to_owned(), Text::has("get v1 Secret"), None)).any_lines(),
        ),
        case("another-namespace-is-not-granted").call(not_granted(get(json!({"namespace": "team-b", "name": "settings"})))),
    ]
}

fn get(more: Value) -> Call {
    let mut args = json!({"kind": {"apiVersion": "v1", "kind": "ConfigMap"}});
    merge(&mut args, more);
    add("cluster-get", args)
}

fn uncaught(more: Value) -> Call {
    let mut args = json!({"kind": {"apiVersion": "v1", "kind": "ConfigMap"}});
    merge(&mut args, more);
    add("cluster-get-uncaught", args)
}

fn list(more: Value) -> Call {
    let mut args = json!({"kind": {"apiVersion": "v1", "kind": "ConfigMap"}});
    merge(&mut args, more);
    add("cluster-list", args)
}

fn not_granted(call: Call) -> Call {
    call.holds("not-granted, with how to grant it", |said| {
        said["error"] == "not-granted" && said["text"].as_str().is_some_and(|text| text.contains("spec.grants"))
    })
}

/// What the guest reports of an error that it caught.
fn caught(word: &str) -> Value {
    let mut said = json!({"error": word});
    if has_text(word) {
        merge(&mut said, json!({"text": ERROR_TEXT}));
    }
    if word == "throttled" {
        merge(&mut said, json!({"retryAfterMs": 1234}));
    }
    said
}

fn has_text(word: &str) -> bool {
    matches!(word, "forbidden" | "conflict" | "invalid" | "unavailable")
}

fn asked_get(name: &str) -> Value {
    json!({"get": format!("v1 ConfigMap team-a {name}"), "live": false})
}

fn write(verb: &str, name: &str, body: Value, dry_run: bool, force: bool) -> Value {
    json!({
        verb: format!("v1 ConfigMap team-a {name}"),
        "body": body, "dryRun": dry_run, "force": force, "ifResourceVersion": "", "status": false,
    })
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
