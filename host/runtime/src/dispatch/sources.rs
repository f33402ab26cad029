//! The sources of mappings across the end of the host: which objects each of them named.
//!
//! Owns the record of a source and when it may be written: never before the marks that the same
//! change has made. In memory there is nothing but what changed since the last commit. Where a
//! record is kept is `checkpoint`'s to know.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use wharf_core::ledger::{Here, Mark};
use wharf_core::mapping::Mapping;
use wharf_core::{Gvk, Object, ObjectKey, TargetKey};

use super::dispatcher::State;
use super::subscribed::{Present, Subscribed, covers};
use crate::checkpoint::{Change, Part};

/// Sources whose record is to be written, and whose marks must be written no later. At most the
/// sources that changed since the last commit.
#[derive(Debug, Default)]
pub(super) struct Sources(HashMap<TargetKey, HashSet<TargetKey>>);

impl Sources {
    /// A source changed, and these are due because of it.
    pub(super) fn note(&mut self, source: TargetKey, marked: impl IntoIterator<Item = TargetKey>) {
        self.0.entry(source).or_default().extend(marked);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    fn contains(&self, source: &TargetKey) -> bool {
        self.0.contains_key(source)
    }

    /// So many at a time.
    pub(super) fn steps(self, of: usize) -> Vec<Vec<(TargetKey, HashSet<TargetKey>)>> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        let mut steps = Vec::with_capacity(all.len().div_ceil(of.max(1)));
        while !all.is_empty() {
            steps.push(all.split_off(all.len().saturating_sub(of.max(1))));
        }
        steps
    }
}

/// What a source named, and in which of its states.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SourceRecord {
    uid: String,
    version: String,
    targets: Vec<ObjectKey>,
}

impl SourceRecord {
    fn of(map: &Mapping, object: &Object) -> Self {
        Self { uid: object.uid().to_string(), version: object.resource_version().to_owned(), targets: map.targets(object) }
    }

    fn is_of(&self, object: &Object) -> bool {
        **object.uid() == *self.uid && object.resource_version() == self.version
    }

    /// JSON: there are a few short texts.
    fn encode(&self) -> Vec<u8> {
        let target = |key: &ObjectKey| (key.namespace.as_deref().unwrap_or_default().to_owned(), key.name.to_string());
        let targets: Vec<(String, String)> = self.targets.iter().map(target).collect();
        // Texts cannot fail to be written.
        serde_json::to_vec(&(&self.uid, &self.version, targets)).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (uid, version, targets): (String, String, Vec<(String, String)>) = serde_json::from_slice(bytes).ok()?;
        let targets = targets.iter().map(|(namespace, name)| ObjectKey::new(namespace, name)).collect();
        Some(Self { uid, version, targets })
    }
}

impl State {
    /// What is to be written of a source. `None`, and it comes the next time, if that is not known
    /// at this moment, or if one of its marks is not in the same commit: `later` are the keys of
    /// which nothing is.
    pub(super) fn source(&mut self, source: TargetKey, marked: HashSet<TargetKey>, later: &HashSet<TargetKey>) -> Option<Change> {
        // It has changed since: its new marks are in the next commit.
        let open = |key: &TargetKey| later.contains(key) || self.related.contains(key) || self.ledger.is_dirty(key);
        let again = self.sources.contains(&source) || marked.iter().any(open);
        let subscribed = Arc::clone(&self.subscribed);
        let record = match subscribed.object(&source) {
            Present::Settled(found) if !again => {
                let map = subscribed.mapping(&source);
                let covered = found.filter(|found| map.is_some_and(|(subscription, _)| covers(subscription, &found.object)));
                covered.zip(map).map(|(found, (_, map))| SourceRecord::of(map, &found.object).encode())
            }
            _ => {
                self.sources.note(source, marked);
                return None;
            }
        };
        Some(Change { key: source, part: Part::Source, record, body: None })
    }

    /// All sources are to be written: of these subscriptions, and of those before.
    pub(super) fn rewrite_sources(&mut self, before: &Subscribed) {
        let subscribed = Arc::clone(&self.subscribed);
        for (key, ..) in subscribed.sources().chain(before.sources()) {
            self.sources.note(key, []);
        }
    }

    /// Compares what an earlier host knew of the sources with what is there: what a source that has
    /// come, changed or gone names, or named, is due. Without `records` that is any object that can
    /// be named. Returns whether it was known, and what is due.
    pub(super) fn take_up_sources(&mut self, records: Option<HashMap<TargetKey, SourceRecord>>) -> (bool, Vec<TargetKey>) {
        let subscribed = Arc::clone(&self.subscribed);
        let mut targets = HashSet::new();
        match records {
            Some(mut records) => {
                for (key, _, object) in subscribed.sources() {
                    let Some((_, map)) = subscribed.mapping(&key).filter(|(subscription, _)| covers(subscription, &object)) else {
                        continue;
                    };
                    let record = records.remove(&key);
                    if record.as_ref().is_some_and(|record| record.is_of(&object)) {
                        continue;
                    }
                    let named = record.into_iter().flat_map(|record| record.targets).chain(map.targets(&object));
                    targets.extend(named.map(|name| TargetKey::object(Arc::clone(&map.to), name)));
                    self.sources.note(key, []);
                }
                // What a refused watch does not show is not gone.
                for (key, record) in records.into_iter().filter(|(key, _)| !subscribed.asleep(key)) {
                    if let Some((_, map)) = subscribed.mapping(&key) {
                        targets.extend(record.targets.into_iter().map(|name| TargetKey::object(Arc::clone(&map.to), name)));
                    }
                    self.sources.note(key, []);
                }
            }
            None => {
                self.rewrite_sources(&Subscribed::default());
                return (false, self.mark_mapped(&subscribed));
            }
        }
        let due = targets.into_iter().filter(|key| self.mark_related(key)).collect();
        (true, due)
    }

