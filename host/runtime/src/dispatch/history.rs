//! What was decided about a plugin's keys lately, for people who ask why.
//!
//! Owns one ring of records per plugin, bounded in bytes: the oldest go first. A record costs a
//! hash of its key and a short lock of its own, never an allocation but for a write. It never
//! holds an object, a label, or a text that a guest or a server wrote: versions, words and
//! times only, and not even the keys. A ledger is never read from it: it explains, and decides
//! nothing.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;
pub use wharf_core::Dropped;

use parking_lot::Mutex;
use wharf_core::{Cause, Event, Gvk, ObjectKey, Reason, TargetKey};

/// The decisions of one plugin.
#[derive(Debug)]
pub struct History {
    ring: Mutex<Ring>,
    max_bytes: usize,
    /// Who asks names the key, so a record needs no more of it than to be found again. Two keys of
    /// one hash would be shown together: with 64 bits and some thousand records nobody will see it.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<Hashed>,
    bytes: usize,
    /// Of the plugin's life, those that are gone included.
    noted: u64,
}

#[derive(Debug)]
struct Hashed {
    key: u64,
    /// Microseconds since the host's start.
    at: u64,
    what: What,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time since the host's start.
    pub at: Duration,
    /// What was decided, or happened.
    pub what: What,
}

/// What was decided, or happened. Versions are resourceVersions as far as they are numbers; 0
/// where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A change was announced, and the key was queued.
    Seen {
        /// How it became known.
        how: Sight,
        /// Of the object now, or of its last state.
        version: u64,
        /// The object is gone.
        gone: bool,
    },
    /// An operator asked for a call.
    Asked,
    /// A change was dropped.
    Dropped {
        /// By what.
        by: Dropped,
        /// Of the object now.
        version: u64,
    },
    /// Changes that were to be told one by one were given up for lack of room.
    Merged {
        /// So many.
        changes: u32,
    },
    /// A worker looked at the key, and there was nothing to do.
    Nothing(Idle),
    /// The guest asked not to be called yet.
    Held {
        /// For so long.
        after: Duration,
    },
    /// So many keys fail that the plugin was not told of this one.
    Full,
    /// A call began.
    Called {
        /// Which function.
        event: Event,
        /// Why.
        cause: Cause,
        /// As the guest was told.
        attempt: u32,
        /// Number of the revision.
        revision: u64,
        /// Of the object that was shown.
        version: u64,
        /// Milliseconds in the queue.
        queued: u32,
        /// For one change, and not for the last state.
        single: bool,
    },
    /// The guest wrote to the cluster, with success.
    Wrote(Box<Write>),
    /// The call ended.
    Ended {
        /// How.
        end: End,
        /// Why, if it failed.
        why: Why,
        /// Microseconds.
        took: u32,
        /// What follows.
        next: Follows,
    },
    /// The subscription does not cover the key any more.
    Left,
}

/// How a change became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It was there when the plugin was first served, or when a revision went into service.
    InitialList,
    /// The watch reported it.
    Watch,
    /// A list differed from what the store had.
    Relist,
    /// Nothing changed; the subscription's period was over.
    Resync,
}

/// Why there was nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// There is no such object, and there was none that the plugin knew.
    Gone,
    /// It does not match the selectors.
    Unmatched,
    /// The plugin was told of this state.
    Told,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With success.
    Done,
    /// With success, and it wants to be called again.
    RequeueAfter,
    /// It failed and may be called again.
    Retry,
    /// It failed for good.
    Permanent,
    /// It trapped, or the host ended it.
    Strike,
    /// The host could not provide what it needed.
    Waiting,
    /// The host gave it up.
    Cancelled,
}

/// The name of a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It did not fail.
    None,
    /// One of the host's.
    Host(Reason),
    /// One that the plugin declared.
    Declared(Arc<str>),
}

/// What follows a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing until something changes.
    Nothing,
    /// The key is due after so many milliseconds.
    Due(u32),
    /// The key is parked.
    Parked,
    /// The change is given up, and the key's next one is told.
    Skipped,
}

/// A write of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// `create`, `apply`, `patch` or `delete`.
    pub verb: &'static str,
    /// Of what kind.
    pub kind: Gvk,
    /// Which object.
    pub key: ObjectKey,
}

/// All that is still known of one key.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The key's records, the oldest first.
    pub records: Vec<Record>,
    /// Records of all keys of the plugin.
    pub kept: usize,
    /// Records of the plugin that were made and are gone.
    pub gone: u64,
    /// When the oldest record of all was made.
    pub since: Option<Duration>,
}

