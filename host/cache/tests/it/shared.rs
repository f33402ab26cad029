//! Shared informers as client-go's tests know them: races at the start, the shutdown, errors,
//! handlers that fail, and many informers side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;
use wharf_cache::{Change, ChangeHandler, Content, InformerSpec, InformerState, Informers, Registration, Scope};
use wharf_core::Gvk;

use crate::fake::{Fake, Reply, by_lists, config_maps, kinds, list, object, object_in, object_uid, status};
use crate::recorder::{Failures, Recorder};

/// CI4: who asks before there is anything is told the truth, and loses nothing.
#[tokio::test(start_paused = true)]
async fn ci4_has_synced_before_the_first_list() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    assert!(!registration.has_synced() && !registration.settled());
    assert_eq!(recorder.take(2).await, ["InitialList add a/x 1", "synced"]);
    assert!(registration.has_synced());
}

/// CC6: however many come at the same moment, a source is started once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cc6_attaching_at_once_starts_one_informer() {
    let fake = Fake::new();
    fake.lists_then(|| list("10", &[object("x", "1")]));
    let informers = fake.informers();
    let attached: Vec<_> = (0..20)
        .map(|_| {
            let informers = informers.clone();
            tokio::spawn(async move {
                let registration = informers.attach(config_maps(), Recorder::new());
                registration.settle().await;
                registration
            })
        })
        .collect();
    let mut registrations = Vec::new();
    for task in attached {
        registrations.push(task.await.unwrap());
    }
    assert!(registrations.iter().all(Registration::has_synced));
    assert_eq!((informers.snapshot().len(), fake.list_queries().len()), (1, 1));
}

/// CC3: a source that never answers keeps nobody else, and its state says so within the time that an
/// answer may take. It is never given up (controller-runtime's manager ends after two minutes).
#[tokio::test(start_paused = true)]
async fn cc3_a_source_that_never_answers_is_failing() {
    let fake = Fake::new();
    fake.lists_by(|uri| if uri.contains("/pods") { Reply::Hang } else { list("10", &[]) });
    let informers = fake.informers();
    let pods = informers.attach(InformerSpec::new(Gvk::new("", "v1", "Pod"), Scope::All), Recorder::new());
    let others = informers.attach(config_maps(), Recorder::new());
    timeout(Duration::from_secs(1), others.settle()).await.unwrap();
    assert!(others.has_synced() && !pods.settled());
    tokio::time::sleep(Duration::from_secs(80)).await;
    assert!(!pods.settled() && matches!(pods.state(), InformerState::Failing { .. }), "{:?}", pods.state());
}

/// CI6: each error is said once, to the metrics that the hub was made with; there is no way to
/// exchange them later.
#[tokio::test(start_paused = true)]
async fn ci6_each_error_is_said_once() {
    let fake = Fake::new();
    fake.lists([status(500, "InternalError"), status(403, "Forbidden"), list("10", &[])]);
    fake.watches([status(410, "Expired")]);
    fake.lists_then(|| list("20", &[]));
    let failures = Arc::new(Failures::default());
    let informers = Informers::new(fake.client(), by_lists(), failures.clone());
    let _registration = informers.attach(config_maps(), Recorder::new());
    fake.wait("watch=1", 2).await;
    assert_eq!(failures.lines(), ["ServerUnavailable", "Forbidden", "WatchExpired"]);
}

