//! Real workers that wait, give up and wait again, over random histories on a paused
//! clock. A lost wake-up shows as a history that does not end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};
use wharf_queue::WorkQueue;

const MS: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
enum Step {
    Sleep(u32),
    Add(u8),
    AddAfter(u8, u32),
    Pause,
    Resume,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..20u32).prop_map(Step::Sleep),
        5 => (0..5u8).prop_map(Step::Add),
        5 => (0..5u8, 0..60u32).prop_map(|(key, ms)| Step::AddAfter(key, ms)),
        1 => Just(Step::Pause),
        2 => Just(Step::Resume),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Wanted { key: u8, due: Instant },
    Started { key: u8, at: Instant },
}

/// What happened, in order, and the keys in work.
#[derive(Default)]
struct Journal {
    entries: Vec<Entry>,
    in_work: HashSet<u8>,
    shared: bool,
}

/// Waits for a key for so long, then gives up and starts again.
async fn worker(queue: WorkQueue<u8>, journal: Arc<Mutex<Journal>>, patience: Duration) {
    loop {
        let Ok(item) = timeout(patience, queue.get()).await else { continue };
        let Some(item) = item else { return };
        let key = *item.key();
        {
            let mut journal = journal.lock();
            journal.shared |= !journal.in_work.insert(key);
            journal.entries.push(Entry::Started { key, at: Instant::now() });
        }
        sleep(MS * u32::from(key) * 3).await;
        journal.lock().in_work.remove(&key);
        item.done();
    }
}

async fn play(steps: Vec<Step>, patience: Vec<u32>) -> Result<Journal, TestCaseError> {
    let (queue, journal) = (WorkQueue::new("test"), Arc::new(Mutex::new(Journal::default())));
    let workers: Vec<_> = patience.into_iter().map(|ms| tokio::spawn(worker(queue.clone(), Arc::clone(&journal), ms * MS))).collect();
    let want = |key, delay| journal.lock().entries.push(Entry::Wanted { key, due: Instant::now() + delay });
    for step in steps {
        match step {
            Step::Sleep(ms) => sleep(ms * MS).await,
            Step::Add(key) => {
                want(key, Duration::ZERO);
                queue.add(key);
            }
            Step::AddAfter(key, ms) => {
                want(key, ms * MS);
                queue.add_after(key, ms * MS);
            }
            Step::Pause => queue.pause(),
            Step::Resume => queue.resume(),
        }
    }
    queue.resume();
    sleep(60 * MS).await; // all delays are over
    let drained = timeout(Duration::from_secs(3600), queue.shut_down_with_drain()).await;
    prop_assert!(drained.is_ok(), "workers sleep although keys are queued");
    for worker in workers {
        let ended = timeout(Duration::from_secs(3600), worker).await;
        prop_assert!(matches!(ended, Ok(Ok(()))), "a worker did not end well: {:?}", ended);
    }
    Ok(std::mem::take(&mut *journal.lock()))
}

fn check(journal: &Journal) -> Result<(), TestCaseError> {
    prop_assert!(!journal.shared, "two workers on one key");
    for key in 0..5u8 {
        let mut wanted: Vec<Instant> = Vec::new();
        for entry in &journal.entries {
            match entry {
                Entry::Wanted { key: other, due } if *other == key => wanted.push(*due),
                Entry::Started { key: other, at } if *other == key => {
                    prop_assert!(wanted.iter().any(|due| due <= at), "{} came early or for nothing", key);
                    wanted.clear();
                }
                Entry::Wanted { .. } | Entry::Started { .. } => {}
            }
        }
        prop_assert!(wanted.is_empty(), "{} was wanted and never came", key);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_wanted_comes(steps in prop::collection::vec(step(), 1..80), patience in prop::collection::vec(1..50u32, 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        check(&runtime.block_on(play(steps, patience))?)?;
    }

    /// Workers that never give up have nothing but the queue's wake-ups.
    #[test]
    fn patient_workers_are_always_woken(steps in prop::collection::vec(step(), 1..80), workers in 1..5usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        check(&runtime.block_on(play(steps, vec![10_000_000; workers]))?)?;
    }
}
