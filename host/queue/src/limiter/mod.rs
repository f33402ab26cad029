//! How long a key that failed has to wait. Owns the words of a rate limiter and how a
//! queue asks it; never queues anything and never looks at a clock.

mod bucket;
mod combined;
mod per_key;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use bucket::Bucket;
pub use combined::{MaxOf, WithMaxWait, default_controller_limiter};
pub use per_key::{ExponentialPerKey, FastSlow};

/// Decides how long a key waits after a failure.
///
/// It has two halves. [`when`](Self::when) is about the key and is asked for each failure;
/// [`reserve`](Self::reserve) is about all keys together, and is asked only if the failure
/// really makes an entry of the queue. The key waits for the later of the two. So a thousand
/// failures of a key that waits already cost one token, not a thousand (client-go's bucket
/// takes one for each, and the waits of all keys grow without need).
///
/// An implementation keeps memory for each key that failed, until `forget`: who gives
/// up on a key, or sees what it stands for go away, must call it.
///
/// The queue calls from the threads that use it, and `reserve` under its lock: a method must
/// not block, and must not use the queue.
pub trait RateLimiter<K>: Send + Sync + 'static {
    /// Counts one more failure of `key` and says how long it waits now.
    fn when(&self, key: &K) -> Duration;

    /// Takes a token of what all keys share and says from when on it may be used: `now` if
    /// there is one.
    fn reserve(&self, now: Instant) -> Instant {
        now
    }

    /// Takes back all failures of `key`: it succeeded, or nobody will try it again.
    fn forget(&self, key: &K);

    /// The failures of `key` since it was last forgotten.
    fn retries(&self, key: &K) -> u32;

    /// How many keys have failures that are not forgotten; a gauge on the memory held.
    fn tracked(&self) -> usize;
}

macro_rules! forward {
    ($pointer:ident) => {
        impl<K, L: RateLimiter<K> + ?Sized> RateLimiter<K> for $pointer<L> {
            fn when(&self, key: &K) -> Duration {
                (**self).when(key)
            }

            fn reserve(&self, now: Instant) -> Instant {
                (**self).reserve(now)
            }

            fn forget(&self, key: &K) {
                (**self).forget(key);
            }

            fn retries(&self, key: &K) -> u32 {
                (**self).retries(key)
            }

            fn tracked(&self) -> usize {
                (**self).tracked()
            }
        }
    };
}

forward!(Box);
forward!(Arc);
