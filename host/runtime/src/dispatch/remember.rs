//! What is written of a plugin's ledger, for the next host to take up (`recall`).
//!
//! Owns the translation from ledger and stores to records, in small steps, so that nobody waits for
//! the whole; when and where they are written is `checkpoint`'s.

use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wharf_core::ledger::{Here, Kept};
use wharf_core::plugin::Subscription;
use wharf_core::{Event, Object, TargetKey};

use super::dispatcher::{Dispatcher, State};
use super::subscribed::{Present, Subscribed};
use crate::checkpoint::{Batch, Body, Change, Header, Part, Scope, Source};

/// Keys that are looked at before the lock is given back.
const STEP: usize = 256;

impl Subscribed {
    /// What is written of these subscriptions; revision and times are for others to fill in.
    pub(super) fn header(&self) -> Header {
        Header { scopes: self.subscriptions().filter_map(Scope::of).collect(), maps: self.maps(), ..Header::default() }
    }

    /// May the last state of this key be written down? Only where a `delete` is made of it, and
    /// never a Secret.
    fn may_keep_body(&self, key: &TargetKey) -> bool {
        let wanted = |subscription: &Subscription| subscription.events.contains(&Event::Delete) && !subscription.redacted;
        !is_secret(key) && self.subscription(key).is_some_and(wanted)
    }
}

fn is_secret(key: &TargetKey) -> bool {
    matches!(key, TargetKey::Object { kind, .. } if kind.group.is_empty() && &*kind.kind == "Secret")
}

impl Subscribed {
    /// A digest of the values that count in this state, where only a change of them counts, for the
    /// record of its key.
    pub(super) fn values(&self, key: &TargetKey, object: &Object) -> Option<[u8; 16]> {
        let pointers = &self.subscription(key)?.filters.only_if_changed;
        // A digest of a Secret is something to guess it by.
        if pointers.is_empty() || object.is_bare() || is_secret(key) {
            return None;
        }
        let mut hasher = Sha256::new();
        for pointer in pointers {
            // Other pointers make another digest, also where the values are the same.
            for part in [Some(&*pointer.to_string()), object.get(pointer)] {
                hasher.update(part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
                hasher.update(part.unwrap_or_default());
            }
        }
        hasher.finalize().first_chunk().copied()
    }
}

impl Source for Dispatcher {
    fn collect(&self, bodies: &mut usize) -> Option<Batch> {
        let (keys, sources, header) = {
            let mut state = self.state.lock();
            if state.retired {
                return None;
            }
            let header = std::mem::take(&mut state.header_changed).then(|| self.header(&state)).flatten();
            // Together: the marks that a source has made are in the same commit, or an earlier one.
            (state.ledger.take_dirty(), state.sources.take(), header)
        };
        let keys: Vec<TargetKey> = keys.into_iter().collect();
        let mut changes = Vec::with_capacity(keys.len());
        let mut later = HashSet::new();
        // A swap makes many keys change at once: announcements must not wait for all of them.
        for step in keys.chunks(STEP) {
            let mut state = self.state.lock();
            let subscribed = Arc::clone(&state.subscribed);
            for key in step {
                match change(&state, &subscribed, key) {
                    Some(change) => changes.push(state.afford(change, bodies)),
                    None => {
                        state.ledger.note_dirty([key]);
                        later.insert(key.clone());
                    }
                }
            }
        }
        for step in sources.steps(STEP) {
            let mut state = self.state.lock();
            changes.extend(step.into_iter().filter_map(|(source, marked)| state.source(source, marked, &later)));
        }
        // What is left is for those that had to wait.
        while *bodies > 0 {
            let mut state = self.state.lock();
            let Some(key) = state.bodies_due.pop_first() else { break };
            let subscribed = Arc::clone(&state.subscribed);
            let found = change(&state, &subscribed, &key).filter(|change| change.body.is_some());
            changes.extend(found.map(|change| state.afford(change, bodies)));
        }
        let waiting = {
            let state = self.state.lock();
            !state.bodies_due.is_empty() || !state.sources.is_empty()
        };
        if let Some(checkpoint) = self.shared.checkpoint.as_ref().filter(|_| waiting) {
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
        let of = |part: Part| batch.changes.iter().filter(move |change| change.part == part).map(|change| &change.key);
        state.ledger.note_dirty(of(Part::Target));
        of(Part::Source).for_each(|source| state.sources.note(source.clone(), []));
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
        Kept::Record(mut record) => {
            let mut bytes = Vec::with_capacity(64);
            let last = state.ledger.last_state(here).filter(|last| !last.is_bare());
            record.values = last.filter(|_| record.is_quiet()).and_then(|last| subscribed.values(key, last));
            record.encode(&mut bytes);
            let last = last.filter(|_| subscribed.may_keep_body(key));
            (Some(bytes), last.map(|last| Body(Arc::clone(last))))
        }
    };
    Some(Change { key: key.clone(), part: Part::Target, record, body })
}
