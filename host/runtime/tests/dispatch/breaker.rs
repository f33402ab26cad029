//! A plugin whose calls strike as a whole: it is not called for a while, then one call is tried, and nothing is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use wharf_core::plugin::Subscription;
use wharf_core::{Delivery, Outcome, Reason, Strike, TargetKey};
use wharf_runtime::dispatch::Retried;

use crate::cluster::Cluster;
use crate::plugin::{Answer, Plugin, subscription};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const SECOND: Duration = Duration::from_secs(1);

fn strike() -> Answer {
    Err(Strike { reason: Reason::Trap, message: "unreachable".into() })
}

/// A plugin that strikes as long as it is bad, and what it was told with success.
struct Bench {
    cluster: Cluster,
    plugin: Plugin,
    bad: Arc<AtomicBool>,
    told: Arc<Mutex<BTreeMap<String, Vec<String>>>>,
    most: Arc<AtomicUsize>,
    ends: Arc<Mutex<Vec<Instant>>>,
}

impl Bench {
    /// Its calls take so long; those of the first name take much longer if they are `slow`.
    async fn new(takes: Duration, slow: bool, subscription: Subscription) -> Self {
        let cluster = Cluster::default();
        for name in NAMES {
            cluster.put(name, 'x', 0, 0);
        }
        let bad = Arc::new(AtomicBool::new(true));
        let told = Arc::new(Mutex::new(BTreeMap::<String, Vec<String>>::new()));
        let (most, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::<Instant>::new())));
        let act = {
            let (bad, told, most, ends) = (Arc::clone(&bad), Arc::clone(&told), Arc::clone(&most), Arc::clone(&ends));
            move |delivery: &Delivery| {
                let takes = if slow && &*delivery.key.name == "a" { 20 * SECOND } else { takes };
                {
                    let (mut ends, now) = (ends.lock(), Instant::now());
                    ends.retain(|end| *end > now);
                    ends.push(now + takes);
                    most.fetch_max(ends.len(), Ordering::SeqCst);
                }
                if bad.load(Ordering::SeqCst) {
                    return (takes, strike());
                }
                let version = delivery.current.as_ref().map_or("-".to_owned(), |object| object.resource_version().to_owned());
                told.lock().entry(delivery.key.name.to_string()).or_default().push(version);
                (takes, Ok(Ok(Outcome::Done)))
            }
        };
        let plugin = Plugin::new(&cluster.informers(), act);
        plugin.serve(subscription, 4).await;
        Self { cluster, plugin, bad, told, most, ends }
    }

    async fn quick() -> Self {
        Self::new(Duration::from_millis(10), false, subscription()).await
    }

    fn state(&self) -> Option<Option<Duration>> {
        self.plugin.dispatcher.tripped().map(|tripped| tripped.until)
    }

    fn is_open(&self) -> bool {
        matches!(self.state(), Some(Some(_)))
    }

    /// Until it opens; the calls by then, without those in flight.
    async fn opens(&self) -> usize {
        while !self.is_open() {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(SECOND).await;
        self.plugin.so_far().len()
    }

    /// Waits until it is closed; not for ever.
    async fn closes(&self) {
        for _ in 0..100_000 {
            if self.state().is_none() {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("it stays open");
    }

    /// Whatever was promised: every key was told of its last state, as often as it must.
    fn all_told(&self) {
        let told = self.told.lock();
        for (name, stored) in self.cluster.truth() {
            assert_eq!(told.get(&name).and_then(|told| told.last()), Some(&stored.version.to_string()), "{name} in {told:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_opens_holds_back_and_loses_nothing() {
    let bench = Bench::quick().await;
    let before = bench.opens().await;
    assert!(before <= NAMES.len() + 8, "{before}");
    assert_eq!(bench.plugin.metric("wharf_breaker_openings_total{plugin=\"a/native\"} "), 1);
    for spec in 1..20 {
        for name in NAMES {
            bench.cluster.put(name, 'x', spec, 0);
        }
        sleep(SECOND).await;
    }
    assert_eq!(bench.plugin.so_far().len(), before, "{:?}", bench.plugin.so_far());
    let until = bench.state().flatten().unwrap();
    let rows = bench.plugin.dispatcher.failures(10).rows;
    assert!(rows.len() >= 3 && rows.iter().filter_map(|row| row.due).all(|due| due >= until), "nothing is tried before: {rows:?}");
    bench.bad.store(false, Ordering::SeqCst);
    bench.closes().await;
    bench.plugin.idle().await;
    bench.all_told();
    assert!(bench.told.lock().values().all(|told| told.len() == 1), "the changes between are one: {:?}", bench.told.lock());
}

#[tokio::test(start_paused = true)]
async fn trials_are_single_and_each_waits_twice_as_long() {
    let bench = Bench::new(SECOND, false, subscription()).await;
    let mut calls = bench.opens().await;
    bench.ends.lock().clear();
    bench.most.store(0, Ordering::SeqCst);
    // Before any key may be called again that is parked.
    let mut opened = Instant::now();
    for wait in [30, 60, 120, 240] {
        for spec in 0..2 {
            for name in NAMES {
                bench.cluster.put(name, 'y', wait + spec, 0);
            }
        }
        bench.plugin.calls(calls + 1).await;
        let waited = opened.elapsed().as_secs();
        assert!((wait - 3..=wait * 11 / 10 + 2).contains(&waited), "{waited} of {wait}");
        calls += 1;
        opened = Instant::now();
        sleep(2 * SECOND).await;
        assert_eq!(bench.plugin.so_far().len(), calls);
        assert!(bench.is_open());
    }
    assert_eq!(bench.most.load(Ordering::SeqCst), 1, "one at a time");
    assert_eq!(bench.plugin.metric("wharf_breaker_openings_total{plugin=\"a/native\"} "), 5);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_flight_ends_and_says_nothing() {
    let bench = Bench::new(Duration::from_millis(10), true, subscription()).await;
    bench.opens().await;
    let until = bench.state();
    assert_eq!(bench.plugin.dispatcher.stats().queue.processing, 1);
    sleep(21 * SECOND).await;
    assert_eq!(bench.plugin.dispatcher.stats().queue.processing, 0);
    assert_eq!(bench.state(), until);
}

#[tokio::test(start_paused = true)]
async fn another_revision_closes_it_and_a_wish_to_retry_tries_at_once() {
    let bench = Bench::quick().await;
    let before = bench.opens().await;
    let key = TargetKey::object(subscription().kind, wharf_core::ObjectKey::new("a", "c"));
    assert_eq!(bench.plugin.dispatcher.retry(&key), Retried::Queued);
    sleep(SECOND).await;
    assert_eq!(bench.plugin.so_far().len(), before + 1, "one, and it strikes");
    assert!(bench.is_open());
    bench.bad.store(false, Ordering::SeqCst);
    bench.plugin.serve(subscription(), 4).await;
    assert_eq!(bench.state(), None);
    bench.plugin.calls(before + 2).await;
    sleep(SECOND).await;
    bench.all_told();
    // And by a wish alone.
    let bench = Bench::quick().await;
    bench.opens().await;
    bench.bad.store(false, Ordering::SeqCst);
    assert!(bench.plugin.dispatcher.retry_failed() > 0);
    sleep(SECOND).await;
    assert_eq!(bench.state(), None);
    bench.all_told();
}

#[tokio::test(start_paused = true)]
async fn it_stays_shut_as_long_as_the_plugin_is_held() {
    let bench = Bench::quick().await;
    let before = bench.opens().await;
    bench.bad.store(false, Ordering::SeqCst);
    bench.plugin.dispatcher.hold(true);
    sleep(100 * SECOND).await;
    bench.plugin.dispatcher.retry_failed();
    sleep(SECOND).await;
    assert_eq!(bench.plugin.so_far().len(), before);
    bench.plugin.dispatcher.hold(false);
    bench.closes().await;
    bench.plugin.idle().await;
    bench.all_told();
}

#[tokio::test(start_paused = true)]
async fn one_key_beside_others_is_parked_and_holds_nobody_back() {
    let cluster = Cluster::default();
    for name in NAMES {
        cluster.put(name, 'x', 0, 0);
    }
    let act = |delivery: &Delivery| (Duration::ZERO, if &*delivery.key.name == "a" { strike() } else { Ok(Ok(Outcome::Done)) });
    let plugin = Plugin::new(&cluster.informers(), act);
    plugin.serve(subscription(), 2).await;
    // Five strikes and the successes of the others.
    plugin.calls(10).await;
    sleep(SECOND).await;
    assert_eq!((plugin.dispatcher.stats().parked, plugin.dispatcher.tripped()), (1, None));
    for spec in 1..5 {
        cluster.put("a", 'x', spec, 0);
        sleep(100 * SECOND).await;
        assert_eq!(plugin.dispatcher.tripped(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn each_change_is_told_in_its_order() {
    let bench = Bench::new(Duration::from_millis(10), false, Subscription { every_event: true, ..subscription() }).await;
    bench.opens().await;
    for spec in 1..4 {
        bench.cluster.put("f", 'x', spec, 0);
        sleep(SECOND).await;
    }
    bench.bad.store(false, Ordering::SeqCst);
    bench.closes().await;
    bench.plugin.dispatcher.retry_failed();
    bench.plugin.idle().await;
    bench.all_told();
    let told = bench.told.lock();
    let numbers: Vec<u64> = told["f"].iter().map(|version| version.parse().unwrap()).collect();
    assert!(numbers.len() >= 3 && numbers.is_sorted(), "{numbers:?}");
}