/// CI7: what is cut from objects is decided when one asks for them. Who asks for Secrets without
/// their data never shares a store with who asks for all of it.
#[tokio::test(start_paused = true)]
async fn ci7_redacted_and_full_secrets_are_two_informers() {
    let fake = Fake::new();
    fake.discovery_then(|| kinds(&["secrets/Secret"]));
    let secret = object("s", "5").replace("ConfigMap", "Secret").replace(r#""metadata""#, r#""data":{"key":"c2VjcmV0"},"metadata""#);
    let listed = secret.clone();
    fake.lists_then(move || list("10", std::slice::from_ref(&listed)));
    let informers = fake.informers();
    let full = InformerSpec::new(Gvk::new("", "v1", "Secret"), Scope::All);
    let redacted = InformerSpec { content: Content::Redacted, ..full.clone() };
    let (full, redacted) = (informers.attach(full, Recorder::new()), informers.attach(redacted, Recorder::new()));
    full.settle().await;
    redacted.settle().await;
    let json = |registration: &Registration| registration.view().list(None)[0].json().to_owned();
    assert_eq!(json(&full), secret);
    assert_eq!(json(&redacted), secret.replace("c2VjcmV0", ""));
    assert_eq!(informers.snapshot().len(), 2);
}

/// Who wants metadata alone asks the server for no more, for one object by its name, and shares no
/// store with who wants all.
#[tokio::test(start_paused = true)]
async fn metadata_alone_is_asked_for_as_such() {
    let fake = Fake::new();
    let meta = |rv: &str| object("x", rv).replace(r#""v1","kind":"ConfigMap""#, r#""meta.k8s.io/v1","kind":"PartialObjectMetadata""#);
    let items = meta("5");
    let listed = format!(
        r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"10"}},"items":[{items}]}}"#
    );
    fake.lists([Reply::Json(200, listed)]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let recorder = Recorder::new();
    let mut spec = InformerSpec { content: Content::Metadata, ..config_maps() };
    spec.field_selector = "metadata.name=x".into();
    let _registration = informers.attach(spec, recorder.clone());
    assert_eq!(recorder.take(2).await, ["InitialList add a/x 5", "synced"]);
    feed.event("MODIFIED", &meta("11")).await;
    assert_eq!(recorder.take(1).await, ["Watch update a/x 5 11"]);
    let asked = fake.asked("/configmaps?");
    let forms: Vec<&str> = asked.iter().filter_map(|asked| asked.accept.split(';').nth(1)).collect();
    assert_eq!(forms, ["as=PartialObjectMetadataList", "as=PartialObjectMetadata"]);
    assert!(asked.iter().all(|asked| asked.uri.contains("fieldSelector=metadata.name%3Dx")), "{asked:?}");
}

/// CI8: the same handler twice is two registrations, of which one may leave.
#[tokio::test(start_paused = true)]
async fn ci8_one_handler_attached_twice() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let recorder = Recorder::new();
    let first = informers.attach(config_maps(), recorder.clone());
    let second = informers.attach(config_maps(), recorder.clone());
    assert_eq!(recorder.take(2).await, ["synced", "synced"]);
    assert_eq!(informers.snapshot()[0].handlers, 2);
    feed.event("ADDED", &object("x", "11")).await;
    assert_eq!(recorder.take(2).await, ["Watch add a/x 11"; 2]);
    drop(first);
    feed.event("DELETED", &object("x", "12")).await;
    assert_eq!((recorder.take(1).await.len(), informers.snapshot()[0].handlers), (1, 1));
    assert!(recorder.lines().is_empty());
    drop(second);
}

/// CI9: to stopped informers nothing is lost by removing a handler, and adding one gives a
/// registration that says so (client-go returns an error).
#[tokio::test(start_paused = true)]
async fn ci9_add_and_remove_on_stopped_informers() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let informers = fake.informers();
    let registration = informers.attach(config_maps(), Recorder::new());
    registration.settle().await;
    informers.shutdown().await;
    assert_eq!((registration.state(), registration.view().len()), (InformerState::Stopped, 1));
    drop(registration);
    let late = informers.attach(config_maps(), Recorder::new());
    late.settle().await;
    assert_eq!((late.state(), late.has_synced()), (InformerState::Stopped, false));
    assert_eq!(late.remove_and_wait(), Ok(()));
}

/// Counts how many calls run.
#[derive(Default)]
struct Busy {
    running: AtomicUsize,
    most: AtomicUsize,
    calls: AtomicUsize,
}

impl ChangeHandler for Busy {
    fn on_change(&self, _: &Change<'_>) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// CI11, CI10: handlers are told one thing at a time, and after the shutdown none runs and none
/// is called, while events still come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ci11_the_shutdown_leaves_no_handler_running() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let busy: Vec<Arc<Busy>> = (0..4).map(|_| Arc::default()).collect();
    let registrations: Vec<_> = busy.iter().map(|handler| informers.attach(config_maps(), handler.clone())).collect();
    registrations[0].settle().await;
    let sending = tokio::spawn(async move {
        let mut n = 0;
        while feed.try_event("ADDED", &object(&format!("o{}", n % 1000), &format!("{}", 100 + n))).await.is_ok() {
            n += 1;
        }
    });
    while busy[0].calls.load(Ordering::SeqCst) < 50 {
        tokio::task::yield_now().await;
    }
    informers.shutdown().await;
    let calls: Vec<_> = busy.iter().map(|handler| handler.calls.load(Ordering::SeqCst)).collect();
    sending.await.unwrap();
    for (handler, calls) in busy.iter().zip(calls) {
        assert_eq!((handler.running.load(Ordering::SeqCst), handler.most.load(Ordering::SeqCst)), (0, 1));
        assert_eq!(handler.calls.load(Ordering::SeqCst), calls);
    }
}

/// Panics at every other change.
#[derive(Default)]
struct Panics(AtomicUsize);

impl ChangeHandler for Panics {
    fn on_change(&self, change: &Change<'_>) {
        let calls = self.0.fetch_add(1, Ordering::SeqCst);
        assert!(calls % 2 == 1, "a defect at {}", change.key);
    }
}

/// CI12: a handler that panics misses what it was told; it stops neither the watch nor the others,
/// and goes on at once (client-go waits for a second, and never calls it synced).
#[tokio::test(start_paused = true)]
async fn ci12_a_handler_that_panics_stops_nobody() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (panics, stays) = (Arc::new(Panics::default()), Recorder::new());
    let first = informers.attach(config_maps(), panics.clone());
    let _second = informers.attach(config_maps(), stays.clone());
    first.settle().await;
    for rv in 11..16 {
        feed.event("MODIFIED", &object("x", &rv.to_string())).await;
    }
    let lines = stays.take(7).await;
    assert_eq!(
        lines[2..],
        ["Watch update a/x 1 11", "Watch update a/x 11 12", "Watch update a/x 12 13", "Watch update a/x 13 14", "Watch update a/x 14 15"]
    );
    assert_eq!((panics.0.load(Ordering::SeqCst), first.has_synced(), fake.list_queries().len()), (6, true, 1));
}

