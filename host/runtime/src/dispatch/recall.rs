//! A plugin's ledger across the end of the host: what is written of it, and how the first revision
//! of the next host takes it up.
//!
//! Owns the comparison of what was written with what the stores hold now. What becomes of a key is
//! the ledger's to say, where and when it is written is `checkpoint`'s.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, interval};
use wharf_core::ledger::{Here, Kept, Mark, Record, Restored};
use wharf_core::plugin::{Replay, Subscription};
use wharf_core::{Event, Gvk, Object, TargetKey};

use super::dispatcher::{CATCH_UP, Dispatcher, State};
use super::subscribed::{Present, Subscribed};
use crate::checkpoint::{Batch, Body, Change, Checkpoint, Header, Saved, Scope, Source, StoreError, decode_key};
use crate::telemetry::events::{CheckpointFailed, PluginResumed};

/// Keys that are looked at before the lock is given back.
const STEP: usize = 256;

/// What an earlier host knew, until the first revision of this one serves.
#[derive(Debug)]
pub(super) struct Prior {
    header: Header,
    records: Vec<(TargetKey, Vec<u8>)>,
    /// Of those whose object is another one by now.
    bodies: HashMap<TargetKey, Body>,
    /// So much the clock was set back since.
    behind: Duration,
}

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct TakenUp {
    /// Keys that are open, the stores hold another state of them than the plugin was told of.
    pub(super) changed: Vec<TargetKey>,
    /// Keys of which nothing is to be done.
    pub(super) settled: usize,
    /// Keys that are due, parked or failed.
    pub(super) open: usize,
    /// Keys that the subscriptions do not cover any more.
    pub(super) dropped: usize,
    /// Keys that are called again because the revision is another one.
    pub(super) replayed: Vec<TargetKey>,
    /// A settled key need not be looked at.
    pub(super) same: bool,
}

impl Dispatcher {
    /// Reads what an earlier host, or an earlier dispatcher of this name, has written, for the
    /// first [`Self::swap`], which must come next and with these subscriptions. Returns the number
    /// that a revision with this `identity` has: that of the earlier one if it is the same, else
    /// the next. If nothing can be read, everything is new.
    pub async fn recall(&self, subscribed: &Subscribed, identity: &str) -> u64 {
        let Some(checkpoint) = &self.shared.checkpoint else { return 1 };
        let prior = match self.read(checkpoint, subscribed).await {
            Ok(Some(prior)) => prior,
            Ok(None) => return 1,
            Err(error) => {
                CheckpointFailed { error: &error.0, first: true }.emit(&self.shared.metrics);
                return 1;
            }
        };
        let same = prior.header.identity == identity;
        let number = prior.header.number.saturating_add(u64::from(!same));
        self.state.lock().prior = Some(prior);
        number.max(1)
    }

    async fn read(&self, checkpoint: &Arc<Checkpoint>, subscribed: &Subscribed) -> Result<Option<Prior>, StoreError> {
        let Some(Saved { header, written, records }) = checkpoint.load(&self.label).await? else { return Ok(None) };
        // Stores that were there before the last leader ended may not have heard all that it told.
        let (deadline, mut look) = (Instant::now() + CATCH_UP, interval(CATCH_UP / 500));
        while !subscribed.has_reached(&header.told) && Instant::now() < deadline {
            look.tick().await;
        }
        let mut kind = None;
        let read = |(key, record): (Vec<u8>, Vec<u8>)| decode_key(&key, &mut kind).map(|key| (key, record));
        let records: Vec<(TargetKey, Vec<u8>)> = records.into_iter().filter_map(read).collect();
        let differs = |(key, record): &&(TargetKey, Vec<u8>)| {
            let now = subscribed.object(key).latest();
            let told = |record: Record<'_>| {
                now.is_some_and(|now| **now.object.uid() == *record.uid && now.object.resource_version() == record.version)
            };
            !Record::decode(record).is_some_and(told)
        };
        let changed: Vec<TargetKey> = records.iter().filter(differs).map(|(key, _)| key.clone()).collect();
        let bodies = if changed.is_empty() { HashMap::new() } else { checkpoint.bodies(&self.label, changed).await? };
        let behind = written.saturating_sub(self.shared.clock.now());
        Ok(Some(Prior { header, records, bodies, behind }))
    }

    /// Says what was taken up; for people.
    pub(super) fn tell(&self, taken: &TakenUp) {
        PluginResumed {
            plugin: &self.label,
            unchanged: taken.settled,
            changed: taken.changed.len(),
            open: taken.open,
            dropped: taken.dropped,
            replayed: taken.replayed.len(),
        }
        .emit();
    }
}

