//! Kubernetes Events that plugins ask for.
//!
//! Owns folding and limits: `record-event` never waits, equal Events become one with a
//! growing series, an object gets no flood, and everything that is held is bounded. Of Events
//! that tell a state the last one is written late rather than not at all. Events are written
//! in the plugin's name by one task; one that cannot be written is logged and counted, and
//! never fails a call.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use wharf_core::{Gvk, Reason, ResourceKind};
use wharf_engine::ApiError;

use super::api::{Api, Call};
use crate::dispatch::Refusals;
use crate::telemetry::events::EventWriteFailed;
use crate::telemetry::metrics::Metrics;

/// Events that wait to be written; more are dropped and counted.
const WAITING: usize = 1000;
/// ... of one plugin, so that nobody's flood drops the Events of others.
const WAITING_OF_PLUGIN: usize = 100;
/// Series that are remembered; the oldest is forgotten.
const SERIES: usize = 4096;
/// A repeat after this time is a new Event.
const SERIES_AGE: Duration = Duration::from_secs(360);
/// Events of one type about one object by one plugin: a burst of so many ...
const BURST: f64 = 25.0;
/// ... refilled by one per so long.
const REFILL: Duration = Duration::from_secs(300);
/// The longest note that the API server accepts, in bytes.
const MAX_NOTE: usize = 1024;
/// Of these for the words about Events that were left out.
const LEFT_OUT: usize = 64;
/// What the API server says of a namespace that is being deleted: the rights are there.
const ENDING: &str = "because it is being terminated";

/// One Event as a plugin asked for it.
pub struct Record {
    /// The plugin, as in metrics.
    pub plugin: Arc<str>,
    /// In whose name it is written.
    pub api: Api,
    /// Field manager of the write.
    pub manager: String,
    /// Kind of the object that it is about.
    pub kind: Gvk,
    /// Its namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid; may be empty.
    pub uid: String,
    /// `Warning` or `Normal`.
    pub warning: bool,
    /// CamelCase.
    pub reason: String,
    /// For people.
    pub note: String,
    /// It tells the state of the object, which is the plugin's one: the last one must not be lost.
    pub state: bool,
    /// Where it is kept that it was refused, if its plugin has asked for it.
    pub refusals: Option<Arc<Refusals>>,
}

/// Takes Events and never waits. Copies feed the same task.
#[derive(Clone)]
pub struct Recorder {
    sender: mpsc::Sender<Record>,
    waiting: Waiting,
    metrics: Arc<Metrics>,
}

/// How many Events of each plugin wait, those that tell its state apart; one without any is not in it.
type Waiting = Arc<Mutex<HashMap<(Arc<str>, bool), usize>>>;

impl Recorder {
    /// Starts the task that writes; it ends when stopped, after what was taken is written.
    pub fn start(metrics: Arc<Metrics>, instance: String, stop: CancellationToken) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let waiting = Waiting::default();
        let writer = Writer {
            series: HashMap::new(),
            order: VecDeque::new(),
            buckets: HashMap::new(),
            late: HashMap::new(),
            instance,
            waiting: Arc::clone(&waiting),
            metrics: Arc::clone(&metrics),
        };
        let task = tokio::spawn(writer.run(receiver, stop));
        (Self { sender, waiting, metrics }, task)
    }

    /// Takes one Event; drops and counts it when too many wait.
    pub fn record(&self, record: Record) {
        let from = (Arc::clone(&record.plugin), record.state);
        let mut waiting = self.waiting.lock();
        let count = waiting.get(&from).copied().unwrap_or_default();
        if count < WAITING_OF_PLUGIN && self.sender.try_send(record).is_ok() {
            waiting.insert(from, count + 1);
            return;
        }
        drop(waiting);
        self.metrics.event(&from.0, "dropped");
    }
}

/// What makes two Events equal.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Same {
    plugin: Arc<str>,
    object: About,
    warning: bool,
    reason: String,
    note: String,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct About {
    kind: Gvk,
    namespace: Option<String>,
    name: String,
    uid: String,
}

struct Series {
    event: String,
    count: u32,
    last: Instant,
}

struct Bucket {
    tokens: f64,
    last: Instant,
}

