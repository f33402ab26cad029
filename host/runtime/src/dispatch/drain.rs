//! The end of a dispatcher: of its plugin, of its host, or of its host's leadership. Owns the order in
//! which queue, workers and ledger are taken down; never begins anything.

use std::sync::Arc;
use std::time::Duration;

use super::dispatcher::Dispatcher;

impl Dispatcher {
    /// Stops handing out keys and waits until no call is in flight, at most so long; what
    /// is then still running is cancelled; earlier if this host leads no more. Returns the calls
    /// that were cancelled.
    pub async fn drain(&self, deadline: Duration) -> usize {
        self.shut();
        let drained = tokio::select! {
            drained = tokio::time::timeout(deadline, self.queue.shut_down_with_drain()) => drained.is_ok(),
            // Another host may call the plugin soon.
            () = self.shared.tenure.calls_over() => false,
        };
        let cancelled = if drained { 0 } else { self.queue.processing() };
        let workers = std::mem::take(&mut *self.workers.lock());
        for worker in &workers {
            worker.abort();
        }
        for worker in workers {
            // Ended or aborted: either way nothing runs any more.
            let _ended = worker.await;
        }
        // While the stores can still be asked: most of the ledger is in their places. No commit must
        // be asking at the same time, and none may ask afterwards.
        let turn = match &self.shared.checkpoint {
            Some(checkpoint) => Some(checkpoint.retire(self).await),
            None => None,
        };
        {
            let mut state = self.state.lock();
            // Not before what is known was written: of a source that changes now its marks are noted too.
            state.subscribed.deactivate();
            state.subscribed = Arc::default();
            state.retired = true;
        }
        drop(turn);
        cancelled
    }
}
