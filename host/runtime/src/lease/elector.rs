//! Runs for the lease, keeps it, and gives it back. Owns when the server is asked, how long for an
//! answer is waited, and who is told what came of it; what is asked is decided by `machine`.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;

use super::machine::{Ask, Machine, Next, Now, Who};
use super::record::{Labels, Lease};
use super::server::{LeaseError, Leases};
use super::tenure::{Phase, Tenure};
use super::timing::{JITTER, Timing};
use crate::clock::Clock;
use crate::telemetry::events::{LeaderChanged, LeaseAcquired, LeaseLost, LeaseNotReleased, LeaseReleased, LeaseUnanswered};
use crate::telemetry::metrics::Metrics;

/// Requests to give a lease back: two each time, and others may change it in between.
const RELEASE_REQUESTS: usize = 16;

/// Who runs for which lease.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Nobody else has it, not even the same host after a restart.
    pub identity: Arc<str>,
    /// Where the lease is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Labels that it is given; others stay.
    pub labels: Labels,
    /// How long things take.
    pub timing: Timing,
    /// Give it back at the end, so that the next leader need not wait until it has run out.
    pub release: bool,
}

/// A candidate that runs. Whatever ends it, its [`Tenure`] is over then.
pub struct Elector {
    leases: Arc<dyn Leases>,
    machine: Machine,
    candidate: Candidate,
    clock: Clock,
    tenure: Tenure,
    metrics: Arc<Metrics>,
    /// Why the server cannot be asked, if it was said.
    trouble: Option<LeaseError>,
}

/// How an election ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It was asked to.
    Stopped,
    /// The lease could not be renewed in time, or somebody else has it.
    Lost,
}

impl Elector {
    /// A candidate that does not run yet, and what others know it by.
    pub fn new(candidate: Candidate, leases: Arc<dyn Leases>, clock: Clock, metrics: Arc<Metrics>) -> (Self, Tenure) {
        let tenure = Tenure::elected(candidate.timing);
        let who = Who {
            identity: Arc::clone(&candidate.identity),
            namespace: candidate.namespace.clone(),
            name: candidate.name.clone(),
            labels: candidate.labels.clone(),
            timing: candidate.timing,
        };
        metrics.leads(&candidate.name, false);
        let elector = Self { leases, machine: Machine::new(who), candidate, clock, tenure: tenure.clone(), metrics, trouble: None };
        (elector, tenure)
    }

    /// Runs until it is asked to stop, or the lease is lost. Then nobody leads here any more,
    /// before the lease is given back.
    pub async fn run(mut self, stop: CancellationToken) {
        let end = tokio::select! {
            () = stop.cancelled() => End::Stopped,
            () = self.campaign() => End::Lost,
        };
        self.tenure.end();
        self.metrics.leads(&self.candidate.name, false);
        if end == End::Stopped && self.candidate.release && self.machine.may_hold() {
            self.release().await;
        }
    }

    /// Acquires the lease and renews it; returns when it is lost.
    async fn campaign(&mut self) {
        let Timing { retry, .. } = self.candidate.timing;
        loop {
            if let Next::Held { since } = self.attempt().await
                && self.tenure.grant(since)
            {
                break;
            }
            sleep(retry.mul_f64(rand::random_range(1.0..JITTER))).await;
        }
        self.leading();
        loop {
            let Some(until) = self.tenure.renew_until() else { return };
            sleep_until((Instant::now() + retry).min(until)).await;
            // A host that was frozen notices here, before it asks anybody.
            if !self.tenure.may_deliver() {
                return self.lost("it was not renewed in time");
            }
            match timeout_at(until, self.attempt()).await {
                Ok(Next::Held { since }) if self.tenure.grant(since) => {}
                Ok(Next::Others) => return self.lost("somebody else holds it"),
                // The time that is left decides.
                Ok(_) => {}
                Err(_) => return self.lost("it was not renewed in time"),
            }
        }
    }

