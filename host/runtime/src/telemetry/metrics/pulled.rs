//! Gauges that are asked for at each scrape: what queues, informers and ledgers hold now.
//! Owns no number; nothing ticks between scrapes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use wharf_core::Gvk;
use wharf_queue::LOW;

use super::kind_label;
use super::labels::{OfController, OfDepth, OfInstances, OfKind, OfPart, OfPlugin, OfQueue};

/// What the sources say at one scrape.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Of workqueues.
    pub queues: Vec<QueueSample>,
    /// Of plugins.
    pub plugins: Vec<PluginSample>,
    /// Of informers; those of one kind are added up.
    pub informers: Vec<InformerSample>,
    /// Memory that the stores of all informers may take, and what they have or expect of it.
    pub cache: Option<(u64, u64)>,
    /// Of the checkpoints, if there are any.
    pub checkpoint: Option<CheckpointSample>,
    /// Of the log.
    pub log: Option<LogSample>,
}

/// What is kept of the log now.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogSample {
    /// Bytes of the lines.
    pub bytes: u64,
    /// Lines that were given up for newer ones.
    pub given_up: u64,
    /// Plugins with log levels of their own.
    pub levels: u64,
}

/// What is written down of all plugins now.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckpointSample {
    /// Keys.
    pub keys: u64,
    /// Bytes of keys and their records.
    pub bytes: u64,
    /// Bytes of last states.
    pub body_bytes: u64,
    /// Whether the last write failed.
    pub failing: bool,
}

/// One plugin's workqueue now.
#[derive(Clone, Debug, Default)]
pub struct QueueSample {
    /// The plugin, `namespace/name`.
    pub plugin: Arc<str>,
    /// Keys that wait to be handed out, by priority; below 0 counts as low.
    pub depth: Vec<(i64, u64)>,
    /// Time that the keys in work have been worked on, added up.
    pub unfinished_work: Duration,
    /// Longest of these times.
    pub longest_running: Duration,
    /// Keys in work.
    pub active_workers: u64,
    /// Keys that may be in work at once.
    pub max_workers: u64,
}

impl QueueSample {
    /// What a plugin's queue says of itself.
    pub fn new(plugin: Arc<str>, stats: &wharf_queue::Stats, max_workers: u32) -> Self {
        Self {
            plugin,
            depth: vec![(LOW.into(), stats.low as u64), (0, stats.depth.saturating_sub(stats.low) as u64)],
            unfinished_work: stats.unfinished,
            longest_running: stats.longest_running,
            active_workers: stats.processing as u64,
            max_workers: max_workers.into(),
        }
    }
}

/// What the host holds for one plugin now.
#[derive(Clone, Debug, Default)]
pub struct PluginSample {
    /// The plugin, `namespace/name`.
    pub plugin: Arc<str>,
    /// Entries of its ledger.
    pub ledger_entries: u64,
    /// Keys that are parked.
    pub parked_keys: u64,
    /// Its circuit breaker: 0 closed, 1 half-open, 2 open.
    pub breaker: u64,
    /// Keys whose last call failed, and deletes that have not ended.
    pub failing_keys: u64,
    /// Bytes of the history of its decisions.
    pub history_bytes: u64,
    /// Has it been called for all that was there at the start?
    pub synced: bool,
    /// Bytes of the changes that it is still to be told of one by one.
    pub backlog_bytes: u64,
    /// Bytes of memory, by what they are for.
    pub memory: Vec<(&'static str, u64)>,
    /// Instances by state, for example `running`.
    pub instances: Vec<(&'static str, u64)>,
}

/// One informer now.
#[derive(Clone, Debug)]
pub struct InformerSample {
    /// What it watches.
    pub kind: Gvk,
    /// Objects in its store.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether its first list is complete.
    pub synced: bool,
    /// Time since the server last sent it anything, if it ever did.
    pub last_event_age: Option<Duration>,
}

impl From<&wharf_cache::InformerStatus> for InformerSample {
    fn from(status: &wharf_cache::InformerStatus) -> Self {
        Self {
            kind: status.spec.kind.clone(),
            objects: status.objects as u64,
            bytes: status.bytes,
            synced: matches!(status.state, wharf_cache::InformerState::Synced),
            last_event_age: status.last_event_age,
        }
    }
}

/// Something to ask at each scrape.
pub(super) struct Source(Box<dyn Fn(&mut Snapshot) + Send + Sync>);

impl Source {
    pub(super) fn new(ask: impl Fn(&mut Snapshot) + Send + Sync + 'static) -> Self {
        Self(Box::new(ask))
    }
}

/// All sources. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Pulled(Arc<RwLock<Vec<Source>>>);

impl Pulled {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let pulled = Self::default();
        registry.register_collector(Box::new(pulled.clone()));
        pulled
    }

    pub(super) fn add(&self, source: Source) {
        self.0.write().push(source);
    }
}

impl fmt::Debug for Pulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pulled({} sources)", self.0.read().len())
    }
}

