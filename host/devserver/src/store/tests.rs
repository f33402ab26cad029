//! The store against a model: what it says about now, about then, and to readers.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "clock and disk of these tests are real ones")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::*;

/// Storage, namespace and name to the object's JSON.
type State = BTreeMap<(String, String, String), Value>;

#[derive(Debug, Clone)]
struct Op {
    key: (usize, usize, usize),
    delete: bool,
    value: u8,
}

const STORAGES: [&str; 2] = ["configmaps", "pods"];

fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = ((0..2_usize, 0..2_usize, 0..4_usize), prop::bool::weighted(0.3), any::<u8>());
    prop::collection::vec(op.prop_map(|(key, delete, value)| Op { key, delete, value }), 1..most)
}

fn key_of((storage, namespace, name): (usize, usize, usize)) -> Key {
    Key { storage: STORAGES[storage].into(), namespace: format!("n{namespace}").into(), name: format!("o{name}").into() }
}

fn options(history: usize) -> StoreOptions {
    StoreOptions { history, data: None, first_version: Some(100) }
}

fn with_data(path: &Path) -> StoreOptions {
    StoreOptions { history: 1000, data: Some(path.to_owned()), first_version: Some(100) }
}

/// Does what the operation says with what is there.
fn apply(store: &Store, op: &Op) -> Option<Arc<Stored>> {
    let key = key_of(op.key);
    let value = json!({"metadata": {"name": &*key.name, "labels": {"v": op.value.to_string()}}, "data": {"v": op.value}});
    match store.get(&key) {
        None if op.delete => None,
        None => Some(store.create(&key, value).unwrap()),
        Some(present) if op.delete => Some(store.remove(&key, present.version).unwrap()),
        Some(present) => Some(store.replace(&key, present.version, value).unwrap()),
    }
}

fn entry(storage: &str, object: &Stored) -> ((String, String, String), Value) {
    let value = serde_json::from_slice(&object.json).unwrap();
    ((storage.to_owned(), object.namespace.to_string(), object.name.to_string()), value)
}

fn state_at(store: &Store, at: Option<u64>) -> Result<State, Gone> {
    let mut state = State::new();
    for storage in STORAGES {
        state.extend(store.list(storage, None, at)?.items.iter().map(|object| entry(storage, object)));
    }
    Ok(state)
}

/// What a reader does with an event: everything in it must fit what it knows.
fn replay(state: &mut State, storage: &str, event: &Event) {
    let (key, value) = entry(storage, &event.object);
    assert_eq!(value["metadata"]["resourceVersion"], event.version.to_string());
    assert_eq!(event.object.version, event.version);
    let previous = event.previous.as_ref().map(|previous| entry(storage, previous).1);
    let known = match event.change {
        Change::Deleted => state.remove(&key),
        Change::Created | Change::Updated => state.insert(key, value),
    };
    assert_eq!(known, previous);
    assert_eq!(known.is_none(), event.change == Change::Created);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_version_can_be_read_and_replayed_until_it_is_gone(ops in ops(60), history in 1..20_usize) {
        let store = Store::open(options(history)).unwrap();
        let mut recorded = vec![(store.version(), State::new())];
        for op in &ops {
            let before = store.version();
            if let Some(object) = apply(&store, op) {
                prop_assert_eq!(object.version, before + 1);
            }
            if store.version() > before {
                recorded.push((store.version(), state_at(&store, None).unwrap()));
            }
        }
        for (version, expected) in &recorded {
            for storage in STORAGES {
                let storage: Arc<str> = storage.into();
                let mine = |state: &State| state.iter().filter(|(key, _)| *key.0 == *storage).map(|(k, v)| (k.clone(), v.clone())).collect::<State>();
                let list = store.list(&storage, None, Some(*version));
                let cursor = store.watch(&storage, *version);
                // Changes of this storage after the version, as many as the history keeps.
                let later = recorded.windows(2).filter(|pair| pair[1].0 > *version && mine(&pair[0].1) != mine(&pair[1].1)).count();
                if later > history {
                    prop_assert!(list.is_err());
                    prop_assert!(cursor.is_err());
                    continue;
                }
                let list = list.unwrap();
                prop_assert_eq!(list.version, *version);
                let mut state: State = list.items.iter().map(|object| entry(&storage, object)).collect();
                prop_assert_eq!(&state, &mine(expected));
                for namespace in ["n0", "n1"] {
                    let one = store.list(&storage, Some(namespace), Some(*version)).unwrap();
                    let names: Vec<_> = list.items.iter().filter(|object| &*object.namespace == namespace).map(|object| object.name.clone()).collect();
                    prop_assert_eq!(one.items.iter().map(|object| object.name.clone()).collect::<Vec<_>>(), names);
                }
                let mut cursor = cursor.unwrap();
                let mut last = *version;
                while let Some(next) = cursor.try_next() {
                    let Next::Event(event) = next else { panic!("{next:?}") };
                    prop_assert!(event.version > last);
                    last = event.version;
                    replay(&mut state, &storage, &event);
                }
                prop_assert_eq!(state, mine(&recorded.last().unwrap().1));
                prop_assert_eq!(cursor.seen(), store.version());
            }
        }
        prop_assert_eq!(store.list(STORAGES[0], None, Some(99)).unwrap_err().oldest.max(100), store.watch(&STORAGES[0].into(), 99).err().unwrap().oldest.max(100));
    }
}

