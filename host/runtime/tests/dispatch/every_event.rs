//! `delivery: every-event`: each change is told by itself, in order, for as long as there is room.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wharf_core::filter::Filters;
use wharf_core::plugin::Subscription;
use wharf_core::{Delivery, Dropped, Failure, Fault, Outcome, Pointer};
use wharf_runtime::dispatch::history::{End, Follows, Idle, What};

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
    let ended = |what| if let What::Ended { end, next, .. } = what { Some((end, next)) } else { None };
    let ended: Vec<_> = plugin.decided("x").into_iter().filter_map(ended).collect();
    assert_eq!(ended, [(End::Done, Follows::Nothing), (End::Permanent, Follows::Skipped), (End::Done, Follows::Nothing)]);
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

/// One key whose handler fails for ever takes no room from others: its changes are merged, which is
/// counted and noted, and theirs are told one by one.
#[tokio::test(start_paused = true)]
async fn a_stuck_key_takes_no_room_from_others() {
    let cluster = Cluster::default();
    let informers = cluster.informers();
    let stuck = Arc::new(AtomicBool::new(true));
    let plugin = Plugin::new(&informers, {
        let stuck = Arc::clone(&stuck);
        move |delivery: &Delivery| match &*delivery.key.name {
            "stuck" if stuck.load(Ordering::SeqCst) => (Duration::from_millis(1), Ok(Err(Failure::Retry(fault())))),
            "stuck" => done(delivery),
            _ => takes(60),
        }
    });
    plugin.serve(every(), 2).await;
    cluster.pad(20_000);
    cluster.put("stuck", 'x', 0, 0);
    plugin.calls(1).await;
    let put = |name: &str, changes: u64| (0..changes).map(|status| cluster.put(name, 'x', 0, status)).collect::<Vec<_>>();
    let mut calm = put("calm", 10);
    // More than there is room for.
    let last = put("stuck", 1_000).pop().unwrap();
    calm.extend(put("calm", 10));
    let versions = |name: &str| -> Vec<u64> {
        let calls = plugin.so_far();
        let of_name = calls.iter().filter_map(|call| call.split_once(&format!(" {name} ")));
        of_name.map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    // 20 calls of a minute, while the other key fails.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(versions("calm"), calm);
    stuck.store(false, Ordering::SeqCst);
    plugin.idle().await;
    assert_eq!((versions("calm"), versions("stuck").pop()), (calm, Some(last)));
    let merged = |name: &str| {
        plugin.decided(name).into_iter().filter_map(|what| if let What::Merged { changes } = what { Some(changes) } else { None })
    };
    let given_up: u32 = merged("stuck").sum();
    assert!(given_up > 500 && merged("calm").next().is_none(), "{given_up}");
    assert_eq!(plugin.metric(r#"wharf_changes_merged_total{plugin="a/native"}"#), u64::from(given_up));
    assert_eq!(plugin.dispatcher.stats().backlog_bytes, 0);
}

/// What the filters drop is counted and noted as for a plugin that gets the latest state, also if
/// it is many changes at once.
#[tokio::test(start_paused = true)]
async fn changes_that_are_passed_over_are_counted_and_noted() {
    let filters = || Filters { only_if_changed: vec![Pointer::parse("/data/spec").unwrap()], expressions: Vec::new() };
    let mut all = Vec::new();
    for (every_event, at_once) in [(false, false), (true, false), (true, true)] {
        let cluster = Cluster::default();
        let informers = cluster.informers();
        let plugin = Plugin::new(&informers, done);
        let label_selector = wharf_core::Selector::parse("l=x").unwrap();
        plugin.serve(Subscription { every_event, label_selector, filters: filters(), ..subscription() }, 1).await;
        // The last one does not match, and so did nothing before it.
        for (name, label, spec, status) in [("x", 'x', 0, 0), ("x", 'x', 0, 1), ("x", 'x', 0, 2), ("x", 'x', 1, 2), ("y", 'y', 0, 0)] {
            cluster.put(name, label, spec, status);
            if !at_once {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(plugin.so_far(), ["add x 1 (watch)", "update x 4 (watch), was 3"]);
        let dropped = plugin.metric(r#"wharf_changes_dropped_total{plugin="a/native",filter="onlyIfChanged"}"#);
        let quiet = |what: &What| matches!(what, What::Dropped { .. } | What::Nothing(_) | What::Ended { .. });
        let decided = |name| plugin.decided(name).into_iter().filter(quiet).collect::<Vec<_>>();
        all.push((dropped, decided("x"), decided("y")));
    }
    let (dropped, x, y) = &all[0];
    assert_eq!((*dropped, y), (2, &vec![What::Nothing(Idle::Unmatched)]));
    let by = Dropped::OnlyIfChanged;
    assert_eq!(x[1..3], [What::Dropped { by, version: 2 }, What::Dropped { by, version: 3 }]);
    assert!(all.iter().all(|each| *each == all[0]), "{all:#?}");
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
