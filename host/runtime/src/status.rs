//! What the control API and the health checks show: rows made from the registry and the
//! informers when somebody asks. Keeps nothing of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use wharf_cache::{InformerState, InformerStatus, Informers, Scope};
use wharf_core::Reason;

use crate::admin::StatusSource;
use crate::admin::rows::{HostUsage, InformerRow, PluginRow, PluginUsage, QueueRow, UsageRow};
use crate::checkpoint::{Checkpoint, Usage};
use crate::dispatch::Tripped;
use crate::lease::Tenure;
use crate::plugins::progress::Step;
use crate::plugins::{Origin, PluginState, Registry, account};
use crate::telemetry::LogHandle;
use crate::telemetry::metrics::{CheckpointSample, InformerSample, LogSample, PluginSample, ProcessUsage, QueueSample, Snapshot};

/// A leader that hangs is given so much time beyond its lease, as by Kubernetes' own components.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Why a plugin stands by: nothing is wrong with it.
const ELSEWHERE: &str = "AnotherHostLeads";

/// The state of a host, on demand.
pub(crate) struct HostStatus {
    registry: Arc<Registry>,
    informers: Informers,
    checkpoint: Option<Arc<Checkpoint>>,
    tenure: Tenure,
    log: LogHandle,
    was_ready: AtomicBool,
    were_settled: AtomicBool,
    started: Instant,
}

impl HostStatus {
    /// Looks at these parts.
    pub(crate) fn new(
        registry: Arc<Registry>,
        informers: Informers,
        checkpoint: Option<Arc<Checkpoint>>,
        tenure: Tenure,
        log: LogHandle,
    ) -> Self {
        let (was_ready, were_settled) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { registry, informers, checkpoint, tenure, log, was_ready, were_settled, started: Instant::now() }
    }

    /// Liveness: an elector that hangs does not notice that this host leads no more.
    pub(crate) fn election(&self) -> Result<(), String> {
        match self.tenure.overdue(TOLERANCE) {
            None => Ok(()),
            Some(over) => Err(format!("this host still leads {} s after its lease has run out", over.as_secs())),
        }
    }

    /// Who leads, in words.
    fn leader(&self) -> String {
        self.tenure.leader()
    }

    /// Readiness: have the plugins been read, and does each of those serve or was refused?
    /// Once ready, a plugin that comes later does not make the host unready.
    pub(crate) fn plugins_loaded(&self) -> Result<(), String> {
        if !self.registry.loaded() {
            return Err("the plugins were not read yet".to_owned());
        }
        match self.registry.progress() {
            (starting, _) if starting > 0 && !self.was_ready.load(Ordering::SeqCst) => Err(format!("{starting} plugins are being loaded")),
            _ => {
                self.was_ready.store(true, Ordering::SeqCst);
                Ok(())
            }
        }
    }

