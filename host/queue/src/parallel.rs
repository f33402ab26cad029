//! Many pieces of work by a few workers. Owns which worker does which piece, and what
//! becomes of one that panics; keeps nothing beyond a call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;

/// Does the pieces `0..pieces`, at most `workers` at a time, and returns how many of them
/// panicked; client-go's `ParallelizeUntil`.
///
/// A worker takes `chunk` pieces in a row at once: more than one pays if a piece is tiny.
/// Zero workers or a chunk of zero count as one. A piece that panics takes no other with
/// it (client-go loses the rest of its chunk). The order of pieces in different workers is open.
///
/// Must be called inside a tokio runtime. Cancel safe: if the future is dropped, the workers
/// are stopped where they wait, and no further piece begins.
pub async fn parallelize<F, W>(workers: usize, pieces: usize, chunk: usize, work: F) -> usize
where
    F: Fn(usize) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let chunk = chunk.max(1);
    let shared = Arc::new((AtomicUsize::new(0), work));
    let mut tasks = JoinSet::new();
    for _ in 0..workers.max(1).min(pieces.div_ceil(chunk)) {
        let shared = Arc::clone(&shared);
        tasks.spawn(async move {
            let (next, work) = &*shared;
            let mut panicked = 0;
            loop {
                let Ok(first) =
                    next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < pieces).then(|| next.saturating_add(chunk)))
                else {
                    return panicked;
                };
                for piece in first..first.saturating_add(chunk).min(pieces) {
                    consume_budget().await;
                    panicked += usize::from(!survives(work, piece).await);
                }
            }
        });
    }
    let mut panicked = 0;
    while let Some(ended) = tasks.join_next().await {
        panicked += ended.unwrap_or_default();
    }
    panicked
}

/// Does one piece; false if it panicked.
async fn survives<W: Future<Output = ()>>(work: &impl Fn(usize) -> W, piece: usize) -> bool {
    let Ok(future) = catch_unwind(AssertUnwindSafe(|| work(piece))) else { return false };
    let mut future = pin!(future);
    std::future::poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(())) => Poll::Ready(true),
        Err(_) => Poll::Ready(false),
    })
    .await
}
