//! Sets of field paths and their FieldsV1.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn any_element() -> impl Strategy<Value = Element> {
    prop_oneof![
        prop::sample::select(vec!["a", "b", "c.d"]).prop_map(Element::field),
        (0u8..2, any::<bool>()).prop_map(|(a, b)| Element::key(json!({"a": a, "b": b}).as_object().unwrap())),
        prop::sample::select(vec![json!("x"), json!(1), json!(1.5), json!(true)]).prop_map(|value| Element::value(&value)),
        (0u64..2).prop_map(Element::Index),
    ]
}

fn set_of(paths: &[Vec<Element>]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        let mut inner: Option<FieldSet> = None;
        for element in path.iter().rev() {
            let mut outer = FieldSet::default();
            outer.put(element.clone(), inner.is_none(), inner.unwrap_or_default());
            inner = Some(outer);
        }
        set.extend(inner.unwrap_or_default());
    }
    set
}

fn any_paths() -> impl Strategy<Value = Vec<Vec<Element>>> {
    prop::collection::vec(prop::collection::vec(any_element(), 1..4), 0..8)
}

/// Sets that often have paths in common.
pub(in crate::apply) fn any_set() -> impl Strategy<Value = FieldSet> {
    any_paths().prop_map(|paths| set_of(&paths))
}

proptest! {
    /// The tree does what sets of paths do.
    #[test]
    fn operations_are_those_of_sets(left in any_paths(), right in any_paths()) {
        let (a, b) = (set_of(&left), set_of(&right));
        let (left, right): (BTreeSet<_>, BTreeSet<_>) = (left.into_iter().collect(), right.into_iter().collect());
        let paths = |set: &FieldSet| set.paths().into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(paths(&a), left.clone());
        prop_assert_eq!(paths(&a.clone().union(b.clone())), &left | &right);
        prop_assert_eq!(paths(&a.intersection(&b)), &left & &right);
        prop_assert_eq!(paths(&a.difference(&b)), &left - &right);
        prop_assert!(a.difference(&a).is_empty());
    }
}

#[test]
fn trees_are_taken_out() {
    let path = |names: &[&str]| names.iter().map(|name| Element::field(name)).collect::<Vec<_>>();
    let mut set = set_of(&[path(&["a", "b"]), path(&["a", "b", "c"]), path(&["d", "e"]), path(&["f"])]);
    set.remove_tree(&["a", "b"]);
    set.remove_tree(&["d"]);
    assert_eq!(set, set_of(&[path(&["f"])]));
}

#[test]
fn paths_print_as_in_messages() {
    let path = [
        Element::field("a"),
        Element::key(json!({"port": 80.0, "name": "x\"y"}).as_object().unwrap()),
        Element::value(&json!("z")),
        Element::Index(2),
    ];
    assert_eq!(path_text(&path), r#".a[name="x\"y",port=80][="z"][2]"#);
}
