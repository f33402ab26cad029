//! What changed between two objects, as sets of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::{Element, FieldSet};
use super::typed::{Form, element, form};
use crate::patch::Structure;
use crate::schema::ListKind;

/// The fields that two objects do not have in common. No field is in more than one of the sets.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// Only in the new object; objects and lists that are new are in it as well as what they hold.
    pub(super) added: FieldSet,
    /// In both, with other values.
    pub(super) modified: FieldSet,
    /// Only in the old object.
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// Compares two objects of the kind that `place` describes.
    pub(super) fn of<S: Structure>(old: &Value, new: &Value, place: S) -> Self {
        compare(Some(old), Some(new), Some(place)).1
    }

    /// What the new object has that the old one did not have so.
    pub(super) fn written(self) -> FieldSet {
        self.modified.union(self.added)
    }

    /// Takes a field with everything below out of all sets.
    pub(super) fn ignore(&mut self, path: &[&str]) {
        for set in [&mut self.added, &mut self.modified, &mut self.removed] {
            set.remove_tree(path);
        }
    }

    fn put(&mut self, element: &Element, mark: Mark, below: Self) {
        self.added.put(element.clone(), mark == Mark::Added, below.added);
        self.modified.put(element.clone(), mark == Mark::Modified, below.modified);
        self.removed.put(element.clone(), mark == Mark::Removed, below.removed);
    }
}

/// What happened to one place itself.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    Same,
    Added,
    Modified,
    Removed,
}

fn compare<S: Structure>(old: Option<&Value>, new: Option<&Value>, place: Option<S>) -> (Mark, Comparison) {
    let presence = match (old, new) {
        (None, _) => Mark::Added,
        (_, None) => Mark::Removed,
        _ => Mark::Same,
    };
    if old == new {
        return (Mark::Same, Comparison::default());
    }
    let leaf = if presence == Mark::Same { Mark::Modified } else { presence };
    let (before, after) = (form(old, place), form(new, place));
    let form = if after == Form::Open { &before } else { &after };
    if before != after && before != Form::Open && after != Form::Open {
        // An object became a scalar, or the like: what was inside is gone, what is inside now is new.
        let (_, gone) = compare(old, None, place);
        let (_, come) = compare(None, new, place);
        return (Mark::Modified, Comparison { added: come.added, modified: FieldSet::default(), removed: gone.removed });
    }
    let empty = is_empty(old) && is_empty(new);
    match (form, place) {
        // Two empty ones are a leaf, so that empty and null differ.
        (Form::Map, Some(place)) if !empty => (presence, members(old.and_then(Value::as_object), new.and_then(Value::as_object), place)),
        (Form::List(kind), Some(place)) if !empty => {
            (presence, items(&elements(old, kind, place), &elements(new, kind, place), place.items()))
        }
        _ => (leaf, Comparison::default()),
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    }
}

fn members<S: Structure>(old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>, place: S) -> Comparison {
    let mut all = Comparison::default();
    let only_new = new.into_iter().flatten().filter(|(name, _)| !old.is_some_and(|old| old.contains_key(*name)));
    for name in old.into_iter().flatten().chain(only_new).map(|(name, _)| name) {
        let (before, after) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
        let (mark, below) = compare(before, after, place.member(name));
        all.put(&Element::field(name), mark, below);
    }
    all
}

/// The items that have path elements; the others nobody can own.
fn elements<'a, S: Structure>(list: Option<&'a Value>, kind: &ListKind, place: S) -> Vec<(Element, &'a Value)> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| Some((element(kind, place, item).ok()?, item))).collect()
}

