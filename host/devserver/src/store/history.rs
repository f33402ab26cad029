//! The bounded log of changes of one storage.
//!
//! Owns what is dropped and which versions can therefore no longer be told apart. Knows nothing of readers: they come with the version
//! at which they stand.

use std::collections::{HashSet, VecDeque};

use super::{Event, Gone, Stored};

/// At most this many bytes of JSON are kept per storage, so that a few large objects that change often cannot fill the memory.
const MOST_BYTES: usize = 64 << 20;

/// What an object and its event cost beside the JSON.
const EVENT_BYTES: usize = 256;

/// The last changes of a storage, in order.
#[derive(Debug)]
pub(super) struct History {
    events: VecDeque<Event>,
    /// Of all objects that the events hold, each once.
    bytes: usize,
    /// The versions of the objects that an event holds as its previous one.
    replaced: HashSet<u64>,
    most: usize,
    /// The state at this version and at each later one can still be found: nothing newer was dropped.
    floor: u64,
}

impl History {
    /// An empty history that begins at `floor` and keeps up to `most` changes.
    pub(super) fn new(floor: u64, most: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, replaced: HashSet::new(), most: most.max(1), floor }
    }

    /// Adds the newest change.
    pub(super) fn push(&mut self, event: Event) {
        self.bytes = self.bytes.saturating_add(cost(&event.object));
        if let Some(previous) = &event.previous {
            self.replaced.insert(previous.version);
            // A newer one is the object of an event that is still here.
            if previous.version <= self.floor {
                self.bytes = self.bytes.saturating_add(cost(previous));
            }
        }
        self.events.push_back(event);
        while self.events.len() > self.most || (self.bytes > MOST_BYTES && self.events.len() > 1) {
            let Some(oldest) = self.events.pop_front() else { break };
            self.floor = oldest.version;
            // An object stays as long as the event that replaced it.
            if !self.replaced.contains(&oldest.version) {
                self.bytes = self.bytes.saturating_sub(cost(&oldest.object));
            }
            if let Some(previous) = &oldest.previous {
                self.replaced.remove(&previous.version);
                self.bytes = self.bytes.saturating_sub(cost(previous));
            }
        }
    }

    /// The oldest version that is still known.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// The changes after `version`, oldest first.
    pub(super) fn after(&self, version: u64) -> Result<impl DoubleEndedIterator<Item = &Event>, Gone> {
        if version < self.floor {
            return Err(Gone { oldest: self.floor });
        }
        let first = self.events.partition_point(|event| event.version <= version);
        Ok(self.events.range(first..))
    }

    /// Forgets everything before `version`.
    pub(super) fn cut(&mut self, version: u64) {
        self.events.clear();
        self.replaced.clear();
        self.bytes = 0;
        self.floor = version;
    }
}

fn cost(object: &Stored) -> usize {
    object.json.len().saturating_add(EVENT_BYTES)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use serde_json::json;

    use super::super::{Change, Key, Stored};
    use super::*;

    fn event(version: u64, size: usize) -> Event {
        let key = Key { storage: "x".into(), namespace: "".into(), name: "a".into() };
        let object = Arc::new(Stored::new(&key, json!({"data": "x".repeat(size)}), version));
        Event { version, change: Change::Created, object, previous: None }
    }

    fn versions(history: &History, after: u64) -> Vec<u64> {
        history.after(after).unwrap().map(|event| event.version).collect()
    }

    #[test]
    fn only_what_was_dropped_is_gone() {
        let mut history = History::new(10, 3);
        assert_eq!(versions(&history, 10), [0_u64; 0]);
        assert_eq!(history.after(9).err(), Some(Gone { oldest: 10 }));
        for version in [20, 30, 40] {
            history.push(event(version, 1));
        }
        assert_eq!(versions(&history, 10), [20, 30, 40]);
        assert_eq!(versions(&history, 29), [30, 40]);
        history.push(event(50, 1));
        assert_eq!(history.after(19).err(), Some(Gone { oldest: 20 }));
        assert_eq!(versions(&history, 20), [30, 40, 50]);
        assert_eq!(versions(&history, 99), [0_u64; 0]);
        history.cut(60);
        assert_eq!(history.after(59).err(), Some(Gone { oldest: 60 }));
        assert_eq!(versions(&history, 60), [0_u64; 0]);
    }

    #[test]
    fn what_was_replaced_counts_as_long_as_it_is_held() {
        let mut history = History::new(0, 1000);
        // Objects whose own event has left.
        history.cut(200);
        for version in 1..=5 {
            let before = event(version, MOST_BYTES / 4).object;
            history.push(Event { previous: Some(before), ..event(200 + version, 1) });
        }
        assert_eq!(versions(&history, history.floor()), [203, 204, 205]);

        // One object that changes: each state is the object of an event and the previous one of the next, and counts once.
        history.cut(300);
        let mut last = event(299, MOST_BYTES / 8).object;
        for version in 301..=310 {
            let next = Event { previous: Some(last), ..event(version, MOST_BYTES / 8) };
            last = Arc::clone(&next.object);
            history.push(next);
        }
        assert_eq!(versions(&history, history.floor()), [305, 306, 307, 308, 309, 310]);
        history.cut(400);
        history.push(event(401, 1));
        assert_eq!(history.bytes, cost(&event(401, 1).object));
    }

    #[test]
    fn bytes_are_bounded_too_but_the_newest_stays() {
        let mut history = History::new(0, 1000);
        for version in 1..=10 {
            history.push(event(version, MOST_BYTES / 4));
        }
        assert_eq!(versions(&history, history.floor()), [8, 9, 10]);
        history.push(event(11, MOST_BYTES + 1));
        assert_eq!(versions(&history, history.floor()), [11]);
    }
}
