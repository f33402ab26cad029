//! Priorities: which key is next, and what several adds of one key amount to.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, advance};
use wharf_queue::{Add, ExponentialPerKey, Item, LOW, NoMetrics, WorkQueue};

use crate::ends;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

type Queue = WorkQueue<&'static str>;

fn at(priority: i32) -> Add {
    Add { priority, ..Add::default() }
}

fn later(priority: i32, after: Duration) -> Add {
    Add { priority, after: Some(after), ..Add::default() }
}

/// What can be handed out now, with the priority of each run.
fn all(queue: &Queue) -> Vec<(&'static str, i32)> {
    let items: Vec<Item<_>> = std::iter::from_fn(|| queue.try_get()).collect();
    items.iter().map(|item| (*item.key(), item.priority())).collect()
}

#[tokio::test(start_paused = true)]
async fn cp1_one_key() {
    let queue = WorkQueue::new("test");
    queue.add_with("key", at(7));
    assert_eq!((queue.len(), queue.stats().low), (1, 0));
    let item = ends(queue.get()).await.unwrap().unwrap();
    assert_eq!((*item.key(), item.priority()), ("key", 7));
    item.done();
    assert!(queue.is_empty() && queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn cp2_the_highest_priority_is_first_and_equals_come_in_order_of_arrival() {
    let queue = WorkQueue::new("test");
    queue.add_with("low 1", at(LOW));
    queue.add("a");
    queue.add_with("top", at(1));
    queue.add_with("low 2", at(LOW));
    queue.add("b");
    assert_eq!((queue.len(), queue.stats().low), (5, 2));
    assert_eq!(all(&queue), [("top", 1), ("a", 0), ("b", 0), ("low 1", LOW), ("low 2", LOW)]);
}

#[tokio::test(start_paused = true)]
async fn cp3_a_key_in_work_is_not_handed_out_and_comes_at_once_when_the_work_ends() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let first = queue.try_get().unwrap();
    queue.add_with("key", at(9));
    queue.add_with("other", at(LOW));
    assert_eq!(all(&queue), [("other", LOW)], "a key in work holds up nobody");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| item.priority()) }
    });
    yield_now().await;
    assert!(!worker.is_finished());
    first.done();
    assert_eq!(ends(worker).await.unwrap().unwrap(), Some(9));
}

#[tokio::test(start_paused = true)]
async fn cp4_adds_of_a_waiting_key_are_one_entry() {
    let queue = WorkQueue::new("test");
    queue.add_with("key", at(1));
    queue.add_with("key", at(1));
    queue.add_with("key", later(1, SECOND));
    queue.add("key");
    assert_eq!((queue.len(), queue.waiting()), (1, 0));
    assert_eq!(all(&queue), [("key", 1)]);
}

#[tokio::test(start_paused = true)]
async fn cp5_a_key_in_work_can_be_queued_again_with_a_priority_of_its_own() {
    let queue = WorkQueue::new("test");
    queue.add_with("key", at(5));
    let first = queue.try_get().unwrap();
    queue.add_with("key", at(LOW));
    queue.add("other");
    assert_eq!((queue.len(), queue.stats().low), (1, 0), "in work, so nobody can have it");
    first.done();
    assert_eq!((queue.len(), queue.stats().low), (2, 1));
    assert_eq!(all(&queue), [("other", 0), ("key", LOW)], "the run before was another entry");
}

#[tokio::test(start_paused = true)]
async fn cp6_the_highest_priority_of_several_adds_counts_and_is_never_lowered() {
    for order in [[LOW, 3, 0], [3, LOW, 0], [0, LOW, 3]] {
        let queue = WorkQueue::new("test");
        queue.add_with("rival", at(2));
        order.iter().for_each(|priority| _ = queue.add_with("key", at(*priority)));
        assert_eq!(all(&queue), [("key", 3), ("rival", 2)]);

        order.iter().for_each(|priority| _ = queue.add_with("key", later(*priority, SECOND)));
        advance(SECOND).await;
        assert_eq!(all(&queue), [("key", 3)], "of a key that waits, too");

        queue.add("key");
        let first = queue.try_get().unwrap();
        order.iter().for_each(|priority| _ = queue.add_with("key", at(*priority)));
        first.done();
        assert_eq!(all(&queue), [("key", 3)], "of a key in work, too");
    }
}

#[tokio::test(start_paused = true)]
async fn cp7_a_raised_key_goes_behind_those_that_have_the_priority() {
    let queue = WorkQueue::new("test");
    queue.add_with("raised", at(LOW));
    queue.add("a");
    queue.add("b");
    queue.add("raised");
    queue.add("c");
    queue.add("a");
    assert_eq!(queue.stats().low, 0);
    assert_eq!(all(&queue), [("a", 0), ("b", 0), ("raised", 0), ("c", 0)]);
}

#[tokio::test(start_paused = true)]
async fn cp8_the_earliest_time_counts_whatever_the_priorities() {
    for (first, second) in [((5, 30), (LOW, 10)), ((LOW, 10), (5, 30)), ((LOW, 30), (5, 10)), ((5, 10), (LOW, 30))] {
        let queue = WorkQueue::new("test");
        for (priority, ms) in [first, second] {
            queue.add_with("key", later(priority, ms * MS));
        }
        advance(9 * MS).await;
        assert_eq!(all(&queue), []);
        advance(MS).await;
        assert_eq!(all(&queue), [("key", 5)], "the highest priority and the earliest time, each for itself");
    }
}