    /// Readiness: is the state of every watch known? A kind that does not exist, or a watch
    /// that is refused, does not make the host unready.
    pub(crate) fn informers_settled(&self) -> Result<(), String> {
        if self.were_settled.load(Ordering::SeqCst) {
            return Ok(());
        }
        let starting = |i: &InformerStatus| i.handlers > 0 && matches!(i.state, InformerState::Starting);
        let names = |i: InformerStatus| format!("{} in {}", i.spec.kind, scope(&i.spec.scope));
        let left: Vec<String> = self.informers.snapshot().into_iter().filter(starting).map(names).collect();
        if !left.is_empty() {
            return Err(format!("not synced: {}", left.join(", ")));
        }
        // A watch that comes with a later plugin, or with a later plan, makes nobody unready.
        if self.plugins_loaded().is_ok() {
            self.were_settled.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The number of plugins that serve, once each of them serves or was refused.
    pub(crate) fn ready(&self) -> Option<usize> {
        self.plugins_loaded().and_then(|()| self.informers_settled()).ok()?;
        let (starting, serving) = self.registry.progress();
        (starting == 0).then_some(serving)
    }

    /// Gauges for a scrape. Holds the host weakly.
    pub(crate) fn scraper(self: &Arc<Self>) -> impl Fn(&mut Snapshot) + Send + Sync + 'static {
        let status = Arc::downgrade(self);
        move |snapshot| {
            let Some(status) = status.upgrade() else { return };
            snapshot.checkpoint = status.checkpoint.as_ref().map(|checkpoint| {
                let Usage { keys, bytes, body_bytes, .. } = checkpoint.usage();
                CheckpointSample { keys, bytes, body_bytes, failing: checkpoint.failing() }
            });
            snapshot.cache = status.informers.budget();
            let ring = status.log.ring();
            let (bytes, given_up, levels) = (ring.bytes() as u64, ring.given_up(), status.log.levels().len() as u64);
            snapshot.log = Some(LogSample { bytes, given_up, levels });
            snapshot.informers.extend(status.informers.snapshot().iter().map(InformerSample::from));
            for plugin in status.registry.status() {
                let label: Arc<str> = plugin.name.to_string().into();
                snapshot.queues.push(QueueSample::new(Arc::clone(&label), &plugin.stats.queue, plugin.concurrency));
                snapshot.plugins.push(PluginSample {
                    plugin: label,
                    ledger_entries: plugin.stats.ledger_entries as u64,
                    parked_keys: plugin.stats.parked as u64,
                    backlog_bytes: plugin.stats.backlog_bytes as u64,
                    breaker: Tripped::number(plugin.stats.tripped),
                    failing_keys: plugin.stats.failing as u64,
                    history_bytes: plugin.stats.memory.history,
                    synced: plugin.stats.synced,
                    memory: plugin.stats.memory.parts().to_vec(),
                    instances: vec![("running", plugin.stats.queue.processing as u64), ("idle", plugin.stats.idle_instances as u64)],
                });
            }
        }
    }
}

impl StatusSource for HostStatus {
    fn plugins(&self) -> Vec<PluginRow> {
        let rows = self.registry.status().into_iter().map(|status| {
            let (state, reason, message) = match (&status.state, &status.trouble) {
                // What is wished does not serve, and something else does.
                (PluginState::Refused(refusal), trouble) if !status.revision.is_empty() => {
                    let message = format!("revision {} serves, and not what is wished: {}", status.revision, refusal.message);
                    (if trouble.is_some() { "Sleeping" } else { "Serving" }, refusal.reason.as_str(), message)
                }
                (PluginState::Refused(refusal), _) => (status.state.as_str(), refusal.reason.as_str(), refusal.message.clone()),
                (PluginState::Standby, _) => (status.state.as_str(), ELSEWHERE, self.leader()),
                // It serves, but there is a kind that it is not told about.
                (PluginState::Serving, Some((reason, message))) => ("Sleeping", reason.as_str(), message.clone()),
                (PluginState::Serving, None) if let Some(account) = &status.lacks_account => {
                    (status.state.as_str(), Reason::ServiceAccountNotFound.as_str(), account::missing(&status.name, account))
                }
                (PluginState::Serving, None) if let Some(tripped) = &status.stats.tripped => {
                    (status.state.as_str(), Reason::BreakerOpen.as_str(), tripped.message(&status.name))
                }
                (PluginState::Serving, None) if status.stats.full => {
                    let message = format!("{} keys fail: it is told of no further object", status.stats.failing);
                    (status.state.as_str(), Reason::TooManyFailures.as_str(), message)
                }
                (PluginState::Serving, None) if let Some(vain) = &status.stats.in_vain => {
                    (status.state.as_str(), Reason::CallsFailing.as_str(), vain.message(&status.name))
                }
                (PluginState::Serving, None) if let Some((reason, message)) = &status.stats.refused => {
                    (status.state.as_str(), reason.as_str(), format!("its Events are not written: {message}"))
                }
                _ => (status.state.as_str(), "", String::new()),
            };
            let state = match (status.suspended, status.paused) {
                _ if status.state == PluginState::Draining => state,
                (true, _) => "Suspended",
                (false, true) => "Paused",
                (false, false) => state,
            };
            let ready = self.registry.ready(&status.name);
            let synced = ready.as_ref().map_or(status.stats.synced, |(_, subscribed)| subscribed.trouble().is_none());
            let (digest, subscriptions) =
                ready.map_or((status.digest, status.subscriptions), |(digest, subscribed)| (digest, subscribed.words()));
            // A trial stands still as long as the plugin is called for nothing.
            let step = status.step.filter(|(step, _)| *step != Step::Bake || !(status.suspended || status.paused));
            PluginRow {
                namespace: status.name.namespace.to_string(),
                name: status.name.name.to_string(),
                revision: status.revision,
                digest,
                state: state.to_owned(),
                reason: reason.to_owned(),
                message,
                step: step.map(|(step, _)| step.as_str().to_owned()).unwrap_or_default(),
                step_seconds: step.map_or(0, |(_, since)| since.as_secs()),
                subscriptions,
                synced,
                calls: status.stats.calls,
                failures: status.stats.failures,
                parked: status.stats.parked as u64,
                failing: status.stats.failing as u64,
                waiting: (status.stats.queue.depth + status.stats.queue.waiting) as u64,
                age_seconds: status.since.elapsed().as_secs(),
                source: status.origin.to_string(),
            }
        });
        let nameless = self.registry.unreadable().into_iter().map(|(origin, refusal)| {
            let source = origin.to_string();
            let (namespace, name) = match origin {
                Origin::File(path) => (String::new(), path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
                Origin::Resource { namespace, name } => (namespace.to_string(), name.to_string()),
            };
            let (state, reason) = ("Refused".to_owned(), refusal.reason.to_string());
            PluginRow { namespace, name, state, reason, message: refusal.message, source, ..PluginRow::default() }
        });
        rows.chain(nameless).collect()
    }

    fn informers(&self) -> Vec<InformerRow> {
        self.informers.snapshot().into_iter().map(informer_row).collect()
    }

    fn queues(&self) -> Vec<QueueRow> {
        let rows = self.registry.status().into_iter().map(|status| QueueRow {
            plugin: status.name.to_string(),
            ready: status.stats.queue.depth as u64,
            waiting: status.stats.queue.waiting as u64,
            processing: status.stats.queue.processing as u64,
            longest_running_seconds: status.stats.queue.longest_running.as_secs_f64(),
            parked: status.stats.parked as u64,
            ledger_entries: status.stats.ledger_entries as u64,
        });
        rows.collect()
    }

    fn usage(&self) -> UsageRow {
        let ProcessUsage { cpu_seconds, resident_bytes } = ProcessUsage::now();
        let plugins = self.registry.status().into_iter().map(|status| PluginUsage {
            plugin: status.name.to_string(),
            revision: status.revision,
            calls: status.stats.calls,
            failures: status.stats.failures,
            cpu_seconds: status.stats.used.cpu.as_secs_f64(),
            memory_bytes: status.stats.memory.total(),
            memory: status.stats.memory.into(),
            instances: (status.stats.queue.processing + status.stats.idle_instances) as u64,
            queue_depth: status.stats.queue.depth as u64,
        });
        UsageRow {
            plugins: plugins.collect(),
            host: HostUsage { cpu_seconds, memory_bytes: resident_bytes },
            // Read last: what is counted was counted before this moment.
            at_seconds: self.started.elapsed().as_secs_f64(),
        }
    }
}

fn informer_row(status: InformerStatus) -> InformerRow {
    let spec = &status.spec;
    let reason = match &status.state {
        InformerState::Starting | InformerState::Synced | InformerState::Stopped => String::new(),
        InformerState::Sleeping { reason } | InformerState::Failing { reason, .. } => reason.to_string(),
    };
    InformerRow {
        kind: spec.kind.kind.to_string(),
        api_version: spec.kind.api_version(),
        scope: scope(&spec.scope),
        selectors: [spec.label_selector.as_str(), spec.field_selector.as_str()]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect::<Vec<_>>()
            .join(";"),
        handlers: status.handlers as u64,
        objects: status.objects as u64,
        bytes: status.bytes,
        state: status.state.as_str().to_owned(),
        reason,
        relists: status.relists,
        last_event_age_seconds: status.last_event_age.map(|age| age.as_secs()),
    }
}

fn scope(scope: &Scope) -> String {
    match scope {
        Scope::All => "*".to_owned(),
        Scope::Namespace(namespace) => namespace.to_string(),
    }
}
