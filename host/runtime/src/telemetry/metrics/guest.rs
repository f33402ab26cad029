//! Metrics of plugins and their guests' calls. Owns which plugins are known: series of a
//! plugin exist from its first mention to its removal, and nothing that a guest says can
//! make a series that its document did not allow.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use wharf_core::{Dropped, Event, Gvk, Reason};

use super::labels::{OfCall, OfFailure, OfFilter, OfHostCall, OfLevel, OfPlugin, OfResult, OfRevision, OfStrike};
use super::reconcile::{ReconcileCounters, ReconcileMetrics};
use super::series::Series;
use super::{Metrics, buckets, kind_label};
use crate::telemetry::rate::{Repeats, TokenBucket};

/// Most plugins that have metrics of their own; what further plugins do is logged only.
const MAX_PLUGINS: usize = 4096;
/// So many times the lines of a second may be logged at once.
const LOG_BURST: u32 = 4;
/// One warning per plugin and reason in this time.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// Strikes that a call can end with; all others count as `HostError`.
const STRIKES: [Reason; 8] = [
    Reason::Trap,
    Reason::StackOverflow,
    Reason::DeadlineExceeded,
    Reason::CpuExceeded,
    Reason::MemoryExceeded,
    Reason::HostCallLimit,
    Reason::InstantiateFailed,
    Reason::HostError,
];
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];
const RESULTS: [&str; 5] = ["done", "requeue-after", "retry", "permanent", "strike"];

/// A sum of times.
type Seconds = Counter<f64, AtomicU64>;

/// How a call ended, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::telemetry) enum CallResult {
    Done,
    RequeueAfter,
    Retry,
    Permanent,
    Strike(Reason),
}

impl CallResult {
    /// The word in metrics and logs.
    pub(in crate::telemetry) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::RequeueAfter => "requeue-after",
            Self::Retry => "retry",
            Self::Permanent => "permanent",
            Self::Strike(_) => "strike",
        }
    }
}

/// A finished call, for counting.
pub(in crate::telemetry) struct CallCount<'a> {
    pub(in crate::telemetry) kind: &'a Gvk,
    pub(in crate::telemetry) event: Event,
    pub(in crate::telemetry) result: CallResult,
    /// For retry and permanent: a declared reason, or `Other`.
    pub(in crate::telemetry) failure: Option<&'a str>,
    pub(in crate::telemetry) duration: Duration,
    pub(in crate::telemetry) cpu: Duration,
    pub(in crate::telemetry) waited_instance: Duration,
    pub(in crate::telemetry) waited_turns: Duration,
    pub(in crate::telemetry) peak_memory: Option<u64>,
    /// Lines of the guest that the engine dropped, being over the limit of one call.
    pub(in crate::telemetry) log_dropped: u32,
    /// Time from the change to the call, if a change caused it.
    pub(in crate::telemetry) lag: Option<Duration>,
    /// The key was parked by it.
    pub(in crate::telemetry) parked: bool,
}

/// May a guest's line be written?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::telemetry) enum LogVerdict {
    Write,
    Drop,
}

#[derive(Debug)]
pub(super) struct GuestMetrics {
    plugins: RwLock<HashMap<Arc<str>, Plugin>>,
    /// Of each plugin, in a second.
    log_lines_per_second: u32,
    info: Series<OfRevision, Gauge>,
    ready: Series<OfPlugin, Gauge>,
    calls: Series<OfCall, Counter>,
    call_duration: Series<OfPlugin, Histogram>,
    cpu: Series<OfPlugin, Seconds>,
    waited_instance: Series<OfPlugin, Seconds>,
    waited_turns: Series<OfPlugin, Seconds>,
    memory_peak: Series<OfPlugin, Histogram>,
    strikes: Series<OfStrike, Counter>,
    failures: Series<OfFailure, Counter>,
    parkings: Series<OfFailure, Counter>,
    host_calls: Series<OfHostCall, Counter>,
    log_lines: Series<OfLevel, Counter>,
    log_lines_dropped: Series<OfPlugin, Counter>,
    changes_merged: Series<OfPlugin, Counter>,
    reloads: Series<OfResult, Counter>,
    events: Series<OfResult, Counter>,
    lag: Series<OfPlugin, Histogram>,
    dropped: Series<OfFilter, Counter>,
    filter_errors: Series<OfPlugin, Counter>,
    breaker: Series<OfPlugin, Counter>,
    reconcile: ReconcileMetrics,
}

/// The handles of one plugin: no look-up by labels on the way of a call where avoidable.
#[derive(Debug)]
struct Plugin {
    name: Arc<str>,
    call_duration: Histogram,
    cpu: Seconds,
    waited_instance: Seconds,
    waited_turns: Seconds,
    memory_peak: Histogram,
    lag: Histogram,
    log_lines_dropped: Counter,
    changes_merged: Counter,
    reconcile: ReconcileCounters,
    log_rate: Mutex<TokenBucket>,
    warnings: Mutex<Repeats>,
}

