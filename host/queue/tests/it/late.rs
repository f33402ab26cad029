//! Waiting for a key without taking it.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::task::coop::unconstrained;
use wharf_queue::{Ready, WorkQueue};

use crate::ends;

fn look(queue: &WorkQueue<&'static str>) -> Poll<Option<Ready<&'static str>>> {
    pin!(unconstrained(queue.ready())).poll(&mut Context::from_waker(Waker::noop()))
}

fn ready(queue: &WorkQueue<&'static str>) -> Ready<&'static str> {
    match look(queue) {
        Poll::Ready(Some(ready)) => ready,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_decided_late_which_key_is_taken() {
    let queue = WorkQueue::new("late");
    assert!(look(&queue).is_pending());
    queue.add("a");
    let first = ready(&queue);
    assert_eq!(queue.len(), 1, "it is still there");
    tokio::time::advance(Duration::from_secs(3)).await;
    let item = first.take().unwrap();
    assert_eq!((*item.key(), item.queued()), ("a", Duration::from_secs(3)), "the time until now counts");
    assert!(look(&queue).is_pending());
}

#[tokio::test(start_paused = true)]
async fn others_may_take_it_meanwhile() {
    let queue = WorkQueue::new("late");
    queue.add("a");
    let late = ready(&queue);
    let item = queue.try_get().unwrap();
    assert!(late.take().is_none());
    drop(item);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_wakes_another() {
    let queue = WorkQueue::new("late");
    let worker = |queue: WorkQueue<&'static str>| tokio::spawn(async move { *queue.ready().await.unwrap().take().unwrap().key() });
    let holds = queue.clone();
    let gives_up = tokio::spawn(async move {
        let _ready = holds.ready().await;
        std::future::pending::<()>().await;
    });
    tokio::task::yield_now().await;
    let works = worker(queue.clone());
    tokio::task::yield_now().await;
    queue.add("a");
    tokio::task::yield_now().await;
    gives_up.abort();
    assert_eq!(ends(works).await.unwrap().unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_timers_and_pauses_and_ends_with_the_queue() {
    let queue = WorkQueue::new("late");
    queue.add_after("a", Duration::from_secs(5));
    let key = ends(async { *queue.ready().await.unwrap().take().unwrap().key() }).await.unwrap();
    assert_eq!(key, "a");
    queue.pause();
    queue.add("b");
    assert!(look(&queue).is_pending());
    queue.resume();
    let late = ready(&queue);
    queue.shut_down();
    drop(ready(&queue));
    drop(late.take());
    assert!(ends(queue.ready()).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn no_key_is_left_behind() {
    let queue = WorkQueue::new("late");
    let workers: Vec<_> = (0..8)
        .map(|number| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut worked = 0_u32;
                while let Some(ready) = queue.ready().await {
                    tokio::task::yield_now().await;
                    // Some go without the key.
                    if worked % 5 == number % 5 {
                        drop(ready);
                        worked += 1;
                    } else if let Some(item) = ready.take() {
                        worked += 1;
                        item.done();
                    }
                }
            })
        })
        .collect();
    for key in 0..10_000_u32 {
        queue.add(key);
        if key % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    ends(queue.shut_down_with_drain()).await.unwrap();
    for worker in workers {
        ends(worker).await.unwrap().unwrap();
    }
}
