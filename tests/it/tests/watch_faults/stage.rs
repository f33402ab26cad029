//! One batch of runs on a cluster. Owns what they share: the restart of the API server in the
//! middle, when all of them are in the middle.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout;
use wharf_testkit::Cluster;

use crate::fault::Fault;
use crate::plan::Plan;
use crate::run::{Outcome, play};

/// So long a run may take to come to the middle, and the API server to come back.
const MIDDLE: Duration = Duration::from_secs(240);
/// With this the API server serves ConfigMaps from etcd alone.
const CACHELESS: &[&str] = &["--watch-cache-sizes=configmaps#0"];

/// A run's place on the stage.
pub(crate) struct Place {
    arrived: Option<watch::Sender<usize>>,
    restarted: watch::Receiver<bool>,
}

impl Place {
    /// Says that the run is in the middle, and waits until the API server is back.
    ///
    /// # Errors
    /// If it does not come back.
    pub(crate) async fn restarted(&mut self) -> Result<()> {
        self.arrive();
        let back = timeout(MIDDLE, self.restarted.wait_for(|restarted| *restarted));
        back.await.context("the API server does not come back")?.context("the API server did not come back")?;
        Ok(())
    }

    fn arrive(&mut self) {
        if let Some(arrived) = self.arrived.take() {
            arrived.send_modify(|arrived| *arrived += 1);
        }
    }
}

impl Drop for Place {
    /// The others shall not wait for a run that has failed.
    fn drop(&mut self) {
        self.arrive();
    }
}

/// Plays some runs at once, and says what came of each, in their order.
///
/// # Errors
/// If the API server cannot be restarted. A run that fails is no error but its outcome.
pub(crate) async fn batch(cluster: &Arc<Cluster>, plans: &[Plan]) -> Result<Vec<Result<Outcome>>> {
    let (count, cacheless_first) = (plans.len(), plans.iter().any(|plan| plan.cacheless_first));
    let restart = plans.iter().find_map(|plan| plan.restart);
    let arrived = watch::Sender::new(0);
    let restarted = watch::Sender::new(false);
    let runs = plans.iter().map(|plan| {
        let place = Place { arrived: Some(arrived.clone()), restarted: restarted.subscribe() };
        // All in one task: what works hard, the informers and the writers, have their own.
        Box::pin(play(cluster, plan, place))
    });
    let runs = join_all(runs);
    let weather = async {
        let Some(fault) = restart else { return Ok(()) };
        let mut middle = arrived.subscribe();
        timeout(MIDDLE, middle.wait_for(|arrived| *arrived == count)).await.context("a run does not come to its middle")??;
        match fault {
            Fault::Kill => cluster.kill_api_server().await?,
            _ => cluster.stop_api_server().await?,
        }
        cluster.start_api_server_with(if cacheless_first { &[] } else { CACHELESS }).await?;
        restarted.send_replace(true);
        anyhow::Ok(())
    };
    let (outcomes, weather) = tokio::join!(runs, weather);
    weather?;
    Ok(outcomes)
}

/// Brings the API server to the state in which a batch begins, if it is not.
///
/// # Errors
/// If it cannot be restarted.
pub(crate) async fn begin_without_cache(cluster: &Cluster) -> Result<()> {
    cluster.stop_api_server().await?;
    cluster.start_api_server_with(CACHELESS).await
}
