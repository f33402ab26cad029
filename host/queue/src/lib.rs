//! When a key is worked on: a deduplicating, delaying, rate-limiting workqueue with
//! priorities and a clean end, after client-go's `util/workqueue` and controller-runtime's
//! `priorityqueue`. It owns the order and the time of work; it never knows what a key stands
//! for, and never runs the work itself.
#![doc = include_str!("../README.md")]

mod add;
mod delay;
mod delta_fifo;
mod fair;
mod fifo;
mod find;
mod item;
mod limiter;
mod metrics;
mod parallel;
mod queue;
mod ready;
mod state;

use std::hash::Hash;

pub use add::{Add, LOW};
pub use delay::MAX_DELAY;
pub use delta_fifo::{
    Applied, DELTA_OVERHEAD, Deletion, Delta, DeltaFifo, DeltaKind, DeltaOptions, DeltaStore, Evicted, FifoError, Full, KnownObjects,
    Popped, TransformError, apply_deltas,
};
pub use fair::{Acquire, Holder, Meter, Player, Share, Shares, SharesStats, Turn, Turns};
pub use fifo::Fifo;
pub use find::Found;
pub use item::{Item, Ready};
pub use limiter::{Bucket, ExponentialPerKey, FastSlow, MaxOf, RateLimiter, WithMaxWait, default_controller_limiter};
pub use metrics::{NoMetrics, QueueMetrics, Stats};
pub use parallel::parallelize;
pub use queue::WorkQueue;
pub use ready::DEFAULT_AGEING;

/// What can be queued: anything small that can be copied and compared. A queue holds up
/// to three clones of each key, so a key is best made of `Arc`s.
pub trait Key: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Key for T {}
