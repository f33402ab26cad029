//! What no server should send: one clear reason each, another list with a wait, and nothing
//! that is stale or half.

use std::sync::Arc;

use wharf_cache::{InformerState, Informers, Options};
use wharf_core::{ObjectKey, Pointer};

use crate::fake::{Fake, Reply, by_lists, config_maps, list, object, page, status};
use crate::recorder::{Failures, Recorder};

fn body(text: impl Into<Vec<u8>>) -> Reply {
    Reply::Chunks(vec![text.into()])
}

/// A list that cannot be read changes nothing but the state, and is followed by another.
#[tokio::test(start_paused = true)]
async fn cr20_what_is_no_list_is_refused_with_a_reason() {
    let bare = r#"{"metadata":{"name":"p"}}"#;
    for (answer, want) in [
        (
            body(r#"{"kind":"Table","metadata":{"resourceVersion":"20"},"rows":[{"object":{}}]}"#),
            "the server answered with a Table, not with a list of objects",
        ),
        (
            body(r#"{"rows":[{"object":{}}],"kind":"Table","metadata":{"resourceVersion":"20"}}"#),
            "the server answered with a Table, not with a list of objects",
        ),
        (body("<html>"), "this is no list of objects in JSON: '<' where '{' should be"),
        (body(""), "the answer ends before the list does"),
        (body(r#"{"metadata":{"resourceVersion":"20"},"items":["#), "the answer ends before the list does"),
        (
            body(r#"{"kind":"Status","metadata":{},"status":"Success"}"#),
            "this is no list of objects: missing field `items` at line 1 column 50",
        ),
        (
            body(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[]}"#),
            "the server answered with a PodList",
        ),
        (
            body(format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"20"}},"items":[{bare}]}}"#)),
            "the server answered with a PodList",
        ),
        (
            body(r#"{"apiVersion":"v2","kind":"ConfigMapList","metadata":{"resourceVersion":"20"},"items":[]}"#),
            "the server answered with a ConfigMapList of v2",
        ),
        (
            body(r#"{"metadata":{"resourceVersion":"20"},"items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}"#),
            "the list has an object of another kind: v1 Pod",
        ),
        (body(r#"{"metadata":{"resourceVersion":"20"},"items":[{"data":{}}]}"#), "no Kubernetes object: missing field `metadata`"),
        (
            body(b"{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[{\"metadata\":{\"name\":\"\xc3\"}}]}".to_vec()),
            "invalid utf-8 sequence of 1 bytes from index 21",
        ),
    ] {
        let fake = Fake::new();
        fake.lists([list("10", &[object("x", "5")]), answer, list("30", &[object("x", "25")])]);
        fake.watches([status(410, "Expired")]);
        let failures = Arc::new(Failures::default());
        let informers = Informers::new(fake.client(), by_lists(), failures.clone());
        let recorder = Recorder::new();
        let registration = informers.attach(config_maps(), recorder.clone());
        fake.wait("watch=1", 2).await;
        assert_eq!(recorder.lines(), ["InitialList add a/x 5", "synced", "Relist update a/x 5 25"], "{want}");
        assert_eq!(failures.lines(), ["WatchExpired", "Undecodable"], "{want}");
        let error = informers.snapshot()[0].last_error.clone().unwrap();
        assert_eq!(&*error, format!("list v1 ConfigMap: cannot be read: {want}"));
        assert_eq!(registration.state(), InformerState::Synced);
    }
}

/// A list of a user's kind comes with its own kind after its items.
#[tokio::test(start_paused = true)]
async fn members_of_a_list_come_in_any_order() {
    let fake = Fake::new();
    let text =
        format!(r#"{{"apiVersion":"v1","items":[{}],"kind":"ConfigMapList","metadata":{{"resourceVersion":"10"}}}}"#, object("x", "5"));
    fake.lists([Reply::Chunks(text.as_bytes().chunks(3).map(<[u8]>::to_vec).collect())]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    informers.attach(config_maps(), recorder.clone()).settle().await;
    assert_eq!(recorder.lines(), ["InitialList add a/x 5", "synced"]);
}

/// An object beyond the limit is an error before it is in memory; the page around it may be
/// of any size.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_too_large_is_refused() {
    let fake = Fake::new();
    let many: Vec<_> = (0..200).map(|n| object(&format!("o{n}"), "1")).collect();
    fake.lists([body(format!(r#"{{"metadata":{{}},"items":[{{"a":"{}"#, "x".repeat(500))), list("11", &many)]);
    let informers = fake.informers_with(Options { max_object_bytes: 500, ..by_lists() });
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    assert_eq!(registration.view().len(), 200);
    let want = "list v1 ConfigMap: cannot be read: an object in the list has more than 500 bytes";
    assert_eq!(informers.snapshot()[0].last_error.as_deref(), Some(want));
}

/// A list that breaks off after its first page removes nothing.
#[tokio::test(start_paused = true)]
async fn cr6_half_a_list_removes_nothing() {
    let fake = Fake::new();
    let both = [object("x", "1"), object("y", "2")];
    fake.lists([list("10", &both), page("20", "t", &both[..1]), status(500, "InternalError"), list("21", &both)]);
    fake.watches([status(410, "Expired")]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let _registration = informers.attach(config_maps(), recorder.clone());
    fake.wait("watch=1", 2).await;
    assert_eq!(recorder.lines(), ["InitialList add a/x 1", "InitialList add a/y 2", "synced"]);
}

/// What the options name is in no store, from whichever answer it came.
#[tokio::test(start_paused = true)]
async fn cr19_omitted_members_are_cut_once_in_lists_and_watches() {
    let with = |name: &str, rv: &str| object(name, rv).replace(r#""namespace":"a""#, r#""namespace":"a","annotations":{"big":"x"}"#);
    for watch_list in [true, false] {
        let fake = Fake::new();
        fake.lists([list("10", &[with("x", "5")])]);
        let feed = fake.open_watch();
        let omit = vec![Pointer::parse("/metadata/annotations").unwrap()];
        let informers = fake.informers_with(Options { omit, watch_list, ..Options::default() });
        let recorder = Recorder::new();
        let registration = informers.attach(config_maps(), recorder.clone());
        if watch_list {
            feed.event("ADDED", &with("x", "5")).await;
            feed.initial_end("10").await;
        }
        feed.event("ADDED", &with("y", "11")).await;
        recorder.take(3).await;
        for (name, rv) in [("x", "5"), ("y", "11")] {
            assert_eq!(registration.view().get(&ObjectKey::new("a", name)).unwrap().json(), object(name, rv));
        }
        assert_eq!(informers.snapshot()[0].bytes, (object("x", "5").len() + object("y", "11").len()) as u64);
    }
}
