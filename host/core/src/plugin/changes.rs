//! The fields of a `subscribe` entry that say which changes count, and for whom. Owns their
//! reading and what holds between them; what they mean is `filter`'s and `mapping`'s.

use std::fmt;
use std::sync::Arc;

use super::document::SubscribeEntry;
use super::fields::{Node, Object, Problems, excerpt};
use super::names::{LABEL_HINT, is_label, is_label_key};
use super::similar::closest;
use crate::filter::{Expression, Filters};
use crate::mapping::MapBy;
use crate::pointer::Pointer;

/// What an entry says of changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// `onlyIfChanged`: changes of other values are dropped; never empty.
    pub only_if_changed: Option<Vec<Pointer>>,
    /// `filter`: changes for which it is false are dropped.
    pub filter: Option<Arc<Expression>>,
    /// `ignoreOwnWrites`: the plugin's own changes are dropped.
    pub ignore_own_writes: Option<bool>,
    /// `map`: changes make other objects due.
    pub map: Option<MapEntry>,
}

impl Changes {
    /// Is there anything that drops changes?
    pub fn filters(&self) -> bool {
        self.only_if_changed.is_some() || self.filter.is_some() || self.ignore_own_writes.is_some()
    }
}

impl fmt::Display for Changes {
    /// Prints `onlyIfChanged /data, /spec; filter old == null; ignoreOwnWrites true; map to main by label app`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointers = self.only_if_changed.iter().map(|pointers| {
            let texts: Vec<String> = pointers.iter().map(ToString::to_string).collect();
            format!("onlyIfChanged {}", texts.join(", "))
        });
        let filter =
            self.filter.iter().map(|filter| format!("filter {}", filter.as_str().split_whitespace().collect::<Vec<_>>().join(" ")));
        let own = self.ignore_own_writes.iter().map(|ignore| format!("ignoreOwnWrites {ignore}"));
        let map = self.map.iter().map(|map| format!("map to {} by {}", map.to, map.by));
        f.write_str(&pointers.chain(filter).chain(own).chain(map).collect::<Vec<_>>().join("; "))
    }
}

/// `map` of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// Name of the entry whose objects become due.
    pub to: Arc<str>,
    /// How they are found.
    pub by: MapBy,
}

pub(super) const FIELDS: [&str; 4] = ["onlyIfChanged", "filter", "ignoreOwnWrites", "map"];
/// Those that drop changes.
pub(super) const FILTERS: [&str; 3] = ["onlyIfChanged", "filter", "ignoreOwnWrites"];
/// The ways in which `map` finds the other object.
pub(super) const WAYS: [&str; 4] = ["owner", "label", "annotation", "field"];
/// The fields of `map`.
pub(super) const MAP: [&str; 5] = ["to", "owner", "label", "annotation", "field"];
pub(super) const OWNERS: [(&str, bool); 2] = [("any", false), ("controller", true)];

pub(super) const NOTHING_TO_FILTER: &str = "nothing is delivered with events: [], so nothing can be filtered";
pub(super) const NOTHING_TO_FILTER_HINT: &str = "remove one of the two";
pub(super) const POINTERS_EMPTY: &str = "onlyIfChanged is empty, so no change would count";
pub(super) const POINTERS_EMPTY_HINT: &str = "name some pointers, or remove it";
pub(super) const POINTER_HINT: &str = "write it as in RFC 6901, for example /metadata/labels";
pub(super) const NO_WAY: &str = "map does not say how the other object is found";
pub(super) const SEVERAL_WAYS: &str = "map says in several ways how the other object is found";
pub(super) const LABEL_KEY_HINT: &str = "write a key as in an object, for example app.kubernetes.io/instance";
/// Before the name of an entry that is not there.
pub(super) const NO_SUCH_ENTRY: &str = "no subscription here has the name";
/// Behind the name of an entry that is never called.
pub(super) const ONLY_CACHED: &str = "is only cached (events: []), so it can never be called for";
pub(super) const ONLY_CACHED_HINT: &str = "map to one that is delivered";

