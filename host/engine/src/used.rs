//! What the instances of a revision cost now: processor time so far, and memory that they hold.
//! Owns the sums, which meters and limiters keep up to date; decides nothing by them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a revision has used, calls in flight included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time of guest and host functions together. Never falls.
    pub cpu: Duration,
    /// Bytes of memory of the instances that are alive, idle ones included.
    pub memory: u64,
}

/// The sums of one revision.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    nanos: AtomicU64,
    bytes: AtomicU64,
}

impl Sums {
    /// An instance has computed for so long.
    pub(crate) fn computed(&self, nanos: u64) {
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The memory of an instance changes its size; at its end to nothing.
    pub(crate) fn resized(&self, from: usize, to: usize) {
        // What is added and taken cancels out over the life of an instance.
        self.bytes.fetch_add((to as u64).wrapping_sub(from as u64), Ordering::Relaxed);
    }

    /// What they are.
    pub(crate) fn now(&self) -> Used {
        Used { cpu: Duration::from_nanos(self.nanos.load(Ordering::Relaxed)), memory: self.bytes.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_not_held() {
        let sums = Sums::default();
        sums.resized(0, 3 << 16);
        sums.resized(0, 1 << 16);
        sums.resized(3 << 16, 4 << 16);
        sums.computed(1500);
        assert_eq!(sums.now(), Used { cpu: Duration::from_nanos(1500), memory: 5 << 16 });
        sums.resized(4 << 16, 0);
        sums.resized(1 << 16, 0);
        assert_eq!(sums.now().memory, 0);
    }
}
