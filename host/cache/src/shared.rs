//! One shared informer: a store, its audience and its state. Owns the apply lock, under
//! which every change is put into the store and announced, so that a handler that comes
//! late misses nothing and hears nothing twice. Never talks to the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use wharf_core::ledger::Slot;
use wharf_core::{Object, ObjectKey, Reason};

use crate::audience::Audience;
use crate::budget::BESIDE;
use crate::change::{Change, ChangeCause};
use crate::classify::Failure;
use crate::metrics::{CacheMetrics, WatchEventType};
use crate::seat::{Calling, Seat};
use crate::spec::InformerSpec;
use crate::state::{InformerState, InformerStatus};
use crate::store::{Put, Removed, Store};
use crate::view;

/// What the informer's task and its users share.
pub(crate) struct Shared {
    /// Not another informer's; also the number of its store's slots.
    pub(crate) id: u32,
    pub(crate) spec: InformerSpec,
    pub(crate) store: Arc<Store>,
    metrics: Arc<dyn CacheMetrics>,
    /// Told when the state changes, or when a move can be tried again.
    hub: Arc<Notify>,
    apply: Mutex<Apply>,
    /// How many seats there are, for those who do not have the lock.
    handlers: Arc<AtomicUsize>,
    condition: watch::Sender<Condition>,
}

/// State, and whether anybody still has to wait for it.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) state: InformerState,
    /// Synced at some time, sleeping, refused, or stopped.
    pub(crate) settled: bool,
    pub(crate) synced_once: bool,
}

/// Behind the apply lock.
#[derive(Default)]
pub(crate) struct Apply {
    pub(crate) audience: Audience,
    /// The running or last full list; objects of the time after it carry its number too.
    generation: u64,
    /// A full list runs: until its end the store follows no version.
    listing: bool,
    pub(crate) synced_once: bool,
    pub(crate) stopped: bool,
    /// The running list is of the newest state, whatever was seen before.
    newest: bool,
    /// The kind is known to be gone, and so is what the store had.
    pub(crate) vanished: bool,
    /// A move waits until this informer has seen more.
    pub(crate) awaited: bool,
    relists: u64,
    last_heard: Option<Instant>,
    last_error: Option<Arc<str>>,
}

impl Shared {
    pub(crate) fn new(id: u32, spec: InformerSpec, metrics: Arc<dyn CacheMetrics>, hub: Arc<Notify>) -> Self {
        metrics.started(&spec);
        let condition = Condition { state: InformerState::Starting, settled: false, synced_once: false };
        let (apply, condition) = (Apply::default(), watch::Sender::new(condition));
        let handlers = apply.audience.counted();
        Self { id, spec, store: Arc::default(), metrics, hub, apply: Mutex::new(apply), handlers, condition }
    }

    /// Adds a seat and tells its handler what the store holds, all under one lock.
    pub(crate) fn attach(&self, seat: Arc<Seat>) {
        let mut apply = self.apply.lock();
        let filter = seat.place().filter;
        {
            let _calling = Calling::handlers();
            let sequence = self.store.sequence();
            seat.call(|handler| handler.on_attached(sequence));
            for object in view::page(&self.store, filter.as_ref(), None, None, usize::MAX) {
                let slot = self.slot_of(object.key());
                seat.tell(None, &Change::put(&object, None, slot, ChangeCause::InitialList, sequence));
            }
            if apply.synced_once {
                seat.told_all_up_to(number(&self.store.resource_version()));
                seat.tell_synced();
            }
        }
        apply.audience.add(seat, filter);
    }

    /// Removes a seat; its handler is not called any more once this returns. False if it is not
    /// here: it has moved, or was never attached.
    pub(crate) fn detach(&self, id: u64) -> bool {
        self.apply.lock().audience.remove(id)
    }

    /// Tells a seat of some objects after a key, as unchanged; returns the last one's key. Nothing
    /// if the seat is elsewhere by now.
    pub(crate) fn resync(&self, seat: &Seat, after: Option<&ObjectKey>, max: usize) -> Option<ObjectKey> {
        let apply = self.apply.lock();
        let place = seat.place();
        if apply.stopped || place.shared.id != self.id {
            return None;
        }
        let _calling = Calling::handlers();
        let objects = view::page(&self.store, place.filter.as_ref(), None, after, max);
        for object in &objects {
            let slot = self.slot_of(object.key());
            seat.tell(None, &Change::put(object, Some(object), slot, ChangeCause::Resync, self.store.sequence()));
        }
        objects.last().map(|object| object.key().clone())
    }