pub(super) fn read(object: &Object<'_>, events: Option<&[crate::Event]>, problems: &mut Problems) -> Changes {
    let read = Changes {
        only_if_changed: object.get("onlyIfChanged").and_then(|n| pointers(&n, problems)),
        filter: object.get("filter").and_then(|n| expression(&n, problems)),
        ignore_own_writes: object.get("ignoreOwnWrites").and_then(|n| n.flag(problems)),
        map: object.get("map").and_then(|n| map(&n, problems)),
    };
    if events.is_some_and(<[_]>::is_empty) {
        for node in FILTERS.iter().filter_map(|field| object.get(field)) {
            problems.invalid(node.at(), NOTHING_TO_FILTER, NOTHING_TO_FILTER_HINT);
        }
    }
    read
}

/// Do the entries map to each other as they may? `entries` with the places where they stand.
pub(super) fn check_maps<'a>(entries: &[(&'a str, &'a SubscribeEntry)], problems: &mut Problems) {
    for (at, entry) in entries {
        let Some(map) = &entry.changes.map else { continue };
        let at = format!("{at}/map/to");
        match entries.iter().find(|(_, other)| other.name == map.to) {
            Some((_, other)) if other.events.as_ref().is_some_and(Vec::is_empty) => {
                problems.invalid(&at, never_called(&map.to), ONLY_CACHED_HINT);
            }
            Some(_) => {}
            None => {
                let names: Vec<&str> = entries.iter().map(|(_, entry)| &*entry.name).collect();
                let hint = match closest(&map.to, names.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("write one of {}, or add an entry for it", names.join(", ")),
                };
                problems.invalid(&at, format!("{NO_SUCH_ENTRY} {}", map.to), hint);
            }
        }
    }
}

pub(super) fn never_called(name: &str) -> String {
    format!("{name} {ONLY_CACHED}")
}

fn pointers(node: &Node<'_>, problems: &mut Problems) -> Option<Vec<Pointer>> {
    let items = node.list(Filters::MAX_POINTERS, problems)?;
    if items.is_empty() {
        problems.invalid(node.at(), POINTERS_EMPTY, POINTERS_EMPTY_HINT);
        return None;
    }
    let read: Vec<(&str, Pointer)> = items.iter().filter_map(|item| Some((item.text(problems)?, pointer(item, problems)?))).collect();
    if read.len() < items.len() {
        return None;
    }
    super::entries::unique(&items, &read.iter().map(|(text, _)| *text).collect::<Vec<_>>(), problems);
    Some(read.into_iter().map(|(_, pointer)| pointer).collect())
}

fn pointer(node: &Node<'_>, problems: &mut Problems) -> Option<Pointer> {
    let text = node.text(problems)?;
    match Pointer::parse(text) {
        Ok(pointer) if pointer.tokens().next().is_none() => {
            problems.invalid(node.at(), "the whole object changes with every change", "name a field, for example /spec");
            None
        }
        Ok(pointer) => Some(pointer),
        Err(error) => {
            problems.invalid(node.at(), format!("{} is no pointer: {error}", excerpt(text)), POINTER_HINT);
            None
        }
    }
}

fn expression(node: &Node<'_>, problems: &mut Problems) -> Option<Arc<Expression>> {
    match Expression::compile(node.text(problems)?) {
        Ok(expression) => Some(Arc::new(expression)),
        Err(error) => {
            problems.invalid(node.at(), error.message, error.hint);
            None
        }
    }
}

fn map(node: &Node<'_>, problems: &mut Problems) -> Option<MapEntry> {
    let object = node.object(&MAP, &[], problems)?;
    let to = object.required("to", problems).and_then(|n| n.checked(is_label, "name", LABEL_HINT, problems));
    let ways: Vec<Node<'_>> = WAYS.iter().filter_map(|way| object.get(way)).collect();
    if ways.len() != 1 {
        problems.invalid(node.at(), if ways.is_empty() { NO_WAY } else { SEVERAL_WAYS }, format!("write one of {}", WAYS.join(", ")));
    }
    let key_hint = LABEL_KEY_HINT;
    let mut by: Vec<Option<MapBy>> = vec![
        object.get("owner").and_then(|n| n.choice(&OWNERS, problems)).map(|controller| MapBy::Owner { controller }),
        object.get("label").and_then(|n| n.checked(is_label_key, "key of a label", key_hint, problems)).map(MapBy::label),
        object.get("annotation").and_then(|n| n.checked(is_label_key, "key of an annotation", key_hint, problems)).map(MapBy::annotation),
        object.get("field").and_then(|n| pointer(&n, problems)).map(MapBy::field),
    ];
    by.retain(Option::is_some);
    Some(MapEntry { to: to?.into(), by: by.pop()?? })
}
