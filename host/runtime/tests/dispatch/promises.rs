//! What a plugin is promised, over random histories of the whole of dispatch: a server that
//! changes, hides changes and forgets its watches; handlers that take time and fail in every way;
//! revisions that come and go. A witness sees the calls only, and says when a promise is broken.
//!
//! `WHARF_HISTORIES` sets how many histories are played (400 by default). A failing one names its
//! seed: `WHARF_SEED` plays it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::sleep;
use wharf_core::filter::Filters;
use wharf_core::plugin::{Replay, Subscription};
use wharf_core::{Cause, Delivery, Event, Failure, Fault, Object, Outcome, Pointer, Reason, Selector, Strike};
use wharf_engine::{Admission, CallReport};
use wharf_runtime::dispatch::Callee;

use crate::cluster::{Cluster, Stored};
use crate::plugin::{Answer, Plugin, report, subscription};
use crate::rng::Rng;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: usize = 60;

/// What one plugin was told, and the promises that this shows broken.
#[derive(Default)]
struct Seen {
    running: BTreeSet<String>,
    /// By name: the uid and version of the last call that succeeded.
    told: BTreeMap<String, (String, String)>,
    /// Uids that the plugin was called for and that are owed a `delete`, with their names.
    owed: BTreeMap<String, String>,
    /// Successes by uid and version, for which nothing was due.
    plain: BTreeSet<(String, String)>,
    broken: Option<String>,
    trace: String,
}

impl Seen {
    fn begins(&mut self, delivery: &Delivery) {
        let name = delivery.key.name.to_string();
        let version = |object: &Option<Arc<Object>>| object.as_ref().map(|o| o.resource_version().to_owned());
        let (current, previous) = (version(&delivery.current), version(&delivery.previous));
        let what = format!("{} {name} uid {} {current:?} ({})", delivery.event.as_str(), delivery.uid, delivery.cause.as_str());
        let _written = writeln!(self.trace, "  {what}, previous {previous:?}, attempt {}", delivery.attempt);
        let told = self.told.get(&name).filter(|(uid, _)| *uid == *delivery.uid).map(|(_, version)| version.clone());
        let problem = match delivery.event {
            _ if !self.running.insert(name.clone()) => Some("two calls at once"),
            Event::Add if previous.is_some() => Some("an add with a previous state"),
            Event::Update if told.is_none() => Some("an update of what was never told with success"),
            // A change that a filter dropped may stand in place of it.
            Event::Update if previous.is_none() => Some("an update without a previous state"),
            Event::Delete if !self.owed.contains_key(&*delivery.uid) => Some("a delete of what the plugin was never called for"),
            _ => None,
        };
        if let Some(problem) = problem {
            self.broken.get_or_insert(format!("{what}: {problem}"));
        }
        let other = self.owed.iter().find(|(uid, owner)| **owner == name && **uid != *delivery.uid);
        if let (Some((uid, _)), Event::Add | Event::Update) = (other, delivery.event) {
            self.broken.get_or_insert(format!("{what}: no delete for uid {uid} before"));
        }
        if delivery.event != Event::Delete {
            self.owed.insert(delivery.uid.to_string(), name);
        }
    }

    fn ended(&mut self, delivery: &Delivery, answer: &Answer) {
        let name = delivery.key.name.to_string();
        let _written = writeln!(self.trace, "  {name} ends: {answer:?}");
        self.running.remove(&name);
        let over = matches!(answer, Ok(Ok(Outcome::Done) | Err(Failure::Permanent(_))));
        if delivery.event == Event::Delete {
            if over {
                self.owed.remove(&*delivery.uid);
                self.told.remove(&name);
                self.plain.retain(|(uid, _)| **uid != *delivery.uid);
            }
            return;
        }
        let (Ok(Ok(_)), Some(current)) = (answer, &delivery.current) else { return };
        let state = (delivery.uid.to_string(), current.resource_version().to_owned());
        let plain = matches!(delivery.cause, Cause::Watch | Cause::InitialList | Cause::ChangedOffline);
        if plain && !self.plain.insert(state.clone()) {
            self.broken.get_or_insert(format!("{name} {state:?} was told twice, and nothing was due"));
        }
        self.told.insert(name, state);
    }
}

/// A handler that takes time, fails in every way, and ends to do so when it is told to.
struct Fickle {
    seen: Mutex<Seen>,
    rng: Mutex<Rng>,
    calm: Mutex<bool>,
}

impl Fickle {
    fn answer(&self) -> (Duration, Answer) {
        if *self.calm.lock() {
            return (Duration::from_millis(1), Ok(Ok(Outcome::Done)));
        }
        let mut rng = self.rng.lock();
        let fault =
            |after: Option<u64>| Fault { reason: "Busy".into(), message: String::new(), retry_after: after.map(Duration::from_millis) };
        let answer = match rng.below(12) {
            0 => Ok(Ok(Outcome::RequeueAfter(Duration::from_millis(30)))),
            1 => Ok(Err(Failure::Retry(fault(None)))),
            2 => Ok(Err(Failure::Retry(fault(Some(40))))),
            3 => Ok(Err(Failure::Permanent(fault(None)))),
            4 => Err(Strike { reason: Reason::Trap, message: String::new() }),
            5 => Err(Strike { reason: Reason::ServerUnavailable, message: String::new() }),
            _ => Ok(Ok(Outcome::Done)),
        };
        (Duration::from_millis(rng.below(20)), answer)
    }
}

