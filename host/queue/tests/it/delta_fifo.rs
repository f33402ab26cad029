//! The DeltaFIFO against what client-go's tests pin down.

use std::sync::Arc;

use parking_lot::Mutex;
use wharf_queue::{Applied, Deletion, Delta, DeltaFifo, DeltaOptions, DeltaStore, FifoError, KnownObjects, Popped, apply_deltas};

use crate::ends;

/// Key and value.
pub(crate) type Object = (&'static str, u32);
pub(crate) type Queue = DeltaFifo<&'static str, Object>;
type Deltas = Vec<Delta<Object>>;

/// What the user of the queue knows.
#[derive(Default)]
pub(crate) struct Known(pub(crate) Mutex<Vec<Object>>);

impl KnownObjects<&'static str, Object> for Known {
    fn keys(&self) -> Vec<&'static str> {
        self.0.lock().iter().map(|(key, _)| *key).collect()
    }
    fn get(&self, key: &&'static str) -> Option<Object> {
        self.0.lock().iter().find(|(other, _)| other == key).copied()
    }
}

pub(crate) fn options() -> DeltaOptions<&'static str, Object> {
    DeltaOptions::new(1 << 20, |object: &Object| object.0, |_| 0)
}

fn queue() -> Queue {
    options().build()
}

pub(crate) fn knowing(known: &[Object]) -> Queue {
    options().known_objects(Arc::new(Known(Mutex::new(known.to_vec())))).build()
}

fn unseen(object: Object) -> Delta<Object> {
    Delta::Deleted(Deletion::FinalStateUnknown(Some(object)))
}

fn seen(object: Object) -> Delta<Object> {
    Delta::Deleted(Deletion::Seen(object))
}

pub(crate) fn copied(popped: &Popped<&'static str, Object>) -> Deltas {
    popped.deltas().cloned().collect()
}

/// All there is, in order, worked off.
pub(crate) fn drain(queue: &Queue) -> Vec<(&'static str, Deltas)> {
    std::iter::from_fn(|| queue.try_pop())
        .map(|popped| {
            let all = (*popped.key(), copied(&popped));
            popped.done();
            all
        })
        .collect()
}

fn deltas(queue: &Queue) -> Vec<Deltas> {
    drain(queue).into_iter().map(|(_, deltas)| deltas).collect()
}

#[test]
fn cd1_keys_come_in_the_order_in_which_they_were_first_queued() {
    let queue = knowing(&[("d", 7)]);
    queue.add(("a", 1)).unwrap();
    queue.update(("b", 2)).unwrap();
    queue.replace(vec![("c", 3), ("a", 4), ("b", 2), ("d", 7)]).unwrap();
    queue.delete(("b", 5)).unwrap();
    queue.add(("a", 6)).unwrap();
    assert_eq!(queue.keys(), ["a", "b", "c", "d"]);
    assert_eq!(
        drain(&queue).iter().map(|(key, deltas)| (*key, deltas.len())).collect::<Vec<_>>(),
        [("a", 3), ("b", 3), ("c", 1), ("d", 1)]
    );
    assert!(queue.is_empty());
}

#[test]
fn cd2_all_deltas_of_a_key_come_at_once_the_newest_last() {
    let queue = queue();
    queue.add(("a", 10)).unwrap();
    queue.update(("a", 12)).unwrap();
    assert_eq!(queue.len(), 1);
    let popped = queue.try_pop().unwrap();
    assert_eq!((popped.oldest(), popped.newest()), (Some(&Delta::Added(("a", 10))), Some(&Delta::Updated(("a", 12)))));
    assert_eq!(copied(&popped).len(), 2);
    popped.done();
    assert!(queue.try_pop().is_none());
}

#[test]
fn cd3_a_list_after_an_add_adds_its_own_delta() {
    let queue = queue();
    queue.add(("a", 10)).unwrap();
    queue.replace(vec![("a", 15)]).unwrap();
    assert_eq!(deltas(&queue), [[Delta::Added(("a", 10)), Delta::Replaced(("a", 15))]]);
}

