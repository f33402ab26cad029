//! Watches: what they apply, how they end, and what is asked after that.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wharf_cache::{InformerState, Informers, Options, Registration};
use wharf_core::{ObjectKey, Reason};

use crate::fake::{Fake, Feed, Reply, by_lists, config_maps, list, object, object_uid, status, status_object};
use crate::recorder::Recorder;

/// An informer with object `x` at version 5, in a watch from version 10.
struct Watching {
    fake: Fake,
    feed: Feed,
    recorder: Arc<Recorder>,
    informers: Informers,
    registration: Registration,
}

async fn watching() -> Watching {
    watching_with(by_lists()).await
}

async fn watching_with(options: Options) -> Watching {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "5")])]);
    let feed = fake.open_watch();
    let recorder = Recorder::new();
    let informers = fake.informers_with(options);
    let registration = informers.attach(config_maps(), recorder.clone());
    recorder.take(2).await;
    fake.wait("watch=1", 1).await;
    Watching { fake, feed, recorder, informers, registration }
}

/// What a watch reports is in the store and announced; a deletion carries its last state.
#[tokio::test(start_paused = true)]
async fn cr7_events_are_applied() {
    let w = watching().await;
    w.feed.event("ADDED", &object("y", "11")).await;
    w.feed.event("MODIFIED", &object("y", "12")).await;
    w.feed.event("DELETED", &object("y", "13")).await;
    w.feed.event("DELETED", &object("never-seen", "14")).await;
    w.feed.event("MODIFIED", &object_uid("x", "another", "15")).await;
    w.feed.event("ADDED", &object_uid("x", "another", "15")).await;
    w.feed.event("DELETED", &object_uid("x", "a-third", "16")).await;
    let want = [
        "Watch add a/y 11",
        "Watch update a/y 11 12",
        "Watch delete a/y 12 13 known",
        "Watch replace a/x x:5 another:15",
        "Watch delete a/x 15 15 unknown",
    ];
    assert_eq!(w.recorder.take(want.len()).await, want);
    assert!(w.registration.view().is_empty());
    assert_eq!((w.informers.snapshot()[0].bytes, &*w.registration.view().resource_version()), (0, "16"));
}

