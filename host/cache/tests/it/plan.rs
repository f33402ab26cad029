//! Which informer serves whom, and how that changes without a loss and without a repetition.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_cache::{InformerSpec, InformerState, Informers, Options, Registration, Scope};
use wharf_core::Reason;

use crate::fake::{Fake, Reply, by_lists, config_maps, list, object_in, page, status, status_object};
use crate::recorder::Recorder;

fn in_namespace(namespace: &str) -> InformerSpec {
    InformerSpec { scope: Scope::Namespace(namespace.into()), ..config_maps() }
}

/// A hub whose options name every list by LIST + WATCH and widen after two namespaces.
fn hub(fake: &Fake) -> Informers {
    fake.informers_with(Options { widen_after: 2, ..by_lists() })
}

fn scopes(informers: &Informers) -> Vec<String> {
    informers.snapshot().iter().map(|status| format!("{}:{}", status.spec.scope, status.handlers)).collect()
}

/// Waits until the informers are these; the hub's own task makes them so.
async fn until(informers: &Informers, want: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(600);
    while scopes(informers) != want {
        assert!(Instant::now() < deadline, "{:?} is not {want:?}", scopes(informers));
        sleep(Duration::from_millis(10)).await;
    }
}

fn server(fake: &Fake) {
    fake.lists_by(|uri| {
        let all = [("a", "x", "5"), ("b", "y", "6"), ("c", "z", "7")];
        let there =
            all.iter().filter(|(namespace, ..)| !uri.contains("/namespaces/") || uri.contains(&format!("/namespaces/{namespace}/")));
        let objects: Vec<_> = there.map(|(namespace, name, rv)| object_in(namespace, name, name, rv)).collect();
        list("10", &objects)
    });
}

struct Tenant {
    registration: Registration,
    recorder: Arc<Recorder>,
}

fn tenant(informers: &Informers, namespace: &str) -> Tenant {
    let recorder = Recorder::attentive();
    Tenant { registration: informers.attach(in_namespace(namespace), recorder.clone()), recorder }
}

/// Many namespaces are served by one watch; those that had informers of their own move there,
/// and are told nothing that they know.
#[tokio::test(start_paused = true)]
async fn many_namespaces_share_one_watch() {
    let fake = Fake::new();
    server(&fake);
    let informers = hub(&fake);
    let (a, b) = (tenant(&informers, "a"), tenant(&informers, "b"));
    assert_eq!(a.recorder.take(2).await, ["InitialList add a/x 5", "synced"]);
    assert_eq!(b.recorder.take(2).await, ["InitialList add b/y 6", "synced"]);
    until(&informers, &["a:1", "b:1"]).await;
    let feed = fake.open_watch();
    let c = tenant(&informers, "c");
    assert_eq!(c.recorder.take(2).await, ["InitialList add c/z 7", "synced"]);
    until(&informers, &["*:3"]).await;
    assert_eq!(c.registration.served_by(), config_maps());
    feed.event("MODIFIED", &object_in("a", "x", "x", "11")).await;
    feed.event("DELETED", &object_in("b", "y", "y", "12")).await;
    feed.event("ADDED", &object_in("d", "w", "w", "13")).await;
    feed.event("ADDED", &object_in("c", "v", "v", "14")).await;
    assert_eq!(c.recorder.take(1).await, ["Watch add c/v 14"]);
    assert_eq!(a.recorder.lines(), ["moving", "recovered", "Watch update a/x 5 11"]);
    assert_eq!(b.recorder.lines(), ["moving", "recovered", "Watch delete b/y 6 12 known"]);
    let seen = |tenant: &Tenant| tenant.registration.view().list(None).iter().map(|o| o.key().to_string()).collect::<Vec<_>>();
    assert_eq!((seen(&a), seen(&b), seen(&c)), (vec!["a/x".to_owned()], vec![], vec!["c/v".to_owned(), "c/z".to_owned()]));
    assert!(a.registration.view().list(Some("c")).is_empty());
    // Once wide, the plan stays until the last one has left.
    drop(b);
    drop(c);
    until(&informers, &["*:1"]).await;
    drop(a);
    assert!(informers.snapshot().is_empty());
}

/// What changed between the two lists is told at the move, once.
#[tokio::test(start_paused = true)]
async fn a_move_tells_what_differs() {
    let fake = Fake::new();
    fake.lists_by(|uri| match uri.contains("/namespaces/a/") {
        true => list("10", &[object_in("a", "x", "x", "5"), object_in("a", "gone", "gone", "6")]),
        false if uri.contains("/namespaces/") => list("10", &[]),
        false => list("20", &[object_in("a", "x", "x", "15"), object_in("a", "new", "new", "16"), object_in("b", "y", "y", "17")]),
    });
    let informers = hub(&fake);
    let a = tenant(&informers, "a");
    assert_eq!(a.recorder.take(3).await[2], "synced");
    let all = Recorder::new();
    let _all = informers.attach(config_maps(), all.clone());
    until(&informers, &["*:2"]).await;
    let mut lines = a.recorder.lines();
    lines.sort();
    assert_eq!(lines, ["Relist add a/new 16", "Relist delete a/gone 6 6 unknown", "Relist update a/x 5 15", "moving", "recovered"]);
    assert!(
        fake.asked("configmaps").iter().any(|asked| asked.uri.contains("/api/v1/configmaps") && asked.uri.contains("resourceVersion=0"))
    );
}

