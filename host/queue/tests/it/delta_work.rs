//! Keys in work: retries, their order, what happens to a key meanwhile, cancellation.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use wharf_queue::{Deletion, Delta};

use crate::delta_fifo::{Known, Object, Queue, copied, drain, knowing, options};
use crate::ends;

fn queue(objects: &[Object]) -> Queue {
    let queue = options().build();
    for object in objects {
        queue.add(*object).unwrap();
    }
    queue
}

#[test]
fn a_key_in_work_is_not_handed_out_again_and_others_go_on() {
    let queue = queue(&[("a", 1), ("b", 1)]);
    let first = queue.try_pop().unwrap();
    queue.update(("a", 2)).unwrap();
    queue.add(("c", 1)).unwrap();
    assert_eq!(drain(&queue).iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!((queue.len(), queue.keys()), (1, vec!["a"]));
    first.done();
    assert_eq!(drain(&queue), [("a", vec![Delta::Updated(("a", 2))])]);
}

#[test]
fn a_retry_comes_before_newer_deltas_of_its_key_and_after_older_keys() {
    let queue = queue(&[("a", 1), ("b", 1)]);
    let first = queue.try_pop().unwrap();
    first.retry();
    assert_eq!(queue.keys(), ["b", "a"]);
    let second = queue.try_pop().unwrap();
    queue.update(("b", 2)).unwrap();
    queue.add(("c", 1)).unwrap();
    second.retry();
    assert_eq!(
        drain(&queue),
        [
            ("a", vec![Delta::Added(("a", 1))]),
            ("b", vec![Delta::Added(("b", 1)), Delta::Updated(("b", 2))]),
            ("c", vec![Delta::Added(("c", 1))]),
        ]
    );
}

#[test]
fn what_was_completed_does_not_come_again() {
    let queue = queue(&[("a", 1)]);
    queue.update(("a", 2)).unwrap();
    let mut popped = queue.try_pop().unwrap();
    assert_eq!(popped.complete_oldest(), Some(Delta::Added(("a", 1))));
    drop(popped);
    let mut popped = queue.try_pop().unwrap();
    assert_eq!(copied(&popped), [Delta::Updated(("a", 2))]);
    assert!(popped.complete_oldest().is_some() && popped.complete_oldest().is_none());
    drop(popped);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_retry_blocks_its_key_only_and_for_its_time_only() {
    let queue = queue(&[("a", 1), ("b", 1)]);
    let start = Instant::now();
    queue.try_pop().unwrap().retry_after(Duration::from_secs(30));
    queue.update(("a", 2)).unwrap();
    assert_eq!(drain(&queue).iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["b"]);
    let popped = ends(queue.pop()).await.unwrap().unwrap();
    assert_eq!((start.elapsed(), copied(&popped)), (Duration::from_secs(30), vec![Delta::Added(("a", 1)), Delta::Updated(("a", 2))]));
}

#[tokio::test(start_paused = true)]
async fn a_retry_takes_back_the_place_of_newer_deltas() {
    let queue = queue(&[("a", 1)]);
    let popped = queue.try_pop().unwrap();
    queue.update(("a", 2)).unwrap();
    popped.retry_after(Duration::from_secs(30));
    assert!(queue.try_pop().is_none(), "the newer delta waits too");
    assert_eq!(queue.len(), 1);
    assert_eq!(copied(&ends(queue.pop()).await.unwrap().unwrap()).len(), 2);
}

#[test]
fn two_deletions_that_meet_through_a_retry_are_merged() {
    let queue = knowing(&[("a", 0)]);
    queue.delete_unseen("a", None).unwrap();
    let popped = queue.try_pop().unwrap();
    queue.add(("a", 1)).unwrap();
    queue.delete(("a", 2)).unwrap();
    popped.retry();
    let mut popped = queue.try_pop().unwrap();
    popped.complete_oldest();
    popped.complete_oldest();
    // Left: the deletion that was seen. A second one meets it.
    queue.replace(Vec::new()).unwrap();
    popped.retry();
    assert_eq!(drain(&queue), [("a", vec![Delta::Deleted(Deletion::Seen(("a", 2)))])]);
    assert_eq!(queue.bytes(), 0);
}

/// In client-go work happens under the lock; here a key in work must not fall between
/// the queue and the known objects.
#[test]
fn cd4_a_key_in_work_can_be_deleted() {
    let queue = queue(&[("a", 1)]);
    let popped = queue.try_pop().unwrap();
    queue.delete(("a", 2)).unwrap();
    popped.done();
    let popped = queue.try_pop().unwrap();
    assert_eq!(copied(&popped), [Delta::Deleted(Deletion::Seen(("a", 2)))]);
    queue.delete(("a", 3)).unwrap();
    popped.done();
    assert!(queue.is_empty(), "its deletion is in work already");
}

#[test]
fn cd5_a_resync_passes_over_a_key_in_work() {
    let queue = knowing(&[("a", 1), ("b", 1)]);
    queue.update(("a", 2)).unwrap();
    let popped = queue.try_pop().unwrap();
    queue.resync().unwrap();
    popped.done();
    assert_eq!(drain(&queue), [("b", vec![Delta::Sync(("b", 1))])]);
}

#[test]
fn cd6_a_list_makes_a_tombstone_of_a_key_in_work_with_its_latest_object() {
    for known in [vec![], vec![("a", 1)]] {
        let queue = knowing(&known);
        queue.add(("a", 2)).unwrap();
        let popped = queue.try_pop().unwrap();
        queue.replace(Vec::new()).unwrap();
        popped.done();
        let popped = queue.try_pop().unwrap();
        assert_eq!(copied(&popped), [Delta::Deleted(Deletion::FinalStateUnknown(Some(("a", 2))))]);
        queue.replace(Vec::new()).unwrap();
        popped.done();
        assert!(queue.is_empty(), "its deletion is in work already");
    }
}

#[test]
fn cd11_work_counts_until_it_ends_whatever_its_end() {
    let queue = options().build();
    queue.replace(vec![("a", 1), ("b", 1)]).unwrap();
    let (first, second) = (queue.try_pop().unwrap(), queue.try_pop().unwrap());
    assert!(first.in_initial_list() && second.in_initial_list());
    second.done();
    assert!(!queue.has_synced());
    // A failure counts as an end, so that one bad object cannot keep its user waiting.
    first.retry();
    assert!(queue.has_synced());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_pop_loses_nothing_and_swallows_no_wake_up() {
    let queue = queue(&[]);
    for round in 0..50 {
        let (first, second) = (queue.pop(), queue.pop());
        let mut first = Box::pin(first);
        tokio::pin!(second);
        tokio::select! {
            biased;
            _ = &mut first => panic!("there is nothing"),
            _ = &mut second => panic!("there is nothing"),
            () = std::future::ready(()) => {}
        }
        queue.add(("a", round)).unwrap();
        drop(first);
        let popped = ends(second).await.unwrap().unwrap();
        assert_eq!(copied(&popped), [Delta::Added(("a", round))]);
        popped.done();
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_loses_nothing() {
    let queue = queue(&[("a", 1)]);
    let worker = queue.clone();
    let task = tokio::spawn(async move {
        let _popped = worker.pop().await;
        panic!("a worker breaks");
    });
    assert!(ends(task).await.unwrap().unwrap_err().is_panic());
    assert_eq!(drain(&queue), [("a", vec![Delta::Added(("a", 1))])]);
}

#[tokio::test(start_paused = true)]
async fn a_close_does_not_wait_for_retries() {
    let queue = queue(&[("a", 1), ("b", 1), ("c", 1)]);
    queue.update(("a", 2)).unwrap();
    queue.try_pop().unwrap().retry_after(Duration::from_secs(30));
    let (second, third) = (queue.try_pop().unwrap(), queue.try_pop().unwrap());
    assert_eq!(queue.close(), 2, "both deltas of the key that waits");
    second.retry_after(Duration::from_secs(30));
    third.retry();
    ends(queue.pop()).await.unwrap().unwrap().done();
    assert!(ends(queue.pop()).await.unwrap().is_none());
    assert_eq!(queue.bytes(), 0);
}

/// Four workers, and changes of three keys of which every seventh fails once: each key's
/// deltas are worked off in order, each exactly once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_see_each_delta_once_and_in_order() {
    const CHANGES: u32 = 3_000;
    const KEYS: [&str; 3] = ["a", "b", "c"];
    let queue = options().known_objects(Arc::new(Known(Mutex::default()))).build();
    let done: Arc<Mutex<Vec<Object>>> = Arc::default();
    let failed: Arc<Mutex<HashSet<u32>>> = Arc::default();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (queue, done, failed) = (queue.clone(), done.clone(), failed.clone());
            tokio::spawn(async move {
                while let Some(mut popped) = queue.pop().await {
                    while let Some(object) = popped.oldest().and_then(|delta| delta.object().copied()) {
                        if object.1 % 7 == 0 && failed.lock().insert(object.1) {
                            break;
                        }
                        done.lock().push(object);
                        popped.complete_oldest();
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for change in 0..CHANGES {
        queue.update((KEYS[change as usize % 3], change)).unwrap();
        if change % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    queue.close();
    for worker in workers {
        tokio::time::timeout(Duration::from_secs(60), worker).await.unwrap().unwrap();
    }
    let done = done.lock();
    assert_eq!(done.len(), CHANGES as usize);
    for key in KEYS {
        let of_key: Vec<_> = done.iter().filter(|(other, _)| *other == key).map(|(_, change)| *change).collect();
        assert!(of_key.is_sorted(), "{key}: {of_key:?}");
    }
    assert_eq!(queue.bytes(), 0);
}

/// A user with an order of its own takes keys by name, one delta after the other; the queue's order
/// and its promises stay.
#[test]
fn a_key_can_be_taken_before_its_turn() {
    let queue = queue(&[("a", 1), ("b", 1)]);
    queue.update(("b", 2)).unwrap();
    let mut second = queue.try_pop_oldest(&"b").unwrap();
    assert_eq!(copied(&second), [Delta::Added(("b", 1))], "the other one stays queued");
    queue.update(("b", 3)).unwrap();
    assert!(queue.try_pop_oldest(&"b").is_none(), "it is in work");
    assert!(queue.try_pop_oldest(&"c").is_none(), "it has nothing");
    assert!(second.take_next());
    assert_eq!(copied(&second), [Delta::Added(("b", 1))], "one at a time");
    second.complete_oldest();
    assert!(second.take_next());
    assert_eq!(copied(&second), [Delta::Updated(("b", 2))]);
    drop(second);
    assert_eq!(queue.keys(), ["a", "b"]);
    let mut second = queue.try_pop_oldest(&"b").unwrap();
    assert_eq!(copied(&second), [Delta::Updated(("b", 2))], "what was not completed comes first");
    second.complete_oldest();
    assert!(second.take_next());
    second.complete_oldest();
    assert!(!second.take_next());
    drop(second);
    assert_eq!(drain(&queue), [("a", vec![Delta::Added(("a", 1))])]);

    let queue = self::queue(&[("a", 1)]);
    queue.try_pop().unwrap().retry_after(Duration::from_secs(1));
    assert!(queue.try_pop_oldest(&"a").is_none(), "it waits for its retry");
}
