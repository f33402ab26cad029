//! Asked and granted together.

use std::time::Duration;

use serde_json::{Value, json};

use super::{described, full, lines, with};
use crate::Event;
use crate::grant::Namespaces;
use crate::plugin::*;

fn put_together(document: &Value, description: &Value) -> Result<(Vec<Subscription>, Limits), Vec<String>> {
    let document = read_document(document).unwrap();
    let description = read_description(&description.to_string()).unwrap();
    resolve(&document, &description, &Limits::default()).map_err(|problems| lines(&problems))
}

#[test]
fn both_sides_narrow() {
    let (subscriptions, limits) = put_together(&full(), &described()).unwrap();
    let [main, other] = subscriptions.as_slice() else { panic!("{subscriptions:?}") };
    assert_eq!((&*main.name, main.kind.to_string().as_str()), ("main", "v1 ConfigMap"));
    assert_eq!(main.label_selector.to_string(), "app,team");
    assert_eq!(main.field_selector.to_string(), "metadata.name!=x");
    assert_eq!(main.events, [Event::Add, Event::Delete]);
    assert_eq!(main.namespaces, Namespaces::Some(vec!["team-a".into(), "team-b".into()]));
    assert_eq!((&*other.name, other.kind.to_string().as_str()), ("other", "apps/v1 Deployment"));
    assert_eq!(other.events, Event::ALL);
    assert_eq!(other.namespaces, Namespaces::Some(vec!["team-a".into()]));
    // The document's win, even where they are less.
    assert_eq!(limits.memory, 32 << 20);
}

#[test]
fn without_subscribe_everything_in_the_own_namespace() {
    let description = with(described(), "/subscribe/1/events", json!([]));
    let (subscriptions, limits) = put_together(&with(full(), "/spec/subscribe", Value::Null), &description).unwrap();
    let seen: Vec<_> = subscriptions
        .iter()
        .map(|s| (&*s.name, s.namespaces.contains("team-a"), s.namespaces.contains("team-b"), s.events.len()))
        .collect();
    assert_eq!(seen, [("main", true, false, 3), ("other", true, false, 0)]);
    assert_eq!(limits.concurrency, 2);
}

/// The document's pointers, map and word on own writes stand in place of the component's; both
/// expressions must agree.
#[test]
fn filters_of_both_sides() {
    let asks = with(described(), "/subscribe/0/filter", json!("object.data.x == '1'"));
    let asks = with(asks, "/subscribe/0/onlyIfChanged", json!(["/binaryData"]));
    let asks = with(asks, "/subscribe/0/map", json!({"to": "main", "owner": "any"}));
    let asks = with(asks, "/subscribe/1/ignoreOwnWrites", json!(true));
    let texts = |s: &Subscription| {
        let pointers: Vec<_> = s.filters.only_if_changed.iter().map(ToString::to_string).collect();
        let expressions: Vec<_> = s.filters.expressions.iter().map(ToString::to_string).collect();
        (pointers, expressions, s.ignore_own_writes, s.map.as_ref().map(|map| format!("{} by {}", map.to, map.by)))
    };
    let strings = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (both, _) = put_together(&full(), &asks).unwrap();
    let (document, component) = ("old == null || object.data != old.data", "object.data.x == '1'");
    let map = Some("v1 ConfigMap by label app".to_owned());
    assert_eq!(texts(&both[0]), (strings(&["/data", "/metadata/labels"]), strings(&[component, document]), true, map));
    assert_eq!(texts(&both[1]), (vec![], vec![], true, None));
    let (alone, _) = put_together(&with(full(), "/spec/subscribe", Value::Null), &asks).unwrap();
    let map = Some("v1 ConfigMap by owner any".to_owned());
    assert_eq!(texts(&alone[0]), (strings(&["/binaryData"]), strings(&[component]), false, map));
    assert!(alone[1].ignore_own_writes);
    let off = with(full(), "/spec/subscribe/1", json!({"name": "other", "ignoreOwnWrites": false}));
    assert!(!put_together(&off, &asks).unwrap().0[1].ignore_own_writes);
    // What is only cached is not filtered, whatever the component asks for.
    let cached = with(full(), "/spec/subscribe", json!([{"name": "other", "events": []}]));
    assert_eq!(texts(&put_together(&cached, &asks).unwrap().0[0]), (vec![], vec![], false, None));
}

#[test]
fn maps_lead_to_what_is_delivered() {
    let asks = with(described(), "/subscribe/0/map", json!({"to": "other", "owner": "controller"}));
    let subscribe = |value| with(full(), "/spec/subscribe", value);
    assert_eq!(
        put_together(&subscribe(json!([{"name": "main"}])), &asks).unwrap_err(),
        [
            "/spec/subscribe/0: its changes concern objects of other, which the document does not subscribe [DocumentInvalid] (add - {name: other}, or write a map to another)"
        ]
    );
    assert_eq!(
        put_together(&subscribe(json!([{"name": "other", "events": []}, {"name": "main"}])), &asks).unwrap_err(),
        [
            "/spec/subscribe/1: other is only cached (events: []), so it can never be called for [DocumentInvalid] (give other events, or write a map to another)"
        ]
    );
    let cached = with(asks, "/subscribe/0/events", json!([]));
    let (subscriptions, _) = put_together(&with(full(), "/spec/subscribe", Value::Null), &cached).unwrap();
    assert!(subscriptions[0].events.is_empty() && subscriptions[0].map.is_some());
    let filtered = subscribe(json!([{"name": "main", "filter": "true"}]));
    assert_eq!(
        put_together(&filtered, &cached).unwrap_err()[0],
        "/spec/subscribe/0: main is only cached (events: []), so nothing can be filtered [DocumentInvalid] (remove onlyIfChanged, filter and ignoreOwnWrites)"
    );
}

