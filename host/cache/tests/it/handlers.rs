//! Handlers: who is told what when they come and go, and when informers start and stop.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use wharf_cache::{Change, ChangeHandler, InformerSpec, InformerState, Informers, Scope};

use crate::fake::{Fake, by_lists, config_maps, list, object, page, status};
use crate::recorder::{Figures, Recorder};

/// Two users, one list and one watch; the later one is told of what is there first.
#[tokio::test(start_paused = true)]
async fn ci10_a_late_handler_misses_nothing_and_hears_nothing_twice() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("y", "2"), object("x", "1")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (early, late) = (Recorder::new(), Recorder::new());
    let first = informers.attach(config_maps(), early.clone());
    feed.event("ADDED", &object("z", "11")).await;
    assert_eq!(early.take(4).await, ["InitialList add a/y 2", "InitialList add a/x 1", "synced", "Watch add a/z 11"]);
    let second = informers.clone().attach(config_maps(), late.clone());
    assert!(second.settled());
    assert_eq!(late.take(4).await, ["InitialList add a/x 1", "InitialList add a/y 2", "InitialList add a/z 11", "synced"]);
    feed.event("DELETED", &object("x", "12")).await;
    for recorder in [&early, &late] {
        assert_eq!(recorder.take(1).await, ["Watch delete a/x 1 12 known"]);
    }
    assert_eq!((first.view().len(), second.view().len()), (2, 2));
    assert_eq!((fake.asked("watch=1").len(), fake.list_queries().len()), (1, 1));
    assert_eq!((informers.snapshot().len(), informers.snapshot()[0].handlers), (1, 2));
}

/// A handler that comes in the middle of the first list is told of the first half, and
/// of the second as it comes.
#[tokio::test(start_paused = true)]
async fn ci4_a_handler_that_comes_during_the_first_list() {
    let fake = Fake::new();
    fake.lists([page("10", "t", &[object("x", "1")])]);
    let informers = fake.informers();
    let (early, late) = (Recorder::new(), Recorder::new());
    let _first = informers.attach(config_maps(), early.clone());
    fake.wait("continue=t", 1).await;
    let second = informers.attach(config_maps(), late.clone());
    assert_eq!((late.lines(), second.settled()), (vec!["InitialList add a/x 1".to_owned()], false));
}

/// Notes that it was told of a change, by its name.
struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>, watch::Sender<()>);

impl ChangeHandler for Named {
    fn on_change(&self, _: &Change<'_>) {
        self.1.lock().push(self.0);
        self.2.send_replace(());
    }
}

/// Who came first is told first, whichever part of an informer each sees.
#[tokio::test(start_paused = true)]
async fn those_who_came_first_are_told_first() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (told, news) = (Arc::new(Mutex::new(Vec::new())), watch::Sender::new(()));
    let mut registrations = Vec::new();
    for (name, scope) in [
        ("all", Scope::All),
        ("a", Scope::Namespace("a".into())),
        ("then all", Scope::All),
        ("b", Scope::Namespace("b".into())),
        ("then a", Scope::Namespace("a".into())),
        ("last", Scope::All),
    ] {
        let registration = informers.attach(InformerSpec { scope, ..config_maps() }, Arc::new(Named(name, told.clone(), news.clone())));
        registration.settle().await;
        registrations.push(registration);
    }
    assert_eq!((informers.snapshot().len(), informers.snapshot()[0].handlers), (1, 6));
    feed.event("ADDED", &object("x", "11")).await;
    news.subscribe().wait_for(|()| told.lock().len() == 5).await.unwrap();
    assert_eq!(*told.lock(), ["all", "a", "then all", "then a", "last"]);
}

/// While objects come and go, handlers are added: each one's picture is the store's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ci10_handlers_that_come_while_changes_flow_see_each_object_once() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let first = informers.attach(config_maps(), Recorder::new());
    first.settle().await;
    let sending = tokio::spawn(async move {
        for n in 0..200 {
            feed.event("ADDED", &object(&format!("o{n}"), &format!("{}", 100 + n))).await;
        }
        feed
    });
    let mut all = Vec::new();
    for _ in 0..50 {
        let recorder = Recorder::new();
        all.push((informers.attach(config_maps(), recorder.clone()), recorder));
        tokio::task::yield_now().await;
    }
    let _feed = sending.await.unwrap();
    for (_, recorder) in &all {
        let mut lines = recorder.take(201).await;
        lines.retain(|line| line != "synced");
        let mut names: Vec<_> = lines.iter().map(|line| line.split(' ').nth(2).unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((lines.len(), names.len()), (200, 200));
    }
}

