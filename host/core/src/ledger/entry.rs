//! One entry of the ledger: what a plugin was told about one object, and what it is owed.
//!
//! Owns the states of one uid and the small steps between them. Which call is made is
//! `diff`'s to decide; when steps are taken is `start`'s and `finish`'s.

use crate::diff::{Known, State};
use crate::event::Cause;

use super::Time;
use super::marks::{Mark, Marks};
use super::slots::Settled;

/// What a plugin knows of one key. Of one uid from its first to its last day.
///
/// Costs about 90 bytes and holds up to three states: that of the last call, the one before it
/// while the call runs or has failed, and the tombstone. Only an entry whose calls fail has
/// a `trouble`. While all is well there is no entry (see `settle`).
#[derive(Debug)]
pub(super) struct Entry<S> {
    /// State of the last `add` or `update`, or a later one that was filtered.
    last: S,
    /// `tried` only: the state delivered before, if any. Else `last` is that state.
    before: Option<S>,
    tried: bool,
    pub(super) dying: bool,
    pub(super) marks: Marks,
    tombstone: Option<Box<(S, bool)>>,
    /// Requeue, retry, or the next try of a key parked by strikes.
    pub(super) due: Option<Time>,
    /// Calls since the last success.
    pub(super) attempts: u32,
    /// Tells this entry from an earlier or later one of the same key.
    pub(super) serial: u64,
    /// Revision of the last success.
    pub(super) revision: u64,
    /// Revision of the last call.
    pub(super) called_by: u64,
    pub(super) trouble: Option<Box<Trouble>>,
    /// Is it one of the failing keys that `side` has counted? Its to set.
    pub(super) counted: bool,
}

/// What went wrong since the last success.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Asked for by the guest: no call before this time but for reload and manual.
    pub(super) hold: Option<Time>,
    pub(super) parked: Option<Parked>,
    pub(super) strikes: u32,
    /// When the first call since the last success failed.
    pub(super) since: Time,
    pub(super) reason: String,
    pub(super) message: String,
}

/// A key that is not tried again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Why.
    pub by: ParkedBy,
    /// When it was parked.
    pub since: Time,
}

/// Why a key is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkedBy {
    /// The guest said that trying again is of no use.
    Permanent,
    /// Too many strikes in a row; it is tried again after a long interval.
    Strikes,
}

impl<S: State> Entry<S> {
    /// The entry of an object that counts as told.
    pub(super) fn new(serial: u64, revision: u64, told: S) -> Self {
        Self {
            last: told,
            before: None,
            tried: false,
            dying: false,
            marks: Marks::default(),
            tombstone: None,
            due: None,
            attempts: 0,
            serial,
            revision,
            called_by: 0,
            trouble: None,
            counted: false,
        }
    }

    /// The entry of an object whose first `add` is about to start.
    pub(super) fn first_call(serial: u64, now: S) -> Self {
        Self { tried: true, ..Self::new(serial, 0, now) }
    }

    /// As if a call had ended without a word.
    pub(super) fn interrupted(self) -> Self {
        Self { tried: true, due: Some(Time::ZERO), ..self }
    }

    /// What is left to remember if nothing is owed and the plugin was told of `now`.
    pub(super) fn settled(&self, now: &S) -> Option<Settled> {
        let told = !self.unfinished() && self.last.uid() == now.uid() && self.last.resource_version() == now.resource_version();
        let owed = self.tombstone.is_some() || self.due.is_some() || !self.marks.pending().is_empty();
        let failed = self.trouble.is_some() || self.attempts > 0;
        if told && !owed && !failed { Settled::new(self.revision, now) } else { None }
    }

    pub(super) fn uid(&self) -> &str {
        self.last.uid()
    }

    pub(super) fn last(&self) -> &S {
        &self.last
    }

    pub(super) fn tombstone(&self) -> Option<&S> {
        self.tombstone.as_deref().map(|(state, _)| state)
    }

    /// What the table reads.
    pub(super) fn known(&self) -> Known<'_, S> {
        Known {
            last: &self.last,
            delivered: if self.tried { self.before.as_ref() } else { Some(&self.last) },
            tried: self.tried,
            dying: self.dying,
            tombstone: self.tombstone.as_deref().map(|(state, final_known)| (state, *final_known)),
        }
    }

    /// A call was made that has not succeeded (yet).
    pub(super) fn unfinished(&self) -> bool {
        self.tried || self.dying
    }

    /// Is it kept because a call failed, or because `delete` has not ended?
    pub(super) fn failing(&self) -> bool {
        self.trouble.is_some() || self.dying
    }

    pub(super) fn parked(&self) -> Option<Parked> {
        self.trouble.as_ref().and_then(|trouble| trouble.parked)
    }

    /// Not before this time, the guest said.
    pub(super) fn hold(&self) -> Option<Time> {
        self.trouble.as_ref().and_then(|trouble| trouble.hold)
    }

    /// The end of a hold that still keeps the key from being called.
    pub(super) fn held(&self, time: Time) -> Option<Time> {
        let pending = self.marks.pending();
        let pressed = pending.contains(Mark::Reload) || pending.contains(Mark::Manual);
        self.hold().filter(|until| *until > time && !pressed)
    }

    pub(super) fn is_due(&self, time: Time) -> bool {
        !self.marks.pending().is_empty() || self.due.is_some_and(|due| due <= time)
    }

    /// What a guest is told when only something due leads to a call.
    pub(super) fn due_cause(&self) -> Cause {
        let by_time = if self.attempts > 0 { Cause::Retry } else { Cause::Requeue };
        self.marks.leading().map_or(by_time, Mark::cause)
    }

    /// The store changed from `old` to `new` under this key.
    /// True if a final state was noted.
    pub(super) fn observe(&mut self, old: Option<&S>, new: Option<&S>, final_state: Option<&S>, final_known: bool) -> bool {
        let known = self.tombstone.is_some();
        if let Some(old) = old
            && old.uid() == self.uid()
            && new.is_none_or(|new| new.uid() != old.uid())
            && self.tombstone.is_none()
        {
            let (state, known) = match final_state {
                Some(state) if state.uid() != old.uid() => (old, false),
                Some(state) => (state, final_known),
                None => (old, final_known),
            };
            self.tombstone = Some(Box::new((state.clone(), known)));
        }
        if new.is_some_and(|new| new.uid() == self.uid()) {
            self.tombstone = None;
        }
        self.tombstone.is_some() && !known
    }

    /// As it was written down: beside the last state, what of the others is known.
    pub(super) fn set_states(&mut self, tried: bool, before: Option<S>, tombstone: Option<(S, bool)>) {
        self.tried = tried;
        self.before = before;
        self.tombstone = tombstone.map(Box::new);
    }

    /// A change was dropped: `now` is what later changes are judged against, and shown as
    /// `previous` if no failed call is outstanding. Not for an entry that is `dying`.
    pub(super) fn filter(&mut self, now: &S) {
        self.last = now.clone();
        self.tombstone = None;
    }

    /// `add` or `update` with the object now is about to start.
    pub(super) fn begin(&mut self, now: &S) {
        let last = std::mem::replace(&mut self.last, now.clone());
        if self.dying {
            self.before = None;
        } else if !self.tried {
            self.before = Some(last);
        }
        self.tried = true;
        self.dying = false;
        self.tombstone = None;
    }

    /// The last `add` or `update` succeeded.
    pub(super) fn delivered(&mut self) {
        self.before = None;
        self.tried = false;
    }
}
