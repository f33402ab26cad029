//! Random runs: clients that write, watchers of every kind, with and without faults, and the judgement. What is done comes from the
//! seed; in which order requests meet is the scheduler's, which has one thread.
//!
//! `WHARF_API_RUNS` is how many runs of each kind are made, `WHARF_API_SEED` the first seed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use tokio::sync::RwLock;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};
use wharf_devserver::fault::{Fault, Match, Rule};
use wharf_devserver::{ApiOptions, Running, Server, ServerOptions, StoreOptions};

use super::client::Http;
use super::history::{Event, History, version_of};
use super::operations::{self, Written};
use super::view::{KINDS, Kind, NAMESPACES, View};
use super::watcher::{self, Plan, Told};

const CLIENTS: u64 = 4;
const OPERATIONS: u32 = 150;
const WATCHERS: u64 = 12;
const PATIENCE: Duration = Duration::from_secs(30);
/// Where faults happen; witnesses watch by the old paths, which begin otherwise.
const DISTURBED: [&str; 5] =
    ["/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/pods", "/apis/example.com/v1/namespaces", "/apis/example.com/v1/widgets"];

/// What all tasks of a run share.
pub(crate) struct World {
    server: Running,
    histories: RefCell<BTreeMap<Kind, History>>,
    /// Set when nothing happens any more and the histories are complete.
    resting: Cell<bool>,
    /// How often a witness has begun anew.
    renewed: Cell<usize>,
    /// Held for reading during each operation.
    gate: RwLock<()>,
}

impl World {
    pub(crate) fn http(&self) -> Http {
        Http::new(self.server.address())
    }

    /// Whether somebody who has seen everything up to a version has seen all there will be.
    pub(crate) fn is_over(&self, position: Option<u64>, view: &View) -> bool {
        self.resting.get() && position.is_some_and(|position| self.histories.borrow()[&view.kind].shown(position, view).is_empty())
    }

