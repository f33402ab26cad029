//! What survives of one entry when the host ends: its fields, and the bytes for them. Owns the
//! format, whose number is [`Record::FORMAT`]; never where the bytes are kept.
//!
//! A state is its resourceVersion alone: bodies are kept elsewhere, or not at all. Of a key that
//! is settled, 4 bytes more than uid and version are left.

use std::time::Duration;

use super::Time;
use super::entry::{Parked, ParkedBy};
use super::marks::{Mark, Marks};

/// Longer texts are cut.
const MAX_REASON: usize = 128;
const MAX_MESSAGE: usize = 512;

/// One entry, to write down or read back. Times are rounded up to milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// Uid of all states.
    pub uid: &'a str,
    /// Version of the state of the last `add` or `update`, or of a later one that was filtered.
    pub version: &'a str,
    /// An `add` or `update` was called and has not succeeded (yet).
    pub tried: bool,
    /// `tried` only: version of the state that was delivered before.
    pub before: Option<&'a str>,
    /// `delete` was called and has not succeeded (yet).
    pub dying: bool,
    /// Version of the last state of an object that is gone, and whether it is surely the final one.
    pub tombstone: Option<(&'a str, bool)>,
    /// When it is due.
    pub due: Option<Time>,
    /// Calls since the last success.
    pub attempts: u32,
    /// Revision of the last success; 0 if there was none.
    pub revision: u64,
    /// Revision of the last call; 0 if unknown.
    pub called_by: u64,
    /// What went wrong since the last success.
    pub failure: Option<RecordedFailure<'a>>,
    /// A digest of the values that count in this state, where only a change of them counts. The ledger
    /// does not know it: whoever writes the record does.
    pub values: Option<[u8; 16]>,
    pub(super) marks: Marks,
}

/// What went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedFailure<'a> {
    /// No call before this time but for reload and manual.
    pub hold: Option<Time>,
    /// Set while the key is parked.
    pub parked: Option<Parked>,
    /// When the first call since the last success failed.
    pub since: Time,
    /// Strikes since the last success.
    pub strikes: u32,
    /// The CamelCase word.
    pub reason: &'a str,
    /// For people.
    pub message: &'a str,
}

const TRIED: u64 = 1;
const BEFORE: u64 = 1 << 1;
const DYING: u64 = 1 << 2;
const TOMBSTONE: u64 = 1 << 3;
const FINAL: u64 = 1 << 4;
const DUE: u64 = 1 << 5;
const FAILURE: u64 = 1 << 6;
/// Attempts, the last call's revision, and marks.
const CALLED: u64 = 1 << 7;
const VALUES: u64 = 1 << 8;

const HELD: u64 = 1;
const PARKED: u64 = 1 << 1;
const BY_STRIKES: u64 = 1 << 2;

impl<'a> Record<'a> {
    /// Number of the format. A store with another one cannot be read.
    pub const FORMAT: u32 = 2;

