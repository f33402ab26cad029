//! Events in every form.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Lines;
use crate::http::accept::Form;
use crate::http::discovery::tests::configmaps;
use crate::http::shape::tests::{stored, style};
use crate::status::Status;
use crate::verbs::WatchEvent;

fn lines(form: Form, events: &[WatchEvent]) -> Vec<Value> {
    let mut lines = Lines::new(Arc::new(configmaps()), style(form));
    let mut out = Vec::new();
    for event in events {
        lines.write(event, &mut out);
    }
    assert!(out.ends_with(b"\n"));
    out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn events() -> [WatchEvent; 4] {
    [
        WatchEvent::Change { kind: "ADDED", object: stored("a", 5), version: 5 },
        WatchEvent::Change { kind: "DELETED", object: stored("a", 5), version: 7 },
        WatchEvent::Bookmark { version: 8, initial_end: true },
        WatchEvent::Error(Status::expired("too old")),
    ]
}

#[test]
fn whole_objects() {
    let [added, deleted, bookmark, error] = <[Value; 4]>::try_from(lines(Form::Whole, &events())).unwrap();
    assert_eq!(
        (&added["type"], &added["object"]["kind"], &added["object"]["apiVersion"]),
        (&json!("ADDED"), &json!("ConfigMap"), &json!("v1"))
    );
    assert_eq!((&deleted["type"], &deleted["object"]["metadata"]["resourceVersion"]), (&json!("DELETED"), &json!("7")));
    assert_eq!(deleted["object"]["data"], json!({"k": "v"}), "the state that left the selector");
    let annotated = json!({"resourceVersion": "8", "annotations": {"k8s.io/initial-events-end": "true"}});
    assert_eq!(bookmark, json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": annotated}}));
    assert_eq!((&error["type"], &error["object"]["kind"], &error["object"]["code"]), (&json!("ERROR"), &json!("Status"), &json!(410)));
}

#[test]
fn only_the_first_table_has_definitions() {
    let [added, deleted, bookmark, error] = <[Value; 4]>::try_from(lines(Form::Table, &events())).unwrap();
    assert!(added["object"]["columnDefinitions"].is_array());
    assert_eq!(added["object"]["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    for (later, version) in [(deleted, "7"), (bookmark, "8")] {
        assert_eq!(later["object"]["kind"], "Table");
        assert_eq!(later["object"].get("columnDefinitions"), Some(&Value::Null));
        assert_eq!(later["object"]["metadata"]["resourceVersion"], version);
        assert_eq!(later["object"]["rows"].as_array().unwrap().len(), 1);
    }
    assert_eq!(error["object"]["kind"], "Status", "an error has one form");
}

#[test]
fn metadata_only() {
    for form in [Form::Metadata, Form::MetadataList] {
        for line in &lines(form, &events())[..3] {
            assert_eq!(
                (&line["object"]["kind"], &line["object"]["apiVersion"]),
                (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
            );
            assert!(line["object"].get("data").is_none());
            assert!(line["object"]["metadata"]["resourceVersion"].is_string());
        }
    }
}