    /// Waits until nothing changes any more and the witnesses have seen everything.
    async fn rest(&self) {
        let http = self.http();
        let settled = async {
            let mut before = 0;
            loop {
                let going = http.get("/api/v1/namespaces").await.value;
                let going = going["items"].as_array().unwrap().iter().any(|one| one["metadata"]["deletionTimestamp"].is_string());
                let (version, _) = watcher::list(&http, &View::all(Kind::ConfigMap), None).await;
                if version == before && !going && self.is_known().await {
                    return;
                }
                before = version;
                if going {
                    operations::release(&http).await;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, settled).await.expect("it comes to rest");
    }

    async fn is_known(&self) -> bool {
        for kind in KINDS {
            let (_, items) = watcher::list(&self.http(), &View::all(kind), None).await;
            if self.histories.borrow()[&kind].at(u64::MAX).into_values().collect::<Vec<_>>() != items {
                return false;
            }
        }
        true
    }
}

/// Notes everything that happens to a kind.
async fn witness(world: Rc<World>, kind: Kind, mut from: u64) {
    let http = world.http();
    let path = kind.collection(None).replacen("/v1/", "/v1/watch/", 1);
    let mut state = world.histories.borrow()[&kind].start();
    loop {
        let mut lines = http.watch(&format!("{path}?resourceVersion={from}")).await;
        while let Some(line) = lines.next().await {
            let event = Event::read(&line).expect("an event");
            if event.kind == "ERROR" {
                // The history was forgotten while nothing happened: it goes on from now.
                assert_eq!(event.object["code"], 410, "{event:?}");
                let (version, items) = watcher::list(&http, &View::all(kind), None).await;
                assert_eq!(state.values().cloned().collect::<Vec<_>>(), items, "the witness of {kind:?} has lost something");
                from = version;
                world.renewed.set(world.renewed.get() + 1);
                break;
            }
            from = event.version;
            world.histories.borrow_mut().get_mut(&kind).unwrap().push(event, &mut state);
        }
    }
}

/// Writes, and reads at versions of the past.
async fn client(world: Rc<World>, seed: u64) -> Vec<Written> {
    let mut dice = StdRng::seed_from_u64(seed);
    let http = world.http();
    let mut written = Vec::new();
    for _ in 0..OPERATIONS {
        let _open = world.gate.read().await;
        written.extend(operations::one(&http, &mut dice).await);
        if dice.random_bool(0.05) {
            sleep(Duration::from_millis(dice.random_range(1..5))).await;
        }
    }
    written
}

/// Makes trouble until it is told to stop.
async fn trouble(world: Rc<World>, seed: u64) {
    let mut dice = StdRng::seed_from_u64(seed);
    for path in DISTURBED {
        let faults = [
            (Fault::CutWatch { after: dice.random_range(0..10), abrupt: true }, 0.3),
            (Fault::CutWatch { after: dice.random_range(0..10), abrupt: false }, 0.3),
            (Fault::ExpireWatch { after: dice.random_range(0..20) }, 0.2),
            (Fault::BrokenEvent { after: dice.random_range(0..20) }, 0.2),
            (Fault::RepeatBookmarks {}, 0.5),
            (Fault::StaleBookmarks {}, 0.5),
            (Fault::ExpireContinue {}, 0.2),
        ];
        for (fault, probability) in faults {
            let on = Match { path: Some(path.to_owned()), ..Match::default() };
            world.server.faults().add(Rule { on, fault, times: None, probability: Some(probability) }).unwrap();
        }
    }
    loop {
        sleep(Duration::from_millis(dice.random_range(10..60))).await;
        if dice.random_bool(0.7) {
            for path in DISTURBED {
                let on = Match { path: Some(path.to_owned()), ..Match::default() };
                world.server.faults().cut_watches(&on, dice.random_bool(0.5));
            }
        } else {
            let _closed = world.gate.write().await;
            operations::release(&world.http()).await;
            world.rest().await;
            let before = world.renewed.get();
            let reply = world.http().post("/wharf/faults", json!({"kind": "compact"})).await;
            assert_eq!(reply.code, 200, "{}", reply.value);
            // The witnesses see the state before anything happens.
            let renewed = async {
                while world.renewed.get() < before + KINDS.len() {
                    sleep(Duration::from_millis(1)).await;
                }
            };
            timeout(PATIENCE, renewed).await.expect("the witnesses hear that the history was forgotten");
        }
    }
}

async fn run(seed: u64, faults: bool) {
    let store = StoreOptions { history: 4096, data: None, first_version: Some(1000) };
    let server = Server::start(ServerOptions::plain(ApiOptions { store, controllers: true })).await.unwrap();
    let http = Http::new(server.address());
    let world = World { server, histories: RefCell::default(), resting: Cell::new(false), renewed: Cell::new(0), gate: RwLock::new(()) };
    let world = Rc::new(world);
    let made = http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", operations::definition()).await;
    assert_eq!(made.code, 201, "{}", made.value);
    for namespace in NAMESPACES {
        http.post("/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await;
    }
    timeout(PATIENCE, async {
        while http.get("/apis/example.com/v1/widgets").await.code != 200 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the definition is served");
    let mut others = Vec::new();
    for kind in KINDS {
        let (version, items) = watcher::list(&http, &View::all(kind), None).await;
        world.histories.borrow_mut().insert(kind, History::new(version, items));
        others.push(tokio::task::spawn_local(witness(Rc::clone(&world), kind, version)));
    }

    let mut dice = StdRng::seed_from_u64(seed);
    let mut watchers = Vec::new();
    for number in 0..WATCHERS {
        let plan = Rc::new(Plan::random(&mut dice));
        let (world, own) = (Rc::clone(&world), Rc::clone(&plan));
        let seed = seed.wrapping_mul(1000) + number;
        watchers.push((plan, tokio::task::spawn_local(async move { watcher::watch(&world, &own, seed).await })));
    }
    let disturbed = faults.then(|| tokio::task::spawn_local(trouble(Rc::clone(&world), seed ^ 1)));
    let clients: Vec<_> =
        (0..CLIENTS).map(|number| tokio::task::spawn_local(client(Rc::clone(&world), seed.wrapping_mul(77) + number))).collect();
    let mut written = Vec::new();
    for client in clients {
        written.extend(client.await.expect("a client"));
    }
    if let Some(disturbed) = disturbed {
        // Not in the middle of forgetting.
        let _closed = world.gate.write().await;
        disturbed.abort();
        world.server.faults().clear();
    }
    operations::release(&http).await;
    world.rest().await;
    for other in &others {
        assert!(!other.is_finished(), "a witness has ended");
    }
    world.resting.set(true);

    let changes: usize = world.histories.borrow().values().map(History::len).sum();
    assert!(changes > 100, "seed {seed}: only {changes} changes");
    let (mut events, mut again, mut anew) = (0, 0, 0);
    for (plan, watcher) in watchers {
        let told = timeout(PATIENCE, watcher).await.unwrap_or_else(|_| panic!("a watcher does not come to its end: {plan:?}")).unwrap();
        events += told.iter().filter(|one| matches!(one, Told::Event(_))).count();
        again += told.iter().filter(|one| matches!(one, Told::Again)).count();
        anew += told.iter().filter(|one| matches!(one, Told::State { .. })).count();
        let state = watcher::judge(told, &world.histories.borrow()[&plan.view.kind], &plan.view);
        let state = state.unwrap_or_else(|wrong| panic!("seed {seed}: {plan:?}: {wrong}"));
        let (_, items) = watcher::list(&http, &plan.view, None).await;
        assert_eq!(state.into_values().collect::<Vec<_>>(), items, "{plan:?}");
    }
    eprintln!("    {changes} changes, {} answers; told {events} events, went on {again} times, began {anew} times", written.len());
    assert!(events > 30 && again > 0 && !written.is_empty(), "seed {seed}: nothing was tried");

    for write in written {
        check(&world.histories.borrow()[&write.kind], &write);
    }
    for other in others {
        other.abort();
    }
}

/// What was answered has happened, and on the object that the client meant.
fn check(history: &History, write: &Written) {
    let version = version_of(&write.object).unwrap();
    let Some((before, event)) = history.change(&write.key, version) else {
        panic!("there is no change {version} of {:?}", write.key);
    };
    assert_eq!(event.object, write.object);
    if let Some(expected) = write.expected.filter(|expected| *expected != version) {
        assert_eq!(before.and_then(version_of), Some(expected), "{event:?}");
    }
}

fn runs(faults: bool) {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let first = number("WHARF_API_SEED", 1);
    for seed in first..first + number("WHARF_API_RUNS", 2) {
        eprintln!("seed {seed}{}", if faults { " with faults" } else { "" });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(LocalSet::new().run_until(run(seed, faults)));
    }
}

#[test]
fn watches_show_what_happened() {
    runs(false);
}

#[test]
fn watches_show_what_happened_under_faults() {
    runs(true);
}