/// The newest Event of a state, which was one too many.
struct Late {
    record: Record,
    /// Events before it that nobody saw.
    left_out: u32,
    /// When its bucket has a token again.
    due: Instant,
}

struct Writer {
    series: HashMap<Same, Series>,
    order: VecDeque<Same>,
    /// Warnings have their own, so that no other Event takes their place.
    buckets: HashMap<(Arc<str>, About, bool), Bucket>,
    /// At most one of each plugin.
    late: HashMap<Arc<str>, Late>,
    instance: String,
    waiting: Waiting,
    metrics: Arc<Metrics>,
}

impl Writer {
    async fn run(mut self, mut records: mpsc::Receiver<Record>, stop: CancellationToken) {
        loop {
            let due = self.late.values().map(|late| late.due).min();
            let record = tokio::select! {
                record = records.recv() => record,
                () = stop.cancelled() => {
                    records.close();
                    records.recv().await
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.catch_up(Instant::now()).await;
                    continue;
                }
            };
            let Some(record) = record else { break };
            if let Entry::Occupied(mut count) = self.waiting.lock().entry((Arc::clone(&record.plugin), record.state)) {
                *count.get_mut() = count.get().saturating_sub(1);
                if *count.get() == 0 {
                    count.remove();
                }
            }
            self.take(record).await;
        }
        // The host after this one takes them for told.
        for Late { record, left_out, .. } in std::mem::take(&mut self.late).into_values() {
            self.write(&record, left_out).await;
        }
    }

    /// Writes an Event if there is a token for it.
    async fn take(&mut self, record: Record) {
        // It is news no more, whether or not the one after it is written now.
        let before = if record.state { self.late.remove(&record.plugin) } else { None };
        let left_out = before.map_or(0, |late| {
            self.metrics.event(&record.plugin, "limited");
            late.left_out.saturating_add(1)
        });
        match self.take_token(&record) {
            None => self.write(&record, left_out).await,
            Some(due) if record.state => {
                self.late.insert(Arc::clone(&record.plugin), Late { record, left_out, due });
            }
            Some(_) => self.metrics.event(&record.plugin, "limited"),
        }
    }

    /// Writes what was held back and has a token by now.
    async fn catch_up(&mut self, now: Instant) {
        let due: Vec<Late> = self.late.extract_if(|_, late| late.due <= now).map(|(_, late)| late).collect();
        for Late { record, left_out, .. } in due {
            match self.take_token(&record) {
                None => self.write(&record, left_out).await,
                Some(due) => {
                    self.late.insert(Arc::clone(&record.plugin), Late { record, left_out, due });
                }
            }
        }
    }

    async fn write(&mut self, record: &Record, left_out: u32) {
        match self.send(record, left_out).await {
            Ok(written) => {
                self.metrics.event(&record.plugin, written);
                if let Some(refusals) = &record.refusals {
                    refusals.written(namespace(record));
                }
            }
            Err(error) => {
                if let (Some(refusals), ApiError::Forbidden(message)) = (&record.refusals, &error)
                    && !message.contains(ENDING)
                {
                    refusals.refused(Reason::Forbidden, message.clone(), Some(namespace(record)));
                }
                EventWriteFailed { plugin: &record.plugin, kind: &record.kind, event_reason: &record.reason, error: &error.to_string() }
                    .emit(&self.metrics)
            }
        }
    }