/// R6, R11: a watch that the server closes goes on at once from the last version, which a
/// bookmark moves too.
#[tokio::test(start_paused = true)]
async fn cr7_a_closed_watch_goes_on_at_once() {
    let w = watching().await;
    w.feed.event("BOOKMARK", r#"{"kind":"ConfigMap","metadata":{"resourceVersion":"30"}}"#).await;
    let before = Instant::now();
    drop(w.feed);
    let watches = w.fake.wait("watch=1", 2).await;
    assert!(watches[1].uri.contains("resourceVersion=30&"), "{watches:?}");
    assert_eq!((watches[1].at - before, w.fake.list_queries().len()), (Duration::ZERO, 1));
    assert_eq!(w.registration.state(), InformerState::Synced);
}

/// A broken connection is no more than that.
#[tokio::test(start_paused = true)]
async fn cr7_a_broken_watch_goes_on_at_once() {
    let w = watching().await;
    w.feed.event("MODIFIED", &object("x", "11")).await;
    w.feed.raw(r#"{"type":"MODIFIED","object":{"apiVersion":"v1","ki"#).await;
    w.feed.cut().await;
    let watches = w.fake.wait("watch=1", 2).await;
    assert!(watches[1].uri.contains("resourceVersion=11&"), "{watches:?}");
    assert_eq!(w.fake.list_queries().len(), 1);
}

/// Lines come in any chunks; the last one may lack its newline, or be cut off.
#[tokio::test(start_paused = true)]
async fn chunks_and_last_lines() {
    let w = watching().await;
    let text = format!("{{\"type\":\"ADDED\",\"object\":{}}}\n\n", object("y", "11"));
    let (first, rest) = text.split_at(40);
    w.feed.raw(first).await;
    w.feed.raw(&format!("{rest}{{\"type\":\"ADDED\",\"object\":{}}}", object("z", "12"))).await;
    let second = w.fake.open_watch();
    drop(w.feed);
    assert_eq!(w.recorder.take(2).await, ["Watch add a/y 11", "Watch add a/z 12"]);
    w.fake.wait("watch=1", 2).await;
    second.event("DELETED", &object("y", "13")).await;
    second.raw(r#"{"type":"ADDED","object":{"apiVer"#).await;
    drop(second);
    let watches = w.fake.wait("watch=1", 3).await;
    assert!(watches[2].uri.contains("resourceVersion=13&"), "{watches:?}");
    assert_eq!(w.fake.list_queries().len(), 1);
}

/// What is unknown is noted and ignored; it moves no version.
#[tokio::test(start_paused = true)]
async fn cr8_foreign_events_are_ignored() {
    let w = watching().await;
    w.feed.event("ADDED", &object("y", "11")).await;
    w.feed.event("WHATEVER", r#"{"metadata":{"resourceVersion":"12"}}"#).await;
    w.feed.event("ADDED", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","resourceVersion":"13"}}"#).await;
    drop(w.feed);
    let watches = w.fake.wait("watch=1", 2).await;
    assert!(watches[1].uri.contains("resourceVersion=11&"), "{watches:?}");
    assert_eq!(w.recorder.lines(), ["Watch add a/y 11"]);
    let error = w.informers.snapshot()[0].last_error.clone().unwrap();
    assert!(error.contains("another kind: v1 Pod"), "{error}");
}

/// 410 leads to a list wherever it appears.
#[tokio::test(start_paused = true)]
async fn cr24_a_410_is_followed_by_a_list() {
    let w = watching().await;
    w.fake.lists([list("20", &[]), list("30", &[])]).watches([status(410, "Expired")]);
    w.feed.event("ERROR", &status_object(410, "Expired")).await;
    w.fake.wait("watch=1", 3).await;
    assert_eq!(w.fake.list_queries()[1..], ["resourceVersion=10", "resourceVersion=20"]);
    assert_eq!(w.recorder.lines(), ["Relist delete a/x 5 5 unknown"]);
    assert_eq!(w.registration.state(), InformerState::Synced);
}

/// A server that is busy is asked again later for the same watch.
#[tokio::test(start_paused = true)]
async fn cr12_too_many_requests_lead_to_no_list() {
    let w = watching().await;
    w.fake.watches((0..3).map(|_| status(429, "TooManyRequests")));
    w.feed.event("ERROR", &status_object(429, "TooManyRequests")).await;
    let watches = w.fake.wait("watch=1", 5).await;
    assert!(watches.iter().all(|watch| watch.uri.contains("resourceVersion=10&")), "{watches:?}");
    assert!(watches.windows(2).all(|pair| pair[1].at - pair[0].at >= Duration::from_millis(800)), "{watches:?}");
    assert_eq!(w.fake.list_queries().len(), 1);
}

/// A server that is away is no reason to list when it comes back.
#[tokio::test(start_paused = true)]
async fn cr12_a_refused_connection_leads_to_no_list() {
    let w = watching().await;
    w.fake.watches((0..6).map(|_| Reply::Refuse));
    let back = w.fake.open_watch();
    w.feed.event("MODIFIED", &object("x", "11")).await;
    drop(w.feed);
    w.fake.wait("watch=1", 4).await;
    assert!(matches!(w.registration.state(), InformerState::Failing { reason: Reason::ServerUnavailable, .. }));
    w.fake.wait("watch=1", 8).await;
    back.event("MODIFIED", &object("x", "12")).await;
    assert_eq!(w.recorder.take(2).await, ["Watch update a/x 5 11", "Watch update a/x 11 12"]);
    assert_eq!((w.registration.state(), w.fake.list_queries().len()), (InformerState::Synced, 1));
}

/// An event that cannot be read leads to a list, so nothing stays stale.
#[tokio::test(start_paused = true)]
async fn cr25_an_unreadable_event_is_followed_by_a_list() {
    for line in [r#"{"type":"MODIFIED","object":{"metadata":5}}"#, "}{", r#"{"type":"BOOKMARK","object":{}}"#] {
        let w = watching().await;
        w.fake.lists([list("20", &[object("x", "15")])]);
        w.feed.raw(&format!("{line}\n")).await;
        w.fake.wait("watch=1", 2).await;
        assert_eq!(w.recorder.lines(), ["Relist update a/x 5 15"], "{line}");
        assert_eq!(w.fake.list_queries()[1..], ["resourceVersion=10"], "{line}");
        w.feed.closed().await;
    }
}

/// A line without an end is not collected for ever.
#[tokio::test(start_paused = true)]
async fn an_endless_line_is_followed_by_a_list() {
    let w = watching_with(Options { max_object_bytes: 200, ..by_lists() }).await;
    w.fake.lists([list("20", &[])]);
    w.feed.raw(&"x".repeat(201)).await;
    w.fake.wait("watch=1", 2).await;
    let error = w.informers.snapshot()[0].last_error.clone().unwrap();
    assert_eq!(&*error, "watch v1 ConfigMap: an event of the watch has more than 200 bytes");
}

/// An object that the server cannot read any more is deleted the hard way.
#[tokio::test(start_paused = true)]
async fn cr18_an_internal_error_is_followed_by_a_list() {
    let w = watching().await;
    w.fake.lists([list("20", &[])]);
    w.feed.event("ERROR", &status_object(500, "InternalError")).await;
    assert_eq!(w.recorder.take(1).await, ["Relist delete a/x 5 5 unknown"]);
    assert!(w.registration.view().get(&ObjectKey::new("a", "x")).is_none());
}

/// Also CR15: a silent watch is replaced once its time is over, without a list.
#[tokio::test(start_paused = true)]
async fn cr22_a_silent_watch_is_replaced() {
    let w = watching_with(Options { watch_timeout: Duration::from_secs(60), ..by_lists() }).await;
    let watches = w.fake.wait("watch=1", 2).await;
    w.feed.closed().await;
    let (_, seconds) = watches[0].uri.rsplit_once("timeoutSeconds=").unwrap();
    let seconds: u64 = seconds.parse().unwrap();
    assert!((60..120).contains(&seconds), "{seconds}");
    let lasted = (watches[1].at - watches[0].at).as_secs();
    assert!((seconds + 15..=seconds + 16).contains(&lasted), "{lasted} of {seconds}");
    assert!(watches[1].uri.contains("resourceVersion=10&"));
    assert_eq!(w.fake.list_queries().len(), 1);
}

/// A connection on which nothing comes any more is not waited for to the end of its watch, if the
/// server has shown that it sends bookmarks.
#[tokio::test(start_paused = true)]
async fn cr22_a_watch_without_further_bookmarks_is_replaced() {
    let w = watching_with(Options { watch_timeout: Duration::from_secs(600), ..by_lists() }).await;
    for version in ["11", "12"] {
        tokio::time::sleep(Duration::from_secs(60)).await;
        w.feed.event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#)).await;
    }
    let watches = w.fake.wait("watch=1", 2).await;
    w.feed.closed().await;
    assert_eq!((watches[1].at - watches[0].at).as_secs(), 60 + 60 + 150);
    assert!(watches[1].uri.contains("resourceVersion=12&"));
    assert_eq!(w.fake.list_queries().len(), 1);
}

/// The bookmark with which a server ends a watch is no promise of others.
#[tokio::test(start_paused = true)]
async fn cr22_a_last_bookmark_promises_nothing() {
    let w = watching_with(Options { watch_timeout: Duration::from_secs(160), ..by_lists() }).await;
    let watch = w.fake.wait("watch=1", 1).await.remove(0);
    let (_, seconds) = watch.uri.rsplit_once("timeoutSeconds=").unwrap();
    let seconds: u64 = seconds.parse().unwrap();
    tokio::time::sleep(Duration::from_secs(seconds - 2)).await;
    w.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"11"}}"#).await;
    let watches = w.fake.wait("watch=1", 2).await;
    assert!((seconds + 15..=seconds + 16).contains(&(watches[1].at - watches[0].at).as_secs()), "{watches:?}");
}

/// Also CR10: watches that are closed at once do not make a storm.
#[tokio::test(start_paused = true)]
async fn cr28_watches_that_end_at_once_are_not_repeated_at_once() {
    let fake = Fake::new();
    fake.lists_then(|| list("10", &[])).watches_then(|| Reply::Json(200, String::new()));
    let informers = fake.informers();
    let _registration = informers.attach(config_maps(), Recorder::new());
    let start = fake.wait("watch=1", 1).await[0].at;
    let watches = fake.wait("watch=1", 8).await;
    let first_second = watches.iter().filter(|watch| watch.at - start < Duration::from_secs(1)).count();
    assert!(first_second <= 2, "{watches:?}");
    assert!(watches[7].at - start > Duration::from_secs(45), "{watches:?}");
}

/// Nothing compressed is asked for, and what comes so is refused.
#[tokio::test(start_paused = true)]
async fn cr27_a_compressed_answer_is_refused() {
    let w = watching().await;
    w.fake.lists([Reply::Encoded("gzip"), list("20", &[])]).watches([Reply::Encoded("gzip")]);
    w.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"11"}}"#).await;
    drop(w.feed);
    w.fake.wait("watch=1", 3).await;
    let error = w.informers.snapshot()[0].last_error.clone().unwrap();
    assert_eq!(&*error, "list v1 ConfigMap: the answer is compressed (\"gzip\"), which was not asked for");
    assert!(w.fake.asked("/configmaps").iter().all(|asked| asked.encoding.as_deref() == Some("identity")));
}

/// managedFields never enter the store.
#[tokio::test(start_paused = true)]
async fn cr19_managed_fields_are_cut() {
    let w = watching().await;
    let fields = r#""managedFields":[{"manager":"kubectl"}],"namespace":"a""#;
    w.feed.event("ADDED", &object("y", "11").replace(r#""namespace":"a""#, fields)).await;
    w.recorder.take(1).await;
    assert_eq!(w.registration.view().get(&ObjectKey::new("a", "y")).unwrap().json(), object("y", "11"));
}

/// The server goes back in time: what it says is not applied, and everything is listed.
#[tokio::test(start_paused = true)]
async fn a_version_that_goes_back_is_followed_by_a_list() {
    let w = watching().await;
    w.fake.lists([list("30", &[object("x", "25")])]);
    w.feed.event("MODIFIED", &object("x", "20")).await;
    w.feed.event("MODIFIED", &object("x", "15")).await;
    w.fake.wait("watch=1", 2).await;
    assert_eq!(w.recorder.lines(), ["Watch update a/x 5 20", "Relist update a/x 20 25"]);
    assert_eq!(w.fake.list_queries()[1..], ["resourceVersion=20"]);
    assert_eq!(w.informers.snapshot()[0].last_error.as_deref(), Some("the watch went back from version 20 to 15"));
}

/// The store's version after a list, an event, a bookmark, a break and a relist.
#[tokio::test(start_paused = true)]
async fn cf19_the_version_of_the_store() {
    let w = watching().await;
    let version = || w.registration.view().resource_version();
    assert_eq!(&*version(), "10");
    w.feed.event("MODIFIED", &object("x", "11")).await;
    w.recorder.take(1).await;
    assert_eq!(&*version(), "11");
    w.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"12"}}"#).await;
    let next = w.fake.open_watch();
    drop(w.feed);
    w.fake.wait("watch=1", 2).await;
    assert_eq!(&*version(), "12");
    w.fake.lists([list("20", &[])]);
    next.event("ERROR", &status_object(410, "Expired")).await;
    w.fake.wait("watch=1", 3).await;
    assert_eq!(&*version(), "20");
}

/// CR10: a watch that is over before it began is an error: it is said, and followed by a list
/// after a wait.
#[tokio::test(start_paused = true)]
async fn cr10_a_watch_that_is_closed_at_once_is_an_error() {
    let fake = Fake::new();
    fake.lists([list("10", &[]), list("20", &[])]).watches([Reply::Json(200, String::new())]);
    let informers = fake.informers();
    let registration = informers.attach(config_maps(), Recorder::new());
    let first = fake.wait("watch=1", 1).await[0].at;
    let second = fake.wait("watch=1", 2).await[1].at;
    assert!(second - first >= Duration::from_millis(800), "{:?}", second - first);
    assert_eq!(fake.list_queries().len(), 2);
    let error = informers.snapshot()[0].last_error.clone().unwrap();
    assert!(error.contains("ended the watch at once"), "{error}");
    assert!(registration.has_synced());
}
