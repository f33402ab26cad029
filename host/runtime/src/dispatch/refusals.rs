//! What a plugin asks for and does not get without being told: `record-event` has no answer. Owns which of
//! that is known and for how long; a request that is answered with an error is the call's own affair.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use wharf_core::Reason;

/// Without another refusal it is forgotten after this time: a plugin that asks no more has nothing to show.
const KEPT: Duration = Duration::from_secs(600);

/// The newest refusal of an Event.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Option<Refusal>>);

#[derive(Debug)]
struct Refusal {
    reason: Reason,
    message: String,
    /// Where the Event was to be written, if that is known.
    namespace: Option<String>,
    at: Instant,
}

impl Refusals {
    /// An Event was refused.
    pub fn refused(&self, reason: Reason, message: String, namespace: Option<&str>) {
        let namespace = namespace.map(str::to_owned);
        *self.0.lock() = Some(Refusal { reason, message, namespace, at: Instant::now() });
    }

    /// An Event was written. One in another namespace says nothing of the rights in this one.
    pub fn written(&self, namespace: &str) {
        self.0.lock().take_if(|refusal| refusal.namespace.as_deref() == Some(namespace));
    }

    /// Another revision has other grants, and maybe asks for something else.
    pub fn forget(&self) {
        *self.0.lock() = None;
    }

    /// Why the newest Event that was refused was.
    pub fn newest(&self) -> Option<(Reason, String)> {
        let mut newest = self.0.lock();
        newest.take_if(|refusal| refusal.at.elapsed() >= KEPT);
        newest.as_ref().map(|refusal| (refusal.reason, refusal.message.clone()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_known_until_an_event_is_written_there_or_it_is_old() {
        let refusals = Refusals::default();
        assert_eq!(refusals.newest(), None);
        refusals.refused(Reason::Forbidden, "no".into(), Some("a"));
        refusals.written("b");
        assert_eq!(refusals.newest(), Some((Reason::Forbidden, "no".into())));
        refusals.written("a");
        assert_eq!(refusals.newest(), None);
        refusals.refused(Reason::GrantMissing, "not granted".into(), None);
        advance(KEPT / 2).await;
        refusals.refused(Reason::GrantMissing, "not granted".into(), None);
        advance(KEPT / 2).await;
        refusals.written("a");
        assert!(refusals.newest().is_some(), "it was refused again since");
        advance(KEPT / 2).await;
        assert_eq!(refusals.newest(), None);
        refusals.refused(Reason::Forbidden, "no".into(), Some("a"));
        refusals.forget();
        assert_eq!(refusals.newest(), None);
    }
}
