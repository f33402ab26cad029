//! A call ended: its outcome replaces the due time, and the entry remembers what went
//! wrong. Owns parking, strikes and the fence that throws away outcomes of dropped
//! entries. How long a backoff is, the queue says.

use std::hash::Hash;
use std::time::Duration;

use crate::diff::State;
use crate::event::Event;
use crate::outcome::{Failure, Fault, Outcome, Strike};
use crate::reason::Reason;

use super::entry::{Entry, Parked, ParkedBy, Trouble};
use super::{Here, Ledger, Time, Token};

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It succeeded.
    Done,
    /// It succeeded and asks to be called again after this time.
    RequeueAfter(Duration),
    /// The guest failed and may be called again: with backoff, or not before the time
    /// that it gave, which then holds back all calls but for reload and manual.
    Retry(Fault),
    /// The guest failed and trying again is of no use. Ends a `delete`.
    Permanent(Fault),
    /// The host ended the call, or it trapped.
    Strike(Strike),
    /// Something that the host provides did not answer: a retry with backoff that counts
    /// against nobody.
    Waiting {
        /// What was missing, for example [`Reason::ServerUnavailable`].
        reason: Reason,
        /// Details for people.
        message: String,
    },
    /// The host gave the call up for its own reasons: as if it had never ended. The key
    /// stays due at once.
    Cancelled,
}

impl From<Outcome> for Finished {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::RequeueAfter(after) => Self::RequeueAfter(after),
        }
    }
}

impl From<Failure> for Finished {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Retry(fault) => Self::Retry(fault),
            Failure::Permanent(fault) => Self::Permanent(fault),
        }
    }
}

impl From<Strike> for Finished {
    fn from(strike: Strike) -> Self {
        Self::Strike(strike)
    }
}

/// Bytes of a failure's message that are kept; the guest's own limit is higher.
const MAX_MESSAGE: usize = 1024;

/// When a key is parked by strikes, and how many keys may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// So many strikes since the last success park a key; at least 1.
    pub strikes: u32,
    /// A key parked by strikes is tried again after this time.
    pub park: Duration,
    /// From so many failing keys on a plugin is told of no further object
    /// ([`Ledger::is_full`]), and the messages of further failures are not kept.
    pub max_failing: usize,
}

impl Default for Policy {
    /// Five strikes, 30 minutes, 10,000 keys.
    fn default() -> Self {
        Self { strikes: 5, park: Duration::from_secs(30 * 60), max_failing: 10_000 }
    }
}

/// What to do with the key of a call that ended, besides what changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Next {
    /// When to enqueue the key again. May have passed already.
    pub due: Option<Time>,
    /// Enqueue the key now: what follows a `delete`, or a call whose outcome was thrown
    /// away, is decided anew.
    pub again: bool,
    /// The key is parked.
    pub parked: bool,
    /// The entry was dropped while the call ran: its outcome was thrown away.
    pub fenced: bool,
}

impl<K: Clone + Eq + Hash, S: State> Ledger<K, S> {
    /// The call that [`Self::start`] asked for ended; `here` is what the store holds by now.
    /// `backoff` is the host's own delay for this key, used where the outcome names no time.
    pub fn finish(&mut self, here: Here<'_, K, S>, call: Token, result: Finished, time: Time, policy: &Policy, backoff: Duration) -> Next {
        let Here { key, slot, now } = here;
        let deleted = call.event == Event::Delete;
        let over = deleted && matches!(result, Finished::Done | Finished::Permanent(_));
        let full = self.side.failing() >= policy.max_failing;
        let ended = self.side.update(key, |entry| {
            if entry.serial != call.serial {
                return (Next::FENCED, None);
            }
            if !over {
                entry.finish(&call, result, time, policy, backoff);
                if let Some(trouble) = entry.trouble.as_deref_mut().filter(|_| full && !entry.counted) {
                    trouble.message = String::new();
                }
            }
            let next = Next { due: entry.due, again: deleted, parked: entry.parked().is_some(), fenced: false };
            (next, now.and_then(|now| entry.settled(now)))
        });
        if ended.as_ref().is_some_and(|(next, _)| !next.fenced) {
            self.dirty.note(key);
        }
        match (ended, slot) {
            (None, _) => Next::FENCED,
            (Some((next, _)), _) if next.fenced => next,
            (Some(_), _) if over => {
                self.side.remove(key);
                Next { fenced: false, ..Next::FENCED }
            }
            (Some((next, Some(settled))), Some(slot)) => {
                self.side.remove(key);
                self.slots.put(slot, settled);
                next
            }
            (Some((next, _)), _) => next,
        }
    }
}

impl Next {
    const FENCED: Self = Self { due: None, again: true, parked: false, fenced: true };
}

impl<S: State> Entry<S> {
    fn finish(&mut self, call: &Token, result: Finished, time: Time, policy: &Policy, backoff: Duration) {
        if result != Finished::Cancelled {
            self.marks.use_up();
        }
        match result {
            Finished::Done => self.succeed(call, None),
            Finished::RequeueAfter(after) => self.succeed(call, Some(time.saturating_add(after))),
            Finished::Retry(Fault { reason, message, retry_after }) => {
                let hold = retry_after.map(|after| time.saturating_add(after));
                self.due = hold.or(Some(time.saturating_add(backoff)));
                self.fail(reason, message, time).hold = hold;
            }
            Finished::Permanent(Fault { reason, message, .. }) => {
                self.due = None;
                self.fail(reason, message, time).parked = Some(Parked { by: ParkedBy::Permanent, since: time });
            }
            Finished::Strike(Strike { reason, message }) => {
                let trouble = self.fail(reason.to_string(), message, time);
                trouble.strikes = trouble.strikes.saturating_add(1);
                let park = trouble.strikes >= policy.strikes;
                trouble.parked = park.then_some(Parked { by: ParkedBy::Strikes, since: time });
                self.due = Some(time.saturating_add(if park { policy.park } else { backoff }));
            }
            Finished::Waiting { reason, message } => {
                self.fail(reason.to_string(), message, time);
                self.due = Some(time.saturating_add(backoff));
            }
            // Since the start it is due at once, with the marks that the call saw.
            Finished::Cancelled => {}
        }
    }

    fn succeed(&mut self, call: &Token, due: Option<Time>) {
        if call.event != Event::Delete {
            self.delivered();
        }
        self.due = due;
        self.attempts = 0;
        self.revision = call.revision;
        self.trouble = None;
    }

    /// Notes what went wrong; the strikes stay, hold and parking are the outcome's to set.
    fn fail(&mut self, reason: String, mut message: String, time: Time) -> &mut Trouble {
        if message.len() > MAX_MESSAGE {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message.push('…');
            message.shrink_to_fit();
        }
        let trouble = self.trouble.get_or_insert_with(|| Box::new(Trouble { since: time, ..Trouble::default() }));
        **trouble = Trouble { hold: None, parked: None, strikes: trouble.strikes, since: trouble.since, reason, message };
        trouble
    }
}
