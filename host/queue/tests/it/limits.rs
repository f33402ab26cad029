//! What all keys share is used up by real entries only.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance};
use wharf_queue::{Add, Bucket, ExponentialPerKey, MaxOf, NoMetrics, RateLimiter, WorkQueue, default_controller_limiter};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// One token a second, none saved up but the first, and 10 ms at least for a failure.
fn queue() -> WorkQueue<u32> {
    let limiters: [Box<dyn RateLimiter<u32>>; 2] = [Box::new(ExponentialPerKey::new(10 * MS, SECOND)), Box::new(Bucket::new(SECOND, 1))];
    WorkQueue::with("test", MaxOf::new(limiters), NoMetrics)
}

#[tokio::test(start_paused = true)]
async fn cq18_a_duplicate_add_takes_no_token() {
    let queue = queue();
    assert_eq!(queue.add_rate_limited(1), 10 * MS, "the token that was there");
    for _ in 0..1000 {
        queue.add_rate_limited(1);
    }
    assert_eq!(queue.num_requeues(&1), 1001, "failures count all the same");
    assert_eq!(queue.add_rate_limited(2), SECOND, "the next token, not the thousandth");
}

#[tokio::test(start_paused = true)]
async fn cq18_a_queued_key_and_a_queue_that_has_ended_take_no_token() {
    let queue = queue();
    queue.add(1);
    let item = queue.try_get().unwrap();
    queue.add(1);
    queue.add(2);
    queue.add_rate_limited(1);
    queue.add_rate_limited(2);
    assert_eq!(queue.add_rate_limited(3), 10 * MS);
    item.done();
    queue.shut_down();
    queue.add_rate_limited(4);
    queue.backoff(&4);
    assert_eq!(queue.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn cq18_each_run_that_fails_takes_one_token() {
    let (queue, start) = (queue(), Instant::now());
    let mut at = Vec::new();
    queue.add(1);
    for _ in 0..4 {
        let item = queue.get().await.unwrap();
        at.push(start.elapsed());
        queue.add_rate_limited(1);
        queue.add_rate_limited(1);
        item.done();
    }
    assert_eq!(at, [Duration::ZERO, 10 * MS, SECOND, 2 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn cq18_a_duplicate_does_not_come_before_the_token_of_its_entry() {
    let queue = queue();
    queue.add_rate_limited(1);
    assert_eq!(queue.add_rate_limited(2), SECOND);
    queue.forget(&2);
    queue.add_rate_limited(2);
    advance(SECOND - MS).await;
    assert_eq!(queue.len(), 1);
    advance(MS).await;
    assert_eq!(queue.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn cq18_a_timer_that_a_failure_makes_earlier_takes_a_token() {
    let queue = queue();
    queue.add_after(1, MS);
    queue.add_rate_limited(1);
    assert_eq!(queue.add_rate_limited(2), 10 * MS, "the failure of 1 changed nothing");

    queue.add_after(3, 60 * SECOND);
    queue.add_rate_limited(3);
    queue.add_rate_limited(3);
    assert_eq!(queue.add_rate_limited(4), 2 * SECOND, "the one of 3 did");
    advance(SECOND).await;
    assert_eq!((queue.len(), queue.waiting()), (3, 1), "3 came with its token");
}

#[tokio::test(start_paused = true)]
async fn an_immediate_add_waits_for_no_token() {
    let queue = queue();
    queue.add_rate_limited(1);
    queue.add_rate_limited(2);
    queue.add(2);
    assert_eq!(queue.try_get().map(|item| *item.key()), Some(2));
    assert_eq!(queue.add_with(3, Add { after: Some(MS), rate_limited: true, ..Add::default() }), MS, "nor does a time of its own");
}

#[tokio::test(start_paused = true)]
async fn cq13_the_default_of_controllers_lets_a_hundred_pass() {
    let limiter = Arc::new(default_controller_limiter());
    let queue = WorkQueue::with("test", Arc::clone(&limiter), NoMetrics);
    let waits: Vec<_> = (0..103).map(|key| queue.add_rate_limited(key)).collect();
    assert!(waits[..100].iter().all(|wait| *wait == 5 * MS));
    assert_eq!(waits[100..], [100 * MS, 200 * MS, 300 * MS]);
    assert_eq!((limiter.tracked(), queue.stats().failing), (103, 103));
    (0..103).for_each(|key| queue.forget(&key));
    assert_eq!((limiter.tracked(), queue.num_requeues(&1)), (0, 0));
}