/// A handler that has left is told nothing; the others are.
#[tokio::test(start_paused = true)]
async fn ci8_a_handler_leaves() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (gone, stays) = (Recorder::new(), Recorder::new());
    let registration = informers.attach(config_maps(), gone.clone());
    let other = informers.attach(config_maps(), stays.clone());
    registration.settle().await;
    drop(registration);
    feed.event("ADDED", &object("x", "11")).await;
    assert_eq!(stays.take(2).await, ["synced", "Watch add a/x 11"]);
    assert_eq!((gone.lines(), informers.snapshot()[0].handlers), (vec!["synced".to_owned()], 1));
    assert!(!feed.is_closed());
    drop(other);
}

/// The last one out closes the watch; who comes later starts anew.
#[tokio::test(start_paused = true)]
async fn i24_the_last_one_out_stops_the_watch() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")]), list("20", &[])]);
    let feed = fake.open_watch();
    let figures = Arc::new(Figures::default());
    let informers = Informers::new(fake.client(), by_lists(), figures.clone());
    let registration = informers.attach(config_maps(), Recorder::new());
    fake.wait("watch=1", 1).await;
    let store = registration.view();
    drop(registration);
    feed.closed().await;
    assert!(informers.snapshot().is_empty());
    assert_eq!(store.len(), 1);
    let bytes = object("x", "1").len();
    let size = format!("size 1 {bytes}");
    assert_eq!(figures.lines(), ["started v1 ConfigMap", &size, &size, "synced true", "stopped v1 ConfigMap"]);
    let again = informers.attach(config_maps(), Recorder::new());
    again.settle().await;
    assert_eq!(fake.list_queries(), ["limit=500&resourceVersion=0"; 2]);
    assert_eq!((again.view().len(), again.state()), (0, InformerState::Synced));
}

#[tokio::test(start_paused = true)]
async fn figures() {
    let fake = Fake::new();
    fake.lists([list("10", &[]), list("20", &[])]);
    let feed = fake.open_watch();
    let figures = Arc::new(Figures::default());
    let informers = Informers::new(fake.client(), by_lists(), figures.clone());
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    feed.event("MODIFIED", &object("x", "11")).await;
    feed.event("BOOKMARK", r#"{"metadata":{"resourceVersion":"12"}}"#).await;
    feed.event("NEW", "{}").await;
    feed.event("DELETED", &object("x", "13")).await;
    feed.raw("not json\n").await;
    fake.wait("watch=1", 2).await;
    let size = format!("size 1 {}", object("x", "11").len());
    assert_eq!(
        figures.lines(),
        [
            "started v1 ConfigMap",
            "size 0 0",
            "synced true",
            "MODIFIED",
            &size,
            "BOOKMARK",
            "UNKNOWN",
            "DELETED",
            "size 0 0",
            "synced false",
            "relist Undecodable",
            "size 0 0",
            "synced true"
        ]
    );
    let status = &informers.snapshot()[0];
    assert_eq!((status.objects, status.bytes, status.relists, &status.state), (0, 0, 1, &InformerState::Synced));
    assert!(status.last_event_age.is_some());
}

/// After the shutdown nothing is announced, and who waits is released.
#[tokio::test(start_paused = true)]
async fn ci9_shutdown_and_who_comes_after_it() {
    let fake = Fake::new();
    fake.lists_then(|| status(500, "InternalError"));
    let informers = fake.informers();
    let registration = informers.attach(config_maps(), Recorder::new());
    let ((), ()) = tokio::join!(registration.settle(), informers.shutdown());
    assert_eq!(registration.state(), InformerState::Stopped);
    let asked = fake.list_queries().len();
    let late = informers.attach(config_maps(), Recorder::new());
    let mut other = config_maps();
    other.label_selector = "a".into();
    let other = informers.attach(other, Recorder::new());
    for registration in [late, other] {
        registration.settle().await;
        assert_eq!((registration.state(), registration.has_synced()), (InformerState::Stopped, false));
    }
    informers.shutdown().await;
    assert_eq!(fake.list_queries().len(), asked);
}
