//! Elections on paused time, with a server that does what it is told. Tests are named after the
//! rules of client-go's elections that they hold (`cl1` and so on).

mod attempts;
mod life;
mod promise;
mod timing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;

use super::record::Lease;
use super::server::{LeaseError, Leases};
use super::timing::Timing;
use super::{Candidate, Elector, Leadership, Phase, Tenure};
use crate::clock::Clock;
use crate::telemetry::metrics::Metrics;

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// What becomes of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct How {
    /// On the way there.
    pub(super) before: Duration,
    /// On the way back.
    pub(super) after: Duration,
    /// It does not arrive.
    pub(super) lost: bool,
    /// It is carried out, and nobody hears of it.
    pub(super) unheard: bool,
    /// The server says no.
    pub(super) refused: Option<LeaseError>,
}

impl How {
    pub(super) fn failed() -> Self {
        let refused = Some(LeaseError::Failed { reason: Reason::ServerUnavailable, message: "503".into() });
        Self { refused, ..Self::default() }
    }

    pub(super) fn lost() -> Self {
        Self { lost: true, ..Self::default() }
    }
}

type Script = Box<dyn FnMut(&'static str) -> How + Send>;

#[derive(Default)]
pub(super) struct Kept {
    pub(super) lease: Option<Lease>,
    pub(super) version: u64,
    /// What was carried out.
    pub(super) log: Vec<&'static str>,
}

/// A server with one lease. Like a real one it carries out what has arrived, also if nobody waits.
pub(super) struct Server {
    pub(super) kept: Arc<Mutex<Kept>>,
    script: Mutex<Script>,
}

impl Server {
    pub(super) fn new(script: impl FnMut(&'static str) -> How + Send + 'static) -> Arc<Self> {
        Arc::new(Self { kept: Arc::default(), script: Mutex::new(Box::new(script)) })
    }

    pub(super) fn obliging() -> Arc<Self> {
        Self::new(|_| How::default())
    }

    pub(super) fn script(&self, script: impl FnMut(&'static str) -> How + Send + 'static) {
        *self.script.lock() = Box::new(script);
    }

    /// Somebody else writes the lease.
    pub(super) fn put(&self, lease: &Value) {
        self.kept.lock().put(lease.as_object().unwrap().clone());
    }

    pub(super) fn spec(&self, field: &str) -> Value {
        let kept = self.kept.lock();
        let spec = kept.lease.as_ref().and_then(|lease| lease.spec()).and_then(|spec| spec.get(field));
        spec.cloned().unwrap_or_default()
    }

    pub(super) fn log(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.kept.lock().log)
    }

    async fn ask(
        &self,
        what: &'static str,
        carry_out: impl FnOnce(&mut Kept) -> Result<Lease, LeaseError> + Send + 'static,
    ) -> Result<Lease, LeaseError> {
        let How { before, after, lost, unheard, refused } = (self.script.lock())(what);
        let kept = Arc::clone(&self.kept);
        let carried = tokio::spawn(async move {
            sleep(before).await;
            if lost {
                std::future::pending::<()>().await;
            }
            let answer = {
                let mut kept = kept.lock();
                kept.log.push(what);
                refused.map_or_else(|| carry_out(&mut kept), Err)
            };
            sleep(after).await;
            if unheard {
                std::future::pending::<()>().await;
            }
            answer
        });
        carried.await.unwrap()
    }
}

impl Kept {
    fn put(&mut self, mut lease: serde_json::Map<String, Value>) -> Lease {
        self.version += 1;
        let metadata = lease.entry("metadata").or_insert_with(|| json!({}));
        if metadata.is_null() {
            *metadata = json!({});
        }
        metadata["resourceVersion"] = self.version.to_string().into();
        self.lease = Some(Lease(lease.clone()));
        Lease(lease)
    }
}

#[async_trait]
impl Leases for Server {
    async fn get(&self) -> Result<Lease, LeaseError> {
        self.ask("get", |kept| kept.lease.clone().ok_or(LeaseError::NotFound)).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        let lease = lease.0.clone();
        self.ask("create", |kept| if kept.lease.is_some() { Err(LeaseError::Conflict) } else { Ok(kept.put(lease)) }).await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LeaseError> {
        let lease = lease.0.clone();
        let update = |kept: &mut Kept| match &kept.lease {
            None => Err(LeaseError::NotFound),
            Some(there) if version(&there.0) != version(&lease) => Err(LeaseError::Conflict),
            Some(_) => Ok(kept.put(lease)),
        };
        self.ask("update", update).await
    }
}

fn version(lease: &serde_json::Map<String, Value>) -> Value {
    lease.get("metadata").and_then(|metadata| metadata.get("resourceVersion")).cloned().unwrap_or_default()
}

/// A candidate of a name, with nothing special.
pub(super) fn candidate(identity: &str) -> Candidate {
    Candidate {
        identity: identity.into(),
        namespace: "wharf-system".into(),
        name: "wharf".into(),
        labels: BTreeMap::new(),
        timing: Timing::default(),
        release: true,
    }
}

/// One that runs.
pub(super) struct Running {
    pub(super) tenure: Tenure,
    pub(super) stop: CancellationToken,
    pub(super) task: JoinHandle<()>,
    pub(super) metrics: Arc<Metrics>,
    /// Everything that was published.
    pub(super) told: Arc<Mutex<Vec<Leadership>>>,
}

impl Running {
    pub(super) fn start(server: &Arc<Server>, candidate: Candidate) -> Self {
        Self::begin(Arc::<Server>::clone(server), candidate, Clock::start())
    }

    /// With a clock, and a way to the server.
    pub(super) fn begin(leases: Arc<dyn Leases>, candidate: Candidate, clock: Clock) -> Self {
        let (stop, metrics) = (CancellationToken::new(), Metrics::new());
        let (elector, tenure) = Elector::new(candidate, leases, clock, Arc::clone(&metrics));
        let told = Arc::new(Mutex::new(vec![Leadership::default()]));
        let (mut heard, telling) = (tenure.leadership().unwrap(), Arc::clone(&told));
        tokio::spawn(async move {
            while heard.changed().await.is_ok() {
                let now = heard.borrow_and_update().clone();
                let over = now.phase == Phase::Over;
                telling.lock().push(now);
                if over {
                    return;
                }
            }
        });
        let task = tokio::spawn(elector.run(stop.clone()));
        Self { tenure, stop, task, metrics, told }
    }

    /// Waits until it leads.
    pub(super) async fn leads(&self) {
        let leading = |now: &Leadership| matches!(now.phase, Phase::Leading { .. });
        self.tenure.leadership().unwrap().wait_for(leading).await.unwrap();
        assert!(self.tenure.may_deliver());
    }

    /// Waits until it is over.
    pub(super) async fn over(&self) {
        self.tenure.leadership().unwrap().wait_for(|now| now.phase == Phase::Over).await.unwrap();
        assert!(!self.tenure.may_deliver());
    }

    /// Stops it, and waits for the end.
    pub(super) async fn stopped(self) -> Vec<Leadership> {
        self.stop.cancel();
        self.task.await.unwrap();
        self.told.lock().clone()
    }
}
