//! The behaviour of label-guard, the same in all languages: the cases of its own tests in
//! Rust, on the component.

use serde_json::{Value, json};
use wharf_core::Event;
use wharf_engine::Level;

use crate::conformance::case::{Call, Case, Lines, Told, Verdict, of};

pub(crate) fn label_guard() -> Vec<Case> {
    let case = |name| Case::new("label-guard", name);
    let leaving = config_map(&json!({"name": "leaving", "labels": {}, "deletionTimestamp": "2026-01-01T00:00:00Z"}));
    let prefixed = json!({"requiredLabel": "example.com/team"});
    vec![
        case("missing-label-is-reported")
            .call(reports("owner", of(Event::Add, labelled(json!({"app": "x"})))))
            .call(reports("owner", of(Event::Add, config_map(&json!({"name": "settings"}))))),
        case("labelled-is-left-alone").call(of(Event::Add, labelled(json!({"owner": "me"})))),
        case("the-clusters-own-is-left-alone").call(of(Event::Add, config_map(&json!({"name": "kube-root-ca.crt"})))),
        case("what-is-leaving-is-left-alone").call(of(Event::Update, leaving.clone()).previous(leaving)),
        case("updates-are-looked-at-as-well").calls([
            reports("owner", of(Event::Update, labelled(json!({"app": "x"}))).previous(labelled(json!({"owner": "me"})))),
            of(Event::Update, labelled(json!({"owner": ""}))).previous(labelled(json!({}))),
        ]),
        case("the-label-may-have-a-prefix").config(prefixed).calls([
            reports("example.com/team", of(Event::Add, labelled(json!({"owner": "me"})))),
            of(Event::Update, labelled(json!({"example.com/team": "a"}))).previous(labelled(json!({"owner": "me"}))),
        ]),
        case("no-configuration-is-good").validate(Verdict::Good).describe(Told::LabelGuard),
        case("describe-with-a-configuration").config(json!({"requiredLabel": "team"})).describe(Told::LabelGuard),
        case("an-empty-label-is-refused")
            .config(json!({"requiredLabel": ""}))
            .validate(Verdict::Wrong(vec!["requiredLabel: must not be empty"])),
        case("a-typing-error-is-refused").config(json!({"requiredLabels": "owner"})).validate(Verdict::Mentions("requiredLabels")),
        case("another-type-is-refused").config(json!({"requiredLabel": 1})).validate(Verdict::Mentions("requiredLabel")),
    ]
}

fn labelled(labels: Value) -> String {
    config_map(&json!({"name": "settings", "labels": labels}))
}

fn config_map(metadata: &Value) -> String {
    let mut all = json!({"namespace": "team-a", "uid": "u1", "resourceVersion": "7"});
    if let (Value::Object(all), Value::Object(more)) = (&mut all, metadata) {
        all.extend(more.clone());
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": all}).to_string()
}

/// A warning in the log, and an Event.
fn reports(label: &str, call: Call) -> Call {
    let line = (Level::Warn, "label missing".to_owned(), vec![("label".to_owned(), label.to_owned())]);
    call.lines(Lines::Are(vec![line])).asked([json!({
        "event": "v1 ConfigMap team-a settings",
        "uid": "u1",
        "warning": true,
        "reason": "MissingLabel",
        "message": format!("the label {label:?} is required"),
    })])
}
