//! A watcher of one view, as an informer is one: lists or streams the state, watches from there, goes on from its last version when
//! the watch ends, and begins anew when that is too old. It notes all that it is told; whether that was right is judged at the end.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::client::{Http, Lines};
use super::history::{Event, History, State, key_of, version_of};
use super::run::World;
use super::view::{Kind, View};

/// How long a watcher may need until it knows everything.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a watcher behaves.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) view: View,
    /// Gets the state over the watch.
    streams: bool,
    bookmarks: bool,
    /// Lists in pages of so many.
    limit: Option<u32>,
    /// Leaves and comes back after at most so many events.
    leaves: Option<u32>,
    /// Reads slowly.
    sleepy: bool,
}

/// What it was told, in order.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    /// The state at a version.
    State {
        version: u64,
        items: Vec<Value>,
    },
    Event(Event),
    /// Everything up to here was told, says the server.
    Bookmark(u64),
    /// It went on from its last version.
    Again,
}

impl Plan {
    pub(crate) fn random(dice: &mut StdRng) -> Self {
        Self {
            view: View::random(dice),
            streams: dice.random_bool(0.4),
            bookmarks: dice.random_bool(0.5),
            limit: dice.random_bool(0.4).then(|| dice.random_range(1..5)),
            leaves: dice.random_bool(0.6).then(|| dice.random_range(1..25)),
            sleepy: dice.random_bool(0.2),
        }
    }
}

/// Watches until the world has come to rest and everything is known.
pub(crate) async fn watch(world: &World, plan: &Plan, seed: u64) -> Vec<Told> {
    let mut dice = StdRng::seed_from_u64(seed);
    let http = world.http();
    let mut told = Vec::new();
    // The last version that is known.
    let mut position = None;
    while !world.is_over(position, &plan.view) {
        let mut lines = match position {
            None if plan.streams => match stream(&http, &plan.view, &mut told).await {
                Some((version, lines)) => {
                    position = Some(version);
                    lines
                }
                None => continue,
            },
            None => {
                let (version, items) = list(&http, &plan.view, plan.limit).await;
                told.push(Told::State { version, items });
                position = Some(version);
                continue;
            }
            Some(version) => {
                told.push(Told::Again);
                let parameters = format!("watch=1&resourceVersion={version}&allowWatchBookmarks={}", plan.bookmarks);
                http.watch(&plan.view.path(&parameters)).await
            }
        };
        let mut left = plan.leaves.map(|most| dice.random_range(1..=most));
        while !world.is_over(position, &plan.view) && left != Some(0) {
            // Whether it is over is asked again now and then.
            let Ok(line) = timeout(Duration::from_millis(20), lines.next()).await else { continue };
            let Some(event) = line.as_deref().and_then(Event::read) else { break };
            match event.kind.as_str() {
                "ERROR" => {
                    assert_eq!(event.object["code"], 410, "{event:?}");
                    position = None;
                    break;
                }
                "BOOKMARK" => {
                    // An old one may be a fault; clients stay where they are.
                    position = position.max(Some(event.version));
                    told.push(Told::Bookmark(event.version));
                }
                _ => {
                    position = Some(event.version);
                    told.push(Told::Event(event));
                    left = left.map(|left| left - 1);
                }
            }
            if plan.sleepy && dice.random_bool(0.3) {
                sleep(Duration::from_millis(dice.random_range(1..10))).await;
            }
        }
    }
    told
}

/// The state over a watch; none if it ended before that was complete.
async fn stream(http: &Http, view: &View, told: &mut Vec<Told>) -> Option<(u64, Lines)> {
    let parameters = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = http.watch(&view.path(parameters)).await;
    let mut items = Vec::new();
    loop {
        let event = Event::read(&timeout(PATIENCE, lines.next()).await.expect("initial events")?)?;
        match event.kind.as_str() {
            "ADDED" => items.push(event.object),
            "ERROR" => return None,
            "BOOKMARK" if event.object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" => {
                told.push(Told::State { version: event.version, items });
                return Some((event.version, lines));
            }
            other => panic!("{other} among the initial events"),
        }
    }
}

/// The state by lists.
pub(crate) async fn list(http: &Http, view: &View, limit: Option<u32>) -> (u64, Vec<Value>) {
    'anew: loop {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let limit = limit.map_or_else(String::new, |limit| format!("limit={limit}"));
            let reply = http.get(&view.path(&format!("{limit}&continue={next}"))).await;
            if reply.code == 410 {
                assert!(!next.is_empty(), "a first page is too old");
                continue 'anew;
            }
            assert_eq!(reply.code, 200, "{}", reply.value);
            let head = (reply.value["apiVersion"].clone(), reply.value["kind"].as_str().unwrap().trim_end_matches("List").to_owned());
            for item in reply.value["items"].as_array().unwrap() {
                // Items of built-in kinds do not say what they are.
                let mut item = item.clone();
                item["apiVersion"] = head.0.clone();
                item["kind"] = json!(head.1);
                items.push(item);
            }
            match reply.value["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => next = token.to_owned(),
                _ => return (version_of(&reply.value).unwrap(), items),
            }
        }
    }
}