    /// Is there nothing to say but that the plugin was told of this state?
    pub fn is_quiet(&self) -> bool {
        let Self { tried, dying, tombstone, due, attempts, failure, marks, .. } = self;
        !tried && !dying && tombstone.is_none() && due.is_none() && *attempts == 0 && failure.is_none() && marks.pending().is_empty()
    }

    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let called = self.attempts > 0 || self.called_by > 0 || !self.marks.pending().is_empty();
        let flags = [
            (TRIED, self.tried),
            (BEFORE, self.before.is_some()),
            (DYING, self.dying),
            (TOMBSTONE, self.tombstone.is_some()),
            (FINAL, self.tombstone.is_some_and(|(_, known)| known)),
            (DUE, self.due.is_some()),
            (FAILURE, self.failure.is_some()),
            (CALLED, called),
            (VALUES, self.values.is_some()),
        ];
        put(out, set(&flags));
        put_text(out, self.uid);
        put_text(out, self.version);
        put(out, self.revision);
        self.before.into_iter().chain(self.tombstone.map(|(version, _)| version)).for_each(|version| put_text(out, version));
        self.due.into_iter().for_each(|due| put_time(out, due));
        if called {
            put(out, self.called_by);
            put(out, self.attempts.into());
            out.extend(self.marks.to_bytes());
        }
        out.extend(self.values.into_iter().flatten());
        if let Some(failure) = &self.failure {
            failure.encode(out);
        }
    }

    /// Reads what [`Self::encode`] wrote; `None` if it is anything else.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        let flags = take_number(&mut rest)?;
        let has = |flag: u64| flags & flag != 0;
        let mut record = Self { tried: has(TRIED), dying: has(DYING), ..Self::default() };
        record.uid = take_text(&mut rest)?;
        record.version = take_text(&mut rest)?;
        record.revision = take_number(&mut rest)?;
        if has(BEFORE) {
            record.before = Some(take_text(&mut rest)?);
        }
        if has(TOMBSTONE) {
            record.tombstone = Some((take_text(&mut rest)?, has(FINAL)));
        }
        if has(DUE) {
            record.due = Some(take_time(&mut rest)?);
        }
        if has(CALLED) {
            record.called_by = take_number(&mut rest)?;
            record.attempts = u32::try_from(take_number(&mut rest)?).ok()?;
            record.marks = Marks::of_bytes([take(&mut rest)?, take(&mut rest)?])?;
        }
        if has(VALUES) {
            let (values, left) = rest.split_first_chunk()?;
            (record.values, rest) = (Some(*values), left);
        }
        if has(FAILURE) {
            record.failure = Some(RecordedFailure::decode(&mut rest)?);
        }
        rest.is_empty().then_some(record)
    }

    /// All times so much earlier: for a clock that was set back since they were written.
    #[must_use]
    pub fn earlier(self, by: Duration) -> Self {
        let sooner = |time: Time| time.saturating_sub(by);
        let failure = self.failure.map(|failure| RecordedFailure {
            hold: failure.hold.map(sooner),
            parked: failure.parked.map(|parked| Parked { since: sooner(parked.since), ..parked }),
            since: sooner(failure.since),
            ..failure
        });
        Self { due: self.due.map(sooner), failure, ..self }
    }
}

impl<'a> RecordedFailure<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        let by_strikes = self.parked.is_some_and(|parked| parked.by == ParkedBy::Strikes);
        put(out, set(&[(HELD, self.hold.is_some()), (PARKED, self.parked.is_some()), (BY_STRIKES, by_strikes)]));
        self.hold.into_iter().chain(self.parked.map(|parked| parked.since)).for_each(|time| put_time(out, time));
        put_time(out, self.since);
        put(out, self.strikes.into());
        put_text(out, cut(self.reason, MAX_REASON));
        put_text(out, cut(self.message, MAX_MESSAGE));
    }

    fn decode(rest: &mut &'a [u8]) -> Option<Self> {
        let flags = take_number(rest)?;
        let hold = if flags & HELD != 0 { Some(take_time(rest)?) } else { None };
        let by = if flags & BY_STRIKES != 0 { ParkedBy::Strikes } else { ParkedBy::Permanent };
        let parked = if flags & PARKED != 0 { Some(Parked { by, since: take_time(rest)? }) } else { None };
        let since = take_time(rest)?;
        let strikes = u32::try_from(take_number(rest)?).ok()?;
        Some(Self { hold, parked, since, strikes, reason: take_text(rest)?, message: take_text(rest)? })
    }
}

impl Marks {
    /// Those that are pending, and the newest of them. What a call has seen is not kept: a call
    /// that the end of the host interrupts uses up nothing.
    fn to_bytes(self) -> [u8; 2] {
        let newest = self.leading().and_then(|mark| Mark::ALL.iter().position(|other| *other == mark));
        [self.pending().bits(), newest.and_then(|at| u8::try_from(at).ok()).map_or(0, |at| at.saturating_add(1))]
    }

    fn of_bytes([pending, newest]: [u8; 2]) -> Option<Self> {
        let mut marks = Self::default();
        let pending_has = |mark: &&Mark| pending & mark.bit() != 0;
        Mark::ALL.iter().filter(pending_has).for_each(|mark| marks.insert(*mark));
        let newest = usize::from(newest).checked_sub(1).map(|at| Mark::ALL.get(at)).unwrap_or(Some(&Mark::Resync))?;
        if marks.pending().contains(*newest) {
            marks.insert(*newest);
        }
        (marks.pending().bits() == pending).then_some(marks)
    }
}

fn set(flags: &[(u64, bool)]) -> u64 {
    flags.iter().filter(|(_, is)| *is).fold(0, |set, (flag, _)| set | flag)
}

