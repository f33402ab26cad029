//! The Plugin document.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{check_all, full, lines, with};
use crate::filter::Expression;
use crate::grant::{ClusterGrant, Grants, Namespaces, Verb};
use crate::mapping::MapBy;
use crate::plugin::*;
use crate::{Event, Gvk, Pointer, Selector};

#[test]
fn every_field() {
    let document = read_document(&full()).unwrap();
    let maps = Gvk::new("", "v1", "ConfigMap");
    let entry = |name: &str| SubscribeEntry {
        name: name.into(),
        kind: None,
        namespaces: None,
        label_selector: Selector::default(),
        field_selector: Selector::default(),
        events: None,
        resync: None,
        redacted: false,
        every_event: None,
        changes: Changes::default(),
    };
    let want = PluginDocument {
        name: PluginName { namespace: "team-a".into(), name: "label-guard".into() },
        component: ComponentRef::File("label-guard.wasm".into()),
        service_account: Some("label.guard".into()),
        subscribe: Some(vec![
            SubscribeEntry {
                kind: Some(maps.clone()),
                namespaces: Some(Namespaces::Some(vec!["team-a".into(), "team-b".into()])),
                label_selector: Selector::parse("team").unwrap(),
                field_selector: Selector::parse("metadata.name!=x").unwrap(),
                events: Some(vec![Event::Delete, Event::Add]),
                changes: Changes {
                    only_if_changed: Some(vec![Pointer::parse("/data").unwrap(), Pointer::parse("/metadata/labels").unwrap()]),
                    filter: Some(Arc::new(Expression::compile("old == null || object.data != old.data").unwrap())),
                    ignore_own_writes: Some(true),
                    map: Some(MapEntry { to: "main".into(), by: MapBy::label("app") }),
                },
                ..entry("main")
            },
            entry("other"),
        ]),
        grants: Grants {
            cluster: vec![
                ClusterGrant { kind: maps, verbs: vec![Verb::Get, Verb::Apply], namespaces: Namespaces::All },
                ClusterGrant {
                    kind: Gvk::new("events.k8s.io", "v1", "Event"),
                    verbs: vec![Verb::Create],
                    namespaces: Namespaces::Some(vec!["team-a".into()]),
                },
            ],
        },
        limits: AskedLimits {
            memory: Some(32 << 20),
            deadline: Some(Duration::from_secs(2)),
            cpu: Some(Duration::from_millis(100)),
            concurrency: Some(2),
        },
        suspend: true,
        replay: Replay::Failed,
        bake: Duration::from_secs(90),
        isolation: Isolation::Fresh,
        config: r#"{"n":[1,null],"requiredLabel":"owner"}"#.into(),
        source: Arc::clone(&document.source),
    };
    assert_eq!(document, want);
}

#[test]
fn its_source_is_the_document_again() {
    let document = read_document(&full()).unwrap();
    let source: Value = serde_json::from_str(&document.source).unwrap();
    assert_eq!(read_document(&source).unwrap(), document);
    // What people write beside it is another matter.
    let labelled = read_document(&with(full(), "/metadata/labels", json!({"x": "y"}))).unwrap();
    assert_eq!(labelled, document);
}

#[test]
fn the_smallest_is_the_bare_one() {
    let small = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "a"}, "spec": {"component": {"file": "a.wasm"}}});
    let bare = PluginDocument::bare("a", "a.wasm").unwrap();
    let problem = PluginDocument::bare("a_b", "a_b.wasm").unwrap_err();
    assert_eq!(problem.to_string(), "a_b is no name for a plugin [DocumentInvalid]");
    assert_eq!(read_document(&small).unwrap(), bare);
    assert_eq!(bare.limits.fill(&Limits::default()), Limits::default());
}

#[test]
fn accepted_variants() {
    let variants = include_str!("accepted.txt").lines().filter_map(|line| line.split_once(" = "));
    for (pointer, value) in variants {
        let read = read_document(&with(full(), pointer, serde_json::from_str(value).unwrap()));
        assert!(read.is_ok(), "{pointer} = {value}: {:?}", read.map_err(|p| lines(&p)));
    }
}

/// What a server adds is no mistake where it comes from one; what it must not have is one
/// everywhere.
#[test]
fn what_a_server_adds() {
    let mut served = with(full(), "/status", json!({"conditions": []}));
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences", "finalizers", "selfLink"] {
        served = with(served, &format!("/metadata/{field}"), json!("x"));
    }
    assert_eq!(read_resource(&served).unwrap(), read_document(&full()).unwrap());
    assert_eq!(read_document(&served).unwrap_err().len(), 8);
    for (pointer, value) in [("/spec/status", json!({})), ("/metadata/name", json!("a.b")), ("/stat", json!({})), ("/spec", Value::Null)] {
        let wrong = with(served.clone(), pointer, value);
        assert_eq!(read_resource(&wrong).unwrap_err().len(), 1, "{pointer}");
    }
}

#[test]
fn where_the_component_is() {
    let of = |component| read_document(&with(full(), "/spec/component", component)).map(|d| d.component).map_err(|p| lines(&p));
    assert_eq!(of(json!({"file": "a.wasm"})), Ok(ComponentRef::File("a.wasm".into())));
    let config_map = json!({"configMap": {"name": "guard", "key": "a.wasm"}});
    assert_eq!(of(config_map), Ok(ComponentRef::ConfigMap { name: "guard".into(), key: "a.wasm".into() }));
}

#[test]
fn long_texts_are_refused() {
    for (pointer, text, want) in [
        ("/spec/subscribe/0/labelSelector", "a,".repeat(2049), "4098 bytes are too many for a selector"),
        ("/spec/component/file", "a".repeat(4097), "is no file below the plugins folder"),
        ("/spec/limits/memory", format!("{:0>70}", "1Mi"), "is no quantity"),
        ("/spec/limits/cpu", format!("{:0>70}", "10ms"), "is no duration"),
    ] {
        let problems = lines(&read_document(&with(full(), pointer, text.into())).unwrap_err());
        assert!(problems.iter().any(|line| line.contains(want)), "{problems:?}");
    }
}

#[test]
fn wrong_values() {
    check_all(full, read_document, include_str!("read.txt"));
}

#[test]
fn a_field_without_a_value_is_not_absent() {
    let mut document = full();
    *document.pointer_mut("/spec/subscribe/0/namespaces").unwrap() = Value::Null;
    *document.pointer_mut("/spec/limits").unwrap() = Value::Null;
    assert_eq!(
        lines(&read_document(&document).unwrap_err()),
        [
            "/spec/subscribe/0/namespaces: expected a list, found nothing [DocumentInvalid] (give it a value, or remove the field)",
            "/spec/limits: expected fields with values, found nothing [DocumentInvalid] (give it a value, or remove the field)",
        ]
    );
}