/// A registration does not go back in time: it waits until the other informer has seen all that
/// it was told.
#[tokio::test(start_paused = true)]
async fn a_move_waits_for_an_informer_that_is_behind() {
    let fake = Fake::new();
    server(&fake);
    let informers = hub(&fake);
    let own = fake.open_watch();
    let a = tenant(&informers, "a");
    a.recorder.take(2).await;
    fake.wait("watch=1", 1).await;
    own.event("MODIFIED", &object_in("a", "x", "x", "30")).await;
    assert_eq!(a.recorder.take(1).await, ["Watch update a/x 5 30"]);
    let wide = fake.open_watch();
    let all = Recorder::new();
    let _all = informers.attach(config_maps(), all.clone());
    all.take(4).await;
    wide.event("MODIFIED", &object_in("b", "y", "y", "29")).await;
    all.take(1).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((scopes(&informers), a.recorder.lines()), (vec!["*:1".to_owned(), "a:1".to_owned()], vec![]));
    wide.event("MODIFIED", &object_in("a", "x", "x", "30")).await;
    until(&informers, &["*:2"]).await;
    assert_eq!(a.recorder.lines(), ["moving", "recovered"]);
    assert!(own.is_closed());
}

/// A list that is under way has shown something, too, before its version is known.
#[tokio::test(start_paused = true)]
async fn a_move_does_not_go_back_behind_half_a_list() {
    let fake = Fake::new();
    fake.lists_by(|uri| match uri.contains("/namespaces/a/") {
        true if uri.contains("continue=") => Reply::Hang,
        true if uri.contains("resourceVersion=10") => page("40", "next", &[object_in("a", "x", "x", "30")]),
        true => list("10", &[object_in("a", "x", "x", "5")]),
        false => list("20", &[object_in("a", "x", "x", "15")]),
    });
    let informers = hub(&fake);
    let own = fake.open_watch();
    let a = tenant(&informers, "a");
    a.recorder.take(2).await;
    own.event("ERROR", &status_object(410, "Expired")).await;
    assert_eq!(a.recorder.take(1).await, ["Relist update a/x 5 30"]);
    let wide = fake.open_watch();
    let all = Recorder::new();
    let _all = informers.attach(config_maps(), all.clone());
    assert_eq!(all.take(2).await, ["InitialList add a/x 15", "synced"]);
    sleep(Duration::from_secs(5)).await;
    assert_eq!((scopes(&informers), a.recorder.lines()), (vec!["*:1".to_owned(), "a:1".to_owned()], vec![]));
    wide.event("MODIFIED", &object_in("a", "x", "x", "41")).await;
    until(&informers, &["*:2"]).await;
    assert_eq!(a.recorder.lines(), ["moving", "Relist update a/x 30 41", "recovered"]);
}

/// A host that may not list the whole cluster watches per namespace, and asks again rarely.
#[tokio::test(start_paused = true)]
async fn a_host_without_the_right_to_the_cluster_watches_per_namespace() {
    let fake = Fake::new();
    fake.lists_by(|uri| {
        if !uri.contains("/namespaces/") {
            return status(403, "Forbidden");
        }
        if uri.contains("/namespaces/b/") { status(403, "Forbidden") } else { list("10", &[object_in("a", "x", "x", "5")]) }
    });
    let informers = hub(&fake);
    let tenants: Vec<_> = ["a", "b", "c", "d"].into_iter().map(|namespace| tenant(&informers, namespace)).collect();
    for tenant in &tenants {
        tenant.registration.settle().await;
    }
    until(&informers, &["a:1", "b:1", "c:1", "d:1"]).await;
    let states: Vec<_> = tenants.iter().map(|tenant| tenant.registration.state() == InformerState::Synced).collect();
    assert_eq!(states, [true, false, true, true], "one refused namespace stops no other");
    assert!(matches!(tenants[1].registration.state(), InformerState::Failing { reason: Reason::Forbidden, .. }));
    let wide = || fake.asked("/api/v1/configmaps").len();
    let before = wide();
    sleep(Duration::from_secs(300)).await;
    assert_eq!(wide(), before, "no flapping");
    sleep(Duration::from_secs(600)).await;
    assert!(wide() > before && wide() < before + 5, "it is tried again: {} to {}", before, wide());
    let mut told = tenants[0].recorder.lines();
    told.retain(|line| line != "moving" && line != "recovered");
    assert_eq!(told, ["InitialList add a/x 5", "synced"]);
}

