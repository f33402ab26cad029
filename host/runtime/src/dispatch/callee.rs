//! What a dispatcher calls. Owns the seam between the decision that a call is made and whoever
//! runs it: a revision of a component, or a native handler in tests and benches. Never decides
//! anything.

use futures::future::BoxFuture;
use wharf_core::Delivery;
use wharf_engine::{CallReport, Revision};

/// Runs the calls of one revision of a plugin.
pub trait Callee: Send + Sync + 'static {
    /// Makes one call; calls of different keys may run at the same time. A future that is dropped
    /// has given the call up: as far as it got, it happened.
    fn call(&self, delivery: Delivery) -> BoxFuture<'_, CallReport>;

    /// The plugin has nothing to do for now. Cheap, and never wrong.
    fn rest(&self) {}

    /// What it keeps ready for the next call.
    fn idle(&self) -> usize {
        0
    }
}

impl Callee for Revision {
    fn call(&self, delivery: Delivery) -> BoxFuture<'_, CallReport> {
        Box::pin(Self::call(self, delivery))
    }

    fn rest(&self) {
        Self::rest(self);
    }

    fn idle(&self) -> usize {
        Self::idle(self)
    }
}