/// Seven bits a byte, lowest first.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_time(out: &mut Vec<u8>, time: Time) {
    let millis = time.as_nanos().div_ceil(1_000_000);
    put(out, u64::try_from(millis).unwrap_or(u64::MAX));
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (first, others) = rest.split_first()?;
    *rest = others;
    Some(*first)
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = take(rest)?;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let len = usize::try_from(take_number(rest)?).ok()?;
    let (text, others) = rest.split_at_checked(len)?;
    *rest = others;
    std::str::from_utf8(text).ok()
}

fn take_time(rest: &mut &[u8]) -> Option<Time> {
    take_number(rest).map(Duration::from_millis)
}

fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;

    fn bytes(record: &Record<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        record.encode(&mut out);
        out
    }

    #[test]
    fn what_is_settled_costs_little() {
        let uid = "f3b2c1a0-0000-4000-8000-123456789abc";
        let quiet = Record { uid, version: "12345678", revision: 3, ..Record::default() };
        assert!(quiet.is_quiet());
        assert_eq!(bytes(&quiet).len(), uid.len() + 8 + 4);
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!((cut("aé", 2), cut("aé", 3), cut("", 9)), ("a", "aé", ""));
        let message = "é".repeat(MAX_MESSAGE);
        let failure = RecordedFailure { message: &message, ..RecordedFailure::default() };
        let record = Record { failure: Some(failure), ..Record::default() };
        assert_eq!(Record::decode(&bytes(&record)).unwrap().failure.unwrap().message.len(), MAX_MESSAGE);
    }

    #[test]
    fn a_clock_that_went_back_is_followed() {
        let at = Duration::from_secs;
        let failure = RecordedFailure {
            hold: Some(at(50)),
            parked: Some(Parked { by: ParkedBy::Strikes, since: at(5) }),
            ..RecordedFailure::default()
        };
        let record = Record { due: Some(at(30)), failure: Some(failure), ..Record::default() }.earlier(at(20));
        let failure = record.failure.unwrap();
        assert_eq!((record.due, failure.hold, failure.parked.unwrap().since), (Some(at(10)), Some(at(30)), at(0)));
    }

    fn time() -> impl Strategy<Value = Option<Duration>> {
        of((0u64..1 << 45).prop_map(Duration::from_millis))
    }

    prop_compose! {
        fn failures()(hold in time(), parked in time(), strikes: u32, by_strikes: bool, texts in ("[A-Za-zé]{0,20}", ".{0,40}"))
            -> (Option<Time>, Option<Parked>, u32, String, String) {
            let by = if by_strikes { ParkedBy::Strikes } else { ParkedBy::Permanent };
            (hold, parked.map(|since| Parked { by, since }), strikes, texts.0, texts.1)
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            texts in ("[a-f0-9-]{0,40}", "[0-9]{0,12}", of("[0-9]{1,9}"), of(("[0-9]{1,9}", any::<bool>()))),
            tried: bool, dying: bool, due in time(), attempts: u32, revision: u64, called_by: u64,
            marks in vec(0usize..4, 0..5), failure in of(failures()), values: Option<[u8; 16]>,
        ) {
            let mut pending = Marks::default();
            marks.into_iter().for_each(|at| pending.insert(Mark::ALL[at]));
            let failure = failure.as_ref().map(|(hold, parked, strikes, reason, message)| {
                RecordedFailure { hold: *hold, parked: *parked, since: due.unwrap_or_default(), strikes: *strikes, reason, message }
            });
            let record = Record {
                uid: &texts.0, version: &texts.1, tried, before: texts.2.as_deref(), dying,
                tombstone: texts.3.as_ref().map(|(version, known)| (version.as_str(), *known)),
                due, attempts, revision, called_by, failure, values, marks: pending,
            };
            let written = bytes(&record);
            let read = Record::decode(&written);
            prop_assert_eq!(read.as_ref(), Some(&record));
            prop_assert_eq!(read.unwrap().marks.leading(), pending.leading());
            // A part of it is nothing, and neither is more than it.
            for end in 0..written.len() {
                prop_assert!(Record::decode(&written[..end]).is_none_or(|part| part != record));
            }
            let longer = [&written[..], &[0]].concat();
            prop_assert_eq!(Record::decode(&longer), None);
        }

        #[test]
        fn junk_never_panics(junk in vec(any::<u8>(), 0..80)) {
            if let Some(record) = Record::decode(&junk) {
                let written = bytes(&record);
                prop_assert_eq!(Record::decode(&written), Some(record));
            }
        }
    }
}