proptest! {
    // Each case opens the file three times, and every opening waits for the disk.
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_restart_gives_the_same_objects(first in ops(40), second in ops(40)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut version = 0;
        let mut state = State::new();
        for ops in [&first, &second] {
            let store = Store::open(with_data(&path)).unwrap();
            prop_assert_eq!(state_at(&store, None).unwrap(), state);
            prop_assert!(store.version() >= version);
            if version > 0 {
                prop_assert!(store.watch(&STORAGES[0].into(), version - 1).is_err());
            }
            for op in ops {
                apply(&store, op);
            }
            version = store.version();
            state = state_at(&store, None).unwrap();
        }
        let store = Store::open(with_data(&path)).unwrap();
        prop_assert_eq!(state_at(&store, None).unwrap(), state);
    }
}

#[test]
fn commits_are_refused_when_somebody_was_faster() {
    let store = Store::open(options(10)).unwrap();
    let key = key_of((0, 0, 0));
    assert!(matches!(store.replace(&key, 1, json!({})), Err(Refused::Raced)));
    assert!(matches!(store.remove(&key, 1), Err(Refused::Raced)));
    assert_eq!(store.version(), 100);
    let first = store.create(&key, json!({})).unwrap();
    assert_eq!(first.version, 101);
    assert!(matches!(store.create(&key, json!({})), Err(Refused::Taken(present)) if present.version == 101));
    let second = store.replace(&key, 101, json!({"a": 1})).unwrap();
    assert!(matches!(store.replace(&key, 101, json!({})), Err(Refused::Raced)));
    assert!(matches!(store.remove(&key, 101), Err(Refused::Raced)));
    assert_eq!(store.get(&key).unwrap().json, second.json);
    assert_eq!(store.version(), 102);
}

