//! What all stores together may take: nothing is read that would not fit.

use std::time::Duration;

use tokio::time::sleep;
use wharf_cache::{InformerSpec, InformerState, Informers, Options, Registration, Scope};
use wharf_core::Reason;

use crate::fake::{Fake, Reply, by_lists, config_maps, list, object_in, page};
use crate::recorder::Recorder;

fn hub(fake: &Fake, max_bytes: u64) -> Informers {
    fake.informers_with(Options { max_bytes: Some(max_bytes), widen_after: 1, ..by_lists() })
}

fn namespace(name: &str) -> InformerSpec {
    InformerSpec { scope: Scope::Namespace(name.into()), ..config_maps() }
}

/// A list of so many objects, of which the first is shown and the others are said to follow.
fn sample(namespace: &str, remaining: u64) -> Reply {
    let Reply::Json(code, body) = page("10", "more", &[object_in(namespace, "x", "x", "5")]) else { panic!("a page is JSON") };
    let metadata = format!(r#""metadata":{{"remainingItemCount":{remaining},"#);
    Reply::Json(code, body.replacen(r#""metadata":{"#, &metadata, 1))
}

async fn refused(registration: &Registration) -> String {
    loop {
        if let InformerState::Failing { reason, message } = registration.state() {
            assert_eq!(reason, Reason::CacheBudgetExceeded, "{message}");
            return message.to_string();
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// A wish for too much is refused with its figures before anything of it is read, and what is small
/// beside it is not touched. As soon as there are fewer objects it begins by itself.
#[tokio::test(start_paused = true)]
async fn too_many_objects_are_not_listed() {
    let fake = Fake::new();
    fake.lists_by(|uri| match (uri.contains("/namespaces/small/"), uri.contains("limit=100")) {
        (true, _) => list("10", &[object_in("small", "x", "x", "5")]),
        (false, true) => sample("huge", 999_999),
        (false, false) => panic!("a list of everything: {uri}"),
    });
    let informers = hub(&fake, 10 << 20);
    let huge = informers.attach(namespace("huge"), Recorder::new());
    let message = refused(&huge).await;
    assert!(message.starts_with("list v1 ConfigMap in namespace huge: about 1000000 objects of about "), "{message}");
    assert!(message.ends_with("but of the 10Mi for all cached objects only 10Mi are free"), "{message}");
    assert!(!huge.settled(), "nothing is known of it");
    let recorder = Recorder::new();
    let small = informers.attach(namespace("small"), recorder.clone());
    assert_eq!(recorder.take(2).await, ["InitialList add small/x 5", "synced"]);
    assert_eq!(small.state(), InformerState::Synced);
    fake.lists_by(|_| list("20", &[object_in("huge", "x", "x", "15")]));
    huge.settle().await;
    assert_eq!(huge.state(), InformerState::Synced);
}

/// With a selector the server does not say how many there are: they are counted, and not to the end
/// if it is too much already.
#[tokio::test(start_paused = true)]
async fn selected_objects_are_counted() {
    let fake = Fake::new();
    let objects = |count: usize| (0..count).map(|n| object_in("a", &format!("n{n}"), "x", "5")).collect::<Vec<_>>();
    fake.lists_by(move |uri| match (uri.contains("limit=100"), uri.contains("few")) {
        (true, _) => page("10", "more", &objects(2)),
        (false, few) => list("10", &objects(if few { 3 } else { 50_000 })),
    });
    let informers = hub(&fake, 1 << 20);
    let many = informers.attach(InformerSpec { label_selector: "many".into(), ..config_maps() }, Recorder::new());
    let message = refused(&many).await;
    assert!(message.starts_with("list v1 ConfigMap: at least "), "{message}");
    let few = informers.attach(InformerSpec { label_selector: "few".into(), ..config_maps() }, Recorder::new());
    few.settle().await;
    assert_eq!(few.state(), InformerState::Synced);
    let counted: Vec<_> =
        fake.asked("labelSelector").into_iter().filter(|asked| asked.accept.contains("PartialObjectMetadataList")).collect();
    assert!(!counted.is_empty() && counted.iter().all(|asked| asked.uri.contains("resourceVersion=0")), "{counted:?}");
}

/// One object by its name fits always, and nobody is asked for it.
#[tokio::test(start_paused = true)]
async fn single_objects_cost_no_question() {
    let fake = Fake::new();
    fake.lists_by(|_| list("10", &[object_in("a", "x", "x", "5")]));
    let informers = hub(&fake, 1);
    let one = InformerSpec { field_selector: "metadata.name=x".into(), ..namespace("a") };
    let one = informers.attach(one, Recorder::new());
    one.settle().await;
    assert_eq!(one.state(), InformerState::Synced);
    assert!(fake.asked("limit=100").is_empty());
}

/// A watch of the whole cluster that has no room is no reason to refuse namespaces that have.
#[tokio::test(start_paused = true)]
async fn namespaces_go_on_where_the_cluster_has_no_room() {
    let fake = Fake::new();
    fake.lists_by(|uri| match ["a", "b"].iter().find(|name| uri.contains(&format!("/namespaces/{name}/"))) {
        Some(name) => list("10", &[object_in(name, "x", "x", "5")]),
        None if uri.contains("limit=100") => sample("a", 999_999),
        None => panic!("a list of everything: {uri}"),
    });
    let informers = hub(&fake, 1 << 20);
    let registrations: Vec<_> = ["a", "b"].iter().map(|name| informers.attach(namespace(name), Recorder::new())).collect();
    for registration in &registrations {
        registration.settle().await;
        assert_eq!(registration.state(), InformerState::Synced);
        assert_eq!(&registration.served_by(), registration.spec());
    }
    let wide = informers.snapshot().into_iter().find(|status| status.spec.scope == Scope::All);
    let error = wide.and_then(|status| status.last_error).unwrap_or_default();
    assert!(error.contains("would take"), "the cluster as a whole was thought of: {error}");
}
