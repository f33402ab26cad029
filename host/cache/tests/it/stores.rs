//! The small stores at a real informer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wharf_cache::{Indexer, InformerSpec, MutationCache, Scope, UndeltaStore};
use wharf_core::{Gvk, Object, ObjectKey};

use crate::fake::{Fake, config_maps, list, object, object_in, page};
use crate::recorder::Recorder;

/// Each push as one line of `name:resourceVersion`.
type Pushes = watch::Receiver<Vec<String>>;

fn undelta() -> (Arc<UndeltaStore>, Pushes) {
    let (sender, pushes) = watch::channel(Vec::new());
    let push = move |list: Vec<Arc<Object>>| {
        let names: Vec<_> = list.iter().map(|object| format!("{}:{}", object.key().name, object.resource_version())).collect();
        sender.send_modify(|pushes| pushes.push(names.join(" ")));
    };
    (Arc::new(UndeltaStore::new(Box::new(push))), pushes)
}

async fn pushed(pushes: &mut Pushes, count: usize) -> Vec<String> {
    pushes.wait_for(|pushes| pushes.len() >= count).await.unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn cs9_an_undelta_store_pushes_an_informers_first_list_once() {
    let fake = Fake::new();
    fake.lists([page("10", "t", &[object("x", "1"), object("y", "2")]), list("10", &[object("z", "3")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (early, mut pushes) = undelta();
    let first = informers.attach(config_maps(), early.clone());
    assert_eq!(pushed(&mut pushes, 1).await, ["x:1 y:2 z:3"]);
    feed.event("MODIFIED", &object("y", "11")).await;
    feed.event("DELETED", &object("x", "12")).await;
    assert_eq!(pushed(&mut pushes, 3).await, ["x:1 y:2 z:3", "x:1 y:11 z:3", "y:11 z:3"]);
    assert_eq!(early.store().len(), first.view().len());
    // One that comes later gets what is there, also once.
    let (late, late_pushes) = undelta();
    let _second = informers.attach(config_maps(), late);
    assert_eq!(*late_pushes.borrow(), ["y:11 z:3"]);
}

#[tokio::test(start_paused = true)]
async fn cs10_an_own_write_is_shown_until_the_informer_has_it() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let recorder = Recorder::new();
    let first = informers.attach(config_maps(), recorder.clone());
    first.settle().await;
    let own = Arc::new(MutationCache::new(Arc::new(first.view()), Duration::from_secs(600), false));
    let _second = informers.attach(config_maps(), own.clone());
    let key = ObjectKey::new("a", "x");
    let shown = || own.get(&key).map(|object| object.resource_version().to_owned());
    own.mutated(Arc::new(Object::parse(&object("x", "11"), &Gvk::new("", "v1", "ConfigMap")).unwrap()));
    assert_eq!((shown().as_deref(), own.len()), (Some("11"), 1));
    recorder.take(2).await;
    feed.event("MODIFIED", &object("x", "11")).await;
    feed.event("MODIFIED", &object("x", "12")).await;
    recorder.take(2).await;
    // Handlers are told one after the other, under a lock that this waits for.
    assert_eq!(informers.snapshot().len(), 1);
    assert_eq!((shown().as_deref(), own.len()), (Some("12"), 0));
    feed.event("DELETED", &object("x", "13")).await;
    recorder.take(1).await;
    assert_eq!(shown(), None);
}

/// CI1: indexes that are added before there are objects, after, and that go along to another
/// informer; each registration has names of its own.
#[tokio::test(start_paused = true)]
async fn ci1_indexers_before_and_after_the_start() {
    let fake = Fake::new();
    fake.lists_by(|uri| match uri.contains("/namespaces/") {
        true => list("10", &[object_in("a", "x", "red", "1"), object_in("a", "y", "blue", "2")]),
        false => list("20", &[object_in("a", "x", "red", "1"), object_in("b", "z", "red", "12")]),
    });
    let informers = fake.informers();
    let uid: Indexer = Arc::new(|object| Ok(vec![object.uid().as_ref().into()]));
    let recorder = Recorder::new();
    let own = InformerSpec { scope: Scope::Namespace("a".into()), ..config_maps() };
    let registration = informers.attach(own, recorder.clone());
    let view = registration.view();
    view.add_indexer("before", uid.clone()).unwrap();
    recorder.take(3).await;
    view.add_indexer("after", uid.clone()).unwrap();
    assert_eq!(view.add_indexer("after", uid.clone()).unwrap_err().to_string().matches("\"after\"").count(), 1);
    let found = |index: &str, value: &str| view.index_keys(index, value).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    for index in ["before", "after"] {
        assert_eq!((found(index, "red"), found(index, "blue")), (vec!["a/x".to_owned()], vec!["a/y".to_owned()]));
    }
    let other = informers.attach(config_maps(), Recorder::new());
    other.view().add_indexer("after", uid).unwrap();
    recorder.take(1).await;
    assert_eq!(registration.served_by(), config_maps());
    assert_eq!((found("after", "red"), found("after", "blue")), (vec!["a/x".to_owned()], vec![]), "only what was asked for");
    assert_eq!(other.view().index_keys("after", "red").unwrap().len(), 2);
    assert_eq!(view.index_keys("none", "red").unwrap_err().to_string(), "the store has no index named \"none\"; add its indexer first");
}