impl Collector for Pulled {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut now = Snapshot::default();
        for source in self.0.read().iter() {
            (source.0)(&mut now);
        }
        now.queues.sort_by(|a, b| a.plugin.cmp(&b.plugin));
        now.plugins.sort_by(|a, b| a.plugin.cmp(&b.plugin));
        encode_queues(&mut encoder, &now.queues)?;
        encode_plugins(&mut encoder, &now.plugins)?;
        encode_informers(&mut encoder, &now.informers)?;
        if let Some((budget, used)) = now.cache {
            plain(&mut encoder, "wharf_cache_budget_bytes", "Memory for the objects of all informers", budget)?;
            plain(&mut encoder, "wharf_cache_used_bytes", "Memory that these objects take, or will when their first list is read", used)?;
        }
        encode_checkpoint(&mut encoder, now.checkpoint)?;
        encode_log(&mut encoder, now.log)
    }
}

fn encode_checkpoint(encoder: &mut DescriptorEncoder<'_>, checkpoint: Option<CheckpointSample>) -> Result<(), fmt::Error> {
    let Some(CheckpointSample { keys, bytes, body_bytes, failing }) = checkpoint else { return Ok(()) };
    for (name, help, value) in [
        ("wharf_checkpoint_keys", "Keys of which is written down what their plugins were told", keys),
        ("wharf_checkpoint_bytes", "Bytes of these keys and what is written of them", bytes),
        ("wharf_checkpoint_body_bytes", "Bytes of last states that are written down, compressed", body_bytes),
        ("wharf_checkpoint_failing", "Whether the last write failed", u64::from(failing)),
    ] {
        plain(encoder, name, help, value)?;
    }
    Ok(())
}