/// The document's period wins; without one the component's wish counts.
#[test]
fn resync_periods() {
    let asks = with(with(described(), "/subscribe/0/resync", json!("1m")), "/subscribe/1/resync", json!("30s"));
    let document = with(full(), "/spec/subscribe", json!([{"name": "main", "resync": "2h"}, {"name": "other"}]));
    let periods =
        |document: &Value| put_together(document, &asks).unwrap().0.iter().map(|s| s.resync.unwrap().as_secs()).collect::<Vec<_>>();
    assert_eq!(periods(&document), [7200, 30]);
    assert_eq!(periods(&with(full(), "/spec/subscribe", Value::Null)), [60, 30]);
    assert_eq!(put_together(&full(), &described()).unwrap().0[0].resync, None);
}

#[test]
fn limits_of_document_then_component_then_defaults() {
    let document = read_document(&with(full(), "/spec/limits", json!({"deadline": "1s"}))).unwrap();
    let description = read_description(&described().to_string()).unwrap();
    let defaults = Limits { concurrency: 9, ..Limits::default() };
    let (_, limits) = resolve(&document, &description, &defaults).unwrap();
    assert_eq!(limits, Limits { memory: 128 << 20, deadline: Duration::from_secs(1), cpu: Duration::from_millis(150), concurrency: 9 });
}

#[test]
fn one_that_is_not_named_is_left_out() {
    let document = with(full(), "/spec/subscribe", json!([{"name": "other"}]));
    let (subscriptions, _) = put_together(&document, &described()).unwrap();
    assert_eq!(subscriptions.iter().map(|s| &*s.name).collect::<Vec<_>>(), ["other"]);
}

#[test]
fn disagreements() {
    let subscribe = |value| with(full(), "/spec/subscribe", value);
    let few = with(described(), "/subscribe/0/events", json!(["add"]));
    let none = with(described(), "/subscribe", json!([]));
    let document = subscribe(json!([
        {"name": "mian", "apiVersion": "v1", "kind": "ConfigMap"},
        {"name": "other", "apiVersion": "apps/v1beta1", "kind": "Deployment"},
        {"name": "main", "events": ["add", "update", "delete"]},
    ]));
    assert_eq!(
        put_together(&document, &few).unwrap_err(),
        [
            "/spec/subscribe/0/name: the component has no subscription mian [DocumentInvalid] (did you mean main? It asks for: main, other)",
            "/spec/subscribe/1/kind: the component asks for apps/v1 Deployment as other, not for apps/v1beta1 Deployment [DocumentInvalid] (write apiVersion: apps/v1, kind: Deployment)",
            "/spec/subscribe/2/events: the component does not ask for update and delete in main [DocumentInvalid] (it asks for [add])",
        ]
    );
    let elsewhere = subscribe(json!([{"name": "elsewhere"}]));
    let message = "/spec/subscribe/0/name: the component has no subscription elsewhere [DocumentInvalid]";
    assert_eq!(put_together(&elsewhere, &few).unwrap_err(), [format!("{message} (it asks for: main, other)")]);
    assert_eq!(put_together(&elsewhere, &none).unwrap_err(), [format!("{message} (it asks for no subscription at all)")]);
}

#[test]
fn secrets_must_be_named() {
    let asks = with(described(), "/subscribe/1", json!({"name": "creds", "apiVersion": "v1", "kind": "Secret"}));
    let subscribe = |value| with(full(), "/spec/subscribe", value);
    let message = "the component asks for v1 Secret as creds, and the document does not name the kind [GrantMissing]";
    let entry = "{name: creds, apiVersion: v1, kind: Secret}";
    assert_eq!(
        put_together(&subscribe(Value::Null), &asks).unwrap_err(),
        [format!("/spec/subscribe: {message} (if the plugin should see them, add to spec: subscribe: [{{name: main}}, {entry}])")]
    );
    assert_eq!(
        put_together(&subscribe(json!([{"name": "main"}, {"name": "creds"}])), &asks).unwrap_err(),
        [format!(
            "/spec/subscribe/1: {message} (if the plugin should see them, write - {entry}, or content: redacted to show them without their data)"
        )]
    );
    let redacted = json!([{"name": "creds", "content": "redacted"}]);
    let (subscriptions, _) = put_together(&subscribe(redacted), &asks).unwrap();
    assert!(subscriptions[0].redacted);
    assert_eq!(
        put_together(&subscribe(json!([{"name": "main", "content": "redacted"}])), &asks).unwrap_err(),
        ["/spec/subscribe/0/content: v1 ConfigMap has nothing to redact: content: redacted is for Secrets [DocumentInvalid] (remove it)"]
    );
    let named = json!([{"name": "creds", "apiVersion": "v1", "kind": "Secret"}]);
    assert_eq!(put_together(&subscribe(named), &asks).unwrap().0.len(), 1);
    assert!(put_together(&subscribe(json!([{"name": "main"}])), &asks).is_ok());
    // Other groups may have a kind of that name.
    let other = with(asks, "/subscribe/1/apiVersion", json!("vault.io/v1"));
    assert!(put_together(&subscribe(Value::Null), &other).is_ok());
}
