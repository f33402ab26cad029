//! `delivery: every-event`: each change is told by itself, in order, for as long as there is room.

use std::time::Duration;

use wharf_core::plugin::Subscription;
use wharf_core::{Delivery, Failure, Fault, Outcome};

use crate::cluster::Cluster;
use crate::plugin::{Answer, Plugin, done, subscription};

fn every() -> Subscription {
    Subscription { every_event: true, ..subscription() }
}

fn fault() -> Fault {
    Fault { reason: "Busy".into(), message: "not now".into(), retry_after: None }
}

fn takes(seconds: u64) -> (Duration, Answer) {
    (Duration::from_secs(seconds), Ok(Ok(Outcome::Done)))
}

/// What happens while a call runs is told change by change, each with the one before it as
/// `previous`; without the mode it would be one call.
#[tokio::test(start_paused = true)]
async fn each_change_is_a_call_with_its_own_current_and_previous() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| takes(1));
    plugin.serve(every(), 1).await;
    for status in 0..4 {
        cluster.put("x", 'x', 0, status);
    }
    cluster.remove("x");
    cluster.put("x", 'x', 0, 9);
    plugin.calls(6).await;
    plugin.idle().await;
    assert_eq!(
        plugin.so_far(),
        [
            "add x 1 (watch)",
            "update x 2 (watch), was 1",
            "update x 3 (watch), was 2",
            "update x 4 (watch), was 3",
            "delete x 5 (watch), was 4",
            "add x 6 (watch)",
        ]
    );
    assert_eq!(plugin.dispatcher.stats().backlog_bytes, 0);
}

/// The latest state is what a plugin gets that does not ask for more.
#[tokio::test(start_paused = true)]
async fn without_it_changes_during_a_call_are_one_call() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| takes(1));
    plugin.serve(subscription(), 1).await;
    cluster.put("x", 'x', 0, 0);
    plugin.calls(1).await;
    for status in 1..4 {
        cluster.put("x", 'x', 0, status);
    }
    plugin.calls(2).await;
    plugin.idle().await;
    assert_eq!(plugin.so_far(), ["add x 1 (watch)", "update x 4 (watch), was 1"]);
}

/// `retry` holds up the changes of its key, and of no other one.
#[tokio::test(start_paused = true)]
async fn a_retry_blocks_its_key_only() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let fails = |delivery: &Delivery| {
        let fail = &*delivery.key.name == "x" && delivery.attempt < 3;
        (Duration::from_millis(1), if fail { Ok(Err(Failure::Retry(fault()))) } else { Ok(Ok(Outcome::Done)) })
    };
    let plugin = Plugin::new(&informers, fails);
    plugin.serve(every(), 1).await;
    cluster.put("x", 'x', 0, 0);
    cluster.put("x", 'x', 0, 1);
    cluster.put("y", 'x', 0, 0);
    plugin.calls(7).await;
    plugin.idle().await;
    let calls = plugin.so_far();
    let of = |name: &str| calls.iter().filter(|call| call.contains(&format!(" {name} "))).cloned().collect::<Vec<_>>();
    assert_eq!(
        of("x"),
        [
            "add x 1 (watch)",
            "add x 1 (retry)",
            "add x 1 (retry)",
            "update x 2 (watch), was 1",
            "update x 2 (retry), was 1",
            "update x 2 (retry), was 1",
        ]
    );
    assert_eq!(of("y"), ["add y 3 (watch)"]);
    let (other, last) = (calls.iter().position(|call| call.contains(" y ")), calls.iter().rposition(|call| call.contains(" x ")));
    assert!(other < last, "y did not wait for x: {calls:?}");
}

/// `permanent` gives the change up, and the next one is told.
#[tokio::test(start_paused = true)]
async fn a_permanent_failure_skips_its_change() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let fails = |delivery: &Delivery| {
        let fail = delivery.current.as_ref().is_some_and(|object| object.resource_version() == "2");
        (Duration::from_secs(1), if fail { Ok(Err(Failure::Permanent(fault()))) } else { Ok(Ok(Outcome::Done)) })
    };
    let plugin = Plugin::new(&informers, fails);
    plugin.serve(every(), 1).await;
    for status in 0..3 {
        cluster.put("x", 'x', 0, status);
    }
    plugin.calls(3).await;
    plugin.idle().await;
    assert_eq!(plugin.so_far(), ["add x 1 (watch)", "update x 2 (watch), was 1", "update x 3 (watch), was 1"]);
}

/// When there is no room the table takes over: the last state is told, and nothing is lost.
#[tokio::test(start_paused = true)]
async fn an_overflow_merges_changes_and_loses_no_last_state() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| (Duration::from_millis(1), Ok(Ok(Outcome::Done))));
    plugin.serve(every(), 1).await;
    cluster.put("x", 'x', 0, 0);
    plugin.calls(1).await;
    // More than the backlog holds: 1,000 times 20 KB.
    cluster.pad(20_000);
    for status in 0..1_000 {
        cluster.put("x", 'x', 0, status);
        tokio::task::yield_now().await;
    }
    cluster.put("gone", 'x', 0, 0);
    cluster.remove("gone");
    plugin.calls(100).await;
    plugin.idle().await;
    let calls = plugin.so_far();
    assert!(calls.len() < 1_000, "{} calls", calls.len());
    let last = calls.iter().rfind(|call| call.contains(" x ")).unwrap();
    assert!(last.starts_with("update x 1001 "), "{last}");
    assert_eq!(plugin.dispatcher.stats().backlog_bytes, 0);
}

/// A subscription that stops asking for each change gets the last state at once.
#[tokio::test(start_paused = true)]
async fn a_swap_to_latest_gives_the_changes_up() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| takes(1));
    plugin.serve(every(), 1).await;
    for status in 0..9 {
        cluster.put("x", 'x', 0, status);
    }
    plugin.calls(2).await;
    plugin.serve(subscription(), 1).await;
    plugin.idle().await;
    assert_eq!(plugin.so_far(), ["add x 1 (watch)", "update x 2 (watch), was 1", "update x 9 (watch), was 2"]);
    assert_eq!(plugin.dispatcher.stats().backlog_bytes, 0);
}

/// Filters of the host see each change by itself, and one that they drop makes no call.
#[tokio::test(start_paused = true)]
async fn changes_that_do_not_match_are_passed_over() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, |_| takes(1));
    let selector = wharf_core::Selector::parse("l=x").unwrap();
    plugin.serve(Subscription { label_selector: selector, ..every() }, 1).await;
    for label in ['x', 'y', 'y', 'x', 'y', 'x'] {
        cluster.put("x", label, 0, 0);
    }
    plugin.calls(5).await;
    plugin.idle().await;
    assert_eq!(
        plugin.so_far(),
        ["add x 1 (watch)", "delete x 2 (watch), was 1", "add x 4 (watch)", "delete x 5 (watch), was 4", "add x 6 (watch)"]
    );
}

/// What was there before the plugin is told as it is.
#[tokio::test(start_paused = true)]
async fn the_first_list_is_told_as_it_is() {
    let cluster = Cluster::default();
    for status in 0..3 {
        cluster.put("x", 'x', 0, status);
    }
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, done);
    plugin.serve(every(), 1).await;
    plugin.idle().await;
    assert_eq!(plugin.so_far(), ["add x 3 (initial-list)"]);
}
