//! A flood of old work never holds up new work.

use std::time::Duration;

use tokio::time::Instant;
use wharf_core::Outcome;
use wharf_core::plugin::Subscription;

use crate::cluster::Cluster;
use crate::plugin::{Answer, Plugin, subscription};

const HANDLER: Duration = Duration::from_millis(40);

fn slow() -> (Duration, Answer) {
    (HANDLER, Ok(Ok(Outcome::Done)))
}

/// CP18, the case of the StatefulSet controller: each resync queues 10,000 keys of 40 ms each, which
/// one worker needs seven minutes for; a change that comes meanwhile is the next call.
#[tokio::test(start_paused = true)]
async fn cp18_a_change_is_called_for_next_during_a_resync_flood() {
    const KEYS: usize = 10_000;
    let cluster = Cluster::default();
    for n in 0..KEYS {
        cluster.put(&format!("k{n}"), 'x', 0, 0);
    }
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| slow());
    plugin.serve(Subscription { resync: Some(Duration::from_secs(600)), ..subscription() }, 1).await;
    plugin.calls(KEYS).await;
    // The first calls of the resync.
    plugin.calls(KEYS + 100).await;
    assert!(plugin.dispatcher.stats().queue.depth > KEYS / 2, "{:?}", plugin.dispatcher.stats().queue);
    // A key far behind in the queue, and one that nobody has seen; both while a call runs.
    let before = plugin.so_far().len();
    let changed = Instant::now();
    let new = [cluster.put("k9999", 'x', 1, 0), cluster.put("fresh", 'x', 0, 0)];
    let calls = plugin.calls(before + 2).await;
    let [first, second] = [&calls[before], &calls[before + 1]];
    assert!(first.starts_with(&format!("update k9999 {} (watch)", new[0])), "{first}");
    assert_eq!(*second, format!("add fresh {} (watch)", new[1]));
    assert!(changed.elapsed() <= 2 * HANDLER, "{:?}", changed.elapsed());
}

/// CP17: under a constant stream of changes the keys of a resync are called for all the same.
#[tokio::test(start_paused = true)]
async fn cp17_a_resync_ends_under_a_constant_stream_of_changes() {
    let cluster = Cluster::default();
    for n in 0..50 {
        cluster.put(&format!("k{n}"), 'x', 0, 0);
    }
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| slow());
    plugin.serve(Subscription { resync: Some(Duration::from_secs(60)), ..subscription() }, 1).await;
    plugin.calls(50).await;
    // More changes than one worker can work off, each of another key.
    let stream = tokio::spawn({
        let cluster = cluster.clone();
        async move {
            let mut tick = tokio::time::interval(HANDLER / 2);
            for n in 0_u64.. {
                tick.tick().await;
                cluster.put(&format!("busy{}", n % 500), 'x', n, 0);
            }
        }
    });
    let resynced = |calls: &[String]| calls.iter().filter(|call| call.starts_with("update k") && call.contains("(resync)")).count();
    let mut seen = 0;
    while resynced(&plugin.so_far()) < 50 {
        seen += 100;
        assert!(seen < 100_000, "{} of 50 after {seen} calls", resynced(&plugin.so_far()));
        plugin.calls(seen).await;
    }
    stream.abort();
}
