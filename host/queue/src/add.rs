//! How a key is added. Owns the words of an add with options; never adds anything.

use std::time::Duration;

/// The priority of what nobody waits for: a pass over everything, such as a first list or
/// a resync. The same figure as controller-runtime's.
pub const LOW: i32 = -100;

/// How [`WorkQueue::add_with`](crate::WorkQueue::add_with) adds a key. The default is a
/// plain add: priority 0, at once.
///
/// ```
/// # use std::time::Duration;
/// # use wharf_queue::{Add, LOW, WorkQueue};
/// let queue = WorkQueue::new("resync");
/// queue.add_with("key", Add { priority: LOW, ..Add::default() });
/// queue.add_with("later", Add { after: Some(Duration::from_secs(3)), ..Add::default() });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Add {
    /// Higher comes first; any `i32`. Of several adds of one entry the highest counts. Who
    /// adds a key again because of a run keeps that run's ([`Item::priority`](crate::Item::priority)).
    pub priority: i32,
    /// Not before this time has passed, cut to [`MAX_DELAY`](crate::MAX_DELAY). None and
    /// zero are both at once, but for a rate-limited add None is no time of its own.
    pub after: Option<Duration>,
    /// A failure of the key: counts it, and waits as the rate limiter says. With `after`,
    /// the smaller of the two.
    pub rate_limited: bool,
}

impl Add {
    /// Does it ask for a later time? client-go counts such adds as retries.
    pub(crate) fn is_retry(&self) -> bool {
        self.rate_limited || self.after.is_some()
    }
}
