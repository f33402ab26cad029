//! GET and LIST as the real server answers them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use serde_json::Value;
use tokio::time::Instant;

use super::super::{Query, Verb};
use super::*;
use crate::kind::Registry;
use crate::store::StoreOptions;

/// A request of the resource `configmaps` (or `nodes` without a namespace) in namespace `n`.
pub(in super::super) fn request(verb: Verb, name: Option<&str>, query: &str) -> Request {
    let registry = Registry::builtin();
    Request {
        verb,
        user_agent: "test".to_owned(),
        resource: Arc::clone(registry.find("", "v1", "configmaps").unwrap()),
        subresource: None,
        namespace: "n".into(),
        name: name.map(Arc::from),
        query: Query::parse(query),
        body: None,
    }
}

pub(in super::super) fn store(history: usize) -> Arc<Store> {
    Store::open(StoreOptions { history, data: None, first_version: Some(100) }).unwrap()
}

/// Creates or exchanges an object; `labels` as `a=1 b=2`.
pub(in super::super) fn put(store: &Store, namespace: &str, name: &str, labels: &str) -> u64 {
    let key = key(namespace, name);
    let labels: serde_json::Map<String, Value> = labels
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let value = json!({"metadata": {"name": name, "namespace": namespace, "labels": labels}});
    match store.get(&key) {
        Some(present) => store.replace(&key, present.version, value).unwrap().version,
        None => store.create(&key, value).unwrap().version,
    }
}

pub(in super::super) fn delete(store: &Store, namespace: &str, name: &str) -> u64 {
    let key = key(namespace, name);
    store.remove(&key, store.get(&key).unwrap().version).unwrap().version
}

fn key(namespace: &str, name: &str) -> Key {
    Key { storage: "configmaps".into(), namespace: namespace.into(), name: name.into() }
}

#[derive(Debug)]
struct Listed {
    version: u64,
    names: Vec<String>,
    next: Option<String>,
    remaining: Option<u64>,
}

async fn list_of(store: &Arc<Store>, request: &Request) -> Result<Listed, Status> {
    let Body::List { version, items, continue_token, remaining, .. } = list(store, request).await?.body else { panic!("no list") };
    let names = items.iter().map(|object| object.name.to_string()).collect();
    Ok(Listed { version, names, next: continue_token, remaining })
}

async fn list_in(store: &Arc<Store>, query: &str) -> Result<Listed, Status> {
    list_of(store, &request(Verb::List, None, query)).await
}

/// a, b, c with label g=1 and i=0, 1, 2; d, e without; x elsewhere: versions 101 to 106.
fn filled(history: usize) -> Arc<Store> {
    let store = store(history);
    for (name, labels) in [("a", "g=1 i=0"), ("b", "g=1 i=1"), ("c", "g=1 i=2"), ("d", ""), ("e", "")] {
        put(&store, "n", name, labels);
    }
    put(&store, "other", "x", "g=1");
    store
}

