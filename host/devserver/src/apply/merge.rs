//! Merging an applied configuration into the live object, and taking fields out of an object.
//!
//! Owns the order of merged lists. Who owns what is for others to decide.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::fields::{Element, FieldSet};
use super::typed::{Form, element, form};
use crate::patch::Structure;

/// The live value with everything that the configuration says. An absent value adds nothing.
pub(super) fn merge<S: Structure>(live: &Value, config: &Value, place: Option<S>) -> Value {
    let (before, after) = (form(Some(live), place), form(Some(config), place));
    if let (Form::Map | Form::List(_), Form::Open) = (&before, &after) {
        // Null says nothing about members; an empty object is a value like any other.
        return if is_empty(live) { config.clone() } else { live.clone() };
    }
    match (before == after, after, live, config, place) {
        (true, Form::Map, Value::Object(live), Value::Object(config), Some(place)) => Value::Object(merge_members(live, config, place)),
        (true, Form::List(kind), Value::Array(live), Value::Array(config), Some(place)) => {
            let live = live.iter().map(|item| (element(&kind, place, item).ok(), item)).collect::<Vec<_>>();
            let config = config.iter().filter_map(|item| Some((element(&kind, place, item).ok()?, item))).collect::<Vec<_>>();
            Value::Array(merge_items(&live, &config, place.items()))
        }
        _ => config.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn merge_members<S: Structure>(live: &Map<String, Value>, config: &Map<String, Value>, place: S) -> Map<String, Value> {
    let mut merged = live.clone();
    for (name, value) in config {
        let value = match live.get(name) {
            Some(live) => merge(live, value, place.member(name)),
            None => value.clone(),
        };
        merged.insert(name.clone(), value);
    }
    merged
}

/// Items of the configuration come in its order; live items that it does not name stay in front of the next item that both have.
fn merge_items<S: Structure>(live: &[(Option<Element>, &Value)], config: &[(Element, &Value)], place: S) -> Vec<Value> {
    let named: BTreeSet<&Element> = config.iter().map(|(element, _)| element).collect();
    let mut known: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, item) in live {
        if let Some(element) = element {
            // Items that share their keys cannot be merged with one: the configuration's replaces them.
            known.entry(element).and_modify(|first| *first = None).or_insert(Some(item));
        }
    }
    let merged_with = |element: &Element, item: &Value| match known.get(element).copied().flatten() {
        Some(live) => merge(live, item, Some(place)),
        None => item.clone(),
    };
    let mut shared: VecDeque<&Element> = config.iter().map(|(element, _)| element).filter(|element| known.contains_key(element)).collect();
    let mut done = BTreeSet::new();
    let mut all = Vec::with_capacity(live.len() + config.len());
    let (mut live, mut config) = (live.iter().peekable(), config.iter().peekable());
    loop {
        if let Some((of_live, item)) = live.peek() {
            let Some(of_live) = of_live.as_ref().filter(|element| named.contains(element)) else {
                all.push((*item).clone());
                live.next();
                continue;
            };
            match config.peek() {
                Some((of_config, item)) if of_config == of_live => {
                    all.push(merged_with(of_config, item));
                    done.insert(of_config);
                    shared.pop_front();
                    live.next();
                    config.next();
                    continue;
                }
                // An item that comes later, or came already, in the order of the configuration.
                Some(_) if shared.front().is_some_and(|next| *next != of_live) => {
                    live.next();
                    continue;
                }
                _ if done.contains(of_live) => {
                    live.next();
                    continue;
                }
                _ => {}
            }
        }
        let Some((of_config, item)) = config.next() else { return all };
        all.push(merged_with(of_config, item));
        done.insert(of_config);
        if shared.front() == Some(&of_config) {
            shared.pop_front();
        }
    }
}

/// The value without the fields of the set; what becomes empty by that stays.
pub(super) fn without<S: Structure>(value: &Value, set: &FieldSet, place: Option<S>) -> Value {
    match (form(Some(value), place), value, place) {
        (Form::Map, Value::Object(members), Some(place)) => {
            let kept = members.iter().filter_map(|(name, value)| {
                let value = kept(value, &Element::field(name), set, place.member(name))?;
                Some((name.clone(), value))
            });
            Value::Object(kept.collect())
        }
        (Form::List(kind), Value::Array(items), Some(place)) => {
            let kept = items.iter().filter_map(|item| match element(&kind, place, item) {
                Ok(element) => kept(item, &element, set, Some(place.items())),
                Err(_) => Some(item.clone()),
            });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

fn kept<S: Structure>(value: &Value, element: &Element, set: &FieldSet, place: Option<S>) -> Option<Value> {
    if set.has(element) {
        return None;
    }
    Some(set.below(element).map_or_else(|| value.clone(), |below| without(value, below, place)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::typed::field_set;
    use super::*;
    use crate::patch::tests::{Described, anything, everything};

    fn merged(live: &Value, config: &Value) -> Value {
        let schema = everything();
        merge(live, config, Some(Described(&schema)))
    }

    #[test]
    fn configurations_win() {
        let cases = [
            (json!({"b": 1, "labels": {"a": "1"}}), json!({"labels": {"b": "2"}}), json!({"b": 1, "labels": {"a": "1", "b": "2"}})),
            (json!({"atomic": [1, 2]}), json!({"atomic": [3]}), json!({"atomic": [3]})),
            (json!({"set": ["a", "b"]}), json!({"set": ["c", "b"]}), json!({"set": ["a", "c", "b"]})),
            (json!({"labels": {"a": "1"}, "b": 1}), json!({"labels": null, "b": null}), json!({"labels": {"a": "1"}, "b": null})),
            (
                json!({"list": [{"name": "x", "port": 1, "b": 1}]}),
                json!({"list": [{"name": "x", "port": 1, "protocol": "TCP", "a": 2}, {"name": "y"}]}),
                json!({"list": [{"name": "x", "port": 1, "protocol": "TCP", "a": 2, "b": 1}, {"name": "y"}]}),
            ),
            (json!({"labels": 5}), json!({"labels": {"a": "1"}}), json!({"labels": {"a": "1"}})),
        ];
        for (live, config, want) in cases {
            assert_eq!(merged(&live, &config), want, "{live} {config}");
        }
    }

    #[test]
    fn order_of_merged_lists() {
        let cases = [
            ("a b c", "", "a b c"),
            ("", "b a", "b a"),
            ("a b c", "x", "a b c x"),
            ("a b c", "c a", "b c a"),
            ("a b c", "a x c", "a b x c"),
            ("a b c d", "d x b", "a c d x b"),
        ];
        let list = |text: &str| json!({"set": text.split_whitespace().collect::<Vec<_>>()});
        for (live, config, want) in cases {
            assert_eq!(merged(&list(live), &list(config)), list(want), "{live} and {config}");
        }
    }

    proptest! {
        #[test]
        fn merging_twice_changes_nothing(live in anything(), config in anything()) {
            let once = merged(&live, &config);
            prop_assert_eq!(merged(&once, &config), once);
        }

        #[test]
        fn what_is_taken_out_is_gone(value in anything(), config in anything()) {
            let schema = everything();
            let place = Some(Described(&schema));
            let set = field_set(&config, place);
            let left = field_set(&without(&value, &set, place), place);
            // What became empty by that is left as an empty object, which is a field of its own.
            prop_assert!(left.difference(&field_set(&value, place)).paths().len() <= set.paths().len());
            for path in left.intersection(&set).paths() {
                prop_assert!(path.is_empty(), "{:?}", path);
            }
        }
    }
}
