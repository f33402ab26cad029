//! The path from a store's change to the dispatcher's queue, one for each registration of a revision. Owns
//! which changes its dispatcher has heard of, so that each is told once while revisions take each other's
//! place. Never calls a guest and never blocks: it notes, and enqueues a key.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use wharf_cache::{Change, ChangeCause, ChangeHandler};
use wharf_core::plugin::Subscription;
use wharf_core::{Cause, ObjectKey, TargetKey};

use super::dispatcher::Dispatcher;
use super::subscribed::{covers, matches};

/// Tells one dispatcher of the changes in one store.
pub(super) struct Announcer {
    active: AtomicBool,
    /// Sequence of the last change that the dispatcher's ledger knows of.
    heard: AtomicU64,
    /// Up to this change the ledger was told by the subscription that served before, out of the same store.
    before: AtomicU64,
    subscription: Arc<Subscription>,
    dispatcher: Weak<Dispatcher>,
}

impl Announcer {
    /// Tells nobody of anything yet.
    pub(super) fn new(subscription: Arc<Subscription>, dispatcher: Weak<Dispatcher>) -> Self {
        let (active, heard, before) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        Self { active, heard, before, subscription, dispatcher }
    }

    /// From now on it tells the dispatcher, in place of one that has heard so much of the same store. Call it under the
    /// dispatcher's lock.
    pub(super) fn activate(&self, before: u64) {
        self.before.store(before, Ordering::SeqCst);
        self.heard.fetch_max(before, Ordering::SeqCst);
        self.active.store(true, Ordering::SeqCst);
    }

    /// It tells nobody any more.
    pub(super) fn deactivate(&self) {
        self.active.store(false, Ordering::SeqCst);
    }

    /// Number of the last change that it, or the one before it, was told of.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::SeqCst)
    }

    /// Has the one before it told of this change? Ask under the dispatcher's lock, or once it is active.
    pub(super) fn is_late(&self, change: &Change<'_>) -> bool {
        change.sequence <= self.before.load(Ordering::SeqCst)
    }

    /// Notes that the dispatcher is told of a change; false if it does not want to be. Call
    /// it under the dispatcher's lock.
    pub(super) fn hear(&self, sequence: u64) -> bool {
        self.heard.store(sequence, Ordering::SeqCst);
        self.is_active()
    }

    /// Does one of the two states match?
    pub(super) fn concerns(&self, change: &Change<'_>) -> bool {
        change.old.into_iter().chain(change.new).any(|object| matches(&self.subscription, object))
    }

    /// Is each change told by itself?
    pub(super) fn every_event(&self) -> bool {
        self.subscription.every_event
    }

    /// Does the dispatcher want to be told? Of a kind with `events: []`, which is cached for
    /// reading, never.
    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst) && !self.subscription.events.is_empty()
    }

    fn target(&self, key: &ObjectKey) -> TargetKey {
        TargetKey::object(Arc::clone(&self.subscription.kind), key.clone())
    }
}

impl ChangeHandler for Announcer {
    fn on_attached(&self, sequence: u64) {
        // Another store counts its own changes.
        self.before.store(0, Ordering::SeqCst);
        self.heard.store(sequence, Ordering::SeqCst);
    }

    fn on_passed(&self, key: &ObjectKey, sequence: u64) {
        self.heard.store(sequence, Ordering::SeqCst);
        if self.is_active()
            && let Some(dispatcher) = self.dispatcher.upgrade()
        {
            dispatcher.passed(self.target(key));
        }
    }

    fn on_change(&self, change: &Change<'_>) {
        let Some(dispatcher) = self.dispatcher.upgrade() else { return };
        let key = self.target(change.key);
        // What the kind is mapped to may wait for it even if nothing of it is delivered itself.
        if let Some(map) = &self.subscription.map
            && change.cause != ChangeCause::Resync
            && self.active.load(Ordering::SeqCst)
            && !self.is_late(change)
        {
            dispatcher.related(&key, map, change, |object| covers(&self.subscription, object));
        }
        match change.cause {
            ChangeCause::InitialList => dispatcher.announce(key, change, Cause::InitialList, self),
            ChangeCause::Watch | ChangeCause::Relist => dispatcher.announce(key, change, Cause::Watch, self),
            ChangeCause::Resync => dispatcher.resync(&key, change, self),
        }
    }

    fn on_moving(&self) {
        if let Some(dispatcher) = self.dispatcher.upgrade() {
            dispatcher.leave_store(self);
        }
    }

    fn on_recovered(&self) {
        if self.is_active()
            && let Some(dispatcher) = self.dispatcher.upgrade()
        {
            dispatcher.wake(self);
        }
    }
}
