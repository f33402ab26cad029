//! What a dispatcher calls. Owns the seam between the decision that a call is made and whoever
//! runs it: a revision of a component, or a native handler in tests and benches. Never decides
//! anything.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use tokio::runtime::Handle;
use wharf_core::Delivery;
use wharf_engine::{Admission, CallReport, Revision, Used};

/// Runs the calls of one revision of a plugin.
pub trait Callee: Send + Sync + 'static {
    /// Waits for what a call needs before it is decided which call that is. Nobody has to wait for
    /// a handler that needs nothing. Cancel safe.
    fn admit(&self) -> BoxFuture<'_, Option<Admission>> {
        ready(None).boxed()
    }

    /// Makes one call; calls of different keys may run at the same time. A future that is dropped
    /// has given the call up: as far as it got, it happened.
    fn call(&self, admission: Option<Admission>, delivery: Delivery) -> BoxFuture<'_, CallReport>;

    /// Where its calls compute, if not on the threads of whoever asks: the plugin's workers belong
    /// there, so that neither what they decide nor what is called takes time from the host's own
    /// threads, and no call needs a way between threads.
    fn threads(&self) -> Option<&Handle> {
        None
    }

    /// The plugin's filters have computed for so long on these threads.
    fn charge(&self, _spent: Duration) {}

    /// A worker has had nothing to do for so long: what has been kept for a next call since then
    /// may go. Cheap, and never wrong.
    fn rest(&self, _since: Duration) {}

    /// What it keeps ready for the next call.
    fn idle(&self) -> usize {
        0
    }

    /// Bytes of machine code that are mapped for it.
    fn code(&self) -> u64 {
        0
    }

    /// What its calls have computed, and what memory it holds now.
    fn used(&self) -> Used {
        Used::default()
    }
}

impl Callee for Revision {
    fn admit(&self) -> BoxFuture<'_, Option<Admission>> {
        Self::admit(self).map(Some).boxed()
    }

    fn call(&self, admission: Option<Admission>, delivery: Delivery) -> BoxFuture<'_, CallReport> {
        Box::pin(async move {
            let admission = match admission {
                Some(admission) => admission,
                None => Self::admit(self).await,
            };
            self.call_admitted(admission, delivery).await
        })
    }

    fn threads(&self) -> Option<&Handle> {
        Some(Self::threads(self))
    }

    fn charge(&self, spent: Duration) {
        Self::charge(self, spent);
    }

    fn rest(&self, since: Duration) {
        Self::rest(self, since);
    }

    fn idle(&self) -> usize {
        Self::idle(self)
    }

    fn code(&self) -> u64 {
        Self::code(self)
    }

    fn used(&self) -> Used {
        Self::used(self)
    }
}