/// Whether what was told is just what happened. Returns the state that the watcher has.
pub(crate) fn judge(told: Vec<Told>, history: &History, view: &View) -> Result<State, String> {
    let mut position: Option<u64> = None;
    let mut state = State::new();
    // What must come, the next last.
    let mut due = Vec::new();
    let rest = |version: u64| history.shown(version, view).into_iter().rev().collect::<Vec<_>>();
    for (index, one) in told.into_iter().enumerate() {
        let wrong = |what: String| Err(format!("after {index} things at {position:?}: {what}"));
        match one {
            Told::State { version, items } => {
                if position.is_some_and(|position| version < position) {
                    return wrong(format!("a list of {version} goes back"));
                }
                let want: Vec<Value> = history.at(version).into_values().filter(|object| view.sees(object)).collect();
                if items != want {
                    return wrong(format!("the state at {version} is\n{items:#?}\ninstead of\n{want:#?}"));
                }
                state = items.into_iter().map(|item| (key_of(&item), item)).collect();
                due = rest(version);
                position = Some(version);
            }
            Told::Event(event) => {
                let want = due.pop();
                if want.as_ref() != Some(&event) {
                    return wrong(format!("told\n{event:#?}\ninstead of\n{want:#?}"));
                }
                position = Some(event.version);
                match event.kind.as_str() {
                    "DELETED" => state.remove(&event.key()),
                    _ => state.insert(event.key(), event.object),
                };
            }
            Told::Bookmark(version) => {
                if due.last().is_some_and(|next| next.version <= version) {
                    return wrong(format!("the bookmark {version} says that this was told: {:#?}", due.last()));
                }
                position = position.max(Some(version));
            }
            // Where it goes on is where it was: what is due stays.
            Told::Again => {}
        }
    }
    if due.is_empty() { Ok(state) } else { Err(format!("at {position:?} it was not told {due:#?}")) }
}

/// The judge finds what is missing, doubled, exchanged or changed, and bookmarks and states that are not true.
#[test]
fn the_judge_finds_what_is_wrong() {
    let object = |name: &str, version: u64, color: &str| json!({"metadata": {"namespace": "one", "name": name, "resourceVersion": version.to_string(), "labels": {"color": color}}});
    let event =
        |kind: &str, version: u64, name: &str, color: &str| Event { kind: kind.to_owned(), version, object: object(name, version, color) };
    let mut history = History::new(5, vec![object("a", 3, "red")]);
    let mut state = history.start();
    for one in [event("ADDED", 6, "b", "red"), event("MODIFIED", 8, "a", "blue"), event("DELETED", 9, "b", "red")] {
        history.push(one, &mut state);
    }
    let view = View::all(Kind::ConfigMap);
    let all: Vec<_> = history.shown(5, &view).into_iter().map(Told::Event).collect();
    let told = |changes: &dyn Fn(&mut Vec<Told>)| {
        let mut told = vec![Told::State { version: 5, items: vec![object("a", 3, "red")] }];
        told.extend(all.clone());
        told.push(Told::Bookmark(9));
        changes(&mut told);
        judge(told, &history, &view)
    };
    assert_eq!(told(&|_| {}), Ok(state));
    assert!(told(&|told| told.insert(2, Told::Bookmark(7))).is_ok());
    assert!(told(&|told| told.insert(2, Told::State { version: 6, items: vec![object("a", 3, "red"), object("b", 6, "red")] })).is_ok());
    type Wrong<'a> = &'a dyn Fn(&mut Vec<Told>);
    let wrongs: [Wrong<'_>; 8] = [
        &|told| drop(told.remove(1)),
        &|told| drop(told.drain(3..)),
        &|told| told.insert(2, told[1].clone()),
        &|told| told.swap(1, 2),
        &|told| told[2] = Told::Event(event("MODIFIED", 8, "a", "green")),
        &|told| told.insert(2, Told::Bookmark(8)),
        &|told| told[0] = Told::State { version: 5, items: Vec::new() },
        &|told| told.push(Told::State { version: 8, items: vec![object("a", 8, "blue"), object("b", 6, "red")] }),
    ];
    for (index, wrong) in wrongs.into_iter().enumerate() {
        assert!(told(wrong).is_err(), "{index}");
    }
    // What leaves a selector is deleted as it was, at the version of the change.
    let red = View::labelled(Kind::ConfigMap, "red");
    let left: Vec<_> = history.shown(6, &red).into_iter().map(|event| (event.kind, event.version, event.object)).collect();
    let gone = |name| move |version| ("DELETED".to_owned(), version, object(name, version, "red"));
    assert_eq!(left, [gone("a")(8), gone("b")(9)]);
}
