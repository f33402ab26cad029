//! Resync: who is told of unchanged objects, and when; and how handlers leave.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use wharf_cache::{Attach, Change, ChangeCause, ChangeHandler, FromHandler, Registration};

use crate::fake::{Fake, config_maps, list, object};
use crate::recorder::Recorder;

fn every(seconds: f64) -> Attach {
    Attach { resync: Some(Duration::from_secs_f64(seconds)) }
}

/// Writes down the seconds at which it was resynced.
struct Ticks {
    start: Instant,
    seen: Mutex<Vec<u64>>,
}

impl Ticks {
    fn new() -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), seen: Mutex::default() })
    }
}

impl ChangeHandler for Ticks {
    fn on_change(&self, change: &Change<'_>) {
        if change.cause == ChangeCause::Resync {
            assert!(Arc::ptr_eq(change.old.unwrap(), change.new.unwrap()));
            self.seen.lock().push(self.start.elapsed().as_secs());
        }
    }
}

/// CI2: each listener at its own ticks, the late one too; the others are told nothing.
#[tokio::test(start_paused = true)]
async fn ci2_resyncs_come_at_the_right_ticks() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let _feed = fake.open_watch();
    let informers = fake.informers();
    let (one, three, never, late) = (Ticks::new(), Ticks::new(), Recorder::new(), Ticks::new());
    let _one = informers.attach_with(config_maps(), one.clone(), every(1.0));
    let _three = informers.attach_with(config_maps(), three.clone(), every(3.0));
    let _never = informers.attach(config_maps(), never.clone());
    never.take(2).await;
    sleep(Duration::from_millis(4500)).await;
    let _late = informers.attach_with(config_maps(), late.clone(), every(2.0));
    sleep(Duration::from_millis(5000)).await;
    assert_eq!(*one.seen.lock(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(*three.seen.lock(), [3, 6, 9]);
    assert_eq!(*late.seen.lock(), [6, 8]);
    assert!(never.lines().is_empty());
    assert_eq!(fake.list_queries().len(), 1, "a resync asks nobody");
}

/// CI3: what is asked for and what is done. Unlike client-go's, a period does not depend on
/// those of the others, nor on whether the informer has started.
#[test]
fn ci3_resync_periods() {
    for (asked, used) in [(0.0, None), (0.2, Some(1.0)), (1.0, Some(1.0)), (30.0, Some(30.0)), (36_000.0, Some(36_000.0))] {
        assert_eq!(every(asked).period(), used.map(Duration::from_secs_f64), "{asked}");
    }
    assert_eq!(Attach::default().period(), None);
}

/// CI5: after a cut, who has no resync is told what changed only, and who has one is told of
/// everything at its own tick.
#[tokio::test(start_paused = true)]
async fn ci5_a_watch_disruption() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1"), object("y", "2")]), list("20", &[object("x", "1"), object("y", "12"), object("z", "13")])]);
    let feed = fake.open_watch();
    let informers = fake.informers();
    let (plain, resyncing) = (Recorder::new(), Recorder::new());
    let _plain = informers.attach(config_maps(), plain.clone());
    let _resyncing = informers.attach_with(config_maps(), resyncing.clone(), every(60.0));
    plain.take(3).await;
    resyncing.take(3).await;
    feed.raw("cut\n").await;
    let changed = ["Relist update a/y 2 12", "Relist add a/z 13"];
    assert_eq!(plain.take(2).await, changed);
    assert_eq!(resyncing.take(2).await, changed);
    assert_eq!(resyncing.take(3).await, ["Resync update a/x 1 1", "Resync update a/y 12 12", "Resync update a/z 13 13"]);
    assert!(plain.lines().is_empty());
}

/// Resync goes through a large store in steps, each object once.
#[tokio::test(start_paused = true)]
async fn a_resync_tells_each_object_once() {
    let fake = Fake::new();
    let objects: Vec<_> = (0..1000).map(|n| object(&format!("o{n:04}"), "1")).collect();
    fake.lists([list("10", &objects)]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach_with(config_maps(), recorder.clone(), every(10.0));
    recorder.take(1001).await;
    let told = recorder.take(1000).await;
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]) && told.iter().all(|line| line.starts_with("Resync")));
    drop(registration);
    sleep(Duration::from_secs(100)).await;
    assert!(recorder.lines().is_empty(), "who has left is resynced no more");
}

/// Drops a registration from within its own call.
struct Leaver {
    own: Mutex<Option<Registration>>,
    result: Mutex<Option<Result<(), FromHandler>>>,
    calls: Mutex<usize>,
    wait: bool,
}

impl ChangeHandler for Leaver {
    fn on_change(&self, _: &Change<'_>) {
        *self.calls.lock() += 1;
        let Some(own) = self.own.lock().take() else { return };
        if self.wait {
            *self.result.lock() = Some(own.remove_and_wait());
        }
    }
}

/// CI13: removal waits for the running call, except for a handler that would wait for itself.
#[tokio::test(start_paused = true)]
async fn ci13_a_handler_leaves_from_within_its_call() {
    for wait in [false, true] {
        let fake = Fake::new();
        fake.lists([list("10", &[])]);
        let feed = fake.open_watch();
        let informers = fake.informers();
        let stays = Recorder::new();
        let _stays = informers.attach(config_maps(), stays.clone());
        stays.take(1).await;
        let leaver = Arc::new(Leaver { own: Mutex::default(), result: Mutex::default(), calls: Mutex::default(), wait });
        *leaver.own.lock() = Some(informers.attach(config_maps(), leaver.clone()));
        feed.event("ADDED", &object("x", "11")).await;
        feed.event("ADDED", &object("y", "12")).await;
        stays.take(2).await;
        assert_eq!((*leaver.calls.lock(), *leaver.result.lock()), (1, wait.then_some(Err(FromHandler))));
        while informers.snapshot()[0].handlers > 1 {
            tokio::task::yield_now().await;
        }
    }
}

/// CI8, CI13: from outside, the removal returns once no call runs, and says so.
#[tokio::test(start_paused = true)]
async fn ci13_removal_waits() {
    let fake = Fake::new();
    fake.lists([list("10", &[])]);
    let informers = fake.informers();
    let recorder = Recorder::new();
    let registration = informers.attach(config_maps(), recorder.clone());
    recorder.take(1).await;
    assert_eq!(registration.remove_and_wait(), Ok(()));
    assert!(informers.snapshot().is_empty());
}

/// CR14: without a period, or with one of zero, no resync ever comes.
#[tokio::test(start_paused = true)]
async fn cr14_without_a_period_there_is_no_resync() {
    let fake = Fake::new();
    fake.lists([list("10", &[object("x", "1")])]);
    let _feed = fake.open_watch();
    let informers = fake.informers();
    let (none, zero) = (Recorder::new(), Recorder::new());
    let _none = informers.attach(config_maps(), none.clone());
    let _zero = informers.attach_with(config_maps(), zero.clone(), every(0.0));
    none.take(2).await;
    zero.take(2).await;
    sleep(Duration::from_secs(200)).await;
    assert!(none.lines().is_empty() && zero.lines().is_empty());
}