/// Several threads write the same objects, as fast as they can; every reader must end with the same state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_follow_many_writers() {
    const WRITERS: u64 = 4;
    const WRITES: u64 = 500;
    let store = Store::open(options(10_000)).unwrap();
    let storage: Arc<str> = STORAGES[0].into();
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (snapshot, mut cursor) = store.list_and_watch(&storage, None);
            tokio::spawn(async move {
                let mut state: State = snapshot.items.iter().map(|object| entry(STORAGES[0], object)).collect();
                let mut last = snapshot.version;
                loop {
                    let Next::Event(event) = cursor.next().await else { panic!("gone") };
                    assert!(event.version > last);
                    last = event.version;
                    if &*event.object.name == "end" {
                        return state;
                    }
                    replay(&mut state, STORAGES[0], &event);
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                let mut random = writer;
                let mut made = 0;
                while made < WRITES {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let key = key_of((0, (random >> 33) as usize % 2, (random >> 40) as usize % 4));
                    let value = json!({"data": {"writer": writer, "made": made}});
                    let done = match store.get(&key) {
                        None => store.create(&key, value),
                        Some(present) if (random >> 50).is_multiple_of(3) => store.remove(&key, present.version),
                        Some(present) => store.replace(&key, present.version, value),
                    };
                    made += u64::from(done.is_ok());
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(store.version(), 100 + WRITERS * WRITES);
    let expected = state_at(&store, None).unwrap();
    store.create(&Key { storage, namespace: "".into(), name: "end".into() }, json!({})).unwrap();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_readers_and_cut_histories_are_gone() {
    let store = Store::open(options(3)).unwrap();
    let storage: Arc<str> = STORAGES[0].into();
    let other: Arc<str> = STORAGES[1].into();
    let mut slow = store.watch(&storage, 100).unwrap();
    let mut fast = store.watch(&storage, 100).unwrap();
    let mut idle = store.watch(&other, 100).unwrap();
    let op = |value| Op { key: (0, 0, 0), delete: false, value };
    for value in 0..4 {
        apply(&store, &op(value)).unwrap();
        assert!(matches!(fast.next().await, Next::Event(event) if event.version == 101 + u64::from(value)));
    }
    assert!(matches!(slow.next().await, Next::Gone(Gone { oldest: 101 })));
    assert!(matches!(slow.try_next(), Some(Next::Gone(_))), "it stays gone");
    // What happens elsewhere never drops a reader, and moves it on.
    assert!(idle.try_next().is_none());
    assert_eq!((idle.seen(), fast.seen()), (104, 104));

    let waiting = tokio::spawn(async move { fast.next().await });
    tokio::task::yield_now().await;
    store.forget_history();
    assert!(matches!(waiting.await.unwrap(), Next::Gone(Gone { oldest: 104 })));
    assert!(matches!(idle.next().await, Next::Gone(Gone { oldest: 104 })));
    for storage in [&storage, &other, &"never-seen".into()] {
        assert_eq!(store.watch(storage, 103).err(), Some(Gone { oldest: 104 }));
        assert_eq!(store.list(storage, None, Some(103)).err(), Some(Gone { oldest: 104 }));
        assert!(store.watch(storage, 104).is_ok());
    }
    assert_eq!(store.list(&storage, None, None).unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn versions_are_waited_for() {
    let store = Store::open(options(10)).unwrap();
    store.reached(100).await;
    assert!(tokio::time::timeout(Duration::from_secs(9), store.reached(101)).await.is_err());
    let mut future = store.watch(&STORAGES[0].into(), 101).unwrap();
    assert!(!future.has_begun());
    let waiting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.reached(101).await }
    });
    tokio::task::yield_now().await;
    apply(&store, &Op { key: (0, 0, 0), delete: false, value: 1 });
    waiting.await.unwrap();
    assert!(future.has_begun());
    assert!(future.try_next().is_none(), "it begins after its version");
    apply(&store, &Op { key: (0, 0, 0), delete: false, value: 2 });
    assert!(matches!(future.next().await, Next::Event(event) if event.version == 102));
}

#[test]
fn versions_of_a_server_in_memory_grow_over_its_lives() {
    let first = Store::open(StoreOptions { history: 10, data: None, first_version: None }).unwrap();
    for value in 0..100 {
        apply(&first, &Op { key: (0, 0, 0), delete: false, value });
    }
    std::thread::sleep(Duration::from_millis(1));
    let second = Store::open(StoreOptions { history: 10, data: None, first_version: None }).unwrap();
    assert!(second.version() > first.version());
    assert!(second.watch(&STORAGES[0].into(), first.version()).is_err());
}

/// A copy of the file is what a kill leaves.
#[test]
fn after_a_kill_versions_are_new_and_the_state_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let store = Store::open(with_data(&path)).unwrap();
    fs::copy(&path, &copy).unwrap();
    for value in 0..200 {
        apply(&store, &Op { key: (0, 0, usize::from(value) % 4), delete: value % 7 == 3, value });
    }
    let killed_at_once = Store::open(with_data(&copy)).unwrap();
    assert!(killed_at_once.version() > store.version(), "no version is given out again");
    assert_eq!(state_at(&killed_at_once, None).unwrap(), State::new());
    drop(killed_at_once);

    store.flush().unwrap();
    fs::copy(&path, &copy).unwrap();
    let killed_later = Store::open(with_data(&copy)).unwrap();
    assert!(killed_later.version() > store.version());
    assert_eq!(state_at(&killed_later, None).unwrap(), state_at(&store, None).unwrap());
}

#[test]
fn changes_are_written_without_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let store = Store::open(with_data(&path)).unwrap();
    apply(&store, &Op { key: (0, 0, 0), delete: false, value: 1 }).unwrap();
    let expected = state_at(&store, None).unwrap();
    for attempt in 0.. {
        std::thread::sleep(Duration::from_millis(50));
        fs::copy(&path, &copy).unwrap();
        if Store::open(with_data(&copy)).is_ok_and(|store| state_at(&store, None).unwrap() == expected) {
            break;
        }
        assert!(attempt < 200, "nothing was written");
    }
}

#[test]
fn files_that_are_not_ours_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let refused = |what: &str| {
        let error = Store::open(with_data(&path)).err().unwrap_or_else(|| panic!("{what} was opened"));
        assert!(error.to_string().contains("data"), "{what}: {error}");
        error.kind()
    };

    fs::write(&path, "apiVersion: v1\nkind: ConfigMap\n".repeat(500)).unwrap();
    assert_eq!(refused("a text"), std::io::ErrorKind::InvalidData);
    fs::remove_file(&path).unwrap();

    let foreign = redb::Database::create(&path).unwrap();
    let transaction = foreign.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u64, u64>::new("other")).unwrap().insert(1, 1).unwrap();
    transaction.commit().unwrap();
    drop(foreign);
    assert_eq!(refused("a database of something else"), std::io::ErrorKind::InvalidData);
    fs::remove_file(&path).unwrap();

    fs::create_dir(&path).unwrap();
    refused("a folder");
    fs::remove_dir(&path).unwrap();

    let store = Store::open(with_data(&path)).unwrap();
    assert_eq!(refused("a file in use"), std::io::ErrorKind::WouldBlock);
    apply(&store, &Op { key: (0, 0, 0), delete: false, value: 1 });
    drop(store);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(refused("half a file"), std::io::ErrorKind::InvalidData);
}

