//! The DeltaFIFO's limit in bytes.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use wharf_queue::{DELTA_OVERHEAD, Delta, DeltaFifo, DeltaOptions, Evicted, FifoError, Full};

use crate::delta_fifo::{Known, Object, drain};

/// A queue with room for objects of so many bytes in so many deltas; an object's value is its size.
fn queue(bytes: usize, deltas: usize, known: &[Object]) -> DeltaFifo<&'static str, Object> {
    DeltaOptions::new(bytes + deltas * DELTA_OVERHEAD, |object: &Object| object.0, |object| object.1 as usize)
        .known_objects(Arc::new(Known(Mutex::new(known.to_vec()))))
        .build()
}

fn full(result: Result<(), FifoError<&'static str>>) -> Full<&'static str> {
    let full = match result {
        Err(FifoError::Full(full)) => Some(full),
        Ok(()) | Err(_) => None,
    };
    full.expect("the change does not fit")
}

#[test]
fn a_change_that_does_not_fit_is_named_and_the_queue_says_so() {
    let queue = queue(100, 2, &[]);
    queue.add(("a", 60)).unwrap();
    let error = queue.update(("a", 41)).unwrap_err();
    let text = error.to_string();
    let used = 60 + DELTA_OVERHEAD;
    let limit = 100 + 2 * DELTA_OVERHEAD;
    assert_eq!(full(Err(error)), Full { key: "a", size: 41 + DELTA_OVERHEAD, used, limit });
    assert!(
        text.starts_with(r#"the change of "a" (105 bytes) does not fit into the queue: 124 of 228 bytes are in use; clear it"#),
        "{text}"
    );
    assert!(queue.overflowed());
}

#[test]
fn just_what_fits_fits() {
    let queue = queue(100, 2, &[]);
    queue.add(("a", 60)).unwrap();
    queue.add(("b", 40)).unwrap();
    assert_eq!(queue.bytes(), 100 + 2 * DELTA_OVERHEAD);
    assert!(!queue.overflowed());
    assert_eq!(full(queue.add(("c", 0))).key, "c", "objects without a size fill it too");
}

/// After a gap, a later change would be told with a wrong state before it.
#[test]
fn after_an_overflow_nothing_is_taken_until_the_queue_is_cleared() {
    let queue = queue(100, 4, &[]);
    queue.add(("a", 60)).unwrap();
    full(queue.add(("b", 400)));
    full(queue.add(("c", 1)));
    full(queue.replace(vec![("c", 1)]));
    assert_eq!(drain(&queue), [("a", vec![Delta::Added(("a", 60))])], "what was queued is still handed out");
    assert_eq!((queue.bytes(), queue.overflowed()), (0, true));
    full(queue.add(("c", 1)));
    assert_eq!(queue.clear(), 0);
    queue.add(("c", 1)).unwrap();
    assert!(!queue.overflowed());
}

#[test]
fn work_counts_until_it_is_completed() {
    let queue = queue(100, 4, &[]);
    queue.add(("a", 60)).unwrap();
    queue.update(("a", 30)).unwrap();
    let mut popped = queue.try_pop().unwrap();
    assert_eq!(queue.bytes(), 90 + 2 * DELTA_OVERHEAD);
    popped.complete_oldest();
    assert_eq!(queue.bytes(), 30 + DELTA_OVERHEAD);
    popped.retry();
    assert_eq!(queue.bytes(), 30 + DELTA_OVERHEAD);
    assert_eq!(queue.clear(), 1);
    assert_eq!(queue.bytes(), 0);
}

#[test]
fn a_list_is_queued_as_a_whole_or_not_at_all() {
    let queue = queue(100, 10, &[("gone", 30)]);
    queue.add(("a", 20)).unwrap();
    let refused = full(queue.replace(vec![("a", 20), ("b", 20), ("c", 900), ("d", 1)]));
    assert_eq!((refused.key, refused.used), ("c", 20 + DELTA_OVERHEAD));
    assert_eq!(queue.keys(), ["a"]);
    queue.clear();
    let refused = full(queue.replace(vec![("b", 80 + 8 * DELTA_OVERHEAD as u32)]));
    assert_eq!(refused.key, "gone", "tombstones count too");
    assert!(queue.is_empty());
}

#[test]
fn a_resync_that_does_not_fit_is_no_gap() {
    let queue = queue(100, 1, &[("x", 60), ("y", 60)]);
    full(queue.resync());
    assert!(queue.is_empty() && !queue.overflowed());
    queue.add(("a", 60)).unwrap();
}

#[test]
fn a_cleared_queue_starts_anew() {
    let queue = queue(100, 4, &[]);
    queue.replace(vec![("a", 10), ("b", 10)]).unwrap();
    let popped = queue.try_pop().unwrap();
    full(queue.add(("c", 900)));
    assert_eq!(queue.clear(), 1, "b; a is in work");
    assert!(!queue.has_synced());
    queue.replace(vec![("a", 11)]).unwrap();
    popped.retry();
    assert_eq!(drain(&queue), [("a", vec![Delta::Replaced(("a", 11))])], "old work does not come back");
    assert!(queue.has_synced());
    assert_eq!(queue.bytes(), 0);
}

/// Keys and how many of their deltas were dropped.
fn dropped(evicted: &[Evicted<&'static str, Object>]) -> Vec<(&'static str, usize)> {
    evicted.iter().map(|evicted| (*evicted.key(), evicted.deltas().len())).collect()
}

/// One key that is stuck cannot take the room of the others.
#[test]
fn the_key_that_has_the_most_makes_room() {
    let queue = queue(100, 10, &[]);
    for value in [10, 20, 30] {
        assert!(queue.update_evicting(("large", value)).unwrap().is_empty());
    }
    for value in [5, 15] {
        assert!(queue.update_evicting(("small", value)).unwrap().is_empty());
    }
    let fills = 100 + 5 * DELTA_OVERHEAD as u32 - 80;
    assert_eq!(dropped(&queue.update_evicting(("new", fills)).unwrap()), [("large", 3)]);
    let small = vec![Delta::Updated(("small", 5)), Delta::Updated(("small", 15))];
    assert_eq!(drain(&queue), [("small", small), ("new", vec![Delta::Updated(("new", fills))])]);
    assert_eq!((queue.bytes(), queue.overflowed()), (0, false));
}

/// The key that changes may be the one; then the change is what it has.
#[test]
fn a_change_may_take_the_place_of_those_before_it() {
    let queue = queue(100, 2, &[]);
    queue.update_evicting(("a", 50)).unwrap();
    queue.update_evicting(("a", 40)).unwrap();
    assert_eq!(dropped(&queue.update_evicting(("a", 30)).unwrap()), [("a", 2)]);
    assert_eq!(drain(&queue), [("a", vec![Delta::Updated(("a", 30))])]);
}

/// What is in work cannot be taken away, but what waits behind it can.
#[test]
fn a_key_in_work_keeps_what_is_in_work() {
    let queue = queue(100, 3, &[]);
    for value in [30, 30, 30] {
        queue.update_evicting(("a", value)).unwrap();
    }
    let popped = queue.try_pop_oldest(&"a").unwrap();
    assert_eq!(dropped(&queue.update_evicting(("b", 50)).unwrap()), [("a", 2)]);
    let large = 100 + DELTA_OVERHEAD as u32;
    assert_eq!(dropped(&queue.update_evicting(("b", large)).unwrap()), [("b", 1)], "there is no room for it at all");
    assert_eq!(queue.keys(), ["b"], "so nothing was dropped for it");
    popped.retry();
    assert_eq!(dropped(&queue.evict(&"a").into_iter().collect::<Vec<_>>()), [("a", 1)]);
    assert!(queue.evict(&"a").is_none());
    assert_eq!(drain(&queue), [("b", vec![Delta::Updated(("b", 50))])]);
    assert_eq!(queue.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_waits_for_its_retry_makes_room_too() {
    let queue = queue(100, 2, &[]);
    queue.update_evicting(("a", 90)).unwrap();
    queue.try_pop().unwrap().retry_after(Duration::from_secs(1));
    assert_eq!(dropped(&queue.update_evicting(("b", 90)).unwrap()), [("a", 1)]);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(drain(&queue), [("b", vec![Delta::Updated(("b", 90))])]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}
