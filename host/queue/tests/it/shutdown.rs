//! How a queue ends: at once, or drained.

use std::time::Duration;

use tokio::task::{JoinHandle, yield_now};
use wharf_queue::WorkQueue;

use crate::ends;

const SECOND: Duration = Duration::from_secs(1);

/// Starts a drain and lets it run until it waits.
async fn drain(queue: &WorkQueue<&'static str>) -> JoinHandle<()> {
    let queue = queue.clone();
    let drain = tokio::spawn(async move { queue.shut_down_with_drain().await });
    yield_now().await;
    drain
}

async fn is_waiting(drain: &JoinHandle<()>) -> bool {
    tokio::time::sleep(SECOND).await;
    !drain.is_finished()
}

#[tokio::test(start_paused = true)]
async fn queued_keys_are_handed_out_then_workers_end_and_adds_are_ignored() {
    let queue = WorkQueue::new("test");
    queue.add("a");
    queue.add("b");
    queue.add_after("dropped", SECOND);
    queue.shut_down();
    queue.shut_down();
    queue.add("late");
    queue.add_after("late", SECOND);
    queue.add_rate_limited("late");
    assert_eq!(queue.waiting(), 0);
    assert_eq!(queue.get().await.unwrap().key(), &"a");
    assert_eq!(queue.get().await.unwrap().key(), &"b");
    assert!(ends(queue.get()).await.unwrap().is_none());
    assert!(ends(queue.get()).await.unwrap().is_none());
    assert!(queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_due_at_shutdown_is_handed_out() {
    let queue = WorkQueue::new("test");
    queue.add_after("due", SECOND);
    tokio::time::advance(SECOND).await;
    queue.shut_down();
    assert_eq!(queue.get().await.unwrap().key(), &"due");
}

#[tokio::test(start_paused = true)]
async fn cp10_shutdown_ends_all_workers_that_wait() {
    let queue = WorkQueue::<&str>::new("test");
    queue.add_after("later", SECOND);
    let workers: Vec<_> = (0..5)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert!(ends(worker).await.unwrap().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn cq6_plain_shutdown_does_not_wait_for_work() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    queue.shut_down();
    assert!(ends(queue.get()).await.unwrap().is_none());
    assert_eq!(queue.processing(), 1);
    item.done();
}

#[tokio::test(start_paused = true)]
async fn cq6_a_drain_waits_for_the_work_in_progress() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    let (one, two) = (drain(&queue).await, drain(&queue).await);
    assert!(is_waiting(&one).await);
    item.done();
    ends(one).await.unwrap().unwrap();
    ends(two).await.unwrap().unwrap();
    ends(queue.shut_down_with_drain()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn cq16_a_drain_waits_for_queued_keys_that_nobody_took() {
    let queue = WorkQueue::new("test");
    queue.add("a");
    queue.add("b");
    let drain = drain(&queue).await;
    assert!(is_waiting(&drain).await);
    queue.get().await.unwrap().done();
    assert!(is_waiting(&drain).await, "one key is still queued");
    let last = queue.get().await.unwrap();
    assert!(is_waiting(&drain).await, "the last key is in work");
    last.done();
    ends(drain).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn cq6_a_drain_brings_back_a_key_that_was_added_in_work_and_workers_wait_for_it() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let first = queue.get().await.unwrap();
    queue.add("key");
    let drain = drain(&queue).await;
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let again = queue.get().await.map(|item| *item.key());
            (again, queue.get().await.is_none())
        }
    });
    assert!(is_waiting(&drain).await);
    assert!(!worker.is_finished(), "a worker ended although a key still comes back");
    first.done();
    assert_eq!(ends(worker).await.unwrap().unwrap(), (Some("key"), true));
    ends(drain).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn cq6_a_later_shutdown_releases_a_drain() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    let drain = drain(&queue).await;
    assert!(is_waiting(&drain).await);
    queue.shut_down();
    ends(drain).await.unwrap().unwrap();
    assert_eq!(queue.processing(), 1);
    item.done();
}

#[tokio::test(start_paused = true)]
async fn cp19_any_number_of_shutdowns_of_either_kind_is_safe() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    queue.shut_down();
    queue.shut_down();
    let (one, two) = (drain(&queue).await, drain(&queue).await);
    assert!(is_waiting(&one).await && is_waiting(&two).await);
    item.done();
    ends(one).await.unwrap().unwrap();
    ends(two).await.unwrap().unwrap();
    ends(queue.shut_down_with_drain()).await.unwrap();
    queue.shut_down();
    assert!(ends(queue.get()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_drain_after_a_shutdown_still_waits() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let item = queue.get().await.unwrap();
    queue.shut_down();
    let drain = drain(&queue).await;
    assert!(is_waiting(&drain).await);
    item.done();
    ends(drain).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_drain_leaves_the_queue_shut_down() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let waited = tokio::time::timeout(SECOND, queue.shut_down_with_drain()).await;
    assert!(waited.is_err());
    assert!(queue.stats().shut_down);
    queue.get().await.unwrap().done();
    assert!(ends(queue.get()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_drops_what_is_queued_at_shutdown_and_waits_for_work_only() {
    for pause_first in [true, false] {
        let queue = WorkQueue::new("test");
        queue.add("working");
        let item = queue.get().await.unwrap();
        queue.add("working");
        queue.add("queued");
        let drain = if pause_first {
            queue.pause();
            drain(&queue).await
        } else {
            let drain = drain(&queue).await;
            queue.pause();
            drain
        };
        assert!(ends(queue.get()).await.unwrap().is_none());
        assert!(is_waiting(&drain).await);
        item.done();
        ends(drain).await.unwrap().unwrap();
        queue.resume();
        assert!(ends(queue.get()).await.unwrap().is_none());
    }
}