/// The database panics on some pages that are not what they were.
#[test]
fn damage_is_refused_or_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let store = Store::open(with_data(&path)).unwrap();
    for number in 0..16_usize {
        let filled = json!({"metadata": {"name": format!("o{number}")}, "data": {"v": "x".repeat(500)}});
        store.create(&key_of((number % 2, number % 2, number)), filled).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    let mut noise = StdRng::seed_from_u64(8);
    let mut refused = 0;
    for damage in 0..150_usize {
        let mut bytes = whole.clone();
        let (start, length) =
            if damage < 12 { (damage * 4096, 8192) } else { (noise.random_range(0..whole.len()), noise.random_range(1..9000)) };
        let end = (start + length).min(bytes.len());
        if let Some(damaged) = bytes.get_mut(start..end) {
            noise.fill(damaged);
        }
        fs::write(&path, &bytes).unwrap();
        match Store::open(with_data(&path)) {
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{start}+{length}: {error}");
                assert!(error.to_string().ends_with("Move it away to begin with an empty one"), "{error}");
            }
            // The damage was where nothing is, or will be told by a write.
            Ok(store) => {
                apply(&store, &Op { key: (0, 0, 0), delete: false, value: 1 });
                let _ = store.flush();
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_create_relies_on_others_as_they_are() {
    let store = Store::open(options(10)).unwrap();
    let holder = key_of((0, 0, 0));
    let first = store.create(&holder, json!({"metadata": {"name": "o0"}})).unwrap();
    let within = [(holder.clone(), first.version)];
    store.create_within(&key_of((1, 0, 1)), json!({"metadata": {"name": "o1"}}), &within).unwrap();
    let changed = store.replace(&holder, first.version, json!({"metadata": {"name": "o0"}})).unwrap();
    let late = |within: &[(Key, u64)]| store.create_within(&key_of((1, 0, 2)), json!({"metadata": {"name": "o2"}}), within);
    assert!(matches!(late(&within), Err(Refused::Raced)), "it has changed");
    store.remove(&holder, changed.version).unwrap();
    assert!(matches!(late(&[(holder.clone(), changed.version)]), Err(Refused::Raced)), "it is gone");
    assert!(store.get(&key_of((1, 0, 2))).is_none());
}