    async fn send(&mut self, record: &Record, left_out: u32) -> Result<&'static str, ApiError> {
        let about = about(record);
        let note = note(record, left_out);
        let same = Same { plugin: Arc::clone(&record.plugin), object: about, warning: record.warning, reason: record.reason.clone(), note };
        let now = Instant::now();
        if let Some(series) = self.series.get_mut(&same)
            && now.duration_since(series.last) < SERIES_AGE
        {
            series.count += 1;
            series.last = now;
            let patch = serde_json::json!({"series": {"count": series.count, "lastObservedTime": micro_time()}});
            let call = Call {
                method: Method::PATCH,
                path: Api::path(&events(), Some(namespace(record)), Some(&series.event), None)?,
                query: vec![("fieldManager", record.manager.clone())],
                body: Some(("application/merge-patch+json", patch.to_string().into_bytes())),
            };
            match record.api.send(call).await {
                Ok(_) => return Ok("folded"),
                // The server has forgotten the Event: make it again.
                Err(ApiError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        let event = format!("{}.{:016x}", cut_name(&record.name), rand::random::<u64>());
        let call = Call {
            method: Method::POST,
            path: Api::path(&events(), Some(namespace(record)), None, None)?,
            query: vec![("fieldManager", record.manager.clone())],
            body: Some(("application/json", self.event(record, &event, &same.note).into_bytes())),
        };
        record.api.send(call).await?;
        self.remember(same, Series { event, count: 1, last: now });
        Ok("written")
    }

    fn event(&self, record: &Record, name: &str, note: &str) -> String {
        serde_json::json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace(record)},
            "eventTime": micro_time(),
            "reportingController": "wharf.dev/host",
            "reportingInstance": self.instance,
            "action": "Handle",
            "type": if record.warning { "Warning" } else { "Normal" },
            "reason": record.reason,
            "note": note,
            "regarding": {
                "apiVersion": record.kind.api_version(),
                "kind": &*record.kind.kind,
                "namespace": record.namespace,
                "name": record.name,
                "uid": record.uid,
            },
        })
        .to_string()
    }

    /// Takes a token for this Event, or says when there will be one.
    fn take_token(&mut self, record: &Record) -> Option<Instant> {
        let plugin = &record.plugin;
        let now = Instant::now();
        if self.buckets.len() >= SERIES {
            // A full bucket is the same as none.
            self.buckets.retain(|_, b| refilled(b, now) < BURST);
        }
        if self.buckets.len() >= SERIES {
            // Many objects at once: the plugin that adds one starts anew.
            self.buckets.retain(|(other, ..), _| other != plugin);
        }
        let key = (Arc::clone(plugin), about(record), record.warning);
        let bucket = self.buckets.entry(key).or_insert(Bucket { tokens: BURST, last: now });
        bucket.tokens = refilled(bucket, now);
        bucket.last = now;
        if bucket.tokens < 1.0 {
            // A millisecond more than it takes: what is rounded must not come too early.
            return Some(now + REFILL.mul_f64(1.0 - bucket.tokens) + Duration::from_millis(1));
        }
        bucket.tokens -= 1.0;
        None
    }

    fn remember(&mut self, same: Same, series: Series) {
        if self.series.insert(same.clone(), series).is_none() {
            self.order.push_back(same);
        }
        while self.order.len() > SERIES {
            if let Some(oldest) = self.order.pop_front() {
                self.series.remove(&oldest);
            }
        }
    }
}

fn refilled(bucket: &Bucket, now: Instant) -> f64 {
    (bucket.tokens + now.duration_since(bucket.last).as_secs_f64() / REFILL.as_secs_f64()).min(BURST)
}

/// Events about cluster-scoped objects stand in `default`, as client-go's do.
fn namespace(record: &Record) -> &str {
    record.namespace.as_deref().unwrap_or("default")
}

/// Events are built in: no discovery needed.
fn events() -> ResourceKind {
    ResourceKind { gvk: Gvk::new("events.k8s.io", "v1", "Event"), plural: "events".into(), namespaced: true }
}

fn micro_time() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn about(record: &Record) -> About {
    About { kind: record.kind.clone(), namespace: record.namespace.clone(), name: record.name.clone(), uid: record.uid.clone() }
}

/// What is said, and of how many nothing was.
fn note(record: &Record, left_out: u32) -> String {
    let cut = |most: usize| record.note.get(..record.note.floor_char_boundary(most)).unwrap_or(&record.note);
    match left_out {
        0 => cut(MAX_NOTE).to_owned(),
        1 => format!("{} (1 Event before it was left out)", cut(MAX_NOTE - LEFT_OUT)),
        n => format!("{} ({n} Events before it were left out)", cut(MAX_NOTE - LEFT_OUT)),
    }
}

/// Leaves room for the suffix: an Event's name has at most 253 characters.
fn cut_name(name: &str) -> &str {
    name.get(..name.floor_char_boundary(230)).unwrap_or(name)
}

#[cfg(test)]
mod tests;