#[tokio::test(start_paused = true)]
async fn cp9_the_length_has_no_keys_that_wait() {
    let queue = WorkQueue::new("test");
    queue.add_with("now", at(LOW));
    queue.add_with("later", later(LOW, SECOND));
    let stats = queue.stats();
    assert_eq!((queue.len(), stats.low, stats.waiting), (1, 1, 1));
    advance(SECOND).await;
    let stats = queue.stats();
    assert_eq!((queue.len(), stats.low, stats.waiting), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn cp10_a_shutdown_amid_hand_outs_ends_every_worker() {
    let queue = WorkQueue::new("test");
    (0..1000).for_each(|key| _ = queue.add_with(key, at(key % 3)));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut seen = 0;
                while let Some(item) = queue.get().await {
                    seen += 1;
                    if *item.key() == 500 {
                        queue.shut_down();
                    }
                    yield_now().await;
                }
                seen
            })
        })
        .collect();
    let mut seen = 0;
    for worker in workers {
        seen += ends(worker).await.unwrap().unwrap();
    }
    assert_eq!(seen, 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cp11_thousands_of_keys_and_several_workers() {
    let queue = WorkQueue::new("test");
    let workers: Vec<_> = (0..5)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while let Some(item) = queue.get().await {
                    seen.push((item.priority(), *item.key()));
                    yield_now().await;
                }
                seen
            })
        })
        .collect();
    queue.pause();
    (0..6000).for_each(|key| _ = queue.add_with(key, at(key % 4)));
    queue.resume();
    queue.shut_down_with_drain().await;
    let mut seen = Vec::new();
    for worker in workers {
        let part = worker.await.unwrap();
        assert!(part.is_sorted_by(|a, b| (-a.0, a.1) < (-b.0, b.1)), "each worker gets keys in order");
        seen.extend(part);
    }
    seen.sort_unstable_by_key(|(_, key)| *key);
    assert!(seen.iter().map(|(_, key)| *key).eq(0..6000), "each key once");
}

#[tokio::test(start_paused = true)]
async fn cp14_keys_become_ready_by_time_then_stand_by_priority() {
    let queue = WorkQueue::new("test");
    queue.add_with("low early", later(LOW, 10 * MS));
    queue.add_with("third", later(0, 30 * MS));
    queue.add_with("second", later(0, 20 * MS));
    queue.add_with("high late", later(4, 40 * MS));
    advance(10 * MS - Duration::from_nanos(1)).await;
    assert_eq!(all(&queue), [], "never early");
    advance(Duration::from_nanos(1)).await;
    assert_eq!(queue.len(), 1);
    advance(15 * MS).await;
    queue.add("added");
    advance(15 * MS).await;
    let order = ["high late", "second", "added", "third", "low early"];
    assert_eq!(all(&queue).into_iter().map(|(key, _)| key).collect::<Vec<_>>(), order);
}

#[tokio::test(start_paused = true)]
async fn cp14_a_worker_that_sleeps_is_given_a_key_in_time() {
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    queue.add_with("key", later(LOW, 1234 * MS));
    ends(queue.get()).await.unwrap().unwrap().done();
    assert_eq!(start.elapsed(), 1234 * MS);
}

#[tokio::test(start_paused = true)]
async fn cp15_a_key_that_waits_comes_at_once_when_it_is_added() {
    let queue = WorkQueue::new("test");
    queue.add_with("key", later(3, SECOND));
    queue.add_with("key", at(LOW));
    assert_eq!(all(&queue), [("key", 3)]);
    advance(2 * SECOND).await;
    assert_eq!(all(&queue), []);
}

#[tokio::test(start_paused = true)]
async fn cp16_each_rate_limited_key_has_its_own_delay() {
    let queue = WorkQueue::with("test", ExponentialPerKey::new(MS, SECOND), NoMetrics);
    let failed = Add { rate_limited: true, priority: LOW, ..Add::default() };
    for _ in 0..3 {
        queue.add_with("often", failed);
        advance(10 * MS).await;
        assert_eq!(all(&queue), [("often", LOW)]);
    }
    let delays: Vec<_> = ["often", "once", "also once"].map(|key| queue.add_with(key, failed)).into();
    assert_eq!(delays, [8 * MS, MS, MS]);
    assert_eq!(queue.add_with("either", Add { after: Some(MS / 2), ..failed }), MS / 2, "the smaller of the two");
    assert_eq!(queue.add_with("either", Add { after: Some(SECOND), ..failed }), 2 * MS);
    assert_eq!(queue.waiting(), 4);
}

/// controller-runtime's way of a requeue, written out.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_repeated_keeps_its_priority_if_the_caller_says_so() {
    let queue = WorkQueue::new("test");
    queue.add_with("key", at(LOW));
    let item = queue.try_get().unwrap();
    queue.add_with(*item.key(), Add { priority: item.priority(), rate_limited: true, ..Add::default() });
    item.done();
    assert_eq!(ends(queue.get()).await.unwrap().unwrap().priority(), LOW);
}