/// The right to the whole cluster is withdrawn while it is used: nothing is lost.
#[tokio::test(start_paused = true)]
async fn a_withdrawn_right_leads_back_to_namespaces() {
    let fake = Fake::new();
    server(&fake);
    let informers = hub(&fake);
    let tenants: Vec<_> = ["a", "b", "c"].into_iter().map(|namespace| tenant(&informers, namespace)).collect();
    for tenant in &tenants {
        tenant.registration.settle().await;
    }
    until(&informers, &["*:3"]).await;
    fake.lists_by(|uri| {
        if !uri.contains("/namespaces/") {
            return status(403, "Forbidden");
        }
        list(
            "40",
            &[object_in("a", "x", "x", if uri.contains("/namespaces/a/") { "35" } else { "" })]
                [..usize::from(uri.contains("/namespaces/a/"))],
        )
    });
    fake.watches_then(|| status(403, "Forbidden"));
    until(&informers, &["a:1", "b:1", "c:1"]).await;
    let told = |index: usize| {
        let mut lines = tenants[index].recorder.lines();
        lines.retain(|line| line.starts_with("Relist"));
        lines
    };
    assert_eq!(told(0), ["Relist update a/x 5 35"]);
    assert_eq!(told(1), ["Relist delete b/y 6 6 unknown"]);
    assert_eq!(told(2), ["Relist delete c/z 7 7 unknown"]);
}

/// A narrower selector is served by a wider informer that is there, and filtered here.
#[tokio::test(start_paused = true)]
async fn narrow_selectors_attach_to_a_wider_informer() {
    let fake = Fake::new();
    let labelled = |name: &str, rv: &str, team: &str| {
        object_in("a", name, name, rv).replace(r#""namespace""#, &format!(r#""labels":{{"team":"{team}"}},"namespace""#))
    };
    fake.lists([list("10", &[labelled("x", "1", "red"), labelled("y", "2", "blue")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (all, red) = (Recorder::new(), Recorder::attentive());
    let _all = informers.attach(config_maps(), all.clone());
    all.take(3).await;
    let narrow = InformerSpec { label_selector: "team=red".into(), ..config_maps() };
    let registration = informers.attach(narrow, red.clone());
    assert_eq!(red.take(2).await, ["InitialList add a/x 1", "synced"]);
    feed.event("MODIFIED", &labelled("y", "11", "green")).await;
    feed.event("MODIFIED", &labelled("y", "12", "red")).await;
    feed.event("MODIFIED", &labelled("x", "13", "blue")).await;
    feed.event("DELETED", &labelled("x", "14", "blue")).await;
    feed.event("DELETED", &labelled("y", "15", "red")).await;
    all.take(5).await;
    assert_eq!(red.lines(), ["passed", "Watch add a/y 12", "Watch delete a/x 1 1 unknown", "passed", "Watch delete a/y 12 15 known"]);
    assert_eq!((fake.asked("watch=1").len(), registration.view().len()), (1, 0));
    assert_eq!(scopes(&informers), ["*:2"]);
}

/// Selectors that only a server can judge keep a watch of their own.
#[tokio::test(start_paused = true)]
async fn a_servers_selector_keeps_its_own_watch() {
    let fake = Fake::new();
    fake.lists_then(|| list("10", &[]));
    let informers = fake.informers();
    let _all = informers.attach(config_maps(), Recorder::new());
    let own = InformerSpec { field_selector: "data.x=y".into(), ..config_maps() };
    let own = informers.attach(own, Recorder::new());
    own.settle().await;
    assert_eq!(own.served_by().field_selector, "data.x=y");
    assert_eq!(scopes(&informers), ["*:1", "*:1"]);
}

/// An informer lingers for those who come back soon.
#[tokio::test(start_paused = true)]
async fn an_informer_lingers() {
    let fake = Fake::new();
    fake.lists_then(|| list("10", &[]));
    let informers = fake.informers_with(Options { linger: Duration::from_secs(60), ..by_lists() });
    let feed = fake.open_watch();
    let first = informers.attach(config_maps(), Recorder::new());
    fake.wait("watch=1", 1).await;
    drop(first);
    sleep(Duration::from_secs(50)).await;
    let again = informers.attach(config_maps(), Recorder::new());
    assert!(again.has_synced());
    drop(again);
    sleep(Duration::from_secs(59)).await;
    assert!(!feed.is_closed());
    feed.closed().await;
    until(&informers, &[]).await;
    assert_eq!(fake.list_queries().len(), 1);
}

/// A watch that a namespace has of its own goes on while the wide one cannot be had.
#[tokio::test(start_paused = true)]
async fn nobody_moves_to_an_informer_that_does_not_answer() {
    let fake = Fake::new();
    fake.lists_by(|uri| if uri.contains("/namespaces/") { list("10", &[]) } else { Reply::Hang });
    let informers = hub(&fake);
    let feed = fake.open_watch();
    let a = tenant(&informers, "a");
    a.registration.settle().await;
    fake.wait("watch=1", 1).await;
    let all = informers.attach(config_maps(), Recorder::new());
    sleep(Duration::from_secs(30)).await;
    feed.event("ADDED", &object_in("a", "x", "x", "11")).await;
    assert_eq!(a.recorder.take(2).await, ["synced", "Watch add a/x 11"]);
    assert_eq!((scopes(&informers), all.settled()), (vec!["*:1".to_owned(), "a:1".to_owned()], false));
}