impl History {
    /// A ring of at most so many bytes; 0 keeps nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self { ring: Mutex::default(), max_bytes, hasher: RandomState::new() }
    }

    /// Notes a decision. Costs about a tenth of a microsecond; may be called under an informer's lock.
    pub fn note(&self, at: Duration, key: &TargetKey, what: What) {
        if self.max_bytes == 0 {
            return;
        }
        let at = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        let record = Hashed { key: self.hasher.hash_one(key), at, what };
        let bytes = record.bytes();
        let mut ring = self.ring.lock();
        ring.noted = ring.noted.saturating_add(1);
        ring.bytes = ring.bytes.saturating_add(bytes);
        while ring.bytes > self.max_bytes
            && let Some(oldest) = ring.records.pop_front()
        {
            ring.bytes = ring.bytes.saturating_sub(oldest.bytes());
        }
        if ring.bytes > self.max_bytes {
            // It alone is larger than the ring.
            ring.bytes = 0;
        } else {
            ring.records.push_back(record);
        }
    }

    /// The records of one key. Walks through all of the plugin.
    pub fn of(&self, key: &TargetKey) -> Past {
        let key = self.hasher.hash_one(key);
        let ring = self.ring.lock();
        let record = |hashed: &Hashed| Record { at: Duration::from_micros(hashed.at), what: hashed.what.clone() };
        Past {
            records: ring.records.iter().filter(|hashed| hashed.key == key).map(record).collect(),
            kept: ring.records.len(),
            gone: ring.noted.saturating_sub(ring.records.len() as u64),
            since: ring.records.front().map(|hashed| Duration::from_micros(hashed.at)),
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.ring.lock().bytes
    }
}

impl Hashed {
    fn bytes(&self) -> usize {
        /// The two reference counts in front of a shared text.
        const COUNTS: usize = 16;
        let more = match &self.what {
            What::Wrote(write) => {
                let namespace = write.key.namespace.as_deref().unwrap_or_default();
                let texts = [&*write.kind.group, &*write.kind.version, &*write.kind.kind, namespace, &*write.key.name];
                size_of::<Write>().saturating_add(texts.iter().map(|text| text.len().saturating_add(COUNTS)).sum())
            }
            _ => 0,
        };
        size_of::<Self>().saturating_add(more)
    }
}

impl Past {
    /// What dropped the last change, if nothing came after it but the passing of time.
    pub fn dropped(&self) -> Option<Dropped> {
        let told = |record: &&Record| !matches!(record.what, What::Nothing(_) | What::Seen { how: Sight::Resync | Sight::InitialList, .. });
        match self.records.iter().rev().find(told)?.what {
            What::Dropped { by, .. } => Some(by),
            _ => None,
        }
    }
}

/// A resourceVersion as a number; 0 if it is none.
pub(super) fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

/// Milliseconds that fit.
pub(super) fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> TargetKey {
        TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("team-a", name))
    }

    fn seen(version: u64) -> What {
        What::Seen { how: Sight::Watch, version, gone: false }
    }

    #[test]
    fn the_oldest_go_first_and_bytes_are_bounded() {
        let history = History::new(1000);
        for n in 0..1000_u64 {
            history.note(Duration::from_secs(n), &key(&format!("name-{}", n % 3)), seen(n));
            assert!(history.bytes() <= 1000);
        }
        let past = history.of(&key("name-0"));
        assert!(past.records.len() >= 3 && past.records.is_sorted_by_key(|record| record.at), "{past:?}");
        assert_eq!(past.records.last().map(|record| record.at), Some(Duration::from_secs(999)));
        assert_eq!(past.kept as u64 + past.gone, 1000);
        assert_eq!(past.since, Some(Duration::from_secs(past.gone)));
        assert!(history.of(&key("other")).records.is_empty());
    }

    #[test]
    fn a_record_larger_than_the_ring_leaves_nothing() {
        let history = History::new(50);
        history.note(Duration::ZERO, &key("x"), seen(1));
        assert_eq!((history.bytes(), history.of(&key("x")).gone), (0, 1));
        let off = History::new(0);
        off.note(Duration::ZERO, &key("x"), seen(1));
        assert_eq!((off.bytes(), off.of(&key("x")).gone), (0, 0));
    }

    #[test]
    fn writes_count_what_they_hold() {
        let write = Write { verb: "apply", kind: Gvk::new("", "v1", "Secret"), key: ObjectKey::new("team-a", &"n".repeat(200)) };
        let record = |what| Hashed { at: 0, key: 0, what };
        assert!(record(What::Wrote(Box::new(write))).bytes() > record(seen(1)).bytes() + 300);
        assert!(size_of::<Hashed>() <= 56, "{}", size_of::<Hashed>());
    }

    #[test]
    fn the_last_drop_is_known_until_something_comes_after_it() {
        let history = History::new(10_000);
        let note = |what| history.note(Duration::ZERO, &key("x"), what);
        let dropped = || history.of(&key("x")).dropped();
        assert_eq!(dropped(), None);
        note(seen(1));
        note(What::Dropped { by: Dropped::Events, version: 1 });
        note(What::Seen { how: Sight::Resync, version: 1, gone: false });
        note(What::Nothing(Idle::Told));
        assert_eq!(dropped(), Some(Dropped::Events));
        note(seen(2));
        assert_eq!(dropped(), None);
    }

    #[test]
    fn versions_that_are_no_numbers_are_none() {
        assert_eq!((number("12"), number(""), number("a1"), number("99999999999999999999")), (12, 0, 0, 0));
        assert_eq!((milliseconds(Duration::from_micros(2500)), milliseconds(Duration::MAX)), (2, u32::MAX));
    }
}
