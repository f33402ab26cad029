//! A plugin's ledger across the end of the host: how the first revision of the next host takes up
//! what `remember` wrote of it.
//!
//! Owns the comparison of what was written with what the stores hold now. What becomes of a key is
//! the ledger's to say, where it was kept is `checkpoint`'s.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, interval};
use wharf_core::ledger::{Here, Record, Restored};
use wharf_core::{Object, TargetKey};

use super::dispatcher::{Dispatcher, State};
use super::sources::SourceRecord;
use super::subscribed::{Present, Subscribed};
use super::swap::{CATCH_UP, Replaying};
use crate::checkpoint::{Body, Checkpoint, Header, Part, Saved, StoreError, decode_key};
use crate::telemetry::events::{CheckpointFailed, PluginResumed};

/// What an earlier host knew, until the first revision of this one serves.
#[derive(Debug)]
pub(super) struct Prior {
    header: Header,
    records: Vec<(TargetKey, Vec<u8>)>,
    /// Of objects that name others.
    sources: HashMap<TargetKey, SourceRecord>,
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
    /// Keys that another object, which has changed, names or named.
    pub(super) related: Vec<TargetKey>,
    /// Keys that were settled because the values that count are the same.
    pub(super) filtered: Vec<TargetKey>,
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
        let (mut sources, mut targets) = (HashMap::new(), Vec::with_capacity(records.len()));
        for (key, record) in records {
            match decode_key(&key, &mut kind) {
                Some((key, Part::Target)) => targets.push((key, record)),
                Some((key, Part::Source)) => sources.extend(SourceRecord::decode(&record).map(|record| (key, record))),
                None => {}
            }
        }
        let records = targets;
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
        Ok(Some(Prior { header, records, sources, bodies, behind }))
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
    pub(super) fn take_up(&mut self, identity: &str, replaying: Replaying) -> Option<TakenUp> {
        let Prior { header, records, sources, bodies, behind } = self.prior.take()?;
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
            let values = |object: &Arc<Object>| {
                Some(object).filter(|object| subscribed.matches(&key, object)).and_then(|o| subscribed.values(&key, o))
            };
            match self.ledger.restore(here, &record, bodies.get(&key).map(|Body(object)| object), &bare, &values) {
                Restored::Settled => taken.settled += 1,
                Restored::Dropped => {
                    taken.settled += 1;
                    taken.filtered.push(key);
                }
                Restored::Open { changed: true } => taken.changed.push(key),
                Restored::Open { changed: false } => taken.open += 1,
            }
        }
        if !taken.same {
            let old = header.scopes;
            let gone = self.ledger.narrow(
                subscribed.stored(),
                // Of one that is bare it cannot be told: its `delete` is not given up.
                &|key, object| !object.is_bare() && old.iter().any(|scope| scope.matches(key, object)),
                &|key, object| subscribed.matches(key, object),
                &|key| subscribed.object(key).latest().map(|found| found.object),
            );
            let gone: HashSet<TargetKey> = gone.into_iter().collect();
            taken.changed.retain(|key| !gone.contains(key));
            taken.dropped += gone.len();
        }
        if header.identity != identity {
            taken.replayed = self.replay(replaying);
        }
        let known = header.maps == subscribed.maps();
        match self.take_up_sources(Some(sources).filter(|_| known)) {
            (true, due) => taken.related = due,
            // Nobody knows what they named: everything that can be named is due, behind all else.
            (false, due) => taken.replayed.extend(due),
        }
        Some(taken)
    }
}

fn bare(key: &TargetKey, uid: &str, version: &str) -> Arc<Object> {
    let TargetKey::Object { key, .. } = key else { return Arc::new(Object::bare(wharf_core::ObjectKey::new("", ""), uid.into(), version)) };
    Arc::new(Object::bare(key.clone(), uid.into(), version))
}
