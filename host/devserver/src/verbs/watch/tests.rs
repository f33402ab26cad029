//! WATCH as the real server answers it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use serde_json::Value;

use super::super::Verb;
use super::super::list::tests::{delete, put, request, store};
use super::*;

async fn watch(store: &Arc<Store>, query: &str) -> Watch {
    Watch::start(store, &request(Verb::Watch, None, query)).await.unwrap()
}

/// `ADDED a 101`, `BOOKMARK 105 end`, `ERROR 410`.
fn show(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Change { kind, object, version } => {
            let written: Value = serde_json::from_slice(&object.json).unwrap();
            assert_eq!(written["metadata"]["resourceVersion"], version.to_string());
            assert_eq!(object.version, *version);
            format!("{kind} {} {version}", object.name)
        }
        WatchEvent::Bookmark { version, initial_end } => format!("BOOKMARK {version}{}", if *initial_end { " end" } else { "" }),
        WatchEvent::Error(status) => format!("ERROR {} {}", status.code, status.message),
    }
}

async fn rest(mut watch: Watch) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(event) = watch.next().await {
        events.push(show(&event));
    }
    events
}

async fn all(store: &Arc<Store>, query: &str) -> Vec<String> {
    rest(watch(store, query).await).await
}

fn labels(event: Option<WatchEvent>) -> String {
    let Some(WatchEvent::Change { object, .. }) = &event else { panic!("{event:?}") };
    format!(
        "{} {}",
        show(event.as_ref().unwrap()),
        object.labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    )
}

