//! Between the ledger and what survives the host's end. Owns what is written down of a key, and
//! what becomes of it when another host compares it with what its store holds; never the bytes
//! (that is `record`) nor where they are kept.

use std::hash::Hash;

use crate::diff::State;

use super::entry::{Entry, Trouble};
use super::record::{Record, RecordedFailure};
use super::slots::Settled;
use super::{Here, Ledger};

/// What is to be remembered of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly always a record, and never stored")]
pub enum Kept<'a> {
    /// This.
    Record(Record<'a>),
    /// Nothing: the plugin does not know it, or no longer.
    Nothing,
    /// Not known at this moment, since a change of the store is still to be observed: ask again
    /// afterwards.
    Later,
}

/// What has become of a key since its record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Restored {
    /// The store holds what the plugin was told of, and nothing is owed: no call.
    Settled,
    /// The store holds another state, whose values that count are the same, and nothing is owed: a
    /// change that was dropped.
    Dropped,
    /// Something may be to do: enqueue the key.
    Open {
        /// The store holds another state, or none.
        changed: bool,
    },
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// What is to be remembered of a key. Costs a look-up, and a hash for a settled key.
    pub fn record<'a>(&'a self, here: Here<'a, K, S>) -> Kept<'a> {
        if let Some(entry) = self.side.get(here.key) {
            return Kept::Record(entry.record());
        }
        let Some((slot, now)) = here.slot.zip(here.now) else { return Kept::Nothing };
        match self.slots.get(slot) {
            None => Kept::Nothing,
            Some(settled) if settled.is(now) => {
                Kept::Record(Record { uid: now.uid(), version: now.resource_version(), revision: settled.revision(), ..Record::default() })
            }
            Some(_) => Kept::Later,
        }
    }

    /// The last state that is known of a key whose [`Self::record`] is one.
    pub fn last_state<'a>(&'a self, here: Here<'a, K, S>) -> Option<&'a S> {
        match self.side.get(here.key) {
            Some(entry) => Some(entry.tombstone().unwrap_or_else(|| entry.last())),
            None => here.now,
        }
    }

    /// Takes up a key where an earlier host left it. `body` is a state of the record's uid that
    /// was kept whole, of whatever version, and `bare` makes one of which only uid and version are
    /// known. `values` is the digest of [`Record::values`] for a state that the subscription matches,
    /// where it has one. The ledger must not know the key.
    ///
    /// To this, a change of the store and its [`Self::observe`] must look like one step; a state
    /// that is still to be observed must come without a slot.
    pub fn restore(
        &mut self,
        here: Here<'_, K, S>,
        record: &Record<'_>,
        body: Option<&S>,
        bare: &dyn Fn(&str) -> S,
        values: &dyn Fn(&S) -> Option<[u8; 16]>,
    ) -> Restored {
        let same = here.now.filter(|now| now.uid() == record.uid);
        let told = same.filter(|now| now.resource_version() == record.version);
        // Of a call that failed, or that is owed, the other state is to be told all the same.
        if let Some((slot, now)) = here.slot.zip(same)
            && record.is_quiet()
            && (told.is_some() || record.values.is_some_and(|known| values(now) == Some(known)))
            && let Some(settled) = Settled::new(record.revision, now)
        {
            self.slots.put(slot, settled);
            if told.is_some() {
                return Restored::Settled;
            }
            self.dirty.note(here.key);
            return Restored::Dropped;
        }
        let body = body.filter(|body| body.uid() == record.uid);
        let state = |version: &str| {
            let whole = [here.now.filter(|now| now.uid() == record.uid), body].into_iter().flatten();
            whole.into_iter().find(|state| state.resource_version() == version).cloned().unwrap_or_else(|| bare(version))
        };
        let tombstone = match (same, record.tombstone, body) {
            (Some(_), ..) => None,
            (None, Some((version, known)), Some(body)) if body.resource_version() == version => Some((body.clone(), known)),
            // What went meanwhile, or is not there whole: the best that is known stands in.
            (None, _, Some(body)) => Some((body.clone(), false)),
            (None, ..) => Some((bare(record.version), false)),
        };
        let serial = self.next_serial();
        self.side.insert(here.key.clone(), Entry::restored(serial, record, &state, tombstone));
        Restored::Open { changed: told.is_none() }
    }
}

impl<S: State> Entry<S> {
    fn record(&self) -> Record<'_> {
        let known = self.known();
        Record {
            uid: self.uid(),
            version: self.last().resource_version(),
            tried: known.tried,
            before: known.delivered.filter(|_| known.tried).map(State::resource_version),
            dying: known.dying,
            tombstone: known.tombstone.map(|(state, final_known)| (state.resource_version(), final_known)),
            due: self.due,
            attempts: self.attempts,
            revision: self.revision,
            called_by: self.called_by,
            failure: self.trouble.as_deref().map(Trouble::record),
            values: None,
            marks: self.marks,
        }
    }

    fn restored(serial: u64, record: &Record<'_>, state: &dyn Fn(&str) -> S, tombstone: Option<(S, bool)>) -> Self {
        let mut entry = Self::new(serial, record.revision, state(record.version));
        entry.set_states(record.tried, record.before.map(state), tombstone);
        entry.dying = record.dying;
        entry.marks = record.marks;
        entry.due = record.due;
        entry.attempts = record.attempts;
        entry.called_by = record.called_by;
        entry.trouble = record.failure.as_ref().map(|failure| Box::new(Trouble::of(failure)));
        entry
    }
}

impl Trouble {
    fn record(&self) -> RecordedFailure<'_> {
        let Self { hold, parked, since, strikes, reason, message } = self;
        RecordedFailure { hold: *hold, parked: *parked, since: *since, strikes: *strikes, reason, message }
    }

    fn of(failure: &RecordedFailure<'_>) -> Self {
        let RecordedFailure { hold, parked, since, strikes, reason, message } = failure;
        Self {
            hold: *hold,
            parked: *parked,
            since: *since,
            strikes: *strikes,
            reason: (*reason).to_owned(),
            message: (*message).to_owned(),
        }
    }
}
