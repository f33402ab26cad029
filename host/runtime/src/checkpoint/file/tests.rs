//! The store on disk: what comes back, what a crash leaves, and what becomes of a file that is
//! none.

use wharf_core::{Gvk, Object, ObjectKey};

use super::*;
use crate::checkpoint::header::Header;

const PLUGIN: &str = "team-a/guard";
const MIB: u64 = 1 << 20;

fn key(name: &str) -> TargetKey {
    TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("a", name))
}

fn object(name: &str, version: u32, value: &str) -> Arc<Object> {
    let json = serde_json::json!({
        "metadata": {"namespace": "a", "name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
        "data": {"value": value},
    });
    Arc::new(Object::parse(&json.to_string(), &Gvk::new("", "v1", "ConfigMap")).unwrap())
}

fn change(name: &str, record: Option<&[u8]>, body: Option<Arc<Object>>) -> Change {
    Change { key: key(name), part: Part::Target, record: record.map(<[u8]>::to_vec), body: body.map(Body::from) }
}

fn batch(plugin: &str, changes: Vec<Change>) -> Batch {
    let header = Header { identity: "i".into(), number: 3, ..Header::default() };
    Batch { plugin: plugin.into(), header: Some(header), changes }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("checkpoint.redb")
    }

    fn open(&self) -> FileStore {
        let (store, set_aside) = FileStore::open(&self.path(), MIB, MIB / 4).unwrap();
        assert_eq!(set_aside, None);
        store
    }
}

fn commit(store: &FileStore, changes: Vec<Change>) -> Usage {
    store.commit(&[batch(PLUGIN, changes)], Duration::from_secs(100)).unwrap()
}

fn names(store: &FileStore, plugin: &str) -> Vec<String> {
    let records = store.load(plugin).unwrap().map(|saved| saved.records).unwrap_or_default();
    records.iter().map(|(bytes, _)| crate::checkpoint::decode_key(bytes, &mut None).unwrap().0.to_string()).collect()
}

#[test]
fn what_is_committed_comes_back() {
    let folder = Folder::new();
    let store = folder.open();
    assert!(store.load(PLUGIN).unwrap().is_none());
    let usage = commit(&store, vec![change("x", Some(b"1"), Some(object("x", 1, "one"))), change("y", Some(b"2"), None)]);
    assert_eq!((usage.keys, usage.left_out), (2, 0));
    let again = commit(&store, vec![change("x", Some(b"1"), Some(object("x", 1, "one"))), change("y", Some(b"2"), None)]);
    assert_eq!(again, usage);
    let other = store.commit(&[batch("team-b/guard", vec![change("x", Some(b"9"), None)])], Duration::from_secs(200)).unwrap();
    assert_eq!(other.keys, 3);
    drop(store);
    let store = folder.open();
    let saved = store.load(PLUGIN).unwrap().unwrap();
    assert_eq!((saved.header.number, saved.written, saved.records.len()), (3, Duration::from_secs(200), 2));
    assert_eq!(saved.records[0].1, b"1");
    let bodies = store.bodies(PLUGIN, &[key("x"), key("y"), key("z")]).unwrap();
    assert_eq!((bodies.len(), &bodies[&key("x")].0), (1, &object("x", 1, "one")));
    // A key goes with its body, a body that is not given stays.
    let usage = commit(&store, vec![change("x", Some(b"7"), None)]);
    assert_eq!(store.bodies(PLUGIN, &[key("x")]).unwrap().len(), 1);
    let gone = commit(&store, vec![change("x", None, None), change("never", None, None)]);
    assert!(gone.keys == 2 && gone.bytes < usage.bytes && gone.body_bytes == 0, "{gone:?}");
    assert_eq!(names(&store, PLUGIN), ["ConfigMap a/y"]);
    let left = store.forget(PLUGIN).unwrap();
    assert_eq!((left.keys, names(&store, "team-b/guard").len(), store.plugins().unwrap().len()), (1, 1, 1));
    assert!(store.load(PLUGIN).unwrap().is_none());
    assert_eq!(store.forget("team-b/guard").unwrap(), Usage::default());
}

