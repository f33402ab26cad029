//! Kinds that are not there, come and go; rights that are missing; discovery.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_cache::{DiscoveryError, InformerSpec, InformerState, Scope};
use wharf_core::{Gvk, Reason};

use crate::fake::{Fake, Reply, config_maps, kinds, list, object, status};
use crate::recorder::Recorder;

fn widgets() -> Gvk {
    Gvk::new("example.com", "v1", "Widget")
}

const SLEEPING: InformerState = InformerState::Sleeping { reason: Reason::KindNotFound };

/// Discovery that has widgets only while the switch is on.
fn switched(fake: &Fake) -> Arc<AtomicBool> {
    let there = Arc::new(AtomicBool::new(false));
    let switch = there.clone();
    fake.discovery_then(move || if switch.load(Ordering::SeqCst) { kinds(&["widgets/Widget"]) } else { status(404, "NotFound") });
    there
}

fn widget(name: &str, rv: &str) -> String {
    object(name, rv).replace(r#""v1","kind":"ConfigMap""#, r#""example.com/v1","kind":"Widget""#)
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_created_later_is_found_within_seconds() {
    let fake = Fake::new();
    let there = switched(&fake);
    fake.lists([list("10", &[widget("w", "5")])]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(InformerSpec::new(widgets(), Scope::All), recorder.clone());
    registration.settle().await;
    assert_eq!((registration.state(), registration.has_synced()), (SLEEPING, false));
    sleep(Duration::from_secs(300)).await;
    assert!(fake.asked("/apis/example.com/v1").len() < 40);
    assert!(recorder.lines().is_empty());
    there.store(true, Ordering::SeqCst);
    let created = Instant::now();
    assert_eq!(recorder.take(2).await, ["InitialList add a/w 5", "synced"]);
    assert!(created.elapsed() <= Duration::from_secs(10), "{:?}", created.elapsed());
    assert_eq!(fake.asked("/apis/example.com/v1/widgets?limit").len(), 1);
}

/// When a kind goes, its objects are gone too, once discovery confirms it; and it may come back.
#[tokio::test(start_paused = true)]
async fn a_kind_goes_and_comes_back() {
    let fake = Fake::new();
    let there = switched(&fake);
    there.store(true, Ordering::SeqCst);
    fake.lists([list("10", &[widget("w", "5")])]).lists_then(|| status(404, "NotFound"));
    let feed = fake.open_watch();
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(InformerSpec::new(widgets(), Scope::All), recorder.clone());
    assert_eq!(recorder.take(2).await, ["InitialList add a/w 5", "synced"]);
    fake.wait("watch=1", 1).await;
    there.store(false, Ordering::SeqCst);
    fake.watches([status(404, "NotFound")]);
    feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"11"}}"#).await;
    drop(feed);
    assert_eq!(recorder.take(1).await, ["Relist delete a/w 5 5 unknown"]);
    registration.settle().await;
    fake.lists([list("30", &[widget("w", "25")])]);
    there.store(true, Ordering::SeqCst);
    assert_eq!(recorder.take(1).await, ["Relist add a/w 25"]);
    fake.wait("watch=1", 3).await;
    assert_eq!((registration.state(), &*registration.view().resource_version()), (InformerState::Synced, "30"));
    let lists = fake.asked("widgets?limit=500&resourceVersion=0");
    assert_eq!(lists.len(), 2, "the way back begins like the first time: {lists:?}");
}

/// A 404 that discovery does not confirm removes nothing.
#[tokio::test(start_paused = true)]
async fn a_404_alone_removes_nothing() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "5")]), status(404, "NotFound"), list("20", &[object("x", "5")])]);
    fake.watches([status(404, "NotFound")]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    fake.wait("watch=1", 2).await;
    assert_eq!(recorder.lines(), ["InitialList add a/x 5", "synced"]);
    assert_eq!((registration.view().len(), fake.list_queries().len()), (1, 3));
}