#[test]
fn cd4_without_known_objects_only_queued_keys_can_be_deleted() {
    let queue = queue();
    queue.add(("a", 10)).unwrap();
    queue.add(("b", 17)).unwrap();
    queue.delete(("b", 18)).unwrap();
    queue.delete(("none", 20)).unwrap();
    queue.delete_unseen("none", None).unwrap();
    assert_eq!(deltas(&queue), [vec![Delta::Added(("a", 10))], vec![Delta::Added(("b", 17)), seen(("b", 18))]]);
}

#[test]
fn cd4_with_known_objects_known_keys_can_be_deleted_too() {
    let queue = knowing(&[("a", 5), ("c", 7)]);
    queue.update(("a", 10)).unwrap();
    queue.delete(("c", 20)).unwrap();
    queue.delete(("none", 20)).unwrap();
    queue.add(("b", 1)).unwrap();
    queue.delete(("b", 2)).unwrap();
    assert_eq!(deltas(&queue), [vec![Delta::Updated(("a", 10))], vec![seen(("c", 20))], vec![Delta::Added(("b", 1)), seen(("b", 2))]]);
}

#[test]
fn cd5_a_resync_shows_known_keys_that_have_nothing_queued() {
    let queue = knowing(&[("a", 5), ("b", 6), ("c", 7)]);
    queue.update(("b", 8)).unwrap();
    queue.delete(("c", 9)).unwrap();
    queue.resync().unwrap();
    queue.resync().unwrap();
    assert_eq!(deltas(&queue), [vec![Delta::Updated(("b", 8))], vec![seen(("c", 9))], vec![Delta::Sync(("a", 5))]]);
}

#[test]
fn cd5_a_resync_shows_nothing_that_is_not_known() {
    let queue = queue();
    queue.resync().unwrap();
    assert!(queue.is_empty(), "nothing is known");
    struct Gone;
    impl KnownObjects<&'static str, Object> for Gone {
        fn keys(&self) -> Vec<&'static str> {
            vec!["a"]
        }
        fn get(&self, _: &&'static str) -> Option<Object> {
            None
        }
    }
    let queue = options().known_objects(Arc::new(Gone)).build();
    queue.resync().unwrap();
    assert!(queue.is_empty(), "a key without an object");
}

