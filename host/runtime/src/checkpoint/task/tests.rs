//! When is written, what a failing disk does, and who is remembered how long; on paused time.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::checkpoint::Part;
use crate::checkpoint::memory::MemoryStore;
use crate::checkpoint::store::Change;
use wharf_core::{Gvk, ObjectKey};

const PLUGIN: &str = "team-a/guard";

fn key(name: &str) -> TargetKey {
    TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), ObjectKey::new("a", name))
}

fn batch(names: &[&str]) -> Batch {
    let change = |name: &&str| Change { key: key(name), part: Part::Target, record: Some(vec![1]), body: None };
    Batch { plugin: PLUGIN.into(), header: Some(Header::default()), changes: names.iter().map(change).collect() }
}

/// A source that counts how often it was asked.
#[derive(Default)]
struct Pile {
    batches: Mutex<Vec<Batch>>,
    asked: AtomicU64,
}

impl Source for Pile {
    fn collect(&self, _: &mut usize) -> Option<Batch> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.batches.lock().pop()
    }

    fn give_back(&self, batch: &Batch) {
        self.batches.lock().push(batch.clone());
    }
}

struct Stage {
    store: Arc<MemoryStore>,
    checkpoint: Arc<Checkpoint>,
    pile: Arc<Pile>,
    stop: CancellationToken,
}

impl Stage {
    fn new() -> Self {
        let (store, stop) = (Arc::new(MemoryStore::default()), CancellationToken::new());
        let checkpoint = Checkpoint::new(Arc::<MemoryStore>::clone(&store), Clock::start(), Metrics::new());
        let pile = Arc::new(Pile::default());
        let source: Arc<dyn Source> = Arc::<Pile>::clone(&pile);
        checkpoint.add(Arc::downgrade(&source));
        tokio::spawn(Arc::clone(&checkpoint).run(stop.clone()));
        Self { store, checkpoint, pile, stop }
    }

    fn change(&self, names: &[&str]) {
        self.pile.batches.lock().push(batch(names));
        self.checkpoint.waker().wake();
    }

    /// Another source says its last words.
    async fn retire(&self, names: &[&str]) {
        drop(self.checkpoint.retire(&Pile { batches: vec![batch(names)].into(), ..Pile::default() }).await);
    }

    fn keys(&self) -> usize {
        self.store.load(PLUGIN).unwrap().map_or(0, |saved| saved.records.len())
    }

    async fn until(&self, done: impl Fn(&Self) -> bool) -> Duration {
        let started = Instant::now();
        while !done(self) {
            sleep(Duration::from_millis(1)).await;
        }
        started.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_is_on_the_disk_within_100_ms() {
    let stage = Stage::new();
    for names in [&["x"][..], &["y", "z"]] {
        stage.change(names);
        let before = stage.keys();
        assert!(stage.until(|stage| stage.keys() > before).await < Duration::from_millis(100));
    }
    assert_eq!((stage.keys(), stage.store.commits.load(Ordering::SeqCst)), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_or_written_while_nothing_changes() {
    let stage = Stage::new();
    sleep(Duration::from_secs(300)).await;
    assert_eq!((stage.pile.asked.load(Ordering::SeqCst), stage.store.commits.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_tried_again_and_loses_nothing() {
    let stage = Stage::new();
    stage.store.failing.store(true, Ordering::SeqCst);
    stage.change(&["x"]);
    stage.retire(&["last"]).await;
    stage.until(|stage| stage.checkpoint.failing()).await;
    sleep(Duration::from_secs(100)).await;
    assert!(stage.pile.asked.load(Ordering::SeqCst) < 12, "it backs off");
    stage.store.failing.store(false, Ordering::SeqCst);
    assert!(stage.until(|stage| stage.keys() == 2).await <= LAST_RETRY + GATHER);
    assert!(!stage.checkpoint.failing());
}

#[tokio::test(start_paused = true)]
async fn a_reader_sees_what_was_known_before() {
    let stage = Stage::new();
    stage.pile.batches.lock().push(batch(&["x"]));
    stage.retire(&["y"]).await;
    let saved = stage.checkpoint.load(PLUGIN).await.unwrap().unwrap();
    assert_eq!(saved.records.len(), 2);
    assert!(stage.checkpoint.load("team-a/other").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_end_writes_what_is_left() {
    let stage = Stage::new();
    stage.change(&["x"]);
    stage.stop.cancel();
    assert!(stage.checkpoint.commit().await);
    assert_eq!(stage.keys(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_away_is_kept_for_a_day() {
    let stage = Stage::new();
    stage.change(&["x"]);
    stage.until(|stage| stage.keys() == 1).await;
    let hours = |hours: u64| sleep(Duration::from_secs(hours * 3600));
    // Nobody has read the folder yet.
    hours(30).await;
    assert_eq!(stage.keys(), 1);
    // It is empty for a while.
    stage.checkpoint.present(BTreeSet::new());
    hours(20).await;
    stage.checkpoint.present([PLUGIN.to_owned()].into());
    hours(20).await;
    stage.checkpoint.present(BTreeSet::new());
    hours(20).await;
    assert_eq!(stage.keys(), 1);
    hours(5).await;
    assert_eq!(stage.keys(), 0);
}
