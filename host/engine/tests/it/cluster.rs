//! The interface `cluster`: what reaches the ports, and what is refused before it does.

use std::sync::Arc;

use wharf_core::grant::Namespaces;
use wharf_core::{Event, Failure, Grants, Gvk, Outcome, Reason, Verb};
use wharf_engine::{Engine, Level, Revision, RevisionSpec};

use crate::support::{Get, OBJECT, Recorder, artifact, delivery, engine, grants, limits, revision_of, spec};

fn config_maps(verbs: &[Verb], namespaces: &[&str]) -> Grants {
    let namespaces = Namespaces::Some(namespaces.iter().map(|n| (*n).into()).collect());
    grants(Gvk::new("", "v1", "ConfigMap"), verbs, namespaces)
}

async fn guest(engine: &Engine, grants: Grants, ports: &Arc<Recorder>) -> Arc<Revision> {
    named(engine, "cluster", grants, ports).await
}

async fn named(engine: &Engine, guest: &str, grants: Grants, ports: &Arc<Recorder>) -> Arc<Revision> {
    let artifact = artifact(engine, guest).await.unwrap();
    engine.prepare(artifact, RevisionSpec { grants, ..spec(limits(), ports) }).unwrap()
}

/// What the guest says of the answer that it got.
async fn answer(revision: &Revision, event: Event, data: &str) -> String {
    let object = format!(r#"{{"metadata":{{"name":"n","namespace":"team-a"}},"data":{data}}}"#);
    match revision.call(delivery(event, &object)).await.result {
        Ok(Err(Failure::Retry(fault))) => fault.message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn reads_go_where_they_were_granted_and_nowhere_else() {
    let engine = engine(2);
    let ports = Recorder::new();
    let revision = guest(&engine, config_maps(&[Verb::Get], &["team-a", "shared"]), &ports).await;
    for (data, want) in [
        (r#"{"name":"x"}"#, r#"ok {"metadata":{"name":"x"},"data":{"k":"v"}}"#),
        (r#"{"name":"x","namespace":"shared"}"#, r#"ok {"metadata":{"name":"x"},"data":{"k":"v"}}"#),
        (r#"{"name":"x","field":"/metadata/name"}"#, r#"ok {"metadata":{"name":"x"}}"#),
        (r#"{"name":"gone"}"#, "2: "),
        (r#"{"name":"x","field":"no-pointer"}"#, "5: fields: a pointer starts with"),
        (r#"{"name":"x","namespace":"team-b"}"#, "0: not granted: get v1 ConfigMap; to allow it, add to spec.grants"),
        (r#"{"name":"../../team-b/configmaps/x"}"#, "5: the object's name is not a name"),
        (r#"{"name":"x","namespace":"team-a/x"}"#, "5: the namespace is not a name"),
    ] {
        let got = answer(&revision, Event::Add, data).await;
        assert!(got.starts_with(want), "{data}: {got}");
    }
    let asked: Vec<_> = ports.asked.lock().iter().filter(|asked| asked.starts_with("get")).cloned().collect();
    assert_eq!(
        asked,
        [
            "get v1 ConfigMap team-a x false",
            "get v1 ConfigMap shared x false",
            "get v1 ConfigMap team-a x false",
            "get v1 ConfigMap team-a gone false",
        ]
    );
    assert!(ports.threads.lock().iter().all(|thread| thread != "wharf-guest"), "ports run on the caller's runtime");
}

#[tokio::test]
async fn writes_are_judged_by_what_the_object_says() {
    let engine = engine(2);
    let ports = Recorder::new();
    let mut all = config_maps(&[Verb::Create], &["team-a"]);
    all.cluster.extend(grants(Gvk::new("", "v1", "Node"), &[Verb::Create], Namespaces::Some(vec!["team-a".into()])).cluster);
    let revision = guest(&engine, all, &ports).await;
    for (object, want) in [
        (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#, "ok 8"),
        (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-"}}"#, "ok 8"),
        (r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"x","namespace":"ignored"}}"#, "ok 8"),
        (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"team-b"}}"#, "0: not granted: create"),
        (r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}"#, "0: not granted: create v1 Secret"),
        (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a/b"}}"#, "5: the object's name"),
        (r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}"#, "5: the object's name"),
        (r#"{"kind":"ConfigMap"}"#, "5: the object: "),
        (r#"[]"#, "5: the object: "),
    ] {
        let got = answer(&revision, Event::Update, &format!(r#"{{"object":{object}}}"#)).await;
        assert!(got.starts_with(want), "{object}: {got}");
    }
    let asked = ports.asked.lock();
    let created: Vec<_> = asked.iter().filter(|asked| asked.starts_with("create")).collect();
    assert_eq!(created, ["create v1 ConfigMap team-a x", "create v1 ConfigMap team-a ", "create v1 Node - x"]);
    let wrote = ["team-a/n: create v1 ConfigMap team-a x", "team-a/n: create v1 ConfigMap team-a ", "team-a/n: create v1 Node - x"];
    assert_eq!(*ports.wrote.lock(), wrote);
    assert!(!asked.iter().any(|asked| asked.contains("Secret")), "nobody is asked about a kind without a grant");
}

#[tokio::test]
async fn lists_patches_and_deletes_have_a_verb_each() {
    let engine = engine(2);
    let ports = Recorder::new();
    let verbs = named(&engine, "verbs", config_maps(&[Verb::List, Verb::Patch, Verb::Delete], &["team-a"]), &ports).await;
    for (event, data, want) in [
        (Event::Add, r#"{"namespace":"team-a","selector":"a in (x, y)"}"#, r#"ok {"metadata":{"name":"first"}}"#),
        (Event::Add, r#"{}"#, "0: not granted: list v1 ConfigMap"),
        (Event::Add, r#"{"namespace":"team-a","selector":"a b"}"#, "5: label-selector: "),
        (Event::Update, r#"{"name":"x","patch":{"a":null}}"#, "ok 8"),
        (Event::Update, r#"{"name":"x","patch":{},"subresource":"status"}"#, "ok 8"),
        (Event::Update, r#"{"name":"x","patch":{},"subresource":"token"}"#, "5: subresource: "),
        (Event::Update, r#"{"name":"x","patch":[]}"#, "5: the patch"),
        (Event::Delete, r#"{"name":"x"}"#, "ok "),
        (Event::Delete, r#"{"name":".."}"#, "5: the object's name"),
    ] {
        let got = answer(&verbs, event, data).await;
        assert!(got.starts_with(want), "{event:?} {data}: {got}");
    }
    let asked: Vec<_> = ports.asked.lock().iter().filter(|asked| !asked.starts_with("place")).cloned().collect();
    assert_eq!(
        asked,
        [
            "list v1 ConfigMap team-a a in (x,y)",
            r#"patch v1 ConfigMap team-a x {"a":null} false"#,
            "patch v1 ConfigMap team-a x {} true",
            "delete v1 ConfigMap team-a x",
        ]
    );
    let patch = "team-a/n: patch v1 ConfigMap team-a x";
    assert_eq!(*ports.wrote.lock(), [patch, patch, "team-a/n: delete v1 ConfigMap team-a x"]);

    // Without any grant for its verb, each is refused before a port is asked.
    let ports = Recorder::new();
    let reader = named(&engine, "verbs", config_maps(&[Verb::Get], &["team-a"]), &ports).await;
    for (event, data) in [(Event::Add, "{}"), (Event::Update, r#"{"name":"x","patch":{}}"#), (Event::Delete, r#"{"name":"x"}"#)] {
        assert!(answer(&reader, event, data).await.starts_with("0: not granted"), "{event:?}");
    }
    assert!(ports.asked.lock().is_empty());
}

#[tokio::test]
async fn all_namespaces_are_a_grant_of_their_own() {
    let engine = engine(2);
    let ports = Recorder::new();
    let verbs = named(&engine, "verbs", grants(Gvk::new("", "v1", "ConfigMap"), &[Verb::List], Namespaces::All), &ports).await;
    assert!(answer(&verbs, Event::Add, "{}").await.starts_with("ok "));
    assert_eq!(*ports.asked.lock(), ["place v1 ConfigMap", "list v1 ConfigMap - "]);
}

#[tokio::test]
async fn events_need_their_own_grant() {
    let engine = engine(2);
    let object = r#"{"metadata":{"name":"n","namespace":"team-a"},"data":{"name":"x","namespace":"team-a"}}"#;
    let ports = Recorder::new();
    let without = guest(&engine, config_maps(&[Verb::Create], &["team-a"]), &ports).await;
    assert!(without.call(delivery(Event::Delete, object)).await.result.unwrap().is_ok());
    assert!(ports.asked.lock().is_empty());
    // Said once, although the guest tries twice.
    let lines = std::mem::take(&mut *ports.lines.lock());
    assert_eq!(lines.len(), 1);
    assert!(lines[0].0 == Level::Warn && lines[0].1.contains("apiVersion: events.k8s.io/v1, kind: Event, verbs: [create]"), "{lines:?}");

    let granted = grants(Gvk::new("events.k8s.io", "v1", "Event"), &[Verb::Create], Namespaces::Some(vec!["team-a".into()]));
    let with = guest(&engine, granted, &ports).await;
    assert!(with.call(delivery(Event::Delete, object)).await.result.unwrap().is_ok());
    assert_eq!(*ports.asked.lock(), ["event v1 ConfigMap team-a x true Labelled Labelled"; 2]);
}

#[tokio::test]
async fn nothing_has_an_effect_in_setup() {
    let engine = engine(2);
    let ports = Recorder::new();
    let revision = guest(&engine, config_maps(&Verb::ALL, &["team-a"]), &ports).await;
    assert_eq!(revision.describe().await.as_deref(), Ok("{}"));
    assert!(ports.asked.lock().is_empty());
}

#[tokio::test]
async fn a_port_that_panics_ends_one_call() {
    let engine = engine(2);
    let ports = Recorder::with(Get::Panic);
    let revision = guest(&engine, config_maps(&[Verb::Get], &["team-a"]), &ports).await;
    let object = r#"{"metadata":{"name":"n"},"data":{"name":"x"}}"#;
    for _ in 0..2 {
        let report = revision.call(delivery(Event::Add, object)).await;
        assert_eq!(report.result.unwrap_err().reason, Reason::HostError);
    }
}

#[tokio::test]
async fn a_panic_on_a_guest_thread_ends_one_call() {
    let engine = engine(2);
    let ports = Arc::new(Recorder { log_panics: true, ..Recorder::default() });
    let logs = revision_of(&engine, "ok", limits(), &ports).await;
    for _ in 0..2 {
        assert_eq!(logs.call(delivery(Event::Add, OBJECT)).await.result.unwrap_err().reason, Reason::HostError);
        assert_eq!(logs.call(delivery(Event::Delete, OBJECT)).await.result, Ok(Ok(Outcome::Done)));
    }
    assert_eq!(engine.stats().busy(), 0);
}
