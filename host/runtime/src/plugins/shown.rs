//! What the server has shown of the resources of one watch. Owns how long that counts when the kind itself is
//! missing; reads no document.
//!
//! A kind whose definition is removed has lost its objects one by one before. One that is missing all of a sudden is a
//! definition that serves another version by mistake, or an API server that does not know its definitions yet: what
//! there was is there still.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wharf_cache::InformerState;
use wharf_core::Object;

/// Plugins whose kind is missing go on for so long.
pub(super) const GRACE: Duration = Duration::from_secs(300);

/// The objects of one watch.
#[derive(Default)]
pub(super) struct Shown {
    objects: Vec<Arc<Object>>,
    /// Since when the kind is missing.
    missing: Option<Instant>,
}

impl Shown {
    /// What the informer has now, and how it is.
    pub(super) fn look(&mut self, objects: Vec<Arc<Object>>, state: &InformerState, now: Instant) {
        match state {
            InformerState::Sleeping { .. } => self.missing = self.missing.or(Some(now)),
            InformerState::Synced => self.missing = None,
            // It is not known yet whether the kind is back, and with all of its objects.
            InformerState::Starting | InformerState::Failing { .. } | InformerState::Stopped => {}
        }
        if self.until(now).is_none() {
            self.objects = objects;
        }
    }

    /// What counts.
    pub(super) fn objects(&self) -> &[Arc<Object>] {
        &self.objects
    }

    /// How many that are.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Is the kind missing?
    pub(super) fn is_missing(&self) -> bool {
        self.missing.is_some()
    }

    /// When what was there before does not count any more, if that is to come and makes a difference.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        let until = self.missing? + GRACE;
        (now < until && !self.objects.is_empty()).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use wharf_core::{Gvk, Reason};

    use super::*;

    fn objects(names: &[&str]) -> Vec<Arc<Object>> {
        let object = |name: &&str| {
            let text = format!(r#"{{"metadata":{{"name":"{name}","namespace":"a","uid":"{name}","resourceVersion":"1"}}}}"#);
            Arc::new(Object::parse(&text, &Gvk::new("wharf.dev", "v1alpha1", "Plugin")).unwrap())
        };
        names.iter().map(object).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_missing_for_a_moment_takes_nothing_along() {
        let missing = InformerState::Sleeping { reason: Reason::KindNotFound };
        let failing = InformerState::Failing { reason: Reason::ServerUnavailable, message: "503".into() };
        let mut shown = Shown::default();
        let mut look = |names: &[&str], state: &InformerState| {
            shown.look(objects(names), state, Instant::now());
            (shown.len(), shown.is_missing(), shown.until(Instant::now()).is_some())
        };
        // It was never there.
        assert_eq!(look(&[], &missing), (0, true, false));
        assert_eq!(look(&["a", "b"], &InformerState::Synced), (2, false, false));
        assert_eq!(look(&["a"], &InformerState::Synced), (1, false, false), "a resource that is removed is removed");
        assert_eq!(look(&[], &missing), (1, true, true));
        advance(GRACE / 2).await;
        // What comes back comes piece by piece.
        assert_eq!(look(&[], &failing), (1, true, true));
        assert_eq!(look(&["b", "c"], &InformerState::Synced), (2, false, false));
        assert_eq!(look(&[], &missing), (2, true, true));
        advance(GRACE / 2).await;
        assert_eq!(look(&[], &missing), (2, true, true), "the time begins anew");
        advance(GRACE / 2).await;
        assert_eq!(look(&[], &missing), (0, true, false));
        assert_eq!(look(&["a"], &InformerState::Synced), (1, false, false));
    }
}