impl GuestMetrics {
    #[rustfmt::skip]
    pub(super) fn new(r: &mut Registry, x: &Counter, log_lines_per_second: u32) -> Self {
        Self {
            plugins: RwLock::default(),
            log_lines_per_second,
            reconcile: ReconcileMetrics::new(r, x),
            info: Series::register(r, x, "wharf_plugin_info", "The revision that serves, always 1", Gauge::<i64>::default),
            ready: Series::register(r, x, "wharf_plugin_ready", "Whether the revision that the document asks for serves", Gauge::<i64>::default),
            calls: Series::register(r, x, "wharf_guest_calls", "Finished guest calls", Counter::default),
            call_duration: Series::register(r, x, "wharf_guest_call_duration_seconds", "Time of a guest call, host calls included", buckets::call),
            cpu: Series::register(r, x, "wharf_guest_cpu_seconds", "Processor time of guest calls", Seconds::default),
            waited_instance: Series::register(r, x, "wharf_instance_wait_seconds", "Time for which guest calls waited for an instance", Seconds::default),
            waited_turns: Series::register(r, x, "wharf_turn_wait_seconds", "Time for which guest calls could have computed and had no turn", Seconds::default),
            memory_peak: Series::register(r, x, "wharf_guest_memory_peak_bytes", "Most memory that a guest call needed", buckets::memory),
            strikes: Series::register(r, x, "wharf_guest_traps", "Guest calls that trapped or that the host ended", Counter::default),
            failures: Series::register(r, x, "wharf_guest_failures", "Failures that guests declared, by their reasons", Counter::default),
            parkings: Series::register(r, x, "wharf_parkings", "Times that a key was parked, by the reason of the failure", Counter::default),
            host_calls: Series::register(r, x, "wharf_guest_host_calls", "Calls of the host by guests", Counter::default),
            log_lines: Series::register(r, x, "wharf_guest_log_lines", "Lines that guests logged", Counter::default),
            log_lines_dropped: Series::register(r, x, "wharf_guest_log_lines_dropped", "Lines of guests dropped because there were too many", Counter::default),
            changes_merged: Series::register(r, x, "wharf_changes_merged", "Changes that a plugin with delivery every-event was not told of one by one, for lack of room", Counter::default),
            reloads: Series::register(r, x, "wharf_reloads", "Revisions that went into service, were refused or were withdrawn", Counter::default),
            breaker: Series::register(r, x, "wharf_breaker_openings", "Times that the plugin's circuit breaker opened", Counter::default),
            events: Series::register(r, x, "wharf_kubernetes_events", "Events that plugins asked for or that tell of them, by what became of them", Counter::default),
            lag: Series::register(r, x, "wharf_event_lag_seconds", "Time from a change seen to its guest call begun", buckets::lag),
            dropped: Series::register(r, x, "wharf_changes_dropped", "Changes that led to no call, by the filter that dropped them", Counter::default),
            filter_errors: Series::register(r, x, "wharf_filter_errors", "Expressions that could not be evaluated; the change was delivered", Counter::default),
        }
    }

    fn make(&self, name: &Arc<str>) -> Plugin {
        let of_plugin = OfPlugin { plugin: Arc::clone(name) };
        self.ready.get(&of_plugin);
        for reason in STRIKES {
            self.strikes.get(&OfStrike { plugin: Arc::clone(name), reason: reason.as_str() });
            self.parkings.get(&OfFailure { plugin: Arc::clone(name), reason: reason.as_str().into() });
        }
        for family in [&self.failures, &self.parkings] {
            family.get(&OfFailure { plugin: Arc::clone(name), reason: Reason::Other.as_str().into() });
        }
        for level in LEVELS {
            self.log_lines.get(&OfLevel { plugin: Arc::clone(name), level });
        }
        for filter in Dropped::ALL.map(Dropped::as_str) {
            self.dropped.get(&OfFilter { plugin: Arc::clone(name), filter });
        }
        self.filter_errors.get(&of_plugin);
        self.breaker.get(&of_plugin);
        for result in ["success", "refused", "withdrawn"] {
            self.reloads.get(&OfResult { plugin: Arc::clone(name), result });
        }
        Plugin {
            name: Arc::clone(name),
            call_duration: self.call_duration.get(&of_plugin),
            cpu: self.cpu.get(&of_plugin),
            waited_instance: self.waited_instance.get(&of_plugin),
            waited_turns: self.waited_turns.get(&of_plugin),
            memory_peak: self.memory_peak.get(&of_plugin),
            lag: self.lag.get(&of_plugin),
            log_lines_dropped: self.log_lines_dropped.get(&of_plugin),
            changes_merged: self.changes_merged.get(&of_plugin),
            reconcile: self.reconcile.controller(name),
            log_rate: Mutex::new(TokenBucket::new(self.log_lines_per_second.saturating_mul(LOG_BURST), self.log_lines_per_second)),
            warnings: Mutex::default(),
        }
    }