    /// Other subscriptions are active: what is named by a source that their stores have in another
    /// state than those of the subscriptions `before`, neither of which may have told of it, is
    /// due; and everything that can be named, if the mapping is another one.
    pub(super) fn exchange_sources(&mut self, before: &Subscribed) -> Vec<TargetKey> {
        let subscribed = Arc::clone(&self.subscribed);
        if subscribed.maps() != before.maps() {
            return self.mark_mapped(&subscribed);
        }
        let mut old: HashMap<TargetKey, Arc<Object>> = before.sources().map(|(key, _, object)| (key, object)).collect();
        let mut differ = Vec::new();
        for (key, _, new) in subscribed.sources() {
            match old.remove(&key) {
                Some(old) if old.uid() == new.uid() && old.resource_version() == new.resource_version() => {}
                old => differ.push((key, old, Some(new))),
            }
        }
        differ.extend(old.into_iter().map(|(key, old)| (key, Some(old), None)));
        let mut targets = HashSet::new();
        for (key, old, new) in differ {
            let Some((subscription, map)) = subscribed.mapping(&key) else { continue };
            let states = old.iter().chain(new.iter()).filter(|object| covers(subscription, object));
            targets.extend(states.flat_map(|object| map.targets(object)).map(|name| TargetKey::object(Arc::clone(&map.to), name)));
        }
        targets.into_iter().filter(|key| self.mark_related(key)).collect()
    }

    /// Makes everything due that can be named.
    fn mark_mapped(&mut self, subscribed: &Subscribed) -> Vec<TargetKey> {
        let mapped: HashSet<&Gvk> = subscribed.subscriptions().filter_map(|s| s.map.as_ref()).map(|map| &*map.to).collect();
        if mapped.is_empty() {
            return Vec::new();
        }
        let targets: Vec<TargetKey> = subscribed.stored().map(|(key, ..)| key).filter(|key| is_of(key, &mapped)).collect();
        targets.into_iter().filter(|key| self.mark_related(key)).collect()
    }

    /// Makes a key due because of another object. False if the plugin does not know the key: its
    /// first sight will do.
    pub(super) fn mark_related(&mut self, key: &TargetKey) -> bool {
        let present = self.subscribed.object(key);
        let told = matches!(present, Present::Settled(_));
        let found = present.latest();
        let slot = found.as_ref().filter(|_| told).map(|found| found.slot);
        let marked = self.ledger.mark(Here { key, slot, now: found.as_ref().map(|found| &found.object) }, Mark::Related);
        // What the ledger knows of the key cannot be told before it has heard of the change.
        let later = !marked && !told && found.is_some();
        if later {
            self.related.insert(key.clone());
        }
        marked || later
    }
}

fn is_of(key: &TargetKey, kinds: &HashSet<&Gvk>) -> bool {
    let TargetKey::Object { kind, .. } = key else { return false };
    kinds.contains(&**kind)
}

impl Subscribed {
    /// The mappings in words, for the header of a checkpoint.
    pub(super) fn maps(&self) -> Vec<String> {
        let maps = self.subscriptions().filter_map(|s| s.map.as_ref().map(|map| (&s.kind, map)));
        let mut words: Vec<String> = maps.map(|(kind, map)| format!("{kind} to {} by {}", map.to, map.by)).collect();
        words.sort();
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let targets = vec![ObjectKey::new("a", "x"), ObjectKey::new("", "node")];
        let record = SourceRecord { uid: "u".into(), version: "7".into(), targets };
        assert_eq!(SourceRecord::decode(&record.encode()), Some(record));
        for junk in [&b""[..], b"[]", b"{}", b"[\"u\",7,[]]"] {
            assert_eq!(SourceRecord::decode(junk), None);
        }
    }

    #[test]
    fn steps_are_of_a_size_and_leave_nothing_out() {
        let key = |n: usize| TargetKey::object(Arc::new(Gvk::new("", "v1", "Pod")), ObjectKey::new("a", &n.to_string()));
        let mut sources = Sources::default();
        (0..10).for_each(|n| sources.note(key(n), [key(n)]));
        sources.note(key(1), [key(2)]);
        let steps = sources.steps(4);
        assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        let marked: usize = steps.iter().flatten().map(|(_, marked)| marked.len()).sum();
        assert_eq!(marked, 11);
    }
}
