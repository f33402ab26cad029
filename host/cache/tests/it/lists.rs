//! Lists: what is asked, how pages are followed, and what a relist announces.

use std::sync::Arc;
use std::time::Duration;

use wharf_cache::{InformerState, Informers, Options, Scope};
use wharf_core::{ObjectKey, Reason};

use crate::fake::{Fake, Reply, by_lists, config_maps, list, object, object_uid, page, status, status_object};
use crate::recorder::{Failures, Recorder};

/// Also CR7: the first list takes any version, the watch goes on from the list's, the relist from
/// the last one seen.
#[tokio::test(start_paused = true)]
async fn cr1_versions_are_carried_on() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "5")]), list("40", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    registration.settle().await;
    assert_eq!(recorder.take(2).await, ["InitialList add a/x 5", "synced"]);
    feed.event("ADDED", &object("y", "20")).await;
    feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"30"}}"#).await;
    feed.event("ERROR", &status_object(410, "Expired")).await;
    let watches = fake.wait("watch=1", 2).await;
    assert_eq!(fake.list_queries(), ["limit=500&resourceVersion=0", "resourceVersion=30"]);
    assert_eq!(fake.asked("/api/v1/configmaps?").len(), 4);
    assert!(watches[0].uri.contains("allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds="), "{watches:?}");
    assert!(watches[1].uri.contains("resourceVersion=40&"), "{watches:?}");
    assert_eq!(watches[0].encoding.as_deref(), Some("identity"));
    assert_eq!(&*registration.view().resource_version(), "40");
}

/// A version with a limit means just that version, unless it is said otherwise: after a watch that
/// was too old, the relist would show the old state, and the next watch be too old as well.
#[tokio::test(start_paused = true)]
async fn r3_a_paged_relist_asks_for_a_state_not_older() {
    let fake = Fake::new();
    fake.lists([list("10", &[]), list("40", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers_with(Options { always_paginate: true, ..by_lists() });
    let _registration = informers.attach(config_maps(), Recorder::new());
    feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"30"}}"#).await;
    feed.event("ERROR", &status_object(410, "Expired")).await;
    fake.wait("watch=1", 2).await;
    assert_eq!(fake.list_queries(), ["limit=500&resourceVersion=0", "limit=500&resourceVersion=30&resourceVersionMatch=NotOlderThan"]);
}

#[tokio::test(start_paused = true)]
async fn selectors_and_namespaces_are_asked_for() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let informers = fake.informers();
    let mut spec = config_maps();
    spec.scope = Scope::Namespace("team-a".into());
    spec.label_selector = "app=x,!y".into();
    spec.field_selector = "metadata.name=n".into();
    let _registration = informers.attach(spec, Recorder::new());
    let watches = fake.wait("watch=1", 1).await;
    let start = "/api/v1/namespaces/team-a/configmaps?labelSelector=app%3Dx%2C%21y&fieldSelector=metadata.name%3Dn&";
    assert!(watches[0].uri.starts_with(&format!("{start}watch=1&")), "{watches:?}");
    assert_eq!(fake.asked(&format!("{start}limit=500")).len(), 1);
}

