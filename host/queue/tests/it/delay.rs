//! Delayed and rate-limited adds.

use std::time::Duration;

use tokio::time::{Instant, advance};
use wharf_queue::{ExponentialPerKey, MAX_DELAY, NoMetrics, WorkQueue};

const MS: Duration = Duration::from_millis(1);

/// The next keys and the milliseconds from `start` at which they were handed out.
async fn next(queue: &WorkQueue<&'static str>, start: Instant, count: usize) -> Vec<(&'static str, u128)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let Some(item) = queue.get().await else { break };
        seen.push((*item.key(), start.elapsed().as_millis()));
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn cq8_a_delayed_key_comes_at_its_time_and_not_before() {
    let queue = WorkQueue::new("test");
    queue.add_after("key", 50 * MS);
    assert_eq!((queue.len(), queue.waiting()), (0, 1));
    advance(50 * MS - Duration::from_nanos(1)).await;
    assert!(queue.try_get().is_none());
    advance(Duration::from_nanos(1)).await;
    assert_eq!((queue.len(), queue.waiting()), (1, 0));
    assert_eq!(queue.try_get().unwrap().key(), &"key");
    advance(60 * MS).await;
    assert!(queue.try_get().is_none(), "one timer fires twice");
}

#[tokio::test(start_paused = true)]
async fn cq8_no_delay_means_at_once() {
    let queue = WorkQueue::new("test");
    queue.add_after("key", Duration::ZERO);
    assert_eq!((queue.len(), queue.waiting()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn cq8_the_earliest_of_several_delays_counts_whatever_their_order() {
    for delays in [[50, 70, 60], [70, 50, 60], [60, 70, 50]] {
        let (queue, start) = (WorkQueue::new("test"), Instant::now());
        for delay in delays {
            queue.add_after("key", delay * MS);
        }
        assert_eq!(queue.waiting(), 1);
        assert_eq!(next(&queue, start, 1).await, [("key", 50)]);
        assert_eq!(queue.waiting(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn cq8_a_shorter_delay_that_comes_later_wakes_a_worker_that_sleeps_longer() {
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    queue.add_after("slow", 1000 * MS);
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { next(&queue, start, 2).await }
    });
    advance(10 * MS).await;
    queue.add_after("fast", 40 * MS);
    assert_eq!(worker.await.unwrap(), [("fast", 50), ("slow", 1000)]);
}

#[tokio::test(start_paused = true)]
async fn cq8_many_times_interleave() {
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    for (key, delay) in [("c", 300), ("a", 100), ("e", 500), ("b", 200), ("d", 300)] {
        queue.add_after(key, delay * MS);
    }
    assert_eq!(next(&queue, start, 2).await, [("a", 100), ("b", 200)]);
    queue.add_after("a", 150 * MS);
    queue.add_after("b", 50 * MS);
    assert_eq!(next(&queue, start, 5).await, [("b", 250), ("c", 300), ("d", 300), ("a", 350), ("e", 500)]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_became_due_comes_before_one_that_was_added_afterwards() {
    let queue = WorkQueue::new("test");
    queue.add_after("due", 10 * MS);
    advance(20 * MS).await;
    queue.add("new");
    assert_eq!(queue.get().await.unwrap().key(), &"due");
}

#[tokio::test(start_paused = true)]
async fn cq8_a_delay_for_a_key_that_is_queued_changes_nothing() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    queue.add_after("key", 10 * MS);
    assert_eq!((queue.len(), queue.waiting()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn cq17_an_add_absorbs_the_delay_of_its_key() {
    let queue = WorkQueue::new("test");
    queue.add_after("key", 10 * MS);
    queue.add("key");
    assert_eq!((queue.len(), queue.waiting()), (1, 0));
    queue.get().await.unwrap().done();
    advance(20 * MS).await;
    assert!(queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_worker_keeps_its_due_time_by_arming_it_again_before_it_ends() {
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    let due = start + 100 * MS;
    queue.add_after("key", 100 * MS);
    advance(30 * MS).await;
    queue.add("key");
    let item = queue.get().await.unwrap();
    queue.add_after("key", due - Instant::now());
    assert_eq!(queue.waiting(), 1, "a key in work takes a timer");
    item.done();
    assert_eq!(next(&queue, start, 1).await, [("key", 100)]);
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_ends_during_the_work_brings_the_key_back_after_it() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    queue.add_after("key", 10 * MS);
    advance(20 * MS).await;
    assert!(queue.try_get().is_none());
    item.done();
    assert_eq!(queue.try_get().unwrap().queued(), 10 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_is_cut() {
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    queue.add_after("key", Duration::MAX);
    assert_eq!(next(&queue, start, 1).await, [("key", MAX_DELAY.as_millis())]);
}

#[tokio::test(start_paused = true)]
async fn cq13_a_rate_limited_key_comes_after_its_backoff() {
    let (queue, start) = (WorkQueue::with("test", ExponentialPerKey::new(MS, 1000 * MS), NoMetrics), Instant::now());
    let mut waited = Vec::new();
    for _ in 0..4 {
        waited.push(queue.add_rate_limited("key"));
        assert_eq!(queue.waiting(), 1);
        queue.get().await.unwrap().done();
    }
    assert_eq!(waited, [MS, 2 * MS, 4 * MS, 8 * MS]);
    assert_eq!(start.elapsed(), 15 * MS);
    assert_eq!((queue.num_requeues(&"key"), queue.num_requeues(&"other")), (4, 0));
    assert_eq!(queue.stats().failing, 1);

    queue.forget(&"key");
    assert_eq!((queue.num_requeues(&"key"), queue.stats().failing), (0, 0));
    assert_eq!(queue.add_rate_limited("key"), MS);
}

#[tokio::test(start_paused = true)]
async fn forgetting_leaves_the_timer() {
    let queue = WorkQueue::new("test");
    queue.add_rate_limited("key");
    queue.forget(&"key");
    assert_eq!(queue.waiting(), 1);
    assert_eq!(queue.get().await.unwrap().key(), &"key");
}