    /// Runs under the lock that removal takes for writing: no series outlives its plugin.
    fn with<R>(&self, name: &str, count: impl FnOnce(&Plugin) -> R) -> Option<R> {
        self.plugins.read().get(name).map(count)
    }
}

impl Metrics {
    /// Makes the series of a plugin, at zero. Does nothing if it has them.
    pub fn add_plugin(&self, name: &str) {
        let mut plugins = self.guest.plugins.write();
        if plugins.contains_key(name) || plugins.len() >= MAX_PLUGINS {
            return;
        }
        let name: Arc<str> = name.into();
        plugins.insert(Arc::clone(&name), self.guest.make(&name));
    }

    /// Makes the series of what a plugin is subscribed to and of its own failure reasons,
    /// at zero. Does nothing for a plugin that is not known.
    pub fn subscribed<'a>(&self, plugin: &str, kinds: impl IntoIterator<Item = &'a Gvk>, reasons: &[Arc<str>]) {
        let guest = &self.guest;
        guest.with(plugin, |p| {
            for kind in kinds {
                let kind = kind_label(kind);
                for (event, result) in Event::ALL.iter().flat_map(|event| RESULTS.map(|result| (event.as_str(), result))) {
                    guest.calls.get(&OfCall { plugin: Arc::clone(&p.name), kind: Arc::clone(&kind), event, result });
                }
            }
            for (reason, family) in reasons.iter().flat_map(|reason| [(reason, &guest.failures), (reason, &guest.parkings)]) {
                family.get(&OfFailure { plugin: Arc::clone(&p.name), reason: Arc::clone(reason) });
            }
        });
    }

    /// Counts a call of the host by a guest: which function (`cluster.apply`) and how it
    /// ended (`ok`, or the name of the error).
    pub fn host_call(&self, plugin: &str, capability: &'static str, result: &'static str) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.host_calls.get(&OfHostCall { plugin: Arc::clone(&p.name), capability, result }).inc());
    }

    /// Counts a Kubernetes Event that a plugin asked for, by what became of it.
    pub fn event(&self, plugin: &str, result: &'static str) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.events.get(&OfResult { plugin: Arc::clone(&p.name), result }).inc());
    }

    /// Changes were given up that a plugin wanted to be told of one by one.
    pub fn changes_merged(&self, plugin: &str, changes: usize) {
        self.guest.with(plugin, |p| p.changes_merged.inc_by(changes as u64));
    }

    /// Counts a change that a filter dropped.
    pub(in crate::telemetry) fn dropped(&self, plugin: &str, by: Dropped) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.dropped.get(&OfFilter { plugin: Arc::clone(&p.name), filter: by.as_str() }).inc());
    }

    /// Counts a filter that could not be evaluated.
    pub(in crate::telemetry) fn filter_failed(&self, plugin: &str) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.filter_errors.get(&OfPlugin { plugin: Arc::clone(&p.name) }).inc());
    }

    /// Removes all series of a plugin.
    pub(in crate::telemetry) fn remove_plugin(&self, name: &str) {
        let guest = &self.guest;
        let mut plugins = guest.plugins.write();
        plugins.remove(name);
        guest.info.remove_where(|l| *l.plugin == *name);
        guest.ready.remove_where(|l| *l.plugin == *name);
        guest.calls.remove_where(|l| *l.plugin == *name);
        guest.call_duration.remove_where(|l| *l.plugin == *name);
        guest.cpu.remove_where(|l| *l.plugin == *name);
        guest.waited_instance.remove_where(|l| *l.plugin == *name);
        guest.waited_turns.remove_where(|l| *l.plugin == *name);
        guest.memory_peak.remove_where(|l| *l.plugin == *name);
        guest.strikes.remove_where(|l| *l.plugin == *name);
        guest.failures.remove_where(|l| *l.plugin == *name);
        guest.parkings.remove_where(|l| *l.plugin == *name);
        guest.host_calls.remove_where(|l| *l.plugin == *name);
        guest.log_lines.remove_where(|l| *l.plugin == *name);
        guest.log_lines_dropped.remove_where(|l| *l.plugin == *name);
        guest.changes_merged.remove_where(|l| *l.plugin == *name);
        guest.reloads.remove_where(|l| *l.plugin == *name);
        guest.events.remove_where(|l| *l.plugin == *name);
        guest.lag.remove_where(|l| *l.plugin == *name);
        guest.dropped.remove_where(|l| *l.plugin == *name);
        guest.filter_errors.remove_where(|l| *l.plugin == *name);
        guest.breaker.remove_where(|l| *l.plugin == *name);
        guest.reconcile.remove(name);
        self.queue.remove(name);
    }

    /// Counts a finished call.
    pub(in crate::telemetry) fn call(&self, plugin: &str, call: &CallCount<'_>) {
        let guest = &self.guest;
        guest.with(plugin, |p| {
            let plugin = || Arc::clone(&p.name);
            let (event, result) = (call.event.as_str(), call.result.as_str());
            guest.calls.get(&OfCall { plugin: plugin(), kind: kind_label(call.kind), event, result }).inc();
            p.call_duration.observe(call.duration.as_secs_f64());
            p.reconcile.count(call.result, call.duration);
            p.cpu.inc_by(call.cpu.as_secs_f64());
            p.waited_instance.inc_by(call.waited_instance.as_secs_f64());
            p.waited_turns.inc_by(call.waited_turns.as_secs_f64());
            p.log_lines_dropped.inc_by(call.log_dropped.into());
            if let Some(peak) = call.peak_memory {
                // Exact up to 2^53 bytes.
                p.memory_peak.observe(peak as f64);
            }
            if let Some(lag) = call.lag {
                p.lag.observe(lag.as_secs_f64());
            }
            let parked = |reason: &str| {
                if call.parked {
                    guest.parkings.get(&OfFailure { plugin: plugin(), reason: reason.into() }).inc();
                }
            };
            if let CallResult::Strike(reason) = call.result
                && reason != Reason::Cancelled
            {
                let reason = if STRIKES.contains(&reason) { reason } else { Reason::HostError };
                guest.strikes.get(&OfStrike { plugin: plugin(), reason: reason.as_str() }).inc();
                parked(reason.as_str());
            }
            if let Some(reason) = call.failure {
                guest.failures.get(&OfFailure { plugin: plugin(), reason: reason.into() }).inc();
                parked(reason);
            }
        });
    }

    /// How many equal warnings were held back since the last one, if one may be written now.
    pub(in crate::telemetry) fn warning(&self, plugin: &str, topic: &str) -> Option<u64> {
        self.guest.with(plugin, |p| p.warnings.lock().allow(topic, WARNING_INTERVAL)).unwrap_or(Some(0))
    }

    /// Counts a guest's log line, or counts it as dropped.
    pub(in crate::telemetry) fn log_line(&self, plugin: &str, level: &'static str) -> LogVerdict {
        let guest = &self.guest;
        let verdict = guest.with(plugin, |p| {
            if !p.log_rate.lock().take() {
                p.log_lines_dropped.inc();
                return LogVerdict::Drop;
            }
            guest.log_lines.get(&OfLevel { plugin: Arc::clone(&p.name), level }).inc();
            LogVerdict::Write
        });
        verdict.unwrap_or(LogVerdict::Write)
    }

    /// A revision went into service.
    pub(in crate::telemetry) fn serving(&self, plugin: &str, revision: &str, digest: &str) {
        self.add_plugin(plugin);
        let guest = &self.guest;
        guest.with(plugin, |p| {
            guest.info.remove_where(|l| l.plugin == p.name);
            guest.info.get(&OfRevision { plugin: Arc::clone(&p.name), revision: revision.into(), digest: digest.into() }).set(1);
            guest.ready.get(&OfPlugin { plugin: Arc::clone(&p.name) }).set(1);
            guest.reloads.get(&OfResult { plugin: Arc::clone(&p.name), result: "success" }).inc();
        });
    }

    /// What serves is not what is wished.
    pub fn stands_in(&self, plugin: &str) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.ready.get(&OfPlugin { plugin: Arc::clone(&p.name) }).set(0));
    }

    /// A revision was withdrawn.
    pub(in crate::telemetry) fn withdrawn(&self, plugin: &str) {
        let guest = &self.guest;
        guest.with(plugin, |p| {
            guest.reloads.get(&OfResult { plugin: Arc::clone(&p.name), result: "withdrawn" }).inc();
        });
    }

    /// The plugin's breaker opened.
    pub(in crate::telemetry) fn breaker_opened(&self, plugin: &str) {
        let guest = &self.guest;
        guest.with(plugin, |p| guest.breaker.get(&OfPlugin { plugin: Arc::clone(&p.name) }).inc());
    }

    /// A revision was refused.
    pub(in crate::telemetry) fn refused(&self, plugin: &str) {
        self.add_plugin(plugin);
        let guest = &self.guest;
        guest.with(plugin, |p| {
            guest.ready.get(&OfPlugin { plugin: Arc::clone(&p.name) }).set(0);
            guest.reloads.get(&OfResult { plugin: Arc::clone(&p.name), result: "refused" }).inc();
        });
    }
}