/// Each case: what happens to the queue, and what it hands out then. Three objects are known.
#[test]
fn cd6_a_list_makes_tombstones_of_what_it_does_not_have() {
    type Case = (&'static str, fn(&Queue), Vec<Deltas>);
    let cases: [Case; 5] = [
        (
            "a queued deletion is enough",
            |q| {
                q.delete(("c", 10)).unwrap();
                q.replace(vec![("a", 5)]).unwrap();
            },
            vec![vec![seen(("c", 10))], vec![Delta::Replaced(("a", 5))], vec![unseen(("b", 6))]],
        ),
        (
            "the queued object is newer than the known one",
            |q| {
                q.add(("c", 10)).unwrap();
                q.replace(vec![("a", 5)]).unwrap();
            },
            vec![vec![Delta::Added(("c", 10)), unseen(("c", 10))], vec![Delta::Replaced(("a", 5))], vec![unseen(("b", 6))]],
        ),
        (
            "deleted and made anew in the queue",
            |q| {
                q.delete(("b", 6)).unwrap();
                q.add(("b", 100)).unwrap();
                q.replace(vec![("a", 5)]).unwrap();
            },
            vec![
                vec![seen(("b", 6)), Delta::Added(("b", 100)), unseen(("b", 100))],
                vec![Delta::Replaced(("a", 5))],
                vec![unseen(("c", 7))],
            ],
        ),
        (
            "listed once and not the next time",
            |q| {
                q.replace(vec![("b", 100), ("a", 5)]).unwrap();
                q.replace(vec![("a", 5)]).unwrap();
            },
            vec![
                vec![Delta::Replaced(("b", 100)), unseen(("b", 100))],
                vec![Delta::Replaced(("a", 5)), Delta::Replaced(("a", 5))],
                vec![unseen(("c", 7))],
            ],
        ),
        ("an empty list", |q| q.replace(Vec::new()).unwrap(), vec![vec![unseen(("a", 5))], vec![unseen(("b", 6))], vec![unseen(("c", 7))]]),
    ];
    for (name, act, want) in cases {
        let queue = knowing(&[("a", 5), ("b", 6), ("c", 7)]);
        act(&queue);
        assert_eq!(deltas(&queue), want, "{name}");
    }
}

/// k/k#115658: with and without known objects, a key that is only queued must not get lost.
#[test]
fn cd6_a_key_that_is_only_queued_gets_a_tombstone_with_its_latest_object() {
    type Case = (&'static str, fn(&Queue), Deltas);
    let cases: [Case; 6] = [
        ("added", |q| q.add(("a", 2)).unwrap(), vec![Delta::Added(("a", 2)), unseen(("a", 2))]),
        (
            "added and listed",
            |q| {
                q.add(("a", 2)).unwrap();
                q.replace(vec![("a", 3)]).unwrap();
            },
            vec![Delta::Added(("a", 2)), Delta::Replaced(("a", 3)), unseen(("a", 3))],
        ),
        (
            "added and deleted",
            |q| {
                q.add(("a", 2)).unwrap();
                q.delete(("a", 3)).unwrap();
            },
            vec![Delta::Added(("a", 2)), seen(("a", 3))],
        ),
        (
            "added and missed once before",
            |q| {
                q.add(("a", 2)).unwrap();
                q.replace(Vec::new()).unwrap();
            },
            vec![Delta::Added(("a", 2)), unseen(("a", 2))],
        ),
        (
            "added, deleted, added",
            |q| {
                q.add(("a", 2)).unwrap();
                q.delete(("a", 2)).unwrap();
                q.add(("a", 3)).unwrap();
            },
            vec![Delta::Added(("a", 2)), seen(("a", 2)), Delta::Added(("a", 3)), unseen(("a", 3))],
        ),
        (
            "added, its deletion not seen",
            |q| {
                q.add(("a", 2)).unwrap();
                q.delete_unseen("a", None).unwrap();
            },
            vec![Delta::Added(("a", 2)), Delta::Deleted(Deletion::FinalStateUnknown(None))],
        ),
    ];
    for (name, act, want) in cases {
        for queue in [queue(), knowing(&[])] {
            act(&queue);
            queue.replace(Vec::new()).unwrap();
            assert_eq!(deltas(&queue), std::slice::from_ref(&want), "{name}");
        }
    }
}

#[test]
fn cd6_of_two_deletions_in_a_row_the_one_that_says_more_is_kept() {
    let nothing = || Delta::Deleted(Deletion::FinalStateUnknown(None));
    for (first, second, want) in [
        (seen(("a", 1)), seen(("a", 2)), seen(("a", 2))),
        (seen(("a", 1)), unseen(("a", 2)), seen(("a", 1))),
        (unseen(("a", 1)), seen(("a", 2)), seen(("a", 2))),
        (nothing(), seen(("a", 2)), seen(("a", 2))),
        (nothing(), unseen(("a", 2)), unseen(("a", 2))),
        (unseen(("a", 1)), nothing(), unseen(("a", 1))),
    ] {
        let queue = knowing(&[("a", 0)]);
        for delta in [first.clone(), second.clone()] {
            match delta {
                Delta::Deleted(Deletion::Seen(object)) => queue.delete(object).unwrap(),
                Delta::Deleted(Deletion::FinalStateUnknown(object)) => queue.delete_unseen("a", object).unwrap(),
                _ => panic!("only deletions"),
            }
        }
        assert_eq!(deltas(&queue), [[want]], "{first:?} then {second:?}");
        assert_eq!(queue.bytes(), 0);
    }
}

#[test]
fn cd7_a_list_shows_replaced_or_sync_as_one_likes() {
    let queue = queue();
    queue.replace(vec![("a", 5)]).unwrap();
    assert_eq!(deltas(&queue), [[Delta::Replaced(("a", 5))]]);
    let queue = options().replace_as_sync().build();
    queue.replace(vec![("a", 5)]).unwrap();
    assert_eq!(deltas(&queue), [[Delta::Sync(("a", 5))]]);
}

/// k/k#83810.
#[test]
fn cd8_a_list_brings_back_a_key_whose_deletion_is_queued() {
    let queue = knowing(&[("a", 1)]);
    queue.delete(("a", 1)).unwrap();
    queue.replace(vec![("a", 2)]).unwrap();
    assert_eq!(deltas(&queue), [[seen(("a", 1)), Delta::Replaced(("a", 2))]]);
}

#[test]
fn cd9_no_key_jumps_the_line() {
    let queue = queue();
    for object in [("a", 10), ("b", 1), ("c", 30)] {
        queue.add(object).unwrap();
    }
    queue.add(("a", 11)).unwrap();
    let first = queue.try_pop().unwrap();
    assert_eq!(first.key(), &"a");
    queue.add(("a", 14)).unwrap();
    first.done();
    assert_eq!(drain(&queue).iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["b", "c", "a"]);
}

#[test]
fn cd10_the_key_of_deltas_of_a_tombstone_and_of_an_object() {
    let queue = knowing(&[("known", 1)]);
    queue.add(("object", 1)).unwrap();
    queue.delete_unseen("known", None).unwrap();
    assert_eq!(
        drain(&queue),
        [("object", vec![Delta::Added(("object", 1))]), ("known", vec![Delta::Deleted(Deletion::FinalStateUnknown(None))])]
    );
}

#[test]
fn cd11_has_synced_of_a_delta_fifo() {
    fn pop(queue: &Queue) {
        queue.try_pop().unwrap().done();
    }
    fn list(queue: &Queue) {
        queue.replace(vec![("a", 1), ("b", 2)]).unwrap();
    }
    type Case = (&'static str, fn(&Queue), bool);
    let cases: [Case; 9] = [
        ("nothing", |_| {}, false),
        ("an add", |q| q.add(("a", 1)).unwrap(), true),
        ("an update", |q| q.update(("a", 1)).unwrap(), true),
        ("a deletion of nothing", |q| q.delete(("a", 1)).unwrap(), true),
        ("an empty list", |q| q.replace(Vec::new()).unwrap(), true),
        ("a list", list, false),
        (
            "a list, one worked off",
            |q| {
                list(q);
                pop(q);
            },
            false,
        ),
        (
            "a list, all worked off",
            |q| {
                list(q);
                pop(q);
                pop(q);
            },
            true,
        ),
        (
            "an add before a list",
            |q| {
                q.add(("a", 1)).unwrap();
                list(q);
            },
            true,
        ),
    ];
    for (name, act, synced) in cases {
        let queue = queue();
        act(&queue);
        assert_eq!(queue.has_synced(), synced, "{name}");
    }
}

#[test]
fn cd11_deletions_of_the_first_list_count() {
    let queue = knowing(&[("gone", 1)]);
    queue.replace(vec![("a", 1)]).unwrap();
    for synced in [false, false] {
        assert_eq!(queue.has_synced(), synced);
        let popped = queue.try_pop().unwrap();
        assert!(popped.in_initial_list());
        popped.done();
    }
    assert!(queue.has_synced());
    queue.add(("b", 1)).unwrap();
    assert!(!queue.try_pop().unwrap().in_initial_list());
}

#[tokio::test(start_paused = true)]
async fn cd12_a_pop_that_waits_ends_when_the_queue_is_closed() {
    let queue = queue();
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            tokio::spawn({
                let queue = queue.clone();
                async move { queue.pop().await.is_none() }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(waiting.iter().all(|task| !task.is_finished()));
    assert_eq!(queue.close(), 0);
    for task in waiting {
        assert!(ends(task).await.unwrap().unwrap());
    }
    assert!(matches!(queue.add(("a", 1)), Err(FifoError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn cd12_a_closed_queue_first_hands_out_what_it_has() {
    let queue = queue();
    queue.add(("a", 1)).unwrap();
    queue.close();
    ends(queue.pop()).await.unwrap().unwrap().done();
    assert!(ends(queue.pop()).await.unwrap().is_none());
}

#[test]
fn cd13_the_transformer_leaves_tombstones_and_resyncs_alone() {
    let known = Arc::new(Known(Mutex::new(vec![("known", 1)])));
    let queue = options().known_objects(known).transformer(|(key, value): Object| Ok((key, value + 100))).build();
    queue.add(("a", 1)).unwrap();
    queue.update(("a", 2)).unwrap();
    queue.delete(("a", 3)).unwrap();
    queue.resync().unwrap();
    queue.add(("b", 4)).unwrap();
    queue.replace(vec![("c", 5)]).unwrap();
    assert_eq!(
        deltas(&queue),
        [
            vec![Delta::Added(("a", 101)), Delta::Updated(("a", 102)), seen(("a", 103))],
            vec![Delta::Sync(("known", 1)), unseen(("known", 1))],
            vec![Delta::Added(("b", 104)), unseen(("b", 104))],
            vec![Delta::Replaced(("c", 105))],
        ]
    );
    // The objects of a list are transformed too where it shows them as Sync.
    let queue = options().replace_as_sync().transformer(|(key, value): Object| Ok((key, value + 100))).build();
    queue.replace(vec![("a", 1)]).unwrap();
    assert_eq!(deltas(&queue), [[Delta::Sync(("a", 101))]]);
}

#[test]
fn cd13_a_transformer_that_fails_is_reported_and_queues_nothing() {
    let queue = options().transformer(|object: Object| if object.1 == 13 { Err("thirteen".into()) } else { Ok(object) }).build();
    let error = queue.add(("a", 13)).unwrap_err();
    assert_eq!(error.to_string(), r#"the change of "a" was not queued: its transformer failed: thirteen"#);
    assert!(queue.replace(vec![("b", 1), ("c", 13)]).is_err());
    assert!(queue.is_empty() && !queue.overflowed());
}

/// What the store has decides, not the kind of the delta; another object under one key is
/// an update; a deletion is told after the store has done it.
#[test]
fn deltas_are_applied_to_a_store_and_told_as_add_update_and_delete() {
    struct Store(Vec<Object>);
    impl DeltaStore<&'static str, Object> for Store {
        fn put(&mut self, key: &&'static str, object: &Object) -> Option<Object> {
            let old = self.0.iter().position(|(other, _)| other == key).map(|place| self.0.remove(place));
            self.0.push(*object);
            old
        }
        fn remove(&mut self, key: &&'static str) {
            self.0.retain(|(other, _)| other != key);
        }
    }
    let queue = queue();
    queue.update(("a", 1)).unwrap();
    queue.add(("a", 2)).unwrap();
    queue.replace(vec![("a", 3)]).unwrap();
    queue.delete(("a", 4)).unwrap();
    queue.replace(vec![("a", 5)]).unwrap();
    let (popped, mut store, mut told) = (queue.try_pop().unwrap(), Store(Vec::new()), Vec::new());
    let deltas = copied(&popped);
    apply_deltas(popped.key(), &deltas, &mut store, |applied| told.push(applied));
    assert_eq!(
        told,
        [
            Applied::Added(&("a", 1)),
            Applied::Updated { old: ("a", 1), new: &("a", 2) },
            Applied::Updated { old: ("a", 2), new: &("a", 3) },
            Applied::Deleted(&Deletion::Seen(("a", 4))),
            Applied::Added(&("a", 5)),
        ]
    );
    assert_eq!(store.0, [("a", 5)]);
}
