//! What is told again when revisions are exchanged, and how fast.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_core::plugin::Replay;
use wharf_core::{Cause, Delivery, Failure, Fault, Outcome};

use crate::cluster::Cluster;
use crate::plugin::{Answer, Plugin, done, subscription};

const KEYS: usize = 3_000;

async fn served(act: impl Fn(&Delivery) -> (Duration, Answer) + Send + Sync + 'static) -> (Cluster, Plugin) {
    let cluster = Cluster::default();
    for n in 0..KEYS {
        cluster.put(&format!("k{n}"), 'x', 0, 0);
    }
    let plugin = Plugin::new(&cluster.informers(), act);
    plugin.serve(subscription(), 4).await;
    plugin.calls(KEYS).await;
    (cluster, plugin)
}

fn reloads(calls: &[String]) -> usize {
    calls.iter().filter(|call| call.contains("(reload)")).count()
}

/// A replay goes through a thousand keys a second, is not hurried by a second exchange, and misses none;
/// a change does not wait for its turn in it.
#[tokio::test(start_paused = true)]
async fn a_replay_takes_its_time_and_another_exchange_does_not_hurry_it() {
    let (cluster, plugin) = served(done).await;
    let begun = Instant::now();
    plugin.serve_with(subscription(), 4, Replay::All).await;
    sleep(Duration::from_millis(400)).await;
    let first = reloads(&plugin.so_far());
    assert!((100..=600).contains(&first), "{first} of {KEYS} in {:?}", begun.elapsed());
    // Another one, which replays nothing by itself.
    plugin.serve_with(subscription(), 4, Replay::None).await;
    sleep(Duration::from_millis(400)).await;
    let second = reloads(&plugin.so_far());
    assert!((first..=first + 700).contains(&second), "{second} of {KEYS} in {:?}", begun.elapsed());
    let before = plugin.so_far().len();
    let version = cluster.put("k2999", 'x', 1, 0);
    let changed = Instant::now();
    loop {
        let calls = plugin.calls(before + 1).await;
        if calls.iter().any(|call| call.starts_with(&format!("update k2999 {version} "))) {
            break;
        }
        sleep(Duration::from_millis(1)).await;
    }
    assert!(changed.elapsed() < Duration::from_millis(100), "{:?}", changed.elapsed());
    plugin.idle().await;
    let calls = plugin.so_far();
    let mut told: Vec<&str> = calls.iter().skip(KEYS).filter_map(|call| call.split(' ').nth(1)).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), KEYS, "every object was told again");
    assert!(calls.len() <= 2 * KEYS + 1, "{} calls: nothing is told twice", calls.len());
}

/// What has failed is no part of the pace: it is called at once by the new revision.
#[tokio::test(start_paused = true)]
async fn what_has_failed_is_told_at_once() {
    let act = |delivery: &Delivery| {
        let fails = &*delivery.key.name == "k7" && delivery.cause != Cause::Reload;
        (
            Duration::ZERO,
            if fails {
                Ok(Err(Failure::Permanent(Fault { reason: "Asked".into(), message: "no".into(), retry_after: None })))
            } else {
                Ok(Ok(Outcome::Done))
            },
        )
    };
    let (_cluster, plugin) = served(act).await;
    let begun = Instant::now();
    plugin.serve_with(subscription(), 4, Replay::All).await;
    let before = KEYS;
    while !plugin.so_far().iter().skip(before).any(|call| call.contains(" k7 ")) {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
}