impl Callee for Fickle {
    fn call(&self, _: Option<Admission>, delivery: Delivery) -> BoxFuture<'_, CallReport> {
        async move {
            self.seen.lock().begins(&delivery);
            let (takes, answer) = self.answer();
            sleep(takes).await;
            self.seen.lock().ended(&delivery, &answer);
            report(takes, answer)
        }
        .boxed()
    }
}

/// What a history's plugin is subscribed to.
fn subscribed(rng: &mut Rng) -> Subscription {
    let only_spec = rng.below(3) == 0;
    let pointers = only_spec.then(|| Pointer::parse("/data/spec").unwrap()).into_iter().collect();
    Subscription {
        label_selector: Selector::parse(rng.one(&["", "l=x"])).unwrap(),
        every_event: rng.below(3) == 0,
        resync: (rng.below(4) == 0).then(|| Duration::from_millis(1_000)),
        filters: Filters { only_if_changed: pointers, expressions: Vec::new() },
        ..subscription()
    }
}

fn wanted(subscription: &Subscription, stored: &Stored) -> bool {
    subscription.label_selector.is_empty() || stored.label == 'x'
}

/// Plays the history of a seed. The broken promise, if there is one, with what led to it.
async fn play(seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let fickle = Arc::new(Fickle { seen: Mutex::default(), rng: Mutex::new(Rng::new(!seed)), calm: Mutex::new(false) });
    let plugin = Plugin::of(&informers, Arc::<Fickle>::clone(&fickle));
    let wants = subscribed(&mut rng);
    let _written = writeln!(fickle.seen.lock().trace, "{wants:?}");
    if rng.below(2) == 0 {
        cluster.put("a", 'x', 0, 0);
    }
    plugin.serve_with(wants.clone(), 1 + rng.below(3) as u32, Replay::All).await;
    for _ in 0..STEPS {
        let name = rng.one(&NAMES);
        let stored = cluster.truth().get(name).cloned();
        let (label, spec, status) = stored.map_or(('x', 0, 0), |stored| (stored.label, stored.spec, stored.status));
        let step = rng.below(20);
        let _written = writeln!(fickle.seen.lock().trace, "- step {step} on {name}");
        match step {
            0..=3 => drop(cluster.put(name, label, spec, status + 1)),
            4..=6 => drop(cluster.put(name, label, spec + 1, status)),
            7..=8 => drop(cluster.put(name, rng.one(&['x', 'y']), spec, status)),
            9..=11 => cluster.remove(name),
            12 => cluster.cut(),
            13 => cluster.expire(),
            14 if rng.below(3) == 0 => {
                let replay = rng.one(&[Replay::All, Replay::Failed, Replay::None]);
                plugin.serve_with(wants.clone(), 1 + rng.below(3) as u32, replay).await;
            }
            15 => drop(plugin.dispatcher.retry_failed()),
            _ => sleep(Duration::from_millis(rng.below(60))).await,
        }
    }
    settle(&cluster, &plugin, &fickle).await?;
    check(&fickle, &wants, &cluster.truth())?;
    for name in NAMES {
        cluster.remove(name);
    }
    settle(&cluster, &plugin, &fickle).await?;
    check(&fickle, &wants, &cluster.truth())?;
    let stats = plugin.dispatcher.stats();
    if stats.ledger_entries + stats.backlog_bytes + stats.failing > 0 {
        return Err(format!("it leaks: {stats:?}"));
    }
    Ok(())
}

/// Nothing fails any more, and time goes on until nothing is left to do.
async fn settle(cluster: &Cluster, plugin: &Plugin, fickle: &Fickle) -> Result<(), String> {
    *fickle.calm.lock() = true;
    cluster.expire();
    sleep(Duration::from_secs(60)).await;
    plugin.dispatcher.retry_failed();
    for _ in 0..600 {
        sleep(Duration::from_millis(700)).await;
        let queue = plugin.dispatcher.stats().queue;
        if queue.depth + queue.processing + queue.waiting == 0 {
            return Ok(());
        }
    }
    Err(format!("it never comes to rest: {:?}", plugin.dispatcher.stats()))
}

fn check(fickle: &Fickle, wants: &Subscription, truth: &BTreeMap<String, Stored>) -> Result<(), String> {
    let seen = fickle.seen.lock();
    if let Some(broken) = &seen.broken {
        return Err(broken.clone());
    }
    for (name, stored) in truth.iter().filter(|(_, stored)| wanted(wants, stored)) {
        let told = seen.told.get(name);
        let same = told.is_some_and(|(uid, version)| *uid == stored.uid.to_string() && *version == stored.version.to_string());
        // What a filter may have dropped is not compared any closer.
        let filtered = !wants.filters.is_empty() && told.is_some_and(|(uid, _)| *uid == stored.uid.to_string());
        if !same && !filtered {
            return Err(format!("{name} {stored:?} is lost, last told was {told:?}"));
        }
    }
    let here = |name: &String, uid: &String| truth.get(name).is_some_and(|stored| stored.uid.to_string() == *uid && wanted(wants, stored));
    match seen.owed.iter().find(|(uid, name)| !here(name, uid)) {
        Some((uid, name)) => Err(format!("{name} uid {uid}: its delete is lost")),
        None => Ok(()),
    }
}

#[test]
fn every_history_keeps_the_promises() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (from, count) = number("WHARF_SEED").map_or((1, number("WHARF_HISTORIES").unwrap_or(2000)), |seed| (seed, 1));
    for seed in from..from + count {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        if let Err(broken) = runtime.block_on(play(seed)) {
            panic!("seed {seed}: {broken}");
        }
    }
}
