//! Many producers and workers on several threads and the real clock.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle, yield_now};
use wharf_queue::{Item, WorkQueue};

const KEYS: usize = 20;
const PRODUCERS: usize = 8;
const WORKERS: usize = 5;
const ROUNDS: usize = 2_000;

/// A key that carries what producers and workers tell about it.
#[derive(Default)]
struct Watched {
    id: usize,
    added: AtomicU64,
    /// The value of `added` that the last hand-out saw.
    seen: AtomicU64,
    in_work: AtomicBool,
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

type Queue = WorkQueue<Arc<Watched>>;

fn producer(queue: Queue, keys: Vec<Arc<Watched>>, id: usize) -> JoinHandle<()> {
    tokio::spawn(async move {
        for (round, key) in keys.iter().cycle().skip(id * 7).step_by(13).take(ROUNDS).enumerate() {
            key.added.fetch_add(1, Ordering::SeqCst);
            if round % 5 == 0 {
                // Over, or absorbed by the add, before the end.
                queue.add_after(Arc::clone(key), Duration::from_micros(100));
                yield_now().await;
            }
            queue.add(Arc::clone(key));
        }
    })
}

async fn work(item: Item<Arc<Watched>>) {
    let key = item.key();
    assert!(!key.in_work.swap(true, Ordering::SeqCst), "two workers on one key");
    key.seen.store(key.added.load(Ordering::SeqCst), Ordering::SeqCst);
    yield_now().await;
    key.in_work.store(false, Ordering::SeqCst);
}

fn worker(queue: Queue) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(item) = queue.get().await {
            work(item).await;
        }
    })
}

/// Gives up most of its waits, then ends while others wait.
fn fickle_worker(queue: Queue) -> JoinHandle<()> {
    tokio::spawn(async move {
        for _ in 0..ROUNDS {
            tokio::select! {
                biased;
                item = queue.get() => match item {
                    Some(item) => work(item).await,
                    None => return,
                },
                () = yield_now() => {}
            }
        }
    })
}

async fn run(drain: bool) -> Result<(), JoinError> {
    let queue = WorkQueue::new("test");
    let keys: Vec<_> = (0..KEYS).map(|id| Arc::new(Watched { id, ..Watched::default() })).collect();
    let mut workers: Vec<_> = (0..WORKERS).map(|_| worker(queue.clone())).collect();
    workers.extend((0..WORKERS).map(|_| fickle_worker(queue.clone())));
    let producers: Vec<_> = (0..PRODUCERS).map(|id| producer(queue.clone(), keys.clone(), id)).collect();
    for producer in producers {
        producer.await?;
    }
    if drain {
        queue.shut_down_with_drain().await;
        assert_eq!(queue.processing(), 0);
    } else {
        queue.shut_down();
    }
    for worker in workers {
        worker.await?;
    }
    assert_eq!((queue.len(), queue.waiting(), queue.processing()), (0, 0, 0));
    for key in keys {
        assert_eq!(key.seen.load(Ordering::SeqCst), key.added.load(Ordering::SeqCst), "an add of {} was lost", key.id);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cq1_many_workers_never_share_a_key_and_lose_none_until_shutdown() {
    run(false).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cq1_many_workers_never_share_a_key_and_lose_none_until_drained() {
    run(true).await.unwrap();
}

/// A worker that never has to wait leaves room for the others on its thread.
#[tokio::test(start_paused = true)]
async fn a_worker_that_always_finds_a_key_lets_others_run() {
    let queue = WorkQueue::new("test");
    queue.add("key");
    let busy = tokio::spawn({
        let queue = queue.clone();
        async move {
            let mut turns = 0;
            while turns < 1_000_000
                && let Some(item) = queue.get().await
            {
                queue.add(*item.key());
                turns += 1;
            }
            turns
        }
    });
    yield_now().await;
    queue.shut_down();
    assert!(busy.await.unwrap() < 1_000_000, "nobody else ran");
}