    /// Asks the server until it is known whose the lease is, or that this cannot be known now.
    async fn attempt(&mut self) -> Next {
        let mut next = Next::Ask(self.machine.begin(self.now()));
        while let Next::Ask(ask) = next {
            let answer = self.ask(ask).await;
            next = self.machine.answer(answer, self.now());
            if self.machine.took_slow_path() {
                self.metrics.lease_slow_path(&self.candidate.name);
            }
        }
        self.note(&next);
        next
    }

    async fn ask(&self, ask: Ask) -> Result<Lease, LeaseError> {
        let asked = async {
            match &ask {
                Ask::Get => self.leases.get().await,
                Ask::Create(lease) => self.leases.create(lease).await,
                Ask::Update(lease) => self.leases.update(lease).await,
            }
        };
        let patience = self.candidate.timing.patience();
        timeout(patience, asked).await.unwrap_or_else(|_| Err(unanswered(patience)))
    }

    /// Tells what an attempt has shown.
    fn note(&mut self, next: &Next) {
        let leader = self.machine.holder();
        if self.tenure.publish(|leadership| leadership.leader.clone_from(&leader)) {
            let (lease, leader) = (&*self.candidate.name, leader.as_deref().unwrap_or_default());
            LeaderChanged { lease, leader, identity: &self.candidate.identity }.emit();
        }
        match next {
            // Who is faster is no trouble.
            Next::Failed(LeaseError::Conflict) => {}
            Next::Failed(error) => {
                if self.trouble.as_ref() != Some(error) {
                    let reason = match error {
                        LeaseError::Failed { reason, .. } => *reason,
                        LeaseError::NotFound | LeaseError::Conflict => Reason::ServerUnavailable,
                    };
                    LeaseUnanswered {
                        lease: &self.candidate.name,
                        namespace: &self.candidate.namespace,
                        reason,
                        error: &error.to_string(),
                    }
                    .emit();
                }
                self.trouble = Some(error.clone());
            }
            _ => self.trouble = None,
        }
    }

    fn leading(&self) {
        let after = self.machine.before();
        LeaseAcquired { lease: &self.candidate.name, identity: &self.candidate.identity, after: after.as_deref() }.emit();
        self.metrics.leads(&self.candidate.name, true);
        self.tenure.publish(|leadership| leadership.phase = Phase::Leading { after });
    }

    fn lost(&self, why: &str) {
        let leader = self.machine.holder();
        let trouble = self.trouble.as_ref().map(ToString::to_string);
        LeaseLost { lease: &self.candidate.name, why, leader: leader.as_deref(), error: trouble.as_deref() }.emit();
    }

    /// Gives the lease back, if it is this candidate's; one that is not given back runs out.
    async fn release(&mut self) {
        self.tenure.leave();
        let mut next = Next::Ask(self.machine.release());
        let end = Instant::now() + self.candidate.timing.renew;
        for _ in 0..RELEASE_REQUESTS {
            let Next::Ask(ask) = next else { break };
            next = match timeout_at(end, self.ask(ask)).await {
                Ok(answer) => self.machine.answer(answer, self.now()),
                Err(_) => Next::Failed(unanswered(self.candidate.timing.renew)),
            };
        }
        let (lease, identity) = (&*self.candidate.name, &*self.candidate.identity);
        match next {
            Next::Released => LeaseReleased { lease, identity }.emit(),
            // It was somebody else's already.
            Next::Others | Next::Held { .. } => {}
            Next::Failed(error) => LeaseNotReleased { lease, error: &error.to_string() }.emit(),
            Next::Ask(_) => LeaseNotReleased { lease, error: "it was changed again and again" }.emit(),
        }
        let leader = self.machine.holder();
        self.tenure.publish(|leadership| leadership.leader = leader);
    }

    fn now(&self) -> Now {
        let wall = SignedDuration::try_from(self.clock.now()).ok().and_then(|day| Timestamp::from_duration(day).ok());
        Now { at: Instant::now(), wall: wall.unwrap_or_default() }
    }
}

fn unanswered(patience: Duration) -> LeaseError {
    LeaseError::Failed { reason: Reason::ServerUnavailable, message: format!("no answer within {} ms", patience.as_millis()) }
}

impl Drop for Elector {
    /// Also when its task panics or is aborted: who waits for the end of a leadership is told.
    fn drop(&mut self) {
        self.tenure.end();
    }
}