/// A process that is killed closes nothing: the file is as it was after the last commit.
#[test]
fn a_crash_leaves_the_last_commit() {
    let (folder, crashed) = (Folder::new(), Folder::new());
    let store = folder.open();
    commit(&store, vec![change("x", Some(b"1"), None)]);
    commit(&store, vec![change("x", Some(b"2"), None), change("y", Some(b"2"), None)]);
    std::fs::copy(folder.path(), crashed.path()).unwrap();
    let store = crashed.open();
    let saved = store.load(PLUGIN).unwrap().unwrap();
    assert!(saved.records.len() == 2 && saved.records.iter().all(|(_, record)| record == b"2"));
}

#[test]
fn a_file_in_use_is_named() {
    let folder = Folder::new();
    let _first = folder.open();
    let error = FileStore::open(&folder.path(), MIB, 0).err().unwrap();
    assert!(matches!(error, OpenError::InUse(_)) && error.to_string().contains("--data-dir"), "{error}");
}

#[test]
fn a_locked_store_touches_nothing() {
    let folder = Folder::new();
    let store = FileStore::locked(&folder.path(), MIB, MIB / 4);
    let error = store.load(PLUGIN).unwrap_err();
    assert!(error.to_string().contains("for the host that leads"), "{error}");
    assert!(store.commit(&[batch(PLUGIN, vec![change("x", Some(b"1"), None)])], Duration::ZERO).is_err() && !folder.path().exists());
    assert_eq!(store.unlock().unwrap(), None);
    commit(&store, vec![change("x", Some(b"1"), None)]);
    store.lock();
    assert!(store.load(PLUGIN).is_err());
    // It is free for the next one.
    assert_eq!(names(&folder.open(), PLUGIN).len(), 1);
}

/// The one before has it open still, and goes on writing when it wakes up: into nothing.
#[test]
fn a_file_of_somebody_who_is_frozen_is_taken_over() {
    let folder = Folder::new();
    let frozen = folder.open();
    commit(&frozen, vec![change("x", Some(b"1"), Some(object("x", 1, "a")))]);
    let next = FileStore::locked(&folder.path(), MIB, MIB / 4);
    assert!(matches!(next.unlock(), Err(OpenError::InUse(_))));
    assert_eq!(next.take_over().unwrap(), None, "it is whole");
    assert_eq!(names(&next, PLUGIN).len(), 1);
    commit(&next, vec![change("y", Some(b"1"), None)]);
    commit(&frozen, vec![change("z", Some(b"1"), None)]);
    drop(next);
    let third = folder.open();
    drop(frozen);
    let kept = names(&third, PLUGIN);
    assert!(kept.len() == 2 && kept.iter().all(|name| !name.ends_with('z')), "{kept:?}");
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1, "no copy is left");
}

#[test]
fn a_folder_that_is_not_there_is_no_damage() {
    let folder = Folder::new();
    let error = FileStore::open(&folder.path().join("none/checkpoint.redb"), MIB, 0).err().unwrap();
    assert!(matches!(error, OpenError::Unusable(_)), "{error}");
}

#[test]
fn what_cannot_be_read_is_set_aside() {
    let folder = Folder::new();
    let store = folder.open();
    let many = (0..500).map(|n| change(&format!("object-{n}"), Some(b"record"), Some(object("x", n, "body")))).collect();
    commit(&store, many);
    drop(store);
    let good = std::fs::read(folder.path()).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at..at + 64].iter_mut().for_each(|byte| *byte ^= 0xff);
        bytes
    };
    let damages: Vec<Vec<u8>> = vec![
        b"this is no database".to_vec(),
        vec![0; 100_000],
        good[..good.len() / 2].to_vec(),
        good[..5000].to_vec(),
        good[..100].to_vec(),
        flipped(0),
        flipped(64),
        good.iter().map(|byte| byte ^ 0x5a).collect(),
    ];
    for (n, damage) in damages.iter().enumerate() {
        std::fs::write(folder.path(), damage).unwrap();
        let (store, why) = FileStore::open(&folder.path(), MIB, MIB).unwrap();
        assert!(why.is_some(), "damage {n} was not noticed");
        assert_eq!(std::fs::read(folder.path().with_extension("redb.broken")).unwrap().len(), damage.len(), "damage {n}");
        assert!(store.load(PLUGIN).unwrap().is_none());
        commit(&store, vec![change("x", Some(b"1"), None)]);
    }
    // Wherever else: it is noticed, or it hit what nobody reads.
    for at in (0..good.len() - 64).step_by(4096 * 3 + 100) {
        std::fs::write(folder.path(), flipped(at)).unwrap();
        let (store, why) = FileStore::open(&folder.path(), MIB, MIB).unwrap();
        assert!(why.is_some() || names(&store, PLUGIN).len() == 500, "damage at {at}");
    }
}