#[tokio::test(start_paused = true)]
async fn selectors_and_versions() {
    let store = filled(100);
    put(&store, "n", "d", "g=1");
    delete(&store, "n", "a");
    for (query, version, names) in [
        ("", 108, "b c d e"),
        ("labelSelector=g%3D1", 108, "b c d"),
        ("labelSelector=i+in+(0,1),g", 108, "b"),
        ("labelSelector=i!=1,g=1", 108, "c d"),
        ("fieldSelector=metadata.name%3Db", 108, "b"),
        ("fieldSelector=metadata.name!%3Db&labelSelector=i", 108, "c"),
        ("limit=1&resourceVersion=0", 108, "b c d e"),
        ("limit=-1", 108, "b c d e"),
        ("resourceVersion=106", 108, "b c d e"),
        ("resourceVersion=106&resourceVersionMatch=NotOlderThan", 108, "b c d e"),
        ("resourceVersion=106&resourceVersionMatch=Exact", 106, "a b c d e"),
        ("resourceVersion=106&resourceVersionMatch=Exact&labelSelector=g%3D1", 106, "a b c"),
        ("resourceVersion=107&resourceVersionMatch=Exact&labelSelector=g%3D1", 107, "a b c d"),
        ("resourceVersion=100&resourceVersionMatch=Exact", 100, ""),
        ("resourceVersion=103&limit=9", 103, "a b c"),
        ("resourceVersion=103&limit=2", 103, "a b"),
    ] {
        let listed = list_in(&store, query).await.unwrap();
        assert_eq!((listed.version, listed.names.join(" ")), (version, names.to_owned()), "{query}");
    }
    let mut all = request(Verb::List, None, "");
    all.namespace = "".into();
    assert_eq!(list_of(&store, &all).await.unwrap().names, ["b", "c", "d", "e", "x"]);
    all.namespace = "absent".into();
    assert_eq!(list_of(&store, &all).await.unwrap().names, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked() {
    let store = filled(100);
    let token = list_in(&store, "limit=2").await.unwrap().next.unwrap();
    let with_version = format!("limit=2&continue={token}&resourceVersion=5");
    let with_match = format!("continue={token}&resourceVersion=0&resourceVersionMatch=NotOlderThan");
    for (query, code, reason, text, causes) in [
        ("labelSelector=a+b", 400, "BadRequest", "unable to parse requirement: found 'b', expected: ", ""),
        ("fieldSelector=data.x%3D1", 400, "BadRequest", "\"data.x\" is not a known field selector: only", ""),
        ("limit=x", 400, "BadRequest", "strconv.ParseInt: parsing \"x\": invalid syntax", ""),
        ("limit=99999999999999999999", 400, "BadRequest", "value out of range", ""),
        ("timeoutSeconds=", 400, "BadRequest", "strconv.ParseInt: parsing \"\": invalid syntax", ""),
        ("limit=2&continue=zzzz", 400, "BadRequest", "invalid continue token: ", ""),
        (&*with_version, 400, "BadRequest", "specifying resource version is not allowed when using continue", ""),
        ("resourceVersion=abc", 400, "BadRequest", "invalid resource version: ", ""),
        ("resourceVersion=-1", 400, "BadRequest", "invalid syntax", ""),
        ("resourceVersion=99999999999999999999", 400, "BadRequest", "value out of range", ""),
        (
            "resourceVersionMatch=Exact",
            422,
            "Invalid",
            "resourceVersionMatch is forbidden unless",
            "FieldValueForbidden resourceVersionMatch",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            422,
            "Invalid",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            "FieldValueForbidden resourceVersionMatch",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=X",
            422,
            "Invalid",
            "Unsupported value: \"X\"",
            "FieldValueNotSupported resourceVersionMatch",
        ),
        (&*with_match, 422, "Invalid", "forbidden when continue is provided", "FieldValueForbidden resourceVersionMatch"),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
            422,
            "Invalid",
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            "FieldValueForbidden sendInitialEvents",
        ),
        ("resourceVersion=1&resourceVersionMatch=Exact", 410, "Expired", "The resourceVersion for the provided list is too old.", ""),
        ("resourceVersion=99&limit=1", 410, "Expired", "too old", ""),
    ] {
        let status = list_in(&store, query).await.unwrap_err();
        assert_eq!((status.code, status.reason), (code, reason), "{query}: {}", status.message);
        assert!(status.message.contains(text), "{query}: {}", status.message);
        let found = status.details.and_then(|details| details.get("causes").cloned()).unwrap_or_default();
        let found: Vec<String> = found
            .as_array()
            .into_iter()
            .flatten()
            .map(|cause| format!("{} {}", cause["reason"].as_str().unwrap(), cause["field"].as_str().unwrap()))
            .collect();
        assert_eq!(found.join(", "), causes, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_version() {
    let store = filled(100);
    let first = list_in(&store, "limit=2").await.unwrap();
    assert_eq!((first.version, &*first.names.join(" "), first.remaining), (106, "a b", Some(3)));
    put(&store, "n", "bb", "");
    delete(&store, "n", "c");
    let token = first.next.unwrap();
    let second = list_in(&store, &format!("limit=2&continue={token}&resourceVersion=0")).await.unwrap();
    assert_eq!((second.version, &*second.names.join(" ")), (106, "c d e"), "any version: the limit does not count");
    let second = list_in(&store, &format!("limit=2&continue={token}")).await.unwrap();
    assert_eq!((second.version, &*second.names.join(" "), second.remaining), (106, "c d", Some(1)));
    let third = list_in(&store, &format!("limit=2&continue={}", second.next.unwrap())).await.unwrap();
    assert_eq!((third.version, &*third.names.join(" "), third.next, third.remaining), (106, "e", None, None));
    // Exactly as many as there are: no further page.
    let whole = list_in(&store, "limit=5").await.unwrap();
    assert_eq!((whole.names.len(), whole.next, whole.remaining), (5, None, None));
    // With a selector nobody counts.
    let selected = list_in(&store, "limit=1&labelSelector=g%3D1").await.unwrap();
    assert_eq!((&*selected.names.join(" "), selected.next.is_some(), selected.remaining), ("a", true, None));
}

#[tokio::test(start_paused = true)]
async fn pages_go_across_namespaces() {
    let store = filled(100);
    put(&store, "m", "z", "");
    let mut names = Vec::new();
    let mut query = "limit=1".to_owned();
    loop {
        let mut all = request(Verb::List, None, &query);
        all.namespace = "".into();
        let page = list_of(&store, &all).await.unwrap();
        names.extend(page.names);
        let Some(token) = page.next else { break };
        query = format!("limit=1&continue={token}");
    }
    assert_eq!(names.join(" "), "z a b c d e x");
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_can_be_exchanged() {
    let store = filled(3);
    let token = list_in(&store, "limit=2").await.unwrap().next.unwrap();
    for name in ["f", "g", "h", "i"] {
        put(&store, "n", name, "");
    }
    let status = list_in(&store, &format!("limit=2&continue={token}")).await.unwrap_err();
    assert_eq!((status.code, status.reason), (410, "Expired"));
    assert!(status.message.contains("use the continue token in this response"), "{}", status.message);
    let latest = status.continue_token.unwrap();
    let rest = list_in(&store, &format!("limit=3&continue={latest}")).await.unwrap();
    assert_eq!((rest.version, &*rest.names.join(" "), rest.remaining), (110, "c d e", Some(4)));
    let last = list_in(&store, &format!("continue={}", rest.next.unwrap())).await.unwrap();
    assert_eq!((last.version, &*last.names.join(" ")), (110, "f g h i"));
}

#[tokio::test(start_paused = true)]
async fn a_version_in_the_future_is_waited_for() {
    let store = filled(100);
    for query in ["resourceVersion=999", "resourceVersion=999&resourceVersionMatch=Exact", "resourceVersion=999&limit=1"] {
        let start = Instant::now();
        let status = list_in(&store, query).await.unwrap_err();
        assert_eq!(start.elapsed(), PATIENCE, "{query}");
        assert_eq!((status.code, status.reason), (504, "Timeout"));
        assert_eq!(status.message, "Timeout: Too large resource version: 999, current: 106");
        assert_eq!(status.retry_after(), Some(1));
        assert_eq!(
            status.details.unwrap()["causes"],
            json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}])
        );
    }
    let waiting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { list_in(&store, "resourceVersion=107&resourceVersionMatch=Exact").await }
    });
    tokio::time::sleep(PATIENCE / 2).await;
    put(&store, "n", "f", "");
    put(&store, "n", "g", "");
    let listed = waiting.await.unwrap().unwrap();
    assert_eq!((listed.version, &*listed.names.join(" ")), (107, "a b c d e f"));
}

#[tokio::test(start_paused = true)]
async fn one_object() {
    let store = filled(100);
    for query in ["", "resourceVersion=0", "resourceVersion=101"] {
        let answer = get(&store, &request(Verb::Get, Some("a"), query)).await.unwrap();
        let Body::Stored { object, .. } = answer.body else { panic!("no object") };
        assert_eq!((answer.code, &*object.name, object.version), (200, "a", 101), "{query}");
    }
    for (name, query, code, reason, text) in [
        ("q", "", 404, "NotFound", "configmaps \"q\" not found"),
        ("a", "resourceVersion=abc", 500, "", "strconv.ParseUint: parsing \"abc\": invalid syntax"),
        ("a", "resourceVersion=999", 504, "Timeout", "Timeout: Too large resource version: 999, current: 106"),
    ] {
        let status = get(&store, &request(Verb::Get, Some(name), query)).await.err().unwrap();
        assert_eq!((status.code, status.reason), (code, reason), "{query}");
        assert!(status.message.ends_with(text), "{}", status.message);
    }
}
