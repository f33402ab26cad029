//! Own writes and the informer's events, in every order in which they meet.

use super::*;
use crate::change::ChangeCause;
use crate::store::LocalStore;
use crate::store::testing::{key, object_with};
use tokio::time::advance;

const TTL: Duration = Duration::from_secs(60);

fn pod(uid: &str, rv: &str) -> Arc<Object> {
    object_with("a", "pod", uid, rv, r#"{"team":"red"}"#)
}

fn cache(include_adds: bool) -> (LocalStore, MutationCache) {
    let local = LocalStore::new();
    let cache = MutationCache::new(local.store().clone(), TTL, include_adds);
    (local, cache)
}

fn seen(cache: &MutationCache) -> Option<String> {
    cache.get(&key("a/pod")).map(|object| format!("{} {}", object.uid(), object.resource_version()))
}

fn event(cache: &MutationCache, object: &Arc<Object>, gone: bool) {
    let (new, last) = if gone { (None, Some(object)) } else { (Some(object), None) };
    let key = object.key();
    cache.on_change(&Change {
        key,
        old: None,
        new,
        final_state: last,
        final_known: true,
        slot: None,
        cause: ChangeCause::Watch,
        sequence: 1,
    });
}

#[tokio::test(start_paused = true)]
async fn cs10_the_newer_of_both_is_shown() {
    for (informer, own, want) in [("4", "5", "u 5"), ("5", "5", "u 5"), ("6", "5", "u 6"), ("9", "10", "u 10"), ("4", "opaque", "u 4")] {
        let (local, cache) = cache(false);
        cache.mutated(pod("u", own));
        assert_eq!(seen(&cache), None, "without adds, what the informer does not have is not there");
        local.put(pod("u", informer)).unwrap();
        assert_eq!(seen(&cache).as_deref(), Some(want), "informer {informer}, own {own}");
    }
}

#[tokio::test(start_paused = true)]
async fn cs10_an_older_write_does_not_replace_a_newer_one() {
    let (_, cache) = cache(true);
    cache.mutated(pod("u", "9"));
    cache.mutated(pod("u", "8"));
    assert_eq!(seen(&cache).as_deref(), Some("u 9"));
    cache.mutated(pod("u", "18446744073709551616"));
    assert_eq!(seen(&cache).as_deref(), Some("u 18446744073709551616"), "longer than 64 bits");
}

/// A table of one own write (u, 2) and one event that shows another state.
#[tokio::test(start_paused = true)]
async fn cs10_an_add_or_update_clears_an_own_write_that_it_has_caught_up_with() {
    for (uid, rv, cleared) in [("u", "2", true), ("u", "3", true), ("u", "1", false), ("other", "2", true), ("other", "1", false)] {
        let (local, cache) = cache(false);
        cache.mutated(pod("u", "2"));
        event(&cache, &pod(uid, rv), false);
        assert_eq!(cache.is_empty(), cleared, "{uid} {rv}");
        // Older than the own write, so that a read tells which it was.
        local.put(pod("u", "1")).unwrap();
        assert_eq!(seen(&cache).as_deref(), Some(if cleared { "u 1" } else { "u 2" }), "{uid} {rv}");
    }
}

#[tokio::test(start_paused = true)]
async fn cs10_a_delete_clears_the_own_write_of_its_object() {
    for (uid, rv, cleared) in [("u", "2", true), ("u", "1", true), ("other", "1", false), ("other", "3", true)] {
        let (local, cache) = cache(true);
        local.put(pod("u", "1")).unwrap();
        cache.mutated(pod("u", "2"));
        local.remove(&key("a/pod"));
        event(&cache, &pod(uid, rv), true);
        assert_eq!(seen(&cache).is_none(), cleared, "{uid} {rv}");
    }
}

#[tokio::test(start_paused = true)]
async fn cs10_a_write_that_is_reported_after_the_deletion_is_ignored() {
    let (local, cache) = cache(true);
    local.put(pod("u", "1")).unwrap();
    local.remove(&key("a/pod"));
    event(&cache, &pod("u", "2"), false);
    event(&cache, &pod("u", "2"), true);
    for rv in ["2", "1", "3"] {
        cache.mutated(pod("u", rv));
        assert_eq!(seen(&cache), None, "{rv}");
    }
    cache.mutated(pod("next", "5"));
    assert_eq!(seen(&cache).as_deref(), Some("next 5"), "a new object of that name is not the deleted one");
}

#[tokio::test(start_paused = true)]
async fn cs10_a_write_that_is_reported_after_the_recreation_loses() {
    let (local, cache) = cache(true);
    event(&cache, &pod("u", "2"), false);
    event(&cache, &pod("u", "2"), true);
    local.put(pod("next", "3")).unwrap();
    event(&cache, &pod("next", "3"), false);
    cache.mutated(pod("u", "2"));
    assert_eq!(seen(&cache).as_deref(), Some("next 3"));
    assert!(cache.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cs10_an_own_write_is_shown_for_a_time_only() {
    let (local, cache) = cache(true);
    local.put(pod("u", "1")).unwrap();
    cache.mutated(pod("u", "2"));
    advance(TTL - Duration::from_secs(1)).await;
    assert_eq!(seen(&cache).as_deref(), Some("u 2"));
    advance(Duration::from_secs(1)).await;
    assert_eq!(seen(&cache).as_deref(), Some("u 1"));
    assert!(cache.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cs10_the_index_shows_newer_states_and_own_adds() {
    let (local, with_adds) = cache(true);
    let label = |object: &Object| {
        let labels = object.labels();
        Ok(labels.into_iter().filter(|(name, _)| name == "team").map(|(_, value)| value.into()).collect())
    };
    local.store().add_indexer("team", Arc::new(label)).unwrap();
    let without = MutationCache::new(local.store().clone(), TTL, false);
    local.put(pod("u", "1")).unwrap();
    let own = [pod("u", "2"), object_with("a", "new", "n", "3", r#"{"team":"red"}"#), object_with("a", "else", "e", "3", "{}")];
    for object in own {
        with_adds.mutated(object.clone());
        without.mutated(object);
    }
    let shown = |cache: &MutationCache, value| {
        let mut all: Vec<_> =
            cache.by_index("team", value).unwrap().iter().map(|o| format!("{} {}", o.key(), o.resource_version())).collect();
        all.sort();
        all
    };
    assert_eq!(shown(&with_adds, "red"), ["a/new 3", "a/pod 2"]);
    assert_eq!(shown(&without, "red"), ["a/pod 2"]);
    assert!(shown(&with_adds, "blue").is_empty());
    assert!(with_adds.by_index("owner", "x").is_err());
    event(&with_adds, &object_with("a", "new", "n", "3", "{}"), true);
    assert_eq!(shown(&with_adds, "red"), ["a/pod 2"]);
}

/// In client-go the deletions would have pushed the own write out.
#[tokio::test(start_paused = true)]
async fn cs10_a_hundred_own_writes_are_remembered_whatever_is_deleted() {
    let (_, cache) = cache(true);
    let named = |name: usize| object_with("a", &name.to_string(), "u", "1", "{}");
    for name in 0..REMEMBERED {
        cache.mutated(named(name));
    }
    for name in 1000..1000 + 2 * REMEMBERED {
        event(&cache, &named(name), true);
    }
    assert_eq!(cache.len(), REMEMBERED);
    assert!(cache.get(&key("a/0")).is_some(), "a use: 1 is now the one not used for longest");
    cache.mutated(named(500));
    assert_eq!(cache.len(), REMEMBERED);
    assert!(cache.get(&key("a/0")).is_some() && cache.get(&key("a/500")).is_some());
    assert!(cache.get(&key("a/1")).is_none());
}
