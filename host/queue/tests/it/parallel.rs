//! Pieces of work by a few workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use wharf_queue::parallelize;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn cq15_every_piece_is_done_once_whatever_the_chunks() {
    for (workers, pieces, chunk) in
        [(4, 1000, 1), (4, 1000, 10), (4, 999, 10), (10, 6, 1), (3, 1, 100), (2, 0, 1), (0, 5, 0), (1, 3, usize::MAX)]
    {
        let seen = Arc::new(Mutex::new(vec![0; pieces]));
        let work = Arc::clone(&seen);
        let panicked = parallelize(workers, pieces, chunk, move |piece| {
            work.lock()[piece] += 1;
            async {}
        });
        assert_eq!(panicked.await, 0);
        assert_eq!(*seen.lock(), vec![1; pieces], "{workers} workers, {pieces} pieces by {chunk}");
    }
}

#[tokio::test(start_paused = true)]
async fn cq15_no_more_workers_than_asked_and_no_fewer() {
    let start = Instant::now();
    assert_eq!(parallelize(4, 12, 1, |_| sleep(SECOND)).await, 0);
    assert_eq!(start.elapsed(), 3 * SECOND);
    assert_eq!(parallelize(4, 12, 6, |_| sleep(SECOND)).await, 0);
    assert_eq!(start.elapsed(), 9 * SECOND, "two workers have a chunk each");
}

#[tokio::test(start_paused = true)]
async fn cq15_a_piece_that_panics_takes_no_other_with_it() {
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let panicked = parallelize(2, 20, 5, move |piece| {
        assert!(piece != 3, "before the first await");
        let done = Arc::clone(&counted);
        async move {
            sleep(SECOND).await;
            assert!(piece != 11, "after it");
            done.fetch_add(1, Ordering::SeqCst);
        }
    });
    assert_eq!(panicked.await, 2);
    assert_eq!(done.load(Ordering::SeqCst), 18);
}

#[tokio::test(start_paused = true)]
async fn cq15_a_drop_stops_the_workers() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    let all = parallelize(2, 100, 1, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        sleep(SECOND)
    });
    assert!(timeout(5 * SECOND / 2, all).await.is_err());
    sleep(100 * SECOND).await;
    assert_eq!((begun.load(Ordering::SeqCst), Arc::strong_count(&begun)), (6, 1), "nothing runs, nothing is kept");
}
