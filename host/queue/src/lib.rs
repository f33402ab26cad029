//! When a key is worked on: a deduplicating, delaying, rate-limiting workqueue with a
//! clean end, after client-go's `util/workqueue`. It owns the order and the time of
//! work; it never knows what a key stands for, and never runs the work itself.
//!
//! What [`WorkQueue`] promises:
//!
//! - **One worker per key.** A key that is handed out is not handed out again before its
//!   [`Item`] is dropped, not even to the same worker.
//! - **No add is lost.** Each `add` is followed by a hand-out that starts after it. Adds
//!   of a waiting key collapse into one; an add of a key in work brings it back once.
//! - **First come, first served**, by the time at which a key became ready.
//! - **One entry per key.** A delayed add is never early and keeps the earliest time. An
//!   immediate add absorbs it: a caller whose timers must outlive other work keeps them
//!   itself and arms them again after each decision (see [`WorkQueue::add_after`]).
//! - **A guard, not a call, ends the work.** A worker that panics or is cancelled drops
//!   its [`Item`], and that releases the key.
//! - **Cancel safe.** A dropped `get` takes no key and swallows no wake-up.
//! - **A clean end.** [`WorkQueue::shut_down`] refuses new keys and hands out the queued
//!   ones; [`WorkQueue::shut_down_with_drain`] also waits until all work has ended.
//! - **No task, no channel, no tick.** A queue at rest costs its memory only, which is
//!   bounded by the distinct keys that the caller adds. Time is tokio's.
//!
//! Beside it are client-go's queues of objects: [`Fifo`] keeps the latest object of each
//! key, [`DeltaFifo`] every change, bounded in bytes.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use std::time::Duration;
//! use wharf_queue::WorkQueue;
//!
//! let queue = WorkQueue::new("greetings");
//! queue.add("hello");
//! queue.add("hello");
//! queue.add_after("later", Duration::from_millis(5));
//!
//! let mut seen = Vec::new();
//! while let Some(item) = queue.get().await {
//!     seen.push(*item.key());
//!     if seen.len() == 2 {
//!         queue.shut_down();
//!     }
//! }
//! assert_eq!(seen, ["hello", "later"]);
//! # }
//! ```

mod delay;
mod delta_fifo;
mod fifo;
mod limiter;
mod metrics;
mod queue;
mod state;

use std::hash::Hash;

pub use delay::MAX_DELAY;
pub use delta_fifo::{
    Applied, DELTA_OVERHEAD, Deletion, Delta, DeltaFifo, DeltaKind, DeltaOptions, DeltaStore, FifoError, Full, KnownObjects, Popped,
    TransformError, apply_deltas,
};
pub use fifo::Fifo;
pub use limiter::{ExponentialPerKey, RateLimiter};
pub use metrics::{NoMetrics, QueueMetrics, Stats};
pub use queue::{Item, WorkQueue};

/// What can be queued: anything small that can be copied and compared. A queue holds up
/// to three clones of each key, so a key is best made of `Arc`s.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Key for T {}
