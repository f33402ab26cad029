//! The state that a watch shows at its beginning: what is asked, what the store holds
//! meanwhile, and what happens when the server cannot do it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_cache::{InformerState, Informers, Options, Registration};
use wharf_core::Reason;

use crate::fake::{Fake, Feed, Reply, by_lists, config_maps, list, object, status, status_object};
use crate::recorder::{Failures, Recorder};

const FIRST: &str = "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

/// The query of a watch-list that is not older than a version.
fn not_older_than(rv: &str) -> String {
    format!("{FIRST}&resourceVersion={rv}")
}

/// The query of a plain watch.
fn after(rv: &str) -> String {
    format!("allowWatchBookmarks=true&resourceVersion={rv}")
}

/// An informer in its first watch.
struct Beginning {
    fake: Fake,
    feed: Feed,
    recorder: Arc<Recorder>,
    failures: Arc<Failures>,
    informers: Informers,
    registration: Registration,
}

fn beginning() -> Beginning {
    beginning_with(Options::default())
}

fn beginning_with(options: Options) -> Beginning {
    let fake = Fake::new();
    let feed = fake.open_watch();
    let (recorder, failures) = (Recorder::new(), Arc::new(Failures::default()));
    let informers = Informers::new(fake.client(), options, failures.clone());
    let registration = informers.attach(config_maps(), recorder.clone());
    Beginning { fake, feed, recorder, failures, informers, registration }
}

/// With objects `x` and `y`, at version 10, and a bookmark past it.
async fn watching() -> Beginning {
    let b = beginning();
    b.feed.event("ADDED", &object("x", "5")).await;
    b.feed.event("ADDED", &object("y", "3")).await;
    b.feed.initial_end("10").await;
    assert_eq!(b.recorder.take(3).await, ["InitialList add a/x 5", "InitialList add a/y 3", "synced"]);
    b
}

/// One watch, no list; the same stream goes on with changes.
#[tokio::test(start_paused = true)]
async fn cw1_the_bookmark_ends_what_exists() {
    let b = beginning();
    b.feed.event("ADDED", &object("x", "5")).await;
    b.recorder.take(1).await;
    assert_eq!((b.registration.state(), &*b.registration.view().resource_version()), (InformerState::Starting, ""));
    b.feed.initial_end("10").await;
    b.registration.settle().await;
    assert_eq!((b.registration.state(), &*b.registration.view().resource_version()), (InformerState::Synced, "10"));
    b.feed.event("MODIFIED", &object("x", "11")).await;
    assert_eq!(b.recorder.take(2).await, ["synced", "Watch update a/x 5 11"]);
    assert_eq!((b.fake.watch_queries(), b.fake.list_queries().len()), (vec![FIRST.to_owned()], 0));
    assert_eq!(b.fake.asked("watch=1")[0].encoding.as_deref(), Some("identity"));
    assert!(b.failures.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cw2_other_bookmarks_do_not() {
    let b = beginning();
    b.feed.event("ADDED", &object("x", "5")).await;
    b.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#).await;
    b.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"false"}}}"#).await;
    b.feed.event("ADDED", &object("y", "6")).await;
    assert_eq!(b.recorder.take(2).await.len(), 2);
    assert!(!b.registration.has_synced());
    assert_eq!(&*b.registration.view().resource_version(), "");
}

#[tokio::test(start_paused = true)]
async fn cw3_without_the_option_it_lists_and_watches() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let informers = fake.informers_with(by_lists());
    let _registration = informers.attach(config_maps(), Recorder::new());
    fake.wait("watch=1", 1).await;
    assert_eq!((fake.watch_queries(), fake.list_queries()), (vec![after("10")], vec!["limit=500&resourceVersion=0".to_owned()]));
}

/// A server that refuses is listed from at once; CW12: one that cannot do it at all is not
/// asked for it again.
#[tokio::test(start_paused = true)]
async fn cw4_any_other_error_falls_back_to_a_list_at_once() {
    for (refusal, again) in [
        (status(422, "Invalid"), after("30")),
        (status(400, "BadRequest"), after("30")),
        (status(500, "InternalError"), not_older_than("10")),
        (status(403, "Forbidden"), not_older_than("10")),
        (Reply::Json(200, String::new()), not_older_than("10")),
    ] {
        let fake = Fake::new();
        let start = Instant::now();
        fake.lists([list("10", &[object("x", "5")]), list("30", &[object("x", "5")])]).watches([refusal]);
        let feed = fake.open_watch();
        let informers = fake.informers_with(Options::default());
        let recorder = Recorder::new();
        let registration = informers.attach(config_maps(), recorder.clone());
        registration.settle().await;
        assert_eq!(
            (recorder.take(2).await, start.elapsed()),
            (vec!["InitialList add a/x 5".to_owned(), "synced".to_owned()], Duration::ZERO)
        );
        fake.wait("watch=1", 2).await;
        feed.event("ERROR", &status_object(410, "Expired")).await;
        let watches = fake.wait("watch=1", 3).await;
        assert_eq!(fake.watch_queries()[1..], [after("10"), again], "{watches:?}");
        assert_eq!(fake.list_queries()[0], "limit=500&resourceVersion=0");
    }
}

