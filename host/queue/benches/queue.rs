//! What a key costs in the workqueue, on one thread: `cargo bench -p wharf-queue`.
//! Prints the median and the best of some rounds, in nanoseconds of processor time per key, which
//! neighbours on the machine disturb less than the time that passes. Never asserts a time.
//!
//! A line is one way of a key through the queue, measured with one key and with ten thousand keys
//! queued at once: plain adds; adds in two priorities; low keys that all are aged, among new ones; keys
//! that are raised while they wait; delayed keys; adds of a key that is queued already; and, with the
//! key of an object (two strings in `Arc`s) instead of a number, plain adds again.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may end at the first error")]

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use wharf_queue::{Add, LOW, WorkQueue};

const ROUNDS: usize = 21;
/// Ways through the queue in a round, whatever the number of keys.
const KEYS_A_ROUND: usize = 200_000;

fn main() {
    println!("{:<34} {:>8} {:>12} {:>12}", "add + get + done, ns per key", "keys", "median", "best");
    for count in [1, 10_000] {
        let numbers: Vec<u64> = (0..count).collect();
        let objects: Vec<(Arc<str>, Arc<str>)> = (0..count).map(|n| ("team-a".into(), format!("settings-{n:05}").into())).collect();
        line("plain", &numbers, Duration::MAX, |queue, _, key| queue.add(key));
        line("plain, key of an object", &objects, Duration::MAX, |queue, _, key| queue.add(key));
        line("two priorities", &numbers, Duration::MAX, |queue, index, key| add(queue, key, priority(index)));
        line("two priorities, all aged", &numbers, Duration::ZERO, |queue, index, key| add(queue, key, priority(index)));
        line("raised", &numbers, Duration::MAX, |queue, _, key| {
            add(queue, key, LOW);
            queue.add(key);
        });
        line("delayed", &numbers, Duration::MAX, |queue, _, key| queue.add_after(key, Duration::from_nanos(1)));
        line("added twice", &numbers, Duration::MAX, |queue, _, key| {
            queue.add(key);
            queue.add(key);
        });
    }
}

fn priority(index: usize) -> i32 {
    if index.is_multiple_of(2) { LOW } else { 0 }
}

fn add(queue: &WorkQueue<u64>, key: u64, priority: i32) {
    queue.add_with(key, Add { priority, ..Add::default() });
}

fn line<K: Clone + Eq + Hash + Send + Sync + 'static>(name: &str, keys: &[K], ageing: Duration, add: impl Fn(&WorkQueue<K>, usize, K)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let passes = KEYS_A_ROUND.div_ceil(keys.len());
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let queue = WorkQueue::new("bench").with_ageing(ageing);
            let start = processor_time();
            runtime.block_on(async {
                for _ in 0..passes {
                    keys.iter().enumerate().for_each(|(index, key)| add(&queue, index, key.clone()));
                    for _ in keys {
                        queue.get().await.unwrap().done();
                    }
                }
            });
            (processor_time() - start).as_nanos() as f64 / (passes * keys.len()) as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<34} {:>8} {:>12.0} {:>12.0}", keys.len(), rounds.get(ROUNDS / 2).unwrap(), rounds.first().unwrap());
}

/// Of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}
