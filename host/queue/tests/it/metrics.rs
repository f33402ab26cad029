//! What a queue tells about itself, on a paused clock.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::advance;
use wharf_queue::{Add, ExponentialPerKey, LOW, QueueMetrics, Stats, WorkQueue};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq)]
struct Heard {
    added: u64,
    retried: u64,
    queued: Vec<Duration>,
    worked: Vec<Duration>,
}

#[derive(Default)]
struct Recorder(Mutex<Heard>);

impl QueueMetrics for Recorder {
    fn added(&self, entries: u64) {
        self.0.lock().added += entries;
    }

    fn retried(&self) {
        self.0.lock().retried += 1;
    }

    fn handed_out(&self, queued: Duration) {
        self.0.lock().queued.push(queued);
    }

    fn worked(&self, took: Duration) {
        self.0.lock().worked.push(took);
    }
}

fn recorded() -> (WorkQueue<&'static str>, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    (WorkQueue::with("test", ExponentialPerKey::new(SECOND, 60 * SECOND), Arc::clone(&recorder)), recorder)
}

#[tokio::test(start_paused = true)]
async fn cq14_one_key_through_all_its_places() {
    let (queue, recorder) = recorded();
    let heard = || recorder.0.lock().clone();
    assert_eq!(queue.name(), "test");
    assert_eq!(queue.stats(), Stats::default());

    queue.add("key");
    queue.add("key");
    assert_eq!(heard(), Heard { added: 1, ..Heard::default() }, "a duplicate is no entry");
    assert_eq!(queue.stats(), Stats { depth: 1, ..Stats::default() });

    advance(5 * SECOND).await;
    let item = queue.get().await.unwrap();
    assert_eq!(heard().queued, [5 * SECOND]);
    advance(2 * SECOND).await;
    queue.add("key");
    assert_eq!(heard().added, 2, "an add during the work is an entry");
    assert_eq!(
        queue.stats(),
        Stats { processing: 1, unfinished: 2 * SECOND, longest_running: 2 * SECOND, ..Stats::default() },
        "it is no part of the depth until the work ends"
    );

    advance(SECOND).await;
    item.done();
    assert_eq!(heard().worked, [3 * SECOND]);
    assert_eq!(queue.stats(), Stats { depth: 1, ..Stats::default() });
    queue.get().await.unwrap().done();
    assert_eq!(heard().queued, [5 * SECOND, SECOND]);
}

#[tokio::test(start_paused = true)]
async fn cq14_delayed_keys_count_as_retries_at_once_and_as_entries_when_they_are_ready() {
    let (queue, recorder) = recorded();
    queue.add_after("a", SECOND);
    queue.add_after("a", 2 * SECOND);
    queue.add_rate_limited("b");
    assert_eq!(*recorder.0.lock(), Heard { retried: 3, ..Heard::default() });
    assert_eq!(queue.stats(), Stats { waiting: 2, failing: 1, ..Stats::default() });

    advance(SECOND).await;
    assert_eq!(queue.stats(), Stats { depth: 2, failing: 1, ..Stats::default() });
    assert_eq!(recorder.0.lock().added, 2);
}

#[tokio::test(start_paused = true)]
async fn cp12_a_waiting_key_that_is_added_again_counts_once_in_its_last_priority() {
    for (again, low) in [(LOW, 1), (0, 0)] {
        let (queue, recorder) = recorded();
        queue.add_with("key", Add { priority: LOW, after: Some(SECOND), ..Add::default() });
        assert_eq!(queue.stats(), Stats { waiting: 1, ..Stats::default() });
        queue.add_with("key", Add { priority: again, after: Some(2 * SECOND), ..Add::default() });
        assert_eq!(queue.stats(), Stats { waiting: 1, ..Stats::default() }, "the depth has no keys that wait");

        advance(SECOND).await;
        assert_eq!(queue.stats(), Stats { depth: 1, low, ..Stats::default() });
        queue.add_with("key", Add { priority: again, ..Add::default() });
        assert_eq!(queue.stats(), Stats { depth: 1, low, ..Stats::default() });
        queue.add("key");
        assert_eq!(queue.stats(), Stats { depth: 1, low: 0, ..Stats::default() }, "raised");
        assert_eq!(recorder.0.lock().added, 1);
        queue.try_get().unwrap().done();
        assert_eq!(queue.stats(), Stats::default());
    }
}

#[tokio::test(start_paused = true)]
async fn cq14_the_age_of_the_work_grows_without_a_tick() {
    let (queue, _) = recorded();
    queue.add("old");
    queue.add("new");
    let old = queue.get().await.unwrap();
    advance(10 * SECOND).await;
    let new = queue.get().await.unwrap();
    advance(SECOND).await;
    let stats = queue.stats();
    assert_eq!((stats.processing, stats.unfinished, stats.longest_running), (2, 12 * SECOND, 11 * SECOND));
    old.done();
    let stats = queue.stats();
    assert_eq!((stats.processing, stats.unfinished, stats.longest_running), (1, SECOND, SECOND));
    new.done();
}

#[tokio::test(start_paused = true)]
async fn cq14_a_queue_that_has_ended_stays_silent() {
    let (queue, recorder) = recorded();
    queue.add_after("dropped", SECOND);
    queue.shut_down_with_drain().await;
    let before = recorder.0.lock().clone();
    queue.add("late");
    queue.add_after("late", SECOND);
    advance(60 * SECOND).await;
    assert_eq!(queue.stats(), Stats { shut_down: true, ..Stats::default() });
    assert_eq!(*recorder.0.lock(), before);
}
