//! What happened to the objects of one kind, as an undisturbed watch of everything shows it, and what follows from that: the state at
//! every version, and what a watcher must be shown.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::view::View;

/// Namespace and name.
pub(crate) type Key = (String, String);
pub(crate) type State = BTreeMap<Key, Value>;

/// One event of a watch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) version: u64,
    pub(crate) object: Value,
}

/// The state at a version, and all changes since.
#[derive(Debug, Default)]
pub(crate) struct History {
    start: State,
    events: Vec<Event>,
    /// Everything up to here is known.
    version: u64,
}

impl Event {
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let mut event: Value = serde_json::from_slice(line).ok()?;
        let object = event["object"].take();
        // A Status has no version.
        Some(Self { kind: event["type"].as_str()?.to_owned(), version: version_of(&object).unwrap_or(0), object })
    }

    pub(crate) fn key(&self) -> Key {
        key_of(&self.object)
    }
}

impl History {
    pub(crate) fn new(version: u64, items: Vec<Value>) -> Self {
        Self { start: items.into_iter().map(|item| (key_of(&item), item)).collect(), events: Vec::new(), version }
    }

    /// Notes a change, which must fit to what was before.
    pub(crate) fn push(&mut self, event: Event, state: &mut State) {
        assert!(event.version > self.version, "version {} after {}", event.version, self.version);
        let before = match event.kind.as_str() {
            "DELETED" => state.remove(&event.key()),
            _ => state.insert(event.key(), event.object.clone()),
        };
        assert_eq!(before.is_some(), event.kind != "ADDED", "{event:?}");
        self.version = event.version;
        self.events.push(event);
    }

    pub(crate) fn start(&self) -> State {
        self.start.clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The state at a version.
    pub(crate) fn at(&self, version: u64) -> State {
        let mut state = self.start.clone();
        for event in self.events.iter().take_while(|event| event.version <= version) {
            match event.kind.as_str() {
                "DELETED" => state.remove(&event.key()),
                _ => state.insert(event.key(), event.object.clone()),
            };
        }
        state
    }

    /// The change that made a version, and what the object was before.
    pub(crate) fn change(&self, key: &Key, version: u64) -> Option<(Option<&Value>, &Event)> {
        let mut before = self.start.get(key);
        for event in self.events.iter().filter(|event| event.key() == *key) {
            if event.version == version {
                return Some((before, event));
            }
            before = (event.kind != "DELETED").then_some(&event.object);
        }
        None
    }

    /// What somebody must be shown who has seen everything up to a version.
    pub(crate) fn shown(&self, after: u64, view: &View) -> Vec<Event> {
        let mut state = self.at(after);
        let mut shown = Vec::new();
        for event in self.events.iter().filter(|event| event.version > after) {
            let deleted = event.kind == "DELETED";
            let before = if deleted { state.remove(&event.key()) } else { state.insert(event.key(), event.object.clone()) };
            let before = before.filter(|object| view.sees(object));
            let after = view.sees(&event.object);
            let (kind, object) = match (before, after) {
                (None, true) if !deleted => ("ADDED", event.object.clone()),
                (Some(_), true) => (if deleted { "DELETED" } else { "MODIFIED" }, event.object.clone()),
                (Some(mut object), false) => {
                    object["metadata"]["resourceVersion"] = json!(event.version.to_string());
                    ("DELETED", object)
                }
                (None, _) => continue,
            };
            shown.push(Event { kind: kind.to_owned(), version: event.version, object });
        }
        shown
    }
}

pub(crate) fn key_of(object: &Value) -> Key {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

pub(crate) fn version_of(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}