fn items<S: Structure>(old: &[(Element, &Value)], new: &[(Element, &Value)], place: S) -> Comparison {
    let mut pairs: BTreeMap<&Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for (element, item) in old {
        pairs.entry(element).or_default().0.push(item);
    }
    for (element, item) in new {
        pairs.entry(element).or_default().1.push(item);
    }
    let mut all = Comparison::default();
    for (element, (old, new)) in pairs {
        // Items that share their keys cannot be told apart: together they are one value.
        let (mark, below) = match (old.as_slice(), new.as_slice()) {
            ([] | [_], [] | [_]) => compare(old.first().copied(), new.first().copied(), Some(place)),
            ([] | [_], _) => (Mark::Added, compare(old.first().copied(), None, Some(place)).1),
            (_, [] | [_]) => (Mark::Removed, compare(None, new.first().copied(), Some(place)).1),
            (old, new) => (if old == new { Mark::Same } else { Mark::Modified }, Comparison::default()),
        };
        all.put(element, mark, below);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::fields_v1::encode;
    use super::*;
    use crate::patch::tests::Described;
    use crate::patch::tests::{anything, everything};

    fn compared(old: &Value, new: &Value) -> [Value; 3] {
        let schema = everything();
        let all = Comparison::of(old, new, Described(&schema));
        [encode(&all.added), encode(&all.modified), encode(&all.removed)]
    }

    #[test]
    fn changes() {
        let item = "k:{\"name\":\"x\",\"port\":1,\"protocol\":\"TCP\"}";
        let cases = [
            (json!({"b": 1}), json!({"b": 2}), [json!({}), json!({"f:b": {}}), json!({})]),
            (json!({}), json!({"labels": {"a": "1"}}), [json!({"f:labels": {".": {}, "f:a": {}}}), json!({}), json!({})]),
            (json!({"labels": {}}), json!({"labels": {"a": "1"}}), [json!({"f:labels": {"f:a": {}}}), json!({}), json!({})]),
            (json!({"labels": {"a": "1"}}), json!({}), [json!({}), json!({}), json!({"f:labels": {".": {}, "f:a": {}}})]),
            (json!({"atomic": [1]}), json!({"atomic": [1, 2]}), [json!({}), json!({"f:atomic": {}}), json!({})]),
            (
                json!({"set": ["a", "b"]}),
                json!({"set": ["c", "a"]}),
                [json!({"f:set": {"v:\"c\"": {}}}), json!({}), json!({"f:set": {"v:\"b\"": {}}})],
            ),
            (
                json!({"list": [{"name": "x", "port": 1, "b": 1}]}),
                json!({"list": [{"name": "x", "port": 1, "protocol": "TCP", "b": 2}]}),
                [json!({"f:list": {item: {"f:protocol": {}}}}), json!({"f:list": {item: {"f:b": {}}}}), json!({})],
            ),
            (
                json!({}),
                json!({"list": [{"name": "x", "port": 1}]}),
                [json!({"f:list": {".": {}, item: {".": {}, "f:name": {}, "f:port": {}}}}), json!({}), json!({})],
            ),
            (json!({"labels": {"a": "1"}}), json!({"labels": 5}), [json!({}), json!({"f:labels": {}}), json!({"f:labels": {"f:a": {}}})]),
            (json!({"labels": {}}), json!({"labels": null}), [json!({}), json!({"f:labels": {}}), json!({})]),
        ];
        for (old, new, want) in cases {
            assert_eq!(compared(&old, &new), want, "{old} {new}");
        }
    }

    proptest! {
        #[test]
        fn backwards_swaps_added_and_removed(old in anything(), new in anything()) {
            let [added, modified, removed] = compared(&old, &new);
            prop_assert_eq!(compared(&new, &old), [removed, modified, added]);
        }

        #[test]
        fn no_field_is_in_two_sets(old in anything(), new in anything()) {
            let schema = everything();
            let all = Comparison::of(&old, &new, Described(&schema));
            prop_assert!(all.added.intersection(&all.modified).is_empty());
            prop_assert!(all.added.intersection(&all.removed).is_empty());
            prop_assert!(all.modified.intersection(&all.removed).is_empty());
        }
    }
}