impl State {
    /// Takes up what was recalled, if anything was, for a revision that is about to serve with the
    /// present subscriptions, which must be active.
    pub(super) fn take_up(&mut self, identity: &str, replay: Replay) -> Option<TakenUp> {
        let Prior { header, records, bodies, behind } = self.prior.take()?;
        let subscribed = Arc::clone(&self.subscribed);
        let mut taken = TakenUp { same: header.same_scopes(&subscribed.header()), ..TakenUp::default() };
        for (key, bytes) in records {
            let record = Record::decode(&bytes).filter(|_| subscribed.covers(&key));
            let Some(record) = record.map(|record| record.earlier(behind)) else {
                taken.dropped += 1;
                self.ledger.note_dirty([&key]);
                continue;
            };
            let present = subscribed.object(&key);
            let told = matches!(present, Present::Settled(_));
            let found = present.latest();
            let slot = found.as_ref().filter(|_| told).map(|found| found.slot);
            let here = Here { key: &key, slot, now: found.as_ref().map(|found| &found.object) };
            let bare = |version: &str| bare(&key, record.uid, version);
            match self.ledger.restore(here, &record, bodies.get(&key).map(|Body(object)| object), &bare) {
                Restored::Settled => taken.settled += 1,
                Restored::Open { changed: true } => taken.changed.push(key),
                Restored::Open { changed: false } => taken.open += 1,
            }
        }
        if !taken.same {
            let old = header.scopes;
            let gone = self.ledger.narrow(
                subscribed.stored(),
                &|key, object| old.iter().any(|scope| scope.matches(key, object)),
                &|key, object| subscribed.matches(key, object),
                &|key| subscribed.object(key).latest().map(|found| found.object),
            );
            let gone: HashSet<TargetKey> = gone.into_iter().collect();
            taken.changed.retain(|key| !gone.contains(key));
            taken.dropped += gone.len();
        }
        if header.identity != identity {
            taken.replayed = self.ledger.replay(subscribed.stored(), replay);
        }
        // A source of a mapping may have changed while no host ran; nobody knows what it named.
        let mapped: HashSet<&Gvk> = subscribed.subscriptions().filter_map(|s| s.map.as_ref()).map(|map| &*map.to).collect();
        for (key, slot, object) in subscribed.stored().filter(|(key, ..)| !mapped.is_empty() && is_of(key, &mapped)) {
            if self.ledger.mark(Here { key: &key, slot: Some(slot), now: Some(&object) }, Mark::Related) {
                taken.replayed.push(key);
            }
        }
        Some(taken)
    }
}

fn is_of(key: &TargetKey, kinds: &HashSet<&Gvk>) -> bool {
    let TargetKey::Object { kind, .. } = key else { return false };
    kinds.contains(&**kind)
}

impl Subscribed {
    /// What is written of these subscriptions; revision and times are for others to fill in.
    pub(super) fn header(&self) -> Header {
        Header { scopes: self.subscriptions().filter_map(Scope::of).collect(), ..Header::default() }
    }

    /// May the last state of this key be written down? Only where a `delete` is made of it, and
    /// never a Secret.
    fn may_keep_body(&self, key: &TargetKey) -> bool {
        let wanted = |subscription: &Subscription| subscription.events.contains(&Event::Delete) && !subscription.redacted;
        let TargetKey::Object { kind, .. } = key else { return false };
        let secret = kind.group.is_empty() && &*kind.kind == "Secret";
        !secret && self.subscription(key).is_some_and(wanted)
    }
}

