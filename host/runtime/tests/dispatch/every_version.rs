//! `delivery: every-event` over random histories without a gap: writes and deletes, handlers that
//! take time and fail in every way, revisions that come and go; no relist, no narrowing, and room for
//! all. Then every version that an object had is the `current` of a call, in the order of its changes,
//! and one whose call fails is told again before the next.
//!
//! A failing history names its seed: `WHARF_SEED` plays it alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use wharf_core::plugin::{Replay, Subscription};
use wharf_core::{Delivery, Event, Failure, Fault, Outcome, Reason, Selector, Strike};

use crate::cluster::Cluster;
use crate::plugin::{Answer, Plugin, subscription};
use crate::rng::Rng;

const NAMES: [&str; 3] = ["a", "b", "c"];
const STEPS: usize = 60;
const HISTORIES: u64 = 300;

/// What an object was: versions, and whether they are ends.
type Versions = BTreeMap<&'static str, Vec<(u64, bool)>>;

/// What happened, as far as the selector lets it be seen.
struct Truth {
    only_x: bool,
    version: u64,
    labels: BTreeMap<&'static str, char>,
    versions: Versions,
}

impl Truth {
    fn put(&mut self, cluster: &Cluster, name: &'static str, label: char) {
        self.version = cluster.put(name, label, 0, 0);
        let before = self.labels.insert(name, label);
        self.note(name, before, Some(label));
    }

    fn remove(&mut self, cluster: &Cluster, name: &'static str) {
        let before = self.labels.remove(name);
        cluster.remove(name);
        self.version += u64::from(before.is_some());
        self.note(name, before, None);
    }

    fn note(&mut self, name: &'static str, before: Option<char>, now: Option<char>) {
        let seen = |label: Option<char>| label.is_some_and(|label| !self.only_x || label == 'x');
        if seen(before) || seen(now) {
            self.versions.entry(name).or_default().push((self.version, !seen(now)));
        }
    }
}

/// What calls were made for, each version once: a call that is made again is for the same one.
fn told(calls: &[String]) -> Versions {
    let mut told = Versions::new();
    for call in calls {
        let mut words = call.split(' ');
        let (event, name, version) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let name = NAMES.into_iter().find(|known| *known == name).unwrap();
        let version = (version.parse().unwrap(), event == "delete");
        let versions = told.entry(name).or_default();
        if versions.last() != Some(&version) {
            versions.push(version);
        }
    }
    told
}

fn answer(rng: &mut Rng) -> Answer {
    let fault = |after: Option<u64>| Fault { reason: "Busy".into(), message: String::new(), retry_after: after.map(Duration::from_millis) };
    match rng.below(12) {
        0 => Ok(Ok(Outcome::RequeueAfter(Duration::from_millis(30)))),
        1 => Ok(Err(Failure::Retry(fault(None)))),
        2 => Ok(Err(Failure::Retry(fault(Some(40))))),
        3..=4 => Ok(Err(Failure::Permanent(fault(None)))),
        5 => Err(Strike { reason: Reason::Trap, message: String::new() }),
        6 => Err(Strike { reason: Reason::ServerUnavailable, message: String::new() }),
        _ => Ok(Ok(Outcome::Done)),
    }
}

async fn play(seed: u64) {
    let mut rng = Rng::new(seed);
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let (calm, fickle) = (Arc::new(AtomicBool::new(false)), Mutex::new(Rng::new(!seed)));
    // Of each version, whether a call was the end of it.
    let over: Arc<Mutex<BTreeMap<String, bool>>> = Arc::default();
    let plugin = Plugin::new(&informers, {
        let (calm, over) = (Arc::clone(&calm), Arc::clone(&over));
        move |delivery: &Delivery| {
            let mut rng = fickle.lock();
            let answer = if calm.load(Ordering::SeqCst) { Ok(Ok(Outcome::Done)) } else { answer(&mut rng) };
            let version = delivery.current.as_ref().map_or("", |current| current.resource_version());
            let ends = matches!(answer, Ok(Ok(_) | Err(Failure::Permanent(_))));
            let told = format!("{} {version} {}", delivery.key.name, delivery.event == Event::Delete);
            *over.lock().entry(told).or_default() |= ends;
            (Duration::from_millis(rng.below(20)), answer)
        }
    });
    let only_x = rng.below(2) == 0;
    let label_selector = Selector::parse(if only_x { "l=x" } else { "" }).unwrap();
    let wants = Subscription { every_event: true, label_selector, ..subscription() };
    plugin.serve(wants.clone(), 1 + rng.below(3) as u32).await;
    let mut truth = Truth { only_x, version: 0, labels: BTreeMap::new(), versions: Versions::new() };
    for _ in 0..STEPS {
        let name = rng.one(&NAMES);
        match rng.below(20) {
            0..=7 => truth.put(&cluster, name, 'x'),
            8..=9 => truth.put(&cluster, name, rng.one(&['x', 'y'])),
            10..=12 => truth.remove(&cluster, name),
            13 if rng.below(3) == 0 => {
                let replay = rng.one(&[Replay::All, Replay::Failed, Replay::None]);
                plugin.serve_with(wants.clone(), 1 + rng.below(3) as u32, replay).await;
            }
            14 => drop(plugin.dispatcher.retry_failed()),
            _ => sleep(Duration::from_millis(rng.below(60))).await,
        }
    }
    calm.store(true, Ordering::SeqCst);
    // What was just written is announced first.
    sleep(Duration::from_secs(1)).await;
    plugin.idle().await;
    let calls = plugin.so_far();
    assert_eq!(told(&calls), truth.versions, "seed {seed}: {calls:#?}");
    let left: Vec<String> = over.lock().iter().filter(|(_, over)| !**over).map(|(version, _)| version.clone()).collect();
    assert_eq!(left, Vec::<String>::new(), "seed {seed}: {calls:#?}");
    assert_eq!(plugin.dispatcher.stats().backlog_bytes, 0, "seed {seed}");
}

#[test]
fn every_version_is_told_in_order() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = number("WHARF_SEED").map_or(1..number("WHARF_HISTORIES").unwrap_or(HISTORIES) + 1, |seed| seed..seed + 1);
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(play(seed));
    }
}