#[tokio::test(start_paused = true)]
async fn initial_events_and_their_end() {
    let store = store(100);
    put(&store, "n", "b", "g=1");
    put(&store, "n", "a", "");
    put(&store, "other", "x", "");
    let both = ["ADDED a 102", "ADDED b 101"].map(str::to_owned).to_vec();
    let with_end = ["ADDED a 102", "ADDED b 101", "BOOKMARK 103 end"].map(str::to_owned).to_vec();
    for (query, expected) in [
        ("timeoutSeconds=1", both.clone()),
        ("timeoutSeconds=1&resourceVersion=0", both.clone()),
        ("timeoutSeconds=1&resourceVersion=0&limit=1", both.clone()),
        ("timeoutSeconds=1&resourceVersion=0&allowWatchBookmarks=true", with_end.clone()),
        ("timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", both),
        ("timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1", with_end.clone()),
        ("timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1&resourceVersion=101", with_end),
        ("timeoutSeconds=1&allowWatchBookmarks=true&labelSelector=g", vec!["ADDED b 101".to_owned(), "BOOKMARK 103 end".to_owned()]),
        ("timeoutSeconds=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dq", vec!["BOOKMARK 103 end".to_owned()]),
        ("timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1", vec![]),
        ("timeoutSeconds=1&resourceVersion=100", vec!["ADDED b 101".to_owned(), "ADDED a 102".to_owned()]),
        ("timeoutSeconds=1&resourceVersion=101", vec!["ADDED a 102".to_owned()]),
        ("timeoutSeconds=1&resourceVersion=101&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", vec!["ADDED a 102".to_owned()]),
        ("timeoutSeconds=1&resourceVersion=103&fieldSelector=metadata.name%3Db", vec![]),
    ] {
        let start = Instant::now();
        assert_eq!(all(&store, query).await, expected, "{query}");
        assert_eq!(start.elapsed(), Duration::from_secs(1), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_asked() {
    let store = store(100);
    for (query, code, text) in [
        ("sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        (
            "resourceVersionMatch=NotOlderThan&resourceVersion=5",
            422,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422, "Unsupported value: \"Exact\": supported values: \"NotOlderThan\""),
        ("continue=x", 422, "resourceVersionMatch is forbidden when continue is provided"),
        ("timeoutSeconds=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"),
        ("resourceVersion=abc", 500, "strconv.ParseUint: parsing \"abc\": invalid syntax"),
        ("labelSelector=a+b", 400, "unable to parse requirement: found 'b'"),
        ("fieldSelector=data.x%3D1", 400, "is not a known field selector"),
    ] {
        let status = Watch::start(&store, &request(Verb::Watch, None, query)).await.err().unwrap();
        assert_eq!(status.code, code, "{query}");
        assert!(status.message.contains(text), "{query}: {}", status.message);
    }
    let status = Watch::start(&store, &request(Verb::Watch, Some("a"), "fieldSelector=metadata.name%3Db")).await.err().unwrap();
    assert_eq!((status.code, &*status.message), (400, "fieldSelector metadata.name doesn't match requested name"));
}

#[tokio::test(start_paused = true)]
async fn a_name_in_the_path_selects() {
    let store = store(100);
    put(&store, "n", "a", "");
    put(&store, "n", "b", "");
    for query in ["timeoutSeconds=1", "timeoutSeconds=1&fieldSelector=metadata.name%3Da"] {
        let watch = Watch::start(&store, &request(Verb::Watch, Some("a"), query)).await.unwrap();
        assert_eq!(rest(watch).await, ["ADDED a 101"], "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_seen_through_the_selector() {
    let store = store(100);
    let mut plain = watch(&store, "resourceVersion=100").await;
    let mut selected = watch(&store, "resourceVersion=100&labelSelector=sel%3Dy").await;
    put(&store, "n", "a", "");
    put(&store, "n", "a", "sel=y");
    put(&store, "other", "a", "sel=y");
    put(&store, "n", "a", "sel=y v=2");
    put(&store, "n", "a", "v=3");
    put(&store, "n", "a", "v=4");
    put(&store, "n", "a", "sel=y v=5");
    delete(&store, "n", "a");
    for expected in [
        "ADDED a 101 ",
        "MODIFIED a 102 sel=y",
        "MODIFIED a 104 sel=y v=2",
        "MODIFIED a 105 v=3",
        "MODIFIED a 106 v=4",
        "MODIFIED a 107 sel=y v=5",
        "DELETED a 108 sel=y v=5",
    ] {
        assert_eq!(labels(plain.next().await), expected);
    }
    for expected in
        ["ADDED a 102 sel=y", "MODIFIED a 104 sel=y v=2", "DELETED a 105 sel=y v=2", "ADDED a 107 sel=y v=5", "DELETED a 108 sel=y v=5"]
    {
        assert_eq!(labels(selected.next().await), expected);
    }
    assert!(selected.ready(9).is_empty());
}

#[tokio::test(start_paused = true)]
async fn old_versions_are_an_error_event() {
    let store = store(2);
    assert_eq!(all(&store, "resourceVersion=5").await, ["ERROR 410 too old resource version: 5 (100)"]);
    let slow = watch(&store, "resourceVersion=100").await;
    for _ in 0..3 {
        put(&store, "n", "a", "");
    }
    assert_eq!(all(&store, "resourceVersion=100").await, ["ERROR 410 too old resource version: 100 (101)"]);
    assert_eq!(rest(slow).await, ["ERROR 410 too old resource version: 100 (101)"]);
    let mut cut = watch(&store, "resourceVersion=103").await;
    store.forget_history();
    assert!(matches!(cut.ready(5).as_slice(), [WatchEvent::Error(status)] if (status.code, status.reason) == (410, "Expired")));
    assert!(cut.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_future_is_waited_for() {
    let store = store(100);
    put(&store, "n", "a", "");
    assert_eq!(all(&store, "timeoutSeconds=60&resourceVersion=999&allowWatchBookmarks=true").await, [""; 0], "silence");
    let start = Instant::now();
    let initial = "timeoutSeconds=5&resourceVersion=999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    assert_eq!(all(&store, initial).await, ["ERROR 504 Timeout: Too large resource version: 999, current: 101"]);
    assert_eq!(start.elapsed(), PATIENCE);
    assert_eq!(all(&store, &initial.replace("Seconds=5", "Seconds=1")).await, [""; 0], "its time is over before");

    let plain = watch(&store, "timeoutSeconds=9&resourceVersion=102").await;
    let initial = watch(&store, &initial.replace("999", "102")).await;
    let (plain, initial) = (tokio::spawn(rest(plain)), tokio::spawn(rest(initial)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    put(&store, "n", "b", "");
    tokio::time::sleep(Duration::from_secs(1)).await;
    put(&store, "n", "c", "");
    assert_eq!(plain.await.unwrap(), ["ADDED c 103"]);
    assert_eq!(initial.await.unwrap(), ["ADDED a 101", "ADDED b 102", "BOOKMARK 102 end", "ADDED c 103", "BOOKMARK 103"]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_tell_the_global_progress() {
    let store = store(100);
    let watch = watch(&store, "timeoutSeconds=70&resourceVersion=100&allowWatchBookmarks=true").await;
    let watching = tokio::spawn(rest(watch));
    tokio::time::sleep(Duration::from_secs(10)).await;
    put(&store, "other", "a", "");
    tokio::time::sleep(Duration::from_secs(52)).await;
    put(&store, "n", "a", "");
    put(&store, "other", "a", "");
    assert_eq!(watching.await.unwrap(), ["BOOKMARK 100", "BOOKMARK 101", "ADDED a 102", "BOOKMARK 103"]);
    assert_eq!(all(&store, "timeoutSeconds=70&resourceVersion=103").await, [""; 0], "only who allows them gets them");
}

#[tokio::test(start_paused = true)]
async fn what_is_there_comes_at_once() {
    let store = store(100);
    put(&store, "n", "a", "");
    let mut watch = watch(&store, "allowWatchBookmarks=true").await;
    put(&store, "n", "b", "");
    let first: Vec<String> = watch.ready(2).iter().map(show).collect();
    assert_eq!(first, ["ADDED a 101", "ADDED b 102"]);
    put(&store, "n", "c", "");
    let more: Vec<String> = watch.ready(9).iter().map(show).collect();
    assert_eq!(more, ["BOOKMARK 102 end", "ADDED c 103"]);
    assert!(watch.ready(9).is_empty());
    // Dropping a wait loses nothing.
    assert!(tokio::time::timeout(Duration::from_millis(1), watch.next()).await.is_err());
    put(&store, "n", "d", "");
    assert_eq!(show(&watch.next().await.unwrap()), "ADDED d 104");
}
