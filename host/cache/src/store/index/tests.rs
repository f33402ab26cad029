//! Indexes through the stores that have them.

use super::*;
use crate::store::testing::{key, object, object_with, shown};
use crate::store::{LocalStore, Store};
use proptest::prelude::*;
use wharf_core::ObjectKey;

/// The values of a label, separated by dots. Fails where it is `broken`.
fn by_label(label: &'static str) -> Indexer {
    Arc::new(move |object| {
        let labels = object.labels();
        let Some((_, text)) = labels.iter().find(|(name, _)| name == label) else { return Ok(Vec::new()) };
        if text == "broken" {
            return Err(IndexError("the label is broken".into()));
        }
        Ok(text.split('.').filter(|part| !part.is_empty()).map(Into::into).collect())
    })
}

fn labelled(name: &str, rv: &str, label: &str, values: &str) -> Arc<Object> {
    object_with("a", name, name, rv, &format!(r#"{{"{label}":"{values}"}}"#))
}

fn put(local: &LocalStore, name: &str, values: &str) {
    local.put(labelled(name, "1", "team", values)).unwrap();
}

fn keys(store: &Store, value: &str) -> Vec<String> {
    store.index_keys("team", value).unwrap().iter().map(|key| key.name.to_string()).collect()
}

fn indexed() -> LocalStore {
    let local = LocalStore::new();
    local.store().add_indexer("team", by_label("team")).unwrap();
    local
}

#[test]
fn cs1_crud_of_an_indexed_store() {
    let local = indexed();
    put(&local, "1", "red");
    put(&local, "2", "red");
    assert_eq!(keys(local.store(), "red"), ["1", "2"]);
    local.remove(&key("a/1"));
    assert_eq!(keys(local.store(), "red"), ["2"]);
    local.replace(vec![labelled("3", "1", "team", "red"), labelled("4", "1", "team", "blue")], "9").unwrap();
    assert_eq!((keys(local.store(), "red"), keys(local.store(), "blue")), (vec!["3".to_owned()], vec!["4".to_owned()]));
}

#[test]
fn cs3_several_values_and_several_indexes() {
    let local = indexed();
    local.store().add_indexer("zone", by_label("zone")).unwrap();
    let store = local.store();
    put(&local, "1", "red.blue");
    put(&local, "2", "red.red");
    put(&local, "3", "");
    local.put(labelled("4", "1", "zone", "north")).unwrap();
    assert_eq!(store.indexes().iter().map(|name| &**name).collect::<Vec<_>>(), ["team", "zone"]);
    assert_eq!(store.index_values("team").unwrap().iter().map(|value| &**value).collect::<Vec<_>>(), ["blue", "red"]);
    assert_eq!((keys(store, "red"), keys(store, "blue")), (vec!["1".to_owned(), "2".to_owned()], vec!["1".to_owned()]));
    assert_eq!(shown(&store.by_index("zone", "north").unwrap()), ["a/4:1"]);
    assert!(store.by_index("team", "north").unwrap().is_empty());
    // Objects that share a value with this one, each once.
    let shared = store.index("team", &labelled("x", "1", "team", "blue.red.green")).unwrap();
    assert_eq!(shown(&shared), ["a/1:1", "a/2:1"]);
    assert_eq!(store.values_of("team", &shared[0]).unwrap().unwrap().len(), 2);
}

#[test]
fn cs3_an_index_that_does_not_exist_is_an_error() {
    let store = Store::default();
    let error = store.by_index("owner", "x").unwrap_err();
    assert_eq!(error, NoIndex("owner".into()));
    assert!(error.to_string().contains(r#"no index named "owner""#), "{error}");
    assert!(store.index_keys("owner", "x").is_err() && store.index_values("owner").is_err());
    assert!(store.index("owner", &object("a", "1", "1")).is_err());
}

#[test]
fn cs4_an_update_moves_the_object_and_empty_sets_vanish() {
    let local = indexed();
    let store = local.store();
    put(&local, "1", "red.blue");
    put(&local, "2", "red");
    put(&local, "1", "blue.green");
    assert_eq!((keys(store, "red"), keys(store, "blue"), keys(store, "green")), (vec!["2".into()], vec!["1".into()], vec!["1".into()]));
    put(&local, "2", "green");
    assert_eq!(store.index_values("team").unwrap(), ["blue".into(), "green".into()], "nothing is left under red");
    assert_eq!(keys(store, "green"), ["1", "2"], "a shared set stays");
    local.remove(&key("a/1"));
    assert_eq!(store.index_values("team").unwrap(), ["green".into()]);
    local.remove(&key("a/2"));
    assert!(store.index_values("team").unwrap().is_empty());
}

/// The slot of an object that left goes to another: the index must not show the newcomer.
#[test]
fn cs4_a_reused_slot_is_not_found_under_the_old_value() {
    let local = indexed();
    put(&local, "1", "red");
    local.remove(&key("a/1"));
    put(&local, "9", "blue");
    assert_eq!(local.store().slot_of(&key("a/9")), Some(0));
    assert!(keys(local.store(), "red").is_empty());
}

#[test]
fn cs7_an_indexer_may_come_after_the_objects() {
    let local = LocalStore::new();
    put(&local, "1", "red");
    put(&local, "2", "blue.red");
    local.store().add_indexer("team", by_label("team")).unwrap();
    assert_eq!((keys(local.store(), "red"), keys(local.store(), "blue")), (vec!["1".into(), "2".into()], vec!["2".into()]));
    put(&local, "1", "blue");
    assert_eq!(keys(local.store(), "blue"), ["1", "2"]);
}

#[test]
fn cs7_a_name_that_is_taken_is_a_conflict_and_changes_nothing() {
    let local = indexed();
    put(&local, "1", "red");
    let error = local.store().add_indexer("team", by_label("zone")).unwrap_err();
    assert_eq!(error, IndexConflict("team".into()));
    assert_eq!(keys(local.store(), "red"), ["1"]);
}

/// client-go panics here, with the store locked.
#[test]
fn s6_an_indexer_that_fails_leaves_the_object_unindexed_and_the_store_whole() {
    let local = indexed();
    let store = local.store();
    put(&local, "1", "red");
    put(&local, "1", "broken");
    assert_eq!((store.len(), keys(store, "red").len(), store.index_failures("team").unwrap()), (1, 0, 1));
    put(&local, "1", "blue");
    assert_eq!((keys(store, "blue"), store.index_failures("team").unwrap()), (vec!["1".to_owned()], 1));
    put(&local, "1", "broken");
    local.remove(&key("a/1"));
    assert_eq!((store.len(), store.index_failures("team").unwrap()), (0, 2));
    // Also where the index comes later.
    let late = LocalStore::new();
    put(&late, "1", "broken");
    put(&late, "2", "red");
    late.store().add_indexer("team", by_label("team")).unwrap();
    assert_eq!((keys(late.store(), "red"), late.store().index_failures("team").unwrap()), (vec!["2".to_owned()], 1));
}

#[test]
fn s6_too_many_values_of_one_object_are_a_failure() {
    let local = indexed();
    let many = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(".");
    put(&local, "1", &many(MAX_VALUES));
    assert_eq!(local.store().index_values("team").unwrap().len(), MAX_VALUES);
    put(&local, "1", &many(MAX_VALUES + 1));
    assert!(local.store().index_values("team").unwrap().is_empty());
    assert_eq!(local.store().index_failures("team").unwrap(), 1);
}

proptest! {
    /// Whatever happened, an index shows what a walk over the store finds.
    #[test]
    fn cs4_an_index_agrees_with_a_walk(steps in proptest::collection::vec((0u8..4, 0u8..6, "[xyz.]{0,4}"), 0..60)) {
        let (local, indexer) = (indexed(), by_label("team"));
        for (action, name, values) in steps {
            if action == 0 {
                local.remove(&ObjectKey::new("a", &name.to_string()));
            } else {
                put(&local, &name.to_string(), &values);
            }
        }
        let store = local.store();
        let mut walked: BTreeMap<IndexValue, BTreeSet<String>> = BTreeMap::new();
        for object in store.list(None) {
            for value in indexer(&object).unwrap() {
                walked.entry(value).or_default().insert(object.key().name.to_string());
            }
        }
        prop_assert_eq!(store.index_values("team").unwrap(), walked.keys().cloned().collect::<Vec<_>>());
        for (value, names) in walked {
            prop_assert_eq!(keys(store, &value), names.into_iter().collect::<Vec<_>>());
        }
    }
}
