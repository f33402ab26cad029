//! A revision that is staged beside the one that serves hears of the same changes, and changes nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wharf_cache::{Change, ChangeHandler, InformerSpec, Scope};
use wharf_core::ObjectKey;
use wharf_runtime::dispatch::{Dispatcher, Subscribed};

use crate::cluster::Cluster;
use crate::plugin::{Plugin, done, subscription};

/// Stands between the subscription that serves and the one that is staged: holds each change of `x` until the
/// plugin was told of it.
struct Between {
    dispatcher: Arc<Dispatcher>,
    held: watch::Sender<usize>,
}

impl ChangeHandler for Between {
    fn on_change(&self, change: &Change<'_>) {
        if *change.key != ObjectKey::new("a", "x") || change.old.is_none() {
            return;
        }
        loop {
            let stats = self.dispatcher.stats();
            if stats.calls >= 2 && stats.queue.depth + stats.queue.processing == 0 {
                break;
            }
            // The informer's thread is to stand still here; the worker has another one.
            std::thread::park_timeout(Duration::from_millis(1));
        }
        self.held.send_modify(|held| *held += 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_staged_subscription_that_hears_late_repeats_nothing() {
    let cluster = Cluster::default();
    let first = cluster.put("x", 'x', 0, 0);
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, done);
    plugin.serve(subscription(), 1).await;
    plugin.calls(1).await;
    let kind = (*subscription().kind).clone();
    let held = watch::Sender::new(0);
    let between = Between { dispatcher: Arc::clone(&plugin.dispatcher), held: held.clone() };
    let _between = informers.attach(InformerSpec::new(kind, Scope::Namespace("a".into())), Arc::new(between));
    let staged = Subscribed::attach(vec![subscription()], |_| true, &informers, &plugin.dispatcher);
    staged.settle().await;
    let second = cluster.put("x", 'x', 1, 0);
    held.subscribe().wait_for(|held| *held == 1).await.unwrap();
    // Behind whatever the late one has enqueued.
    let third = cluster.put("y", 'x', 0, 0);
    plugin.calls(3).await;
    plugin.idle().await;
    let want =
        [format!("add x {first} (initial-list)"), format!("update x {second} (watch), was {first}"), format!("add y {third} (watch)")];
    assert_eq!(plugin.so_far(), want);
}