/// Missing rights are one informer's business; what it has stays.
#[tokio::test(start_paused = true)]
async fn missing_rights_keep_the_store() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "5")])]);
    fake.watches([status(403, "Forbidden")]);
    fake.lists_then(|| status(403, "Forbidden"));
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    fake.wait("/configmaps", 6).await;
    assert_eq!((recorder.lines().len(), registration.view().len()), (2, 1));
    let InformerState::Failing { reason: Reason::Forbidden, message } = registration.state() else { panic!("{:?}", registration.state()) };
    assert_eq!(&*message, "list v1 ConfigMap: HTTP 403: says the server");
    let mut refused = config_maps();
    refused.scope = Scope::Namespace("b".into());
    let refused = informers.attach(refused, Recorder::new());
    refused.settle().await;
    assert!(matches!(refused.state(), InformerState::Failing { reason: Reason::Forbidden, .. }));
    assert!(!refused.has_synced());
    fake.lists_then(|| list("20", &[object("x", "5"), object("y", "15")]));
    assert_eq!(recorder.take(3).await[2..], ["Relist add a/y 15"]);
    let states: Vec<_> = informers.snapshot().into_iter().map(|status| status.spec.scope.to_string()).collect();
    assert_eq!(states, ["*", "b"]);
}

/// A selector that the server does not accept is known to be wrong.
#[tokio::test(start_paused = true)]
async fn a_refused_selector_settles() {
    let fake = Fake::new();
    fake.lists_then(|| status(400, "BadRequest"));
    let informers = fake.informers();
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    assert!(matches!(registration.state(), InformerState::Failing { reason: Reason::DocumentInvalid, .. }));
}

/// Discovery that does not answer says nothing about the kind.
#[tokio::test(start_paused = true)]
async fn discovery_without_an_answer_is_no_sleep() {
    let fake = Fake::new();
    fake.discovery_then(|| status(503, "ServiceUnavailable"));
    let informers = fake.informers();
    let registration = informers.attach(config_maps(), Recorder::new());
    fake.wait("/api/v1", 4).await;
    assert!(!registration.settled());
    assert!(matches!(registration.state(), InformerState::Failing { reason: Reason::ServerUnavailable, .. }));
}

/// One question for all kinds of a group and version, and one a second for what is missing.
#[tokio::test(start_paused = true)]
async fn discovery_asks_little() {
    let fake = Fake::new();
    let informers = fake.informers();
    let discovery = informers.discovery();
    let (pod, config_map, missing) = (Gvk::new("", "v1", "Pod"), config_maps().kind, Gvk::new("", "v1", "Missing"));
    let (a, b) = tokio::join!(discovery.resolve(&pod), discovery.resolve(&config_map));
    assert_eq!((&*a.unwrap().plural, &*b.unwrap().plural, fake.asked("/api/v1").len()), ("pods", "configmaps", 1));
    let not_found = Err(DiscoveryError::NotFound { kind: missing.clone() });
    assert_eq!(discovery.resolve(&missing).await, not_found);
    assert_eq!(fake.asked("/api/v1").len(), 1);
    sleep(Duration::from_secs(1)).await;
    for _ in 0..3 {
        assert_eq!(discovery.resolve(&missing).await, not_found);
        assert_eq!(fake.asked("/api/v1").len(), 2);
    }
    sleep(Duration::from_secs(1)).await;
    discovery.resolve(&pod).await.unwrap();
    assert_eq!(fake.asked("/api/v1").len(), 2);
    discovery.invalidate(&pod);
    discovery.resolve(&pod).await.unwrap();
    assert_eq!(fake.asked("/api/v1").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn discovery_failures() {
    let fake = Fake::new();
    let informers = fake.informers();
    let discovery = informers.discovery();
    for (reply, want) in [
        (status(403, "Forbidden") as Reply, Reason::Forbidden),
        (status(500, "InternalError"), Reason::ServerUnavailable),
        (Reply::Refuse, Reason::ServerUnavailable),
        (Reply::Json(200, "[]".into()), Reason::ServerUnavailable),
        (status(404, "NotFound"), Reason::KindNotFound),
    ] {
        let mut reply = Some(reply);
        fake.discovery_then(move || reply.take().unwrap_or(Reply::Hang));
        assert_eq!(discovery.resolve(&widgets()).await.unwrap_err().reason(), want);
        sleep(Duration::from_secs(1)).await;
    }
    let asked = fake.asked("").len();
    let crooked = Gvk::new("../../api", "v1", "Pod");
    assert_eq!(discovery.resolve(&crooked).await.unwrap_err().reason(), Reason::KindNotFound);
    assert_eq!(fake.asked("").len(), asked);
}