impl Source for Dispatcher {
    fn collect(&self, bodies: &mut usize) -> Option<Batch> {
        let (keys, header) = {
            let mut state = self.state.lock();
            if state.retired {
                return None;
            }
            let header = std::mem::take(&mut state.header_changed).then(|| self.header(&state)).flatten();
            (state.ledger.take_dirty(), header)
        };
        let keys: Vec<TargetKey> = keys.into_iter().collect();
        let mut changes = Vec::with_capacity(keys.len());
        // A swap makes many keys change at once: announcements must not wait for all of them.
        for step in keys.chunks(STEP) {
            let mut state = self.state.lock();
            let subscribed = Arc::clone(&state.subscribed);
            for key in step {
                match change(&state, &subscribed, key) {
                    Some(change) => changes.push(state.afford(change, bodies)),
                    None => state.ledger.note_dirty([key]),
                }
            }
        }
        // What is left is for those that had to wait.
        while *bodies > 0 {
            let mut state = self.state.lock();
            let Some(key) = state.bodies_due.pop_first() else { break };
            let subscribed = Arc::clone(&state.subscribed);
            let found = change(&state, &subscribed, &key).filter(|change| change.body.is_some());
            changes.extend(found.map(|change| state.afford(change, bodies)));
        }
        if let Some(checkpoint) = self.shared.checkpoint.as_ref().filter(|_| !self.state.lock().bodies_due.is_empty()) {
            checkpoint.waker().wake();
        }
        let mut header = header;
        if self.shared.tenure.is_elected() {
            // After the changes, which are not newer than this.
            let state = self.state.lock();
            header = header.or_else(|| if changes.is_empty() { None } else { self.header(&state) });
            if let Some(header) = &mut header {
                header.told = state.subscribed.told();
            }
        }
        (header.is_some() || !changes.is_empty()).then(|| Batch { plugin: Arc::clone(&self.label), header, changes })
    }

    fn give_back(&self, batch: &Batch) {
        let mut state = self.state.lock();
        state.header_changed |= batch.header.is_some();
        state.ledger.note_dirty(batch.changes.iter().map(|change| &change.key));
    }
}

impl State {
    /// The change without its body if that is too much at once: then that comes later.
    fn afford(&mut self, change: Change, bodies: &mut usize) -> Change {
        let Some(Body(object)) = &change.body else { return change };
        if *bodies == 0 {
            self.bodies_due.insert(change.key.clone());
            return Change { body: None, ..change };
        }
        *bodies = bodies.saturating_sub(object.json().len());
        self.bodies_due.remove(&change.key);
        change
    }
}

impl Dispatcher {
    fn header(&self, state: &State) -> Option<Header> {
        let serving = self.serving()?;
        Some(Header { identity: serving.identity.to_string(), number: serving.number, ..state.subscribed.header() })
    }
}

/// What is to be written of a key; `None` if that is not known at this moment.
fn change(state: &State, subscribed: &Subscribed, key: &TargetKey) -> Option<Change> {
    let Present::Settled(found) = subscribed.object(key) else { return None };
    let here = Here { key, slot: found.as_ref().map(|found| found.slot), now: found.as_ref().map(|found| &found.object) };
    let (record, body) = match state.ledger.record(here) {
        Kept::Later => return None,
        Kept::Nothing => (None, None),
        Kept::Record(record) => {
            let mut bytes = Vec::with_capacity(64);
            record.encode(&mut bytes);
            let last = state.ledger.last_state(here).filter(|last| !last.is_bare() && subscribed.may_keep_body(key));
            (Some(bytes), last.map(|last| Body(Arc::clone(last))))
        }
    };
    Some(Change { key: key.clone(), record, body })
}

fn bare(key: &TargetKey, uid: &str, version: &str) -> Arc<Object> {
    let TargetKey::Object { key, .. } = key else { return Arc::new(Object::bare(wharf_core::ObjectKey::new("", ""), uid.into(), version)) };
    Arc::new(Object::bare(key.clone(), uid.into(), version))
}
