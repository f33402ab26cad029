//! Collapsing, order, and the guard of a key in work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use wharf_queue::WorkQueue;

use crate::ends;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn cq5_keys_come_in_order_of_arrival_and_duplicates_collapse() {
    let queue = WorkQueue::new("test");
    for key in ["a", "b", "a", "c", "b"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 3);
    for expected in ["a", "b", "c"] {
        assert_eq!(queue.get().await.unwrap().key(), &expected);
    }
    assert!(queue.is_empty());
    assert!(queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn cq2_adds_while_in_work_bring_the_key_back_once_after_the_work() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let first = queue.get().await.unwrap();
    queue.add("key");
    queue.add("key");
    assert!(queue.try_get().is_none(), "a key in work is handed out twice");
    assert_eq!(queue.len(), 0);

    first.done();
    assert_eq!(queue.len(), 1);
    queue.get().await.unwrap().done();
    assert_eq!((queue.len(), queue.processing()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn cq2_a_key_that_is_added_again_in_work_goes_behind_those_that_wait() {
    let queue = WorkQueue::new("test");
    queue.add("a");
    let first = queue.get().await.unwrap();
    queue.add("a");
    queue.add("b");
    first.done();
    assert_eq!(queue.get().await.unwrap().key(), &"b");
    assert_eq!(queue.get().await.unwrap().key(), &"a");
}

#[tokio::test(start_paused = true)]
async fn cq4_a_key_can_be_added_again_after_its_work() {
    let queue = WorkQueue::new("test");
    for _ in 0..3 {
        queue.add("key");
        assert_eq!(queue.get().await.unwrap().key(), &"key");
    }
}

#[tokio::test(start_paused = true)]
async fn cq3_the_length_counts_only_what_can_be_handed_out() {
    let queue = WorkQueue::new("test");
    queue.add("working");
    let working = queue.get().await.unwrap();
    queue.add("working");
    queue.add("queued");
    queue.add_after("waiting", SECOND);
    assert_eq!((queue.len(), queue.processing(), queue.waiting()), (1, 1, 1));

    working.done();
    tokio::time::advance(SECOND).await;
    assert_eq!((queue.len(), queue.processing(), queue.waiting()), (3, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_item_says_how_long_its_key_was_ready() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    tokio::time::advance(SECOND).await;
    queue.add("key");
    queue.add_after("later", SECOND);
    let first = queue.get().await.unwrap();
    assert_eq!(first.queued(), SECOND);

    queue.add("key");
    tokio::time::advance(2 * SECOND).await;
    first.done();
    let later = queue.get().await.unwrap();
    assert_eq!((*later.key(), later.queued()), ("later", SECOND), "counts from the due time");
    let again = queue.get().await.unwrap();
    assert_eq!((*again.key(), again.queued()), ("key", 2 * SECOND), "counts from the add");
}

#[tokio::test(start_paused = true)]
async fn cq7_nothing_holds_a_key_after_its_work() {
    let queue = WorkQueue::new("test");
    let key: Arc<str> = "key".into();
    queue.add(Arc::clone(&key));
    queue.add_after(Arc::clone(&key), SECOND);
    queue.add_rate_limited(Arc::clone(&key));
    let item = queue.get().await.unwrap();
    queue.add_after(Arc::clone(&key), SECOND);
    item.done();
    queue.get().await.unwrap().done();
    queue.forget(&key);
    assert_eq!(Arc::strong_count(&key), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_or_is_aborted_releases_its_key() {
    let queue = WorkQueue::new("test");
    queue.add("panics");
    let worker = queue.clone();
    let panicked = tokio::spawn(async move {
        let _item = worker.get().await.unwrap();
        panic!("a bug of the worker");
    });
    assert!(panicked.await.unwrap_err().is_panic());
    assert_eq!(queue.processing(), 0);

    queue.add("aborted");
    let (started, has_started) = oneshot::channel();
    let worker = queue.clone();
    let aborted = tokio::spawn(async move {
        let _item = worker.get().await.unwrap();
        started.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    has_started.await.unwrap();
    assert_eq!(queue.processing(), 1);
    queue.add("aborted");
    aborted.abort();
    assert!(aborted.await.unwrap_err().is_cancelled());
    assert_eq!(queue.get().await.unwrap().key(), &"aborted");
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_takes_keys_and_hands_out_none() {
    let queue = WorkQueue::new("test");
    queue.pause();
    queue.pause();
    queue.add("now");
    queue.add_after("later", SECOND);
    let sleeper = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    tokio::time::sleep(2 * SECOND).await;
    assert!(!sleeper.is_finished());
    assert!(queue.try_get().is_none());
    assert!(queue.stats().paused);
    assert_eq!(queue.len(), 2);

    queue.resume();
    assert_eq!(ends(sleeper).await.unwrap().unwrap(), Some("now"));
    assert_eq!(queue.get().await.unwrap().key(), &"later");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_slept_through_a_pause_hears_of_later_timers() {
    let queue = WorkQueue::new("test");
    queue.pause();
    let sleeper = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    queue.add_after("key", SECOND);
    tokio::task::yield_now().await;
    queue.resume();
    assert_eq!(ends(sleeper).await.unwrap().unwrap(), Some("key"));
}
