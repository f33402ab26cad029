//! No priority starves, and no flood of old keys delays a new one: workers on a paused
//! clock, whose handlers take time.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_queue::{Add, DEFAULT_AGEING, LOW, WorkQueue};

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Low(u32),
    Live(u32),
}

fn low() -> Add {
    Add { priority: LOW, ..Add::default() }
}

/// Live keys never run out. All figures are in hand-outs, so the handler's time matters only to
/// turn them into seconds.
#[tokio::test(start_paused = true)]
async fn cp17_a_low_key_waits_for_the_ageing_limit_and_for_what_aged_before_it() {
    const HANDLER: Duration = Duration::from_millis(10);
    let queue = WorkQueue::new("test");
    (0..1000).for_each(|n| _ = queue.add_with(Key::Low(n), low()));
    (0..3).for_each(|n| queue.add(Key::Live(n)));
    let mut next_low = 0;
    while next_low < 1000 {
        let item = queue.get().await.unwrap();
        match *item.key() {
            Key::Low(n) => {
                assert_eq!(n, next_low, "in order of arrival");
                let latest = DEFAULT_AGEING + (2 * (n + 1)) * HANDLER;
                assert!(item.queued() >= DEFAULT_AGEING && item.queued() <= latest, "{n} waited for {:?}", item.queued());
                next_low += 1;
            }
            // The stream: whoever was served wants to be served again.
            live @ Key::Live(_) => queue.add(live),
        }
        sleep(HANDLER).await;
    }
}

/// Low keys that come one after the other, as many as can be served in every other turn.
#[tokio::test(start_paused = true)]
async fn cp17_low_keys_that_come_one_by_one_wait_for_the_limit_and_two_handlers() {
    const LIMIT: Duration = Duration::from_secs(1);
    for (handler, workers) in [(MS, 1), (10 * MS, 1), (100 * MS, 1), (10 * MS, 4)] {
        let queue = WorkQueue::new("test").with_ageing(LIMIT);
        // They are served too often to age.
        (0..workers + 2).for_each(|n| queue.add(Key::Live(n)));
        let tasks: Vec<_> = (0..workers)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    let mut longest = Duration::ZERO;
                    while let Some(item) = queue.get().await {
                        match *item.key() {
                            Key::Low(_) => longest = longest.max(item.queued()),
                            live @ Key::Live(_) => queue.add(live),
                        }
                        sleep(handler).await;
                    }
                    longest
                })
            })
            .collect();
        for n in 0..50 {
            queue.add_with(Key::Low(n), low());
            sleep(2 * handler).await;
        }
        sleep(10 * LIMIT).await;
        assert_eq!(queue.stats().low, 0, "all of them were served");
        queue.shut_down();
        for task in tasks {
            let longest = task.await.unwrap();
            assert!(longest <= LIMIT + 2 * handler, "{longest:?} with {handler:?}");
        }
    }
}

/// At every moment of the flood, before and after it has aged.
#[tokio::test(start_paused = true)]
async fn cp18_a_new_event_in_a_flood_of_low_keys_is_dispatched_next() {
    const HANDLER: Duration = Duration::from_millis(40);
    let (queue, start) = (WorkQueue::new("test"), Instant::now());
    (0..10_000).for_each(|n| _ = queue.add_with(Key::Low(n), low()));
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let (mut order, mut waits) = (Vec::new(), Vec::new());
            while let Some(item) = queue.get().await {
                order.push(*item.key());
                if matches!(item.key(), Key::Live(_)) {
                    waits.push(item.queued());
                }
                sleep(HANDLER).await;
            }
            (order, waits)
        }
    });
    // While the first key is in work, then now and then for the whole flood.
    let mut events = 0;
    while start.elapsed() < 400 * DEFAULT_AGEING / 30 {
        sleep(Duration::from_millis(977)).await;
        queue.add(Key::Live(events));
        events += 1;
    }
    queue.shut_down();
    let (order, waits) = worker.await.unwrap();
    assert_eq!((waits.len(), order.len()), (events as usize, 10_000 + events as usize));
    assert!(waits.iter().all(|wait| *wait <= HANDLER), "longest wait {:?}", waits.iter().max());
}

/// A burst of events costs each of them one handler per event before it at most, and the flood
/// goes on meanwhile.
#[tokio::test(start_paused = true)]
async fn cp18_a_burst_of_events_is_passed_by_one_aged_key_each() {
    let queue = WorkQueue::new("test");
    (0..1000).for_each(|n| _ = queue.add_with(Key::Low(n), low()));
    tokio::time::advance(DEFAULT_AGEING).await;
    assert_eq!(*queue.try_get().unwrap().key(), Key::Low(0));
    (0..5).for_each(|n| queue.add(Key::Live(n)));
    let order: Vec<_> = (0..10).map(|_| *queue.try_get().unwrap().key()).collect();
    let expected: Vec<_> = (0..5).flat_map(|n| [Key::Live(n), Key::Low(n + 1)]).collect();
    assert_eq!(order, expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_passed_by_age_before_the_limit() {
    let queue = WorkQueue::new("test");
    queue.add_with(Key::Low(0), low());
    tokio::time::advance(DEFAULT_AGEING - Duration::from_nanos(1)).await;
    (0..5).for_each(|n| queue.add(Key::Live(n)));
    let first: Vec<_> = (0..3).map(|_| *queue.try_get().unwrap().key()).collect();
    assert_eq!(first, [Key::Live(0), Key::Live(1), Key::Live(2)]);
    tokio::time::advance(Duration::from_nanos(1)).await;
    assert_eq!(*queue.try_get().unwrap().key(), Key::Low(0));
}

#[tokio::test(start_paused = true)]
async fn a_queue_may_be_told_never_to_age() {
    let queue = WorkQueue::new("test").with_ageing(Duration::MAX);
    queue.add_with(Key::Low(0), low());
    tokio::time::advance(1000 * DEFAULT_AGEING).await;
    queue.add(Key::Live(0));
    assert_eq!(*queue.try_get().unwrap().key(), Key::Live(0));
}
