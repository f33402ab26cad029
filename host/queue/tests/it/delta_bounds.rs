//! The DeltaFIFO's limit in bytes.

use std::sync::Arc;

use parking_lot::Mutex;
use wharf_queue::{DELTA_OVERHEAD, Delta, DeltaFifo, DeltaOptions, FifoError, Full};

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
