//! What a worker gets before it takes a key: an instance, or the slot for one. So it is decided as
//! late as possible which key is worked on, and a key that waits still counts as queued. Owns
//! this order; decides nothing about keys.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use wharf_core::{Delivery, TargetKey};
use wharf_engine::{Admission, CallReport};
use wharf_queue::{Item, Ready};

use super::breaker::Pass;
use super::dispatcher::{Dispatcher, Serving};

/// The right to a call of the revision that served when it was given.
pub(super) struct Admitted {
    serving: Arc<Serving>,
    admission: Option<Admission>,
    /// What the breaker knows the call by.
    pub(super) pass: Pass,
}

impl Admitted {
    /// Calls the revision that serves now. If it is another one, this waits once more.
    pub(super) async fn call(self, serving: &Arc<Serving>, delivery: Delivery) -> CallReport {
        if Arc::ptr_eq(&self.serving, serving) {
            return serving.revision.call(self.admission, delivery).await;
        }
        drop(self);
        serving.revision.call(None, delivery).await
    }
}

/// A burst is over when no key has come for so long. In a stream of changes the queue runs dry after
/// each of them, and an instance that is made anew costs more than the call.
const BURST: Duration = Duration::from_millis(20);

/// The next key, and the right to a call for it. A worker that finds no key for a while lets the
/// revision know that its burst is over. `None` when the queue is shut down, or the revision wants fewer
/// workers. Cancel safe: another worker is woken in its place.
pub(super) async fn next(dispatcher: &Dispatcher, index: u32) -> Option<(Item<TargetKey>, Admitted)> {
    loop {
        let ready = tokio::select! {
            ready = ready(dispatcher) => ready?,
            () = dispatcher.until_trial() => continue,
        };
        // Without a revision the queue is paused.
        let serving = dispatcher.serving()?;
        if index >= serving.limits.concurrency {
            return None;
        }
        let admission = serving.revision.admit().await;
        // Asked of the clock each time: who was frozen meanwhile must not go on. It is never true again.
        if !dispatcher.shared.tenure.may_deliver() {
            return None;
        }
        if let Some((item, pass)) = dispatcher.take(ready) {
            return Some((item, Admitted { serving, admission, pass }));
        }
    }
}

async fn ready(dispatcher: &Dispatcher) -> Option<Ready<TargetKey>> {
    if let Ok(ready) = timeout(BURST, dispatcher.queue.ready()).await {
        return ready;
    }
    if let Some(serving) = dispatcher.serving() {
        serving.revision.rest(BURST);
    }
    dispatcher.queue.ready().await
}