/// CI15: who waits for several is told which of them are late.
#[tokio::test(start_paused = true)]
async fn ci15_waiting_names_the_laggards() {
    let fake = Fake::new();
    fake.lists_by(|uri| if uri.contains("/pods") { status(500, "InternalError") } else { list("10", &[]) });
    let informers = fake.informers();
    let pods = InformerSpec::new(Gvk::new("", "v1", "Pod"), Scope::All);
    let all = [informers.attach(config_maps(), Recorder::new()), informers.attach(pods, Recorder::new())];
    let everything = async {
        for registration in &all {
            registration.settle().await;
        }
    };
    assert!(timeout(Duration::from_secs(60), everything).await.is_err(), "the wait can be given up");
    let late: Vec<_> = all.iter().filter(|r| !r.settled()).map(|r| r.spec().kind.to_string()).collect();
    assert_eq!(late, ["v1 Pod"]);
}

/// CI17: namespaces are isolated, informers that come late start, and the shutdown waits for all.
#[tokio::test(start_paused = true)]
async fn ci17_many_informers() {
    let fake = Fake::new();
    fake.lists_by(|uri| {
        let namespace = if uri.contains("/namespaces/a/") { "a" } else { "b" };
        list("10", &[object_in(namespace, "x", "x", "1")])
    });
    let informers = fake.informers();
    let attach = |namespace: &str| {
        let recorder = Recorder::new();
        let spec = InformerSpec { scope: Scope::Namespace(namespace.into()), ..config_maps() };
        (informers.attach(spec, recorder.clone()), recorder)
    };
    let (a, told_a) = attach("a");
    assert_eq!(told_a.take(2).await, ["InitialList add a/x 1", "synced"]);
    let (b, told_b) = attach("b");
    assert_eq!(told_b.take(2).await, ["InitialList add b/x 1", "synced"]);
    assert!(told_a.lines().is_empty());
    informers.shutdown().await;
    assert_eq!((a.state(), b.state()), (InformerState::Stopped, InformerState::Stopped));
}

/// CI18: equal specs are one informer, so no two have one name; a name is free again once the
/// informer is gone.
#[tokio::test(start_paused = true)]
async fn ci18_informers_have_names_of_their_own() {
    let fake = Fake::new();
    fake.lists_then(|| list("10", &[]));
    let informers = fake.informers();
    let names = || informers.snapshot().into_iter().map(|status| status.spec).collect::<Vec<_>>();
    let registrations: Vec<_> = (0..3).map(|_| informers.attach(config_maps(), Recorder::new())).collect();
    assert_eq!(names(), [config_maps()]);
    drop(registrations);
    assert!(names().is_empty());
    let _again = informers.attach(config_maps(), Recorder::new());
    assert_eq!(names(), [config_maps()]);
}

/// Writes down what the store holds at each call.
struct Witness {
    view: Mutex<Option<wharf_cache::View>>,
    seen: Mutex<Vec<String>>,
}

impl ChangeHandler for Witness {
    fn on_change(&self, change: &Change<'_>) {
        let Some(view) = self.view.lock().clone() else { return };
        let now = view.get(change.key).map(|object| object.resource_version().to_owned());
        assert_eq!(now.as_deref(), change.new.map(|new| new.resource_version()), "the store is ahead of its handlers");
        self.seen.lock().push(format!("{} {}", change.key, now.as_deref().unwrap_or("gone")));
    }
}