#[test]
fn another_format_is_set_aside() {
    let folder = Folder::new();
    drop(folder.open());
    let database = Database::open(folder.path()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(NUMBERS).unwrap().insert("format", FORMAT + 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let (_store, why) = FileStore::open(&folder.path(), MIB, 0).unwrap();
    assert!(why.unwrap().contains(&FORMAT.to_string()));
}

#[test]
fn what_there_is_no_room_for_is_left_out() {
    let folder = Folder::new();
    let (store, _) = FileStore::open(&folder.path(), 1000, 0).unwrap();
    let many = |record: &'static [u8]| (0..100).map(|n| change(&format!("{n}"), Some(record), None)).collect();
    let usage = commit(&store, many(b"record"));
    assert!(usage.bytes <= 1000 && usage.keys + usage.left_out == 100 && usage.left_out > 0, "{usage:?}");
    // Those that are there stay right, also if they grow.
    let larger = commit(&store, many(b"a larger record"));
    assert_eq!(larger.keys, usage.keys);
    assert!(store.load(PLUGIN).unwrap().unwrap().records.iter().all(|(_, record)| record == b"a larger record"));
    let room = commit(&store, (0..90).map(|n| change(&format!("{n}"), None, None)).collect());
    assert!(room.keys <= 10 && commit(&store, vec![change("new", Some(b"1"), None)]).left_out == 0);
}

#[test]
fn bodies_have_a_budget_of_their_own() {
    let folder = Folder::new();
    let (store, _) = FileStore::open(&folder.path(), 10_000, 1000).unwrap();
    let noise = |n: u32| (0..400).map(|i: u32| char::from(b'!' + (i.wrapping_mul(n * 7919 + 31) >> 3) as u8 % 90)).collect::<String>();
    let changes = (1..20).map(|n| change(&format!("{n}"), Some(b"1"), Some(object(&format!("{n}"), n, &noise(n))))).collect();
    let usage = commit(&store, changes);
    assert!(usage.keys == 19 && usage.body_bytes <= 1000 && usage.body_bytes > 0, "{usage:?}");
    let keys: Vec<TargetKey> = (1..20).map(|n| key(&format!("{n}"))).collect();
    let kept = store.bodies(PLUGIN, &keys).unwrap();
    assert!(!kept.is_empty() && kept.len() < 19);
}

#[test]
fn after_a_failure_it_is_opened_again() {
    let folder = Folder::new();
    let store = folder.open();
    commit(&store, vec![change("x", Some(b"1"), None)]);
    let failed: Result<(), StoreError> = store.with(|_| Err(redb::Error::Corrupted("for the test".into())));
    assert!(failed.unwrap_err().to_string().contains("for the test"));
    let failed: Result<(), StoreError> = store.with(|_| panic!("for the test"));
    assert!(failed.unwrap_err().to_string().contains("for the test"));
    assert_eq!(names(&store, PLUGIN).len(), 1);
}

#[test]
fn an_empty_file_is_a_damaged_one_and_nobody_else_can_read_a_whole_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.redb");
    std::fs::write(&path, "").unwrap();
    let (store, why) = FileStore::open(&path, MIB, MIB).unwrap();
    assert_eq!(why.as_deref(), Some("it is empty"));
    assert!(path.with_extension("redb.broken").exists());
    store.commit(&[batch(PLUGIN, vec![change("x", Some(b"1"), None)])], Duration::ZERO).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_a_full_disk_has_left_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub").join("checkpoint.redb");
    let store = FileStore::locked(&path, MIB, MIB);
    // There is no room for it.
    assert!(matches!(store.unlock(), Err(OpenError::Unusable(_))));
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(&path, "half").unwrap();
    let commit = || store.commit(&[batch(PLUGIN, vec![change("x", Some(b"1"), None)])], Duration::ZERO);
    assert!(commit().unwrap_err().0.contains("it was set aside"));
    assert_eq!(commit().unwrap().keys, 1);
}
