//! What a plugin wrote itself and its ledger has not judged yet. Owns the rule by which a change
//! counts as the plugin's own: an unbroken chain of its writes leads from one state to the other.
//! Never guesses: a write is known only by the version that it was made upon, which the server
//! was asked to insist on, and the version that came of it. What is forgotten is delivered.

use std::collections::HashMap;
use std::hash::Hash;

/// The writes of one plugin by key: those in flight, and those whose changes no worker has
/// decided on. A key is forgotten when it was decided on and nothing of it is in flight.
#[derive(Debug)]
pub struct OwnWrites<K> {
    keys: HashMap<K, Writes>,
}

#[derive(Debug, Default)]
struct Writes {
    /// From which version to which; each begins where the one before it ends.
    chain: Vec<(Box<str>, Box<str>)>,
    in_flight: u32,
    /// Somebody wants to decide on the key and waits for what is in flight.
    awaited: bool,
}

impl<K> Default for OwnWrites<K> {
    fn default() -> Self {
        Self { keys: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> OwnWrites<K> {
    /// Writes of more keys than these are not remembered.
    pub const MAX_KEYS: usize = 4096;
    /// Writes of one key, likewise.
    pub const MAX_WRITES: usize = 16;

    /// A write of the key begins, and the store has its object in the version `stored`: the
    /// version to write upon, which is that or what the plugin itself made of it since. `None`
    /// if the write cannot be remembered. Else [`Self::end`] must follow.
    pub fn begin(&mut self, key: &K, stored: &str) -> Option<Box<str>> {
        if self.keys.len() >= Self::MAX_KEYS && !self.keys.contains_key(key) {
            return None;
        }
        let writes = self.keys.entry(key.clone()).or_default();
        writes.in_flight = writes.in_flight.saturating_add(1);
        let known = writes.chain.iter().any(|(from, _)| **from == *stored);
        Some(writes.chain.last().filter(|_| known).map_or_else(|| stored.into(), |(_, to)| to.clone()))
    }

    /// The write has ended: it led `from` one version `to` another, or that is not known. True
    /// if the key should be decided on now.
    #[must_use]
    pub fn end(&mut self, key: &K, link: Option<(&str, &str)>) -> bool {
        let Some(writes) = self.keys.get_mut(key) else { return false };
        writes.in_flight = writes.in_flight.saturating_sub(1);
        if let Some((from, to)) = link.filter(|(from, to)| from != to) {
            if writes.chain.last().is_some_and(|(_, last)| **last != *from) {
                writes.chain.clear();
            }
            if writes.chain.len() < Self::MAX_WRITES {
                writes.chain.push((from.into(), to.into()));
            }
        }
        let due = writes.awaited && writes.in_flight == 0;
        writes.awaited &= !due;
        self.tidy(key);
        due
    }

    /// Is a write of the key in flight, so that it is not known yet what is the plugin's own?
    /// Then [`Self::end`] says when to come back.
    pub fn in_flight(&mut self, key: &K) -> bool {
        let Some(writes) = self.keys.get_mut(key).filter(|writes| writes.in_flight > 0) else { return false };
        writes.awaited = true;
        true
    }

    /// Do the plugin's own writes, and nothing else, lead from one version to the other?
    pub fn lead(&self, key: &K, from: &str, to: &str) -> bool {
        let Some(writes) = self.keys.get(key) else { return false };
        let mut rest = writes.chain.iter().skip_while(|(start, _)| **start != *from);
        rest.any(|(_, end)| **end == *to)
    }

    /// The key was decided on, in this version of its object: what led to it is over.
    pub fn decided(&mut self, key: &K, version: Option<&str>) {
        let Some(writes) = self.keys.get_mut(key) else { return };
        let stays = writes.chain.iter().position(|(from, _)| version.is_some_and(|version| **from == *version));
        writes.chain.drain(..stays.unwrap_or(writes.chain.len()));
        self.tidy(key);
    }

    /// Number of keys with writes that are remembered or in flight.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn tidy(&mut self, key: &K) {
        if self.keys.get(key).is_some_and(|writes| writes.chain.is_empty() && writes.in_flight == 0) {
            self.keys.remove(key);
        }
        if self.keys.is_empty() && self.keys.capacity() > 64 {
            self.keys = HashMap::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(own: &mut OwnWrites<&'static str>, stored: &str, to: &str) {
        let from = own.begin(&"k", stored).unwrap();
        assert!(!own.end(&"k", Some((&from, to))));
    }

    #[test]
    fn a_chain_of_own_writes() {
        let mut own = OwnWrites::default();
        write(&mut own, "1", "2");
        // The store has not seen the first yet.
        write(&mut own, "1", "3");
        write(&mut own, "2", "4");
        for (from, to, want) in
            [("1", "2", true), ("1", "4", true), ("2", "4", true), ("3", "3", false), ("4", "1", false), ("0", "4", false)]
        {
            assert_eq!(own.lead(&"k", from, to), want, "{from} {to}");
        }
        assert!(!own.lead(&"other", "1", "2"));
        own.decided(&"k", Some("2"));
        assert!(own.lead(&"k", "2", "4") && !own.lead(&"k", "1", "2"));
        own.decided(&"k", Some("4"));
        assert!(own.is_empty());
    }

    #[test]
    fn a_foreign_write_breaks_the_chain() {
        let mut own = OwnWrites::default();
        write(&mut own, "1", "2");
        // Somebody else made 3 of 2.
        write(&mut own, "3", "4");
        assert!(own.lead(&"k", "3", "4") && !own.lead(&"k", "1", "4") && !own.lead(&"k", "1", "2"));
        own.decided(&"k", Some("7"));
        assert!(own.is_empty());
    }

    #[test]
    fn a_write_without_effect_is_none() {
        let mut own = OwnWrites::default();
        write(&mut own, "1", "1");
        assert!(own.is_empty());
    }

    #[test]
    fn what_is_in_flight_is_waited_for() {
        let mut own = OwnWrites::default();
        assert!(!own.in_flight(&"k"));
        let from = own.begin(&"k", "1").unwrap();
        let second = own.begin(&"k", "1").unwrap();
        assert_eq!(from, second);
        assert!(own.in_flight(&"k"));
        assert!(!own.end(&"k", Some((&from, "2"))), "one is left");
        assert!(own.end(&"k", None), "the key may be decided on now");
        assert!(!own.in_flight(&"k") && own.lead(&"k", "1", "2"));
        let _third = own.begin(&"k", "2").unwrap();
        assert!(!own.end(&"k", None), "nobody waits");
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_is_not_own() {
        let mut own = OwnWrites::default();
        for n in 0..OwnWrites::<String>::MAX_KEYS {
            let key = n.to_string();
            let from = own.begin(&key, "1").unwrap();
            assert!(!own.end(&key, Some((&from, "2"))));
        }
        assert_eq!(own.begin(&"more".to_owned(), "1"), None);
        assert!(!own.lead(&"more".to_owned(), "1", "2") && !own.end(&"more".to_owned(), Some(("1", "2"))));
        let versions: Vec<String> = (2..40).map(|n| n.to_string()).collect();
        let key = "7".to_owned();
        for version in &versions[1..] {
            let from = own.begin(&key, "1").unwrap();
            assert!(!own.end(&key, Some((&from, version))));
        }
        assert!(own.lead(&key, "1", "17") && !own.lead(&key, "1", "39"));
        (0..OwnWrites::<String>::MAX_KEYS).for_each(|n| own.decided(&n.to_string(), None));
        assert!(own.is_empty() && own.keys.capacity() < 64);
    }
}