/// Pages are announced as they come; the informer is synced after the last one.
#[tokio::test(start_paused = true)]
async fn cr5_pages_are_followed() {
    let fake = Fake::new();
    fake.lists([page("10", "t/1", &[object("x", "1")]), page("10", "t/2", &[object("y", "2")]), page("10", "", &[object("z", "3")])]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    registration.settle().await;
    assert_eq!(recorder.lines(), ["InitialList add a/x 1", "InitialList add a/y 2", "InitialList add a/z 3", "synced"]);
    let queries = ["limit=500&resourceVersion=0", "limit=500&continue=t%2F1", "limit=500&continue=t%2F2"];
    assert_eq!(fake.list_queries(), queries);
}

/// Also CR3: a token that always expires costs one whole list, not an endless loop.
#[tokio::test(start_paused = true)]
async fn cr26_an_expired_token_is_followed_by_one_whole_list() {
    let fake = Fake::new();
    let one = object("x", "1");
    fake.lists([page("10", "t", std::slice::from_ref(&one)), status(410, "Expired"), list("11", &[one, object("y", "2")])]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    registration.settle().await;
    assert_eq!(recorder.lines(), ["InitialList add a/x 1", "InitialList add a/y 2", "synced"]);
    assert_eq!(fake.list_queries(), ["limit=500&resourceVersion=0", "limit=500&continue=t", "resourceVersion=0"]);
}

/// Also CR4, for the third form see `classify`.
#[tokio::test(start_paused = true)]
async fn cr2_an_unavailable_version_is_given_up_for_one_list() {
    let too_large = r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    for refusal in [status(410, "Expired"), Reply::Json(504, too_large.into())] {
        let fake = Fake::new();
        fake.lists([list("10", &[]), refusal, list("5", &[]), list("6", &[])]);
        fake.watches([status(410, "Expired"), status(410, "Expired")]);
        let informers = fake.informers();
        let _registration = informers.attach(config_maps(), Recorder::new());
        fake.wait("watch=1", 3).await;
        assert_eq!(fake.list_queries(), ["limit=500&resourceVersion=0", "resourceVersion=10", "limit=500", "resourceVersion=5"]);
    }
}

/// Also CR6: each failure is told of, once.
#[tokio::test(start_paused = true)]
async fn cr23_failing_lists_are_tried_less_and_less() {
    let fake = Fake::new();
    fake.lists_then(|| status(500, "InternalError"));
    let failures = Arc::new(Failures::default());
    let informers = Informers::new(fake.client(), by_lists(), failures.clone());
    let registration = informers.attach(config_maps(), Recorder::new());
    let asked = fake.wait("/configmaps", 12).await;
    let gaps: Vec<_> = asked.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect();
    for (gap, step) in gaps.iter().zip([800, 1600, 3200, 6400, 12_800].into_iter().chain(std::iter::repeat(15_000))) {
        assert!((step..=(2 * step).min(30_000) + 1).contains(gap), "{gaps:?}");
    }
    let InformerState::Failing { reason, message } = registration.state() else { panic!("{:?}", registration.state()) };
    assert_eq!((reason, &*message), (Reason::ServerUnavailable, "list v1 ConfigMap: HTTP 500: says the server"));
    assert!(!registration.settled());
    fake.lists([list("10", &[])]);
    registration.settle().await;
    assert_eq!(registration.state(), InformerState::Synced);
    assert_eq!(failures.lines(), vec!["ServerUnavailable"; 12]);
    assert_eq!(informers.snapshot()[0].last_error.as_deref(), Some("list v1 ConfigMap: HTTP 500: says the server"));
}

/// A server that does not answer is given up on and asked again.
#[tokio::test(start_paused = true)]
async fn cr22_a_list_without_an_answer_ends() {
    let fake = Fake::new();
    fake.lists([Reply::Hang, list("10", &[])]);
    let informers = fake.informers_with(Options { response_timeout: Duration::from_secs(7), ..by_lists() });
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    assert_eq!(informers.snapshot()[0].last_error.as_deref(), Some("list v1 ConfigMap: no answer within 7 s"));
}

/// A relist announces differences only: what is missing is gone, with its last known
/// state; another uid is one change.
#[tokio::test(start_paused = true)]
async fn a_relist_finds_what_was_missed() {
    let fake = Fake::new();
    fake.lists([
        list("10", &[object("gone", "1"), object("changed", "2"), object("same", "3"), object_uid("other", "u1", "4")]),
        list("20", &[object("changed", "12"), object("same", "3"), object_uid("other", "u2", "14"), object("new", "15")]),
    ]);
    fake.watches([status(410, "Expired")]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    registration.settle().await;
    recorder.take(5).await;
    let kept = registration.view().get(&ObjectKey::new("a", "same")).unwrap();
    fake.wait("watch=1", 2).await;
    assert_eq!(
        recorder.lines(),
        ["Relist update a/changed 2 12", "Relist replace a/other u1:4 u2:14", "Relist add a/new 15", "Relist delete a/gone 1 1 unknown"]
    );
    let same = registration.view().get(&ObjectKey::new("a", "same")).unwrap();
    assert!(Arc::ptr_eq(&kept, &same), "an unchanged object is kept, not copied");
    assert_eq!((registration.view().len(), informers.snapshot()[0].relists), (4, 1));
}