    /// The apply lock, for a move between two informers.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Apply> {
        self.apply.lock()
    }

    /// Nothing is announced or counted after this.
    pub(crate) fn stop(&self) {
        let mut apply = self.apply.lock();
        if !std::mem::replace(&mut apply.stopped, true) {
            self.metrics.stopped(&self.spec);
            self.condition.send_modify(|condition| {
                condition.state = InformerState::Stopped;
                condition.settled = true;
            });
            self.hub.notify_one();
        }
    }

    /// A full list begins; its number is for [`Self::listed`].
    /// `newest` says that nothing newer was seen, because the newest state was asked for.
    pub(crate) fn begin_list(&self, reason: Reason, newest: bool) {
        let mut apply = self.apply.lock();
        apply.generation += 1;
        apply.listing = true;
        apply.newest = newest;
        if apply.synced_once && !apply.stopped {
            apply.relists += 1;
            self.metrics.relist(&self.spec, reason);
        }
    }

    /// Objects of a full list, in one step. An object that did not change is kept as it is.
    pub(crate) fn listed(&self, objects: Vec<Object>) {
        let apply = self.apply.lock();
        if apply.stopped || objects.is_empty() {
            return;
        }
        let cause = if apply.synced_once { ChangeCause::Relist } else { ChangeCause::InitialList };
        for object in self.store.touch_all(objects, apply.generation, apply.newest) {
            self.put(&apply, object, cause);
        }
        self.report_size();
    }

    /// The full list is complete: what it did not show is gone.
    pub(crate) fn finish_list(&self, resource_version: &str) {
        let mut apply = self.apply.lock();
        if apply.stopped {
            return;
        }
        self.sweep(&apply);
        apply.listing = false;
        apply.vanished = false;
        self.advance(&mut apply, resource_version);
        let version = number(resource_version);
        apply.audience.each(|seat| seat.told_all_up_to(version));
        if !std::mem::replace(&mut apply.synced_once, true) {
            apply.audience.each(Seat::tell_synced);
        }
    }

    /// The kind is gone, and with it everything in the store.
    pub(crate) fn vanish(&self) {
        let mut apply = self.apply.lock();
        apply.generation += 1;
        if !apply.stopped {
            self.sweep(&apply);
            apply.vanished = true;
            self.store.set_resource_version("");
            self.wake_waiting(&mut apply);
        }
    }

    /// The watch shows an added or changed object.
    pub(crate) fn applied(&self, event: WatchEventType, object: Object) {
        let mut apply = self.apply.lock();
        if apply.stopped {
            return;
        }
        self.metrics.watch_event(&self.spec, event);
        self.advance(&mut apply, object.resource_version());
        if !self.store.touch(&object, apply.generation) {
            self.put(&apply, object, ChangeCause::Watch);
            self.report_size();
        }
    }

    /// The watch shows an object's deletion, with its last state.
    pub(crate) fn deleted(&self, object: Object) {
        let mut apply = self.apply.lock();
        if apply.stopped {
            return;
        }
        self.metrics.watch_event(&self.spec, WatchEventType::Deleted);
        self.advance(&mut apply, object.resource_version());
        // Nobody knows an object that is not in the store.
        let Some(Removed { object: old, slot }) = self.store.remove(object.key()) else { return };
        // The last state of another uid says nothing about the end of the one that was here.
        let known = old.uid() == object.uid();
        let last = if known { Arc::new(object) } else { old.clone() };
        apply.audience.announce(&Change::removal(&old, &last, known, self.slot(slot), ChangeCause::Watch, self.store.sequence()));
        self.report_size();
    }

    /// The watch has shown everything up to this resourceVersion.
    pub(crate) fn bookmark(&self, resource_version: &str) {
        let mut apply = self.apply.lock();
        if !apply.stopped {
            self.metrics.watch_event(&self.spec, WatchEventType::Bookmark);
            self.advance(&mut apply, resource_version);
        }
    }

    /// An event that changes nothing here.
    pub(crate) fn count(&self, event: WatchEventType) {
        let apply = self.apply.lock();
        if !apply.stopped {
            self.metrics.watch_event(&self.spec, event);
        }
    }

    /// Tells the metrics something, unless the informer is stopped.
    pub(crate) fn report(&self, tell: impl FnOnce(&dyn CacheMetrics, &InformerSpec)) {
        let apply = self.apply.lock();
        if !apply.stopped {
            tell(&*self.metrics, &self.spec);
        }
    }

    /// The server sent something.
    pub(crate) fn heard(&self) {
        self.apply.lock().last_heard = Some(Instant::now());
    }

    /// Keeps an error for `snapshot`.
    pub(crate) fn note_error(&self, message: &str) {
        self.apply.lock().last_error = Some(message.into());
    }

    /// The store follows the server.
    pub(crate) fn set_synced(&self) {
        self.set_state(InformerState::Synced, true);
    }

    /// The kind does not exist.
    pub(crate) fn set_sleeping(&self, reason: Reason, message: &str) {
        self.note_error(message);
        self.set_state(InformerState::Sleeping { reason }, true);
    }

    /// The last request failed.
    pub(crate) fn set_failing(&self, failure: &Failure) {
        self.note_error(&failure.message);
        let state = InformerState::Failing { reason: failure.class.reason(), message: failure.message.clone() };
        self.set_state(state, failure.class.refused());
    }

    /// For waiting on the state.
    pub(crate) fn condition(&self) -> watch::Receiver<Condition> {
        self.condition.subscribe()
    }

    /// Bytes of the store, divided by those whom it serves. Never waits for one of them.
    pub(crate) fn share(&self) -> u64 {
        let bytes = self.store.bytes() + self.store.len() as u64 * BESIDE;
        bytes / self.handlers.load(Ordering::Relaxed).max(1) as u64
    }

    /// A moment's view.
    pub(crate) fn status(&self) -> InformerStatus {
        let apply = self.apply.lock();
        InformerStatus {
            spec: self.spec.clone(),
            handlers: apply.audience.len(),
            objects: self.store.len(),
            bytes: self.store.bytes(),
            state: self.condition.borrow().state.clone(),
            last_event_age: apply.last_heard.map(|heard| heard.elapsed()),
            relists: apply.relists,
            last_error: apply.last_error.clone(),
        }
    }

    fn put(&self, apply: &Apply, object: Object, cause: ChangeCause) {
        let object = Arc::new(object);
        let Put { old, slot } = self.store.insert(object.clone(), apply.generation);
        apply.audience.announce(&Change::put(&object, old.as_ref(), self.slot(slot), cause, self.store.sequence()));
    }

    /// The store follows the server up to this version. What follows from it comes at once, under
    /// the same lock.
    fn advance(&self, apply: &mut Apply, resource_version: &str) {
        if !apply.listing {
            self.store.set_resource_version(resource_version);
        }
        self.wake_waiting(apply);
    }

    /// A move may be tried again.
    fn wake_waiting(&self, apply: &mut Apply) {
        if std::mem::take(&mut apply.awaited) {
            self.hub.notify_one();
        }
    }

    fn sweep(&self, apply: &Apply) {
        for old in self.store.unseen(apply.generation) {
            let Some(Removed { slot, .. }) = self.store.remove(old.key()) else { continue };
            apply.audience.announce(&Change::removal(&old, &old, false, self.slot(slot), ChangeCause::Relist, self.store.sequence()));
        }
        self.report_size();
    }

    /// Where the store keeps a key's object.
    pub(crate) fn slot_of(&self, key: &ObjectKey) -> Option<Slot> {
        self.store.slot_of(key).and_then(|index| self.slot(index))
    }

    /// A place in this informer's store.
    pub(crate) fn slot(&self, index: u32) -> Option<Slot> {
        Some(Slot { array: self.id, index })
    }

    fn report_size(&self) {
        self.metrics.size(&self.spec, self.store.len(), self.store.bytes());
    }

    fn set_state(&self, state: InformerState, settles: bool) {
        let apply = self.apply.lock();
        if apply.stopped {
            return;
        }
        let synced = state == InformerState::Synced;
        let mut recovered = false;
        self.condition.send_if_modified(|condition| {
            let changed = condition.state != state;
            if changed {
                self.metrics.synced(&self.spec, synced);
                recovered = synced && condition.state != InformerState::Starting;
            }
            condition.settled |= settles;
            condition.synced_once |= synced;
            condition.state = state;
            changed
        });
        if recovered {
            apply.audience.each(|seat| seat.call(|handler| handler.on_recovered()));
        }
        self.hub.notify_one();
    }
}

/// A version as a number. Servers promise that versions of one resource grow; 0 stands for one
/// that is no number, and is older than all.
pub(crate) fn number(resource_version: &str) -> u64 {
    resource_version.parse().unwrap_or(0)
}

impl<'a> Change<'a> {
    pub(crate) fn put(new: &'a Arc<Object>, old: Option<&'a Arc<Object>>, slot: Option<Slot>, cause: ChangeCause, sequence: u64) -> Self {
        let key: &ObjectKey = new.key();
        Self { key, old, new: Some(new), final_state: None, final_known: true, slot, cause, sequence }
    }

    pub(crate) fn removal(
        old: &'a Arc<Object>,
        last: &'a Arc<Object>,
        final_known: bool,
        slot: Option<Slot>,
        cause: ChangeCause,
        sequence: u64,
    ) -> Self {
        Self { key: old.key(), old: Some(old), new: None, final_state: Some(last), final_known, slot, cause, sequence }
    }
}
