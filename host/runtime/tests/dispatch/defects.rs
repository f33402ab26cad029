//! What is left of a plugin when the host itself has a defect: everything but the call that met it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wharf_core::Outcome;

use crate::cluster::Cluster;
use crate::plugin::{Plugin, subscription};

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_goes_on_and_its_key_comes_back() {
    let cluster = Cluster::default();
    let first = cluster.put("x", 'x', 0, 0);
    let defect = AtomicBool::new(true);
    let plugin = Plugin::new(&cluster.informers(), move |_| {
        assert!(!defect.swap(false, Ordering::Relaxed), "a defect of the host");
        (Duration::ZERO, Ok(Ok(Outcome::Done)))
    });
    // There is one worker.
    plugin.serve(subscription(), 1).await;
    plugin.calls(1).await;
    plugin.idle().await;
    let second = cluster.put("y", 'x', 0, 0);
    plugin.calls(2).await;
    plugin.idle().await;
    let told = plugin.so_far();
    assert!(
        told.contains(&format!("add y {second} (watch)")) && told.iter().any(|call| call.starts_with(&format!("add x {first}"))),
        "{told:?}"
    );
}
