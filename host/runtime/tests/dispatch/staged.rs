//! A revision that is staged beside the one that serves hears of the same changes from the same store. Whenever it
//! takes over, also in the midst of a change, the plugin is told of each once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wharf_cache::{Change, ChangeHandler, InformerSpec, Informers, Registration, Scope};
use wharf_core::ObjectKey;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Replay, Subscription};

use crate::cluster::Cluster;
use crate::plugin::{Plugin, done, subscription};

/// Stands between subscriptions: each change of `x` stays there until it is let go.
struct Between {
    held: watch::Sender<usize>,
    go: watch::Receiver<bool>,
}

impl ChangeHandler for Between {
    fn on_change(&self, change: &Change<'_>) {
        if *change.key != ObjectKey::new("a", "x") || change.old.is_none() {
            return;
        }
        self.held.send_modify(|held| *held += 1);
        // The informer's task stands still here; what waits behind it on its thread goes to another one.
        tokio::task::block_in_place(|| {
            while !*self.go.borrow() {
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
    }
}

/// Where changes are held.
struct Gate {
    held: watch::Sender<usize>,
    go: watch::Sender<bool>,
    _registration: Registration,
}

impl Gate {
    fn new(informers: &Informers, scope: Scope) -> Self {
        let (held, go) = (watch::Sender::new(0), watch::Sender::new(false));
        let between = Between { held: held.clone(), go: go.subscribe() };
        let spec = InformerSpec::new((*subscription().kind).clone(), scope);
        Self { held, go, _registration: informers.attach(spec, Arc::new(between)) }
    }

    async fn holds_one(&self) {
        self.held.subscribe().wait_for(|held| *held == 1).await.unwrap();
    }

    fn let_go(&self) {
        self.go.send_replace(true);
    }
}

/// Keeps an informer of all namespaces.
struct Nobody;

impl ChangeHandler for Nobody {
    fn on_change(&self, _: &Change<'_>) {}
}

fn here() -> Scope {
    Scope::Namespace("a".into())
}

fn each_change() -> Subscription {
    Subscription { every_event: true, ..subscription() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_staged_subscription_that_hears_late_repeats_nothing() {
    for wanted in [subscription, each_change] {
        let cluster = Cluster::default();
        let first = cluster.put("x", 'x', 0, 0);
        let informers = cluster.informers();
        let plugin = Plugin::new(&informers, done);
        plugin.serve(wanted(), 1).await;
        plugin.calls(1).await;
        plugin.idle().await;
        let gate = Gate::new(&informers, here());
        let _staged = plugin.stage(wanted()).await;
        let second = cluster.put("x", 'x', 1, 0);
        gate.holds_one().await;
        plugin.calls(2).await;
        plugin.idle().await;
        gate.let_go();
        // Behind whatever the late one has enqueued.
        let third = cluster.put("y", 'x', 0, 0);
        plugin.calls(3).await;
        plugin.idle().await;
        assert_eq!(plugin.so_far(), told(first, second, third));
    }
}

/// Between the two of them hearing of a change, a worker tells the plugin of it, and they are exchanged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_that_hears_late_and_serves_by_then_repeats_nothing() {
    for wanted in [subscription, each_change] {
        let cluster = Cluster::default();
        let first = cluster.put("x", 'x', 0, 0);
        let informers = cluster.informers();
        let plugin = Plugin::new(&informers, done);
        plugin.serve(wanted(), 1).await;
        plugin.calls(1).await;
        plugin.idle().await;
        let gate = Gate::new(&informers, here());
        let staged = plugin.stage(wanted()).await;
        let second = cluster.put("x", 'x', 1, 0);
        gate.holds_one().await;
        plugin.calls(2).await;
        plugin.idle().await;
        let before = plugin.exchange(staged, 1, Replay::None);
        gate.let_go();
        drop(before);
        let third = cluster.put("y", 'x', 0, 0);
        plugin.calls(3).await;
        plugin.idle().await;
        assert_eq!(plugin.so_far(), told(first, second, third));
    }
}

/// What serves hears first, whatever the two cover: one that hears while it is staged leaves that to the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wider_subscription_that_takes_over_in_the_midst_of_a_change_loses_nothing() {
    let cluster = Cluster::default();
    let first = cluster.put("x", 'x', 0, 0);
    let informers = cluster.informers();
    let kind = (*subscription().kind).clone();
    let wide = informers.attach(InformerSpec::new(kind, Scope::All), Arc::new(Nobody));
    wide.settle().await;
    let plugin = Plugin::new(&informers, done);
    plugin.serve(subscription(), 1).await;
    plugin.calls(1).await;
    plugin.idle().await;
    let staged = plugin.stage(Subscription { namespaces: Namespaces::All, ..subscription() }).await;
    let gate = Gate::new(&informers, Scope::All);
    let second = cluster.put("x", 'x', 1, 0);
    gate.holds_one().await;
    let before = plugin.exchange(staged, 1, Replay::None);
    gate.let_go();
    drop(before);
    let third = cluster.put("y", 'x', 0, 0);
    plugin.calls(3).await;
    plugin.idle().await;
    assert_eq!(plugin.so_far(), told(first, second, third));
}

fn told(first: u64, second: u64, third: u64) -> [String; 3] {
    [format!("add x {first} (initial-list)"), format!("update x {second} (watch), was {first}"), format!("add y {third} (watch)")]
}