/// CF18: a relist is announced as it is read, in the list's order, and then what is gone; at each
/// call the store holds the new state of that key. client-go replaces the store first and begins
/// with what is gone, which takes a second copy of everything.
#[tokio::test(start_paused = true)]
async fn cf18_a_relist_is_announced_in_place() {
    let fake = Fake::new();
    fake.lists([
        list("10", &[object("gone", "1"), object("x", "2"), object("y", "3")]),
        list("20", &[object("z", "14"), object("y", "13"), object("x", "2")]),
    ]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let witness = Arc::new(Witness { view: Mutex::default(), seen: Mutex::default() });
    let registration = informers.attach(config_maps(), witness.clone());
    registration.settle().await;
    *witness.view.lock() = Some(registration.view());
    fake.wait("watch=1", 1).await;
    feed.raw("cut off}\n").await;
    fake.wait("watch=1", 2).await;
    assert_eq!(*witness.seen.lock(), ["a/z 14", "a/y 13", "a/gone gone"]);
}

/// Keeps what it is told as a picture, and checks each step against it.
#[derive(Default)]
struct Picture {
    objects: Mutex<BTreeMap<String, (String, String)>>,
    removed: Mutex<BTreeSet<String>>,
}

impl ChangeHandler for Picture {
    fn on_change(&self, change: &Change<'_>) {
        let mut objects = self.objects.lock();
        let state = |object: &wharf_core::Object| (object.uid().to_string(), object.resource_version().to_owned());
        let key = change.key.to_string();
        assert_eq!(objects.get(&key).cloned(), change.old.map(|old| state(old)), "the chain of {key} is unbroken");
        match change.new {
            Some(new) => drop(objects.insert(key, state(new))),
            None => {
                objects.remove(&key);
                let uid = change.old.unwrap().uid().to_string();
                assert!(self.removed.lock().insert(uid), "one removal for each uid");
            }
        }
    }
}

/// The last version, and by name uid and version.
type Source = (u64, BTreeMap<String, (String, u64)>);

/// CF21: many additions, changes, deletions and recreations, cuts in between: at the end every
/// handler's picture is the source's.
#[tokio::test(start_paused = true)]
async fn cf21_random_histories_end_in_the_sources_picture() {
    for seed in 0..20_u64 {
        let fake = Fake::new();
        let source: Arc<Mutex<Source>> = Arc::new(Mutex::new((10, BTreeMap::new())));
        let listed = source.clone();
        fake.lists_by(move |_| {
            let source = listed.lock();
            let objects: Vec<_> = source.1.iter().map(|(name, (uid, rv))| object_uid(name, uid, &rv.to_string())).collect();
            list(&source.0.to_string(), &objects)
        });
        let mut feed = fake.open_watch();
        let informers = fake.informers();
        let mut all: Vec<(Arc<Picture>, Registration)> = Vec::new();
        let attach = || {
            let picture = Arc::<Picture>::default();
            (picture.clone(), informers.attach(config_maps(), picture))
        };
        all.push(attach());
        fake.wait("watch=1", 1).await;
        let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let mut watches = 1;
        for _ in 0..200 {
            let (event, text) = {
                let mut source = source.lock();
                source.0 += 1;
                let (rv, name) = (source.0, format!("o{}", roll(8)));
                match (source.1.get(&name).cloned(), roll(3)) {
                    (None, _) => {
                        source.1.insert(name.clone(), (format!("u{rv}"), rv));
                        ("ADDED", object_uid(&name, &format!("u{rv}"), &rv.to_string()))
                    }
                    (Some((uid, _)), 0) => {
                        source.1.remove(&name);
                        ("DELETED", object_uid(&name, &uid, &rv.to_string()))
                    }
                    (Some((uid, _)), _) => {
                        source.1.insert(name.clone(), (uid.clone(), rv));
                        ("MODIFIED", object_uid(&name, &uid, &rv.to_string()))
                    }
                }
            };
            match roll(20) {
                // This change and perhaps some before are only found by a list.
                0 => {
                    let next = fake.open_watch();
                    feed.raw("cut off}\n").await;
                    feed = next;
                    watches += 1;
                    fake.wait("watch=1", watches).await;
                }
                1 => all.push(attach()),
                _ => feed.event(event, &text).await,
            }
            if roll(15) == 0 && all.len() > 1 {
                all.swap_remove(0);
            }
        }
        let next = fake.open_watch();
        feed.raw("cut off}\n").await;
        fake.wait("watch=1", watches + 1).await;
        let source = source.lock();
        let want: BTreeMap<_, _> = source.1.iter().map(|(name, (uid, rv))| (format!("a/{name}"), (uid.clone(), rv.to_string()))).collect();
        for (picture, _) in &all {
            assert_eq!(*picture.objects.lock(), want, "seed {seed}");
        }
        drop(next);
    }
}