/// A kind that goes while the informer starts: the list says so, and discovery.
#[tokio::test(start_paused = true)]
async fn cw4_a_404_is_left_to_the_list() {
    let fake = Fake::new();
    fake.lists([status(404, "NotFound"), list("10", &[])]).watches([status(404, "NotFound"), status(404, "NotFound")]);
    let informers = fake.informers_with(Options::default());
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    assert_eq!((registration.state(), fake.list_queries().len()), (InformerState::Synced, 2));
}

/// Changes and deletions before the bookmark are applied in place.
#[tokio::test(start_paused = true)]
async fn cw5_changes_before_the_bookmark_are_applied() {
    let b = beginning();
    for (event, name, rv) in
        [("ADDED", "x", "5"), ("ADDED", "y", "3"), ("MODIFIED", "x", "11"), ("DELETED", "y", "12"), ("ADDED", "z", "4")]
    {
        b.feed.event(event, &object(name, rv)).await;
    }
    b.feed.initial_end("12").await;
    let want = [
        "InitialList add a/x 5",
        "InitialList add a/y 3",
        "InitialList update a/x 5 11",
        "Watch delete a/y 3 12 known",
        "InitialList add a/z 4",
        "synced",
    ];
    assert_eq!(b.recorder.take(want.len()).await, want);
    assert_eq!((b.registration.view().len(), &*b.registration.view().resource_version()), (2, "12"));
}

#[tokio::test(start_paused = true)]
async fn cw6_a_busy_server_is_asked_again_for_the_same() {
    let fake = Fake::new();
    fake.watches([status(429, "TooManyRequests"), status(429, "TooManyRequests")]);
    let feed = fake.open_watch();
    let failures = Arc::new(Failures::default());
    let informers = Informers::new(fake.client(), Options::default(), failures.clone());
    let registration = informers.attach(config_maps(), Recorder::new());
    let watches = fake.wait("watch=1", 3).await;
    assert!(matches!(registration.state(), InformerState::Failing { reason: Reason::ServerUnavailable, .. }));
    assert!(watches.windows(2).all(|pair| pair[1].at - pair[0].at >= Duration::from_millis(800)), "{watches:?}");
    feed.initial_end("10").await;
    registration.settle().await;
    assert_eq!(registration.state(), InformerState::Synced);
    assert_eq!((fake.watch_queries(), fake.list_queries().len()), (vec![FIRST.to_owned(); 3], 0));
    assert_eq!(failures.lines(), ["ServerUnavailable"; 2]);
}

/// What was shown stays in the store, but only a complete attempt says what is gone.
#[tokio::test(start_paused = true)]
async fn cw7_a_stream_that_ends_too_early_begins_anew() {
    let b = watching().await;
    let cut = b.fake.open_watch();
    let next = b.fake.open_watch();
    b.feed.event("ERROR", &status_object(410, "Expired")).await;
    cut.event("ADDED", &object("x", "15")).await;
    assert_eq!(b.recorder.take(1).await, ["Relist update a/x 5 15"]);
    drop(cut);
    b.fake.wait("watch=1", 3).await;
    assert_eq!(b.registration.view().len(), 2);
    next.event("ADDED", &object("z", "16")).await;
    next.initial_end("20").await;
    assert_eq!(b.recorder.take(3).await, ["Relist add a/z 16", "Relist delete a/x 15 15 unknown", "Relist delete a/y 3 3 unknown"]);
    assert_eq!(b.fake.watch_queries(), [FIRST.to_owned(), not_older_than("10"), not_older_than("10")]);
    assert_eq!(b.fake.list_queries().len(), 0);
    assert_eq!(b.failures.lines(), ["WatchExpired", "ServerUnavailable"]);
}

#[tokio::test(start_paused = true)]
async fn cw8_a_watch_that_was_complete_goes_on_from_its_version() {
    let b = watching().await;
    b.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"30"}}"#).await;
    drop(b.feed);
    b.fake.wait("watch=1", 2).await;
    assert_eq!((b.fake.watch_queries()[1].clone(), b.fake.list_queries().len()), (after("30"), 0));
    assert_eq!(b.registration.state(), InformerState::Synced);
}

