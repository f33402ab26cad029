//! What a revision waits for before it can serve: its watches, and that this host leads. Owns how long,
//! and what is tried instead or again; exchanges nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use wharf_core::Reason;
use wharf_core::plugin::PluginDocument;

use super::book::Standing;
use super::desired::Refusal;
use super::registry::PluginState;
use super::task::{Goal, Task};
use crate::dispatch::Subscribed;

/// Watches that have not synced after this time are worth a word.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked why they are not known yet.
const LOOK: Duration = Duration::from_secs(1);

impl Task {
    /// Waits until the state of every watch is known, and says so if that takes long, or at once if there is no
    /// room for what would be watched. Who is not patient gives up after a while, if the reason is known.
    pub(super) async fn settle(&self, subscribed: &Subscribed, patient: bool) -> Result<(), Refusal> {
        let settled = subscribed.settle();
        tokio::pin!(settled);
        let late = Instant::now() + PATIENCE;
        while timeout(LOOK, &mut settled).await.is_err() {
            let trouble = subscribed.unsettled();
            let is_late = late <= Instant::now();
            let no_room = trouble.as_ref().is_some_and(|(reason, _)| *reason == Reason::CacheBudgetExceeded);
            if !no_room && !is_late {
                continue;
            }
            let gives_up = trouble.is_some() && is_late && !patient;
            let (reason, message) = trouble.unwrap_or_else(|| (Reason::ServerUnavailable, "its watches do not sync".to_owned()));
            let refusal = Refusal::new(reason, format!("waiting for its watches: {message}"));
            if gives_up {
                return Err(refusal);
            }
            self.refuse(refusal);
        }
        Ok(())
    }

    /// Is there nothing else to try? Where nothing serves, what is wished and what was good take turns until one
    /// of them can; and the way back from a revision that was withdrawn must not be in the way of a newer wish.
    pub(super) fn is_patient(&self, goal: Option<&Goal>, identity: &str, document: &PluginDocument) -> bool {
        match goal {
            Some(Goal::Before(..)) => false,
            _ => self.served.is_some() || !self.has_other(identity, document),
        }
    }

    /// Is a revision kept that was good, and is another one?
    fn has_other(&self, identity: &str, document: &PluginDocument) -> bool {
        self.record.book().good().is_some_and(|good| good.identity != identity || good.document != *document.source)
    }

    /// What is tried at once when a goal has to wait for too long.
    pub(super) fn instead_of(&self, goal: Option<&Goal>) -> Option<Goal> {
        match goal {
            Some(Goal::Before(..)) => self.served.is_none().then_some(Goal::Wish),
            _ => self.stand_in(),
        }
    }

    /// What was good, as long as nothing serves.
    pub(super) fn stand_in(&self) -> Option<Goal> {
        let good = self.record.book().good().cloned().filter(|_| self.served.is_none())?;
        // It may be that a host has ended before it came back in place of one that was withdrawn.
        let withdrawn = self.record.book().newest().filter(|kept| kept.standing == Standing::Withdrawn).map(|kept| kept.number);
        Some(Goal::Before(good, withdrawn))
    }

    /// What is tried again after a while: the way back from a revision that was withdrawn and serves still, or
    /// what is wished.
    pub(super) fn again(&self) -> Goal {
        let book = self.record.book();
        let served = self.served.as_ref().and_then(|served| book.numbered(served.number));
        match (served.filter(|kept| kept.standing == Standing::Withdrawn), book.good()) {
            (Some(bad), Some(good)) => Goal::Before(good.clone(), Some(bad.number)),
            _ => Goal::Wish,
        }
    }

    /// Waits until this host leads; true if it did not when its book was read. Until then nothing of the plugin has begun: its ledger and
    /// its book are another host's still.
    pub(super) async fn stand_by(&self, goal: Option<&Goal>, digest: &str, subscribed: &Arc<Subscribed>) -> bool {
        let tenure = &self.registry.shared.tenure;
        if !tenure.is_open() {
            // Nothing is under way any more.
            self.progress.rest();
            // Why a wish is not met was told, and stays true for what stands in.
            if !matches!(goal, Some(Goal::Before(..))) {
                self.status.lock().ready = Some((digest.to_owned(), Arc::downgrade(subscribed)));
                self.set(PluginState::Standby);
            }
            tenure.opened().await;
        }
        !self.record.is_current()
    }
}
