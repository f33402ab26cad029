//! Filters that take long: whose time that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wharf_core::filter::{Expression, Filters};
use wharf_core::plugin::Subscription;

use crate::cluster::Cluster;
use crate::plugin::{Plugin, done, subscription};

/// A worker that only asks filters lets the other tasks of its thread go on, as one that calls does.
/// In real time: what is measured is how long the thread was busy.
#[tokio::test]
async fn a_filter_that_takes_long_lets_others_go_on() {
    let numbers: Vec<String> = (0..150).map(|number| number.to_string()).collect();
    let list = numbers.join(",");
    let never = format!("[{list}].exists(a, [{list}].exists(b, a + b > 1000))");
    let filters = Filters { only_if_changed: Vec::new(), expressions: vec![Arc::new(Expression::compile(&never).unwrap())] };
    let cluster = Cluster::default();
    for object in 0..80 {
        cluster.put(&format!("x{object}"), 'x', 0, 0);
    }
    let informers = cluster.informers();
    let plugin = Plugin::new(&informers, done);
    let turns = Arc::new(AtomicUsize::new(0));
    let other = tokio::spawn({
        let (dispatcher, turns) = (Arc::clone(&plugin.dispatcher), Arc::clone(&turns));
        async move {
            loop {
                if dispatcher.stats().queue.depth > 0 {
                    turns.fetch_add(1, Ordering::SeqCst);
                }
                tokio::task::yield_now().await;
            }
        }
    });
    plugin.serve(Subscription { filters, ..subscription() }, 4).await;
    plugin.idle().await;
    other.abort();
    assert_eq!(plugin.so_far(), Vec::<String>::new(), "everything is dropped");
    let turns = turns.load(Ordering::SeqCst);
    assert!(turns >= 5, "{turns} turns while 80 keys were judged");
}