/// Only what differs is announced; who was not shown is gone.
#[tokio::test(start_paused = true)]
async fn cw9_a_410_is_followed_by_a_watch_not_older_than_the_last_version() {
    let b = watching().await;
    b.feed.event("MODIFIED", &object("x", "15")).await;
    b.recorder.take(1).await;
    let next = b.fake.open_watch();
    b.feed.event("ERROR", &status_object(410, "Expired")).await;
    next.event("ADDED", &object("x", "15")).await;
    next.initial_end("20").await;
    assert_eq!(b.recorder.take(1).await, ["Relist delete a/y 3 3 unknown"]);
    assert_eq!((b.fake.watch_queries()[1].clone(), b.fake.list_queries().len()), (not_older_than("15"), 0));
    assert_eq!((b.informers.snapshot()[0].relists, b.failures.lines()), (1, vec!["WatchExpired".to_owned()]));
}

/// A version that the server does not have is given up for one attempt.
#[tokio::test(start_paused = true)]
async fn cw10_the_version_that_is_asked_for() {
    let too_large = r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    let b = watching().await;
    b.fake.watches([Reply::Json(504, too_large.into())]);
    let next = b.fake.open_watch();
    let last = b.fake.open_watch();
    b.feed.event("ERROR", &status_object(410, "Expired")).await;
    b.fake.wait("watch=1", 3).await;
    next.initial_end("4").await;
    next.event("ERROR", &status_object(410, "Expired")).await;
    b.fake.wait("watch=1", 4).await;
    assert_eq!(b.fake.watch_queries(), [FIRST.to_owned(), not_older_than("10"), FIRST.to_owned(), not_older_than("4")]);
    drop(last);
}

/// Every ten seconds, and not after; a server that shows nothing more is listed from.
#[tokio::test(start_paused = true)]
async fn cw11_a_late_bookmark_is_said_to_be() {
    let b = beginning();
    b.feed.event("ADDED", &object("x", "5")).await;
    sleep(Duration::from_secs(35)).await;
    assert_eq!(b.failures.lines(), ["late 10", "late 20", "late 30"]);
    b.feed.initial_end("10").await;
    sleep(Duration::from_secs(100)).await;
    assert_eq!((b.failures.lines().len(), b.registration.state()), (3, InformerState::Synced));

    let silent = beginning();
    silent.fake.lists([list("10", &[object("x", "5")])]);
    silent.feed.event("ADDED", &object("x", "5")).await;
    for _ in 0..7 {
        sleep(Duration::from_secs(10)).await;
        silent.feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#).await;
    }
    silent.registration.settle().await;
    silent.fake.wait("watch=1", 2).await;
    assert_eq!((silent.fake.list_queries().len(), silent.fake.watch_queries()[1].clone()), (1, after("10")));
    silent.feed.closed().await;
    assert_eq!(silent.failures.lines().last().unwrap(), "ServerUnavailable");
}

/// What cannot be read is left to the list; what is of another kind is ignored.
#[tokio::test(start_paused = true)]
async fn cr25_an_unreadable_event_before_the_bookmark_is_followed_by_a_list() {
    let b = beginning();
    b.fake.lists([list("10", &[object("y", "6")])]);
    b.feed.event("ADDED", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}"#).await;
    b.feed.event("ADDED", &object("x", "5")).await;
    b.feed.event("ADDED", r#"{"kind":"Table","metadata":{}}"#).await;
    let want = ["InitialList add a/x 5", "InitialList add a/y 6", "Relist delete a/x 5 5 unknown", "synced"];
    assert_eq!(b.recorder.take(4).await, want);
    assert_eq!(b.failures.lines(), ["Undecodable"]);
    let error = b.informers.snapshot()[0].last_error.clone().unwrap();
    assert_eq!(&*error, "watch v1 ConfigMap: cannot be read: the server sent a Table, not an object");
}

/// The comparison with a list tells what differs, and only that.
#[tokio::test(start_paused = true)]
async fn what_a_watch_has_shown_can_be_verified() {
    for (listed, want) in [
        (list("10", &[object("x", "5"), object("y", "3")]), &[][..]),
        (list("10", &[object("x", "6"), object("z", "3")]), &["differs 3"]),
        (status(410, "Expired"), &[]),
    ] {
        let b = beginning_with(Options { verify_watch_list: true, ..Options::default() });
        b.fake.lists([listed]);
        b.feed.event("ADDED", &object("x", "5")).await;
        b.feed.event("ADDED", &object("y", "3")).await;
        b.feed.initial_end("10").await;
        b.feed.event("MODIFIED", &object("x", "11")).await;
        assert_eq!(b.recorder.take(4).await[3], "Watch update a/x 5 11");
        assert_eq!(b.fake.list_queries(), ["resourceVersion=10&resourceVersionMatch=Exact"]);
        assert_eq!(b.failures.lines(), want);
    }
}