/// Writes a family that has one series, without labels.
fn plain(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> Result<(), fmt::Error> {
    encoder.encode_descriptor(name, &format!("{help}."), None, MetricType::Gauge)?.encode_gauge(&value)
}

fn encode_log(encoder: &mut DescriptorEncoder<'_>, log: Option<LogSample>) -> Result<(), fmt::Error> {
    let Some(LogSample { bytes, given_up, levels }) = log else { return Ok(()) };
    for (name, help, kind, value) in [
        ("wharf_log_buffer_bytes", "Memory of the lines that `wharf logs` shows", MetricType::Gauge, bytes),
        ("wharf_log_buffer_lines_dropped", "Lines that this memory has no room for any more", MetricType::Counter, given_up),
        ("wharf_log_levels", "Plugins with a log level of their own", MetricType::Gauge, levels),
    ] {
        let mut descriptor = encoder.encode_descriptor(name, &format!("{help}."), None, kind)?;
        match kind {
            MetricType::Counter => descriptor.encode_counter::<NoLabelSet, _, u64>(&value, None)?,
            _ => descriptor.encode_gauge(&value)?,
        }
    }
    Ok(())
}

fn encode_queues(encoder: &mut DescriptorEncoder<'_>, queues: &[QueueSample]) -> Result<(), fmt::Error> {
    let labels = |q: &QueueSample| OfQueue { name: Arc::clone(&q.plugin), controller: Arc::clone(&q.plugin) };
    let controller = |q: &QueueSample| OfController { controller: Arc::clone(&q.plugin) };
    let depth = queues.iter().flat_map(|q| {
        let labels = |priority| OfDepth { name: Arc::clone(&q.plugin), controller: Arc::clone(&q.plugin), priority };
        q.depth.iter().map(move |(priority, keys)| (labels(*priority), *keys))
    });
    gauge(encoder, "workqueue_depth", "Keys that wait in the workqueue, by priority", depth)?;
    let unfinished = queues.iter().map(|q| (labels(q), q.unfinished_work.as_secs_f64()));
    gauge(encoder, "workqueue_unfinished_work_seconds", "Time that the keys in work have been worked on, added up", unfinished)?;
    let longest = queues.iter().map(|q| (labels(q), q.longest_running.as_secs_f64()));
    gauge(encoder, "workqueue_longest_running_processor_seconds", "Time that the oldest key in work has been worked on", longest)?;
    let active = queues.iter().map(|q| (controller(q), q.active_workers));
    gauge(encoder, "controller_runtime_active_workers", "Keys in work", active)?;
    let max = queues.iter().map(|q| (controller(q), q.max_workers));
    gauge(encoder, "controller_runtime_max_concurrent_reconciles", "Keys that may be in work at once", max)
}

fn encode_plugins(encoder: &mut DescriptorEncoder<'_>, plugins: &[PluginSample]) -> Result<(), fmt::Error> {
    let labels = |p: &PluginSample| OfPlugin { plugin: Arc::clone(&p.plugin) };
    let instances = plugins.iter().flat_map(|p| {
        let labels = |state| OfInstances { plugin: Arc::clone(&p.plugin), state };
        p.instances.iter().map(move |(state, number)| (labels(*state), *number))
    });
    gauge(encoder, "wharf_instances", "Instances of the plugin's component, by state", instances)?;
    let memory = plugins.iter().flat_map(|p| {
        let labels = |part| OfPart { plugin: Arc::clone(&p.plugin), part };
        p.memory.iter().map(move |(part, bytes)| (labels(*part), *bytes))
    });
    gauge(encoder, "wharf_plugin_memory_bytes", "Memory that the plugin holds, by what it is for", memory)?;
    let entries = plugins.iter().map(|p| (labels(p), p.ledger_entries));
    gauge(encoder, "wharf_ledger_entries", "Objects that the plugin was told about", entries)?;
    let parked = plugins.iter().map(|p| (labels(p), p.parked_keys));
    gauge(encoder, "wharf_parked_keys", "Keys that wait for a change after a failure", parked)?;
    let backlog = plugins.iter().map(|p| (labels(p), p.backlog_bytes));
    gauge(encoder, "wharf_backlog_bytes", "Bytes of changes that the plugin is still to be told of one by one", backlog)?;
    let breaker = plugins.iter().map(|p| (labels(p), p.breaker));
    gauge(encoder, "wharf_breaker_state", "Circuit breaker of the plugin: 0 closed, 1 half-open, 2 open", breaker)?;
    let failing = plugins.iter().map(|p| (labels(p), p.failing_keys));
    gauge(encoder, "wharf_failing_keys", "Keys whose last call failed, parked ones included, and deletes that have not ended", failing)?;
    let history = plugins.iter().map(|p| (labels(p), p.history_bytes));
    gauge(encoder, "wharf_history_bytes", "Memory of what is remembered of decisions about keys", history)?;
    let synced = plugins.iter().map(|p| (labels(p), u64::from(p.synced)));
    gauge(encoder, "wharf_plugin_synced", "Whether the plugin has been called for all that was there when it was first served", synced)
}

fn encode_informers(encoder: &mut DescriptorEncoder<'_>, informers: &[InformerSample]) -> Result<(), fmt::Error> {
    let mut kinds = BTreeMap::<OfKind, (u64, u64, bool, Option<Duration>)>::new();
    for informer in informers {
        let kind = kinds.entry(OfKind { kind: kind_label(&informer.kind) }).or_insert((0, 0, true, None));
        let age = kind.3.max(informer.last_event_age);
        *kind = (kind.0 + informer.objects, kind.1 + informer.bytes, kind.2 && informer.synced, age);
    }
    let objects = kinds.iter().map(|(labels, kind)| (labels.clone(), kind.0));
    gauge(encoder, "wharf_informer_objects", "Objects in the stores of a kind", objects)?;
    let bytes = kinds.iter().map(|(labels, kind)| (labels.clone(), kind.1));
    gauge(encoder, "wharf_informer_bytes", "Bytes of the objects in the stores of a kind", bytes)?;
    let synced = kinds.iter().map(|(labels, kind)| (labels.clone(), u64::from(kind.2)));
    gauge(encoder, "wharf_informer_synced", "Whether all informers of a kind have their list and their last request did not fail", synced)?;
    let ages = kinds.iter().filter_map(|(labels, kind)| Some((labels.clone(), kind.3?.as_secs_f64())));
    gauge(
        encoder,
        "wharf_informer_last_event_age_seconds",
        "Time since the server last sent anything to the quietest informer of a kind",
        ages,
    )
}

/// Writes one family, or nothing if it has no series.
fn gauge<L: EncodeLabelSet, V: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (L, V)>,
) -> Result<(), fmt::Error> {
    let mut series = series.peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    // The full stop is what the library adds to the help of registered families.
    let help = format!("{help}.");
    let mut metric = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        metric.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}
