//! When a status is written. Owns the pace, the repeats after a failure, and what is remembered of
//! each resource; never decides what is said in it.
//!
//! It looks once a second. What is to be written is made at that moment from what is true then, so
//! there is nothing that could pile up: a server that answers slowly is told less often, not later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use wharf_core::{Object, ObjectKey, Reason};
use wharf_engine::ApiError;

use super::document::{Transitions, document, holds};
use super::outlook::Outlook;
use super::resources::Resources;
use super::told::Told;
use crate::clock::Clock;
use crate::lease::Tenure;
use crate::plugins::{Origin, PluginState, Registry};
use crate::telemetry::events::StatusNotWritten;
use crate::telemetry::metrics::Metrics;

/// How often plugins are looked at.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// Writes from one look to the next.
pub(super) const AT_ONCE: usize = 20;
/// ... of these so many at the same time.
const IN_FLIGHT: usize = 4;
/// Counts alone are written no more often than this, nor is what others overwrite put right.
pub(super) const SLOW: Duration = Duration::from_secs(30);
/// After a start or a takeover, what the host before wrote stays until something is known, but not longer. A first revision
/// may wait ten seconds for the state of its watches.
pub(super) const SETTLE: Duration = Duration::from_secs(30);
/// A write without an answer for so long has failed.
const DEADLINE: Duration = Duration::from_secs(10);
/// Between two attempts: at first, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Writes what becomes of plugins into their resources.
pub(crate) struct Writer<R> {
    resources: R,
    /// How this host is called in `replicas`.
    replica: String,
    clock: Clock,
    metrics: Arc<Metrics>,
    entries: BTreeMap<ObjectKey, Entry>,
    /// A refusal for lack of rights was told of.
    forbidden: bool,
    /// When another failure was told of last.
    said: Option<Instant>,
}

/// What is remembered of a resource.
struct Entry {
    uid: Arc<str>,
    since: Instant,
    /// The status of an earlier host was there.
    continued: bool,
    times: Transitions,
    told: Told,
    written: Option<Written>,
    /// The version whose status was compared last, or which came of a write.
    compared: String,
    /// When something was put right last.
    righted: Option<Instant>,
    /// The server has something else than was written.
    differs: bool,
    failures: u32,
    not_before: Instant,
}

struct Written {
    outlook: Outlook,
    at: Instant,
}

/// A write that is due.
struct Due {
    key: ObjectKey,
    outlook: Outlook,
    times: Transitions,
    document: Value,
}

impl<R: Resources> Writer<R> {
    /// Nothing is written yet.
    pub(crate) fn new(resources: R, replica: String, clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self { resources, replica, clock, metrics, entries: BTreeMap::new(), forbidden: false, said: None }
    }

    /// Writes as long as this host leads, until stopped.
    pub(crate) async fn run(mut self, registry: Arc<Registry>, tenure: Tenure, stop: CancellationToken) {
        let write = async {
            tenure.opened().await;
            let mut looks = interval(LOOK);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                self.look(outlooks(&registry)).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tenure.acts_over() => {}
            () = write => {}
        }
    }

    /// Looks once, and writes what is due.
    pub(super) async fn look(&mut self, mut outlooks: BTreeMap<ObjectKey, Outlook>) {
        outlooks.extend(self.resources.ending().iter().map(|object| (object.key().clone(), Outlook::ending(object))));
        self.entries.retain(|key, _| outlooks.contains_key(key));
        let now = Instant::now();
        let mut due = Vec::new();
        for (key, outlook) in outlooks {
            // One that is not there is nobody's to read; one whose deletion begins at this moment is looked at next time.
            let Some(object) = self.resources.get(&key).filter(|object| object.deleting() == outlook.is_ending()) else {
                self.entries.remove(&key);
                continue;
            };
            let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry::new(&object, now));
            if entry.uid != *object.uid() {
                *entry = Entry::new(&object, now);
            }
            for note in entry.told.news(&outlook) {
                self.resources.tell(&object, &note);
            }
            entry.compare(&object, &self.replica);
            if let Some(since) = entry.due(&outlook, now) {
                due.push((since, key, outlook, Arc::clone(object.uid())));
            }
        }
        // Who has waited longest is first, so that nobody starves.
        due.sort_by_key(|(since, ..)| *since);
        due.truncate(AT_ONCE);
        let stamp = stamp(self.clock);
        let prepare = |(_, key, outlook, uid): (Instant, ObjectKey, Outlook, Arc<str>)| {
            let times = self.entries.get(&key)?.times.turned(&outlook.conditions, &stamp);
            let document = document(&key, &uid, &outlook, &times, &self.replica, &stamp);
            Some(Due { key, outlook, times, document })
        };
        let due: Vec<Due> = due.into_iter().filter_map(prepare).collect();
        let resources = &self.resources;
        let write = |due: Due| async move {
            let written = timeout(DEADLINE, resources.write(&due.key, &due.document)).await;
            let late = || Err(ApiError::Unavailable(format!("no answer within {} s", DEADLINE.as_secs())));
            (due, written.unwrap_or_else(|_| late()))
        };
        let results: Vec<_> = futures::stream::iter(due).map(write).buffer_unordered(IN_FLIGHT).collect().await;
        for (due, result) in results {
            self.note(due, result);
        }
    }

    /// What came of a write.
    fn note(&mut self, due: Due, result: Result<String, ApiError>) {
        let Self { entries, metrics, forbidden, said, .. } = self;
        let Some(entry) = entries.get_mut(&due.key) else { return };
        let now = Instant::now();
        let error = match result {
            Ok(version) => {
                if entry.differs {
                    entry.righted = Some(now);
                }
                *forbidden &= entry.failures == 0;
                (entry.compared, entry.times, entry.failures, entry.differs) = (version, due.times, 0, false);
                entry.written = Some(Written { outlook: due.outlook, at: now });
                return metrics.status_written("ok");
            }
            Err(error) => error,
        };
        entry.failures = entry.failures.saturating_add(1);
        let backoff = BACKOFF.0.saturating_mul(1 << (entry.failures - 1).min(6)).min(BACKOFF.1);
        let (word, wait) = match &error {
            // It is seen to be gone soon, or another one of its name is.
            ApiError::NotFound => ("gone", BACKOFF.1),
            ApiError::Conflict(_) | ApiError::AlreadyExists => ("conflict", backoff),
            ApiError::Forbidden(_) => ("forbidden", BACKOFF.1),
            ApiError::Throttled(after) => ("failed", backoff.max(*after)),
            ApiError::Unavailable(_) => ("failed", backoff),
            // What the server does not take today it will not take in a second.
            ApiError::Invalid(_) | ApiError::TooLarge | ApiError::NotGranted(_) => ("failed", BACKOFF.1),
        };
        // So that not all of them come back in the same second.
        entry.not_before = now + wait + wait.mul_f64(rand::random::<f64>() / 10.0);
        metrics.status_written(word);
        // It is the same with every resource, so it is not said of each.
        let (reason, news) = match &error {
            ApiError::NotFound | ApiError::Conflict(_) | ApiError::AlreadyExists => return,
            ApiError::Forbidden(_) => (Reason::Forbidden, !std::mem::replace(forbidden, true)),
            _ => (Reason::ServerUnavailable, said.is_none_or(|at| now >= at + SLOW)),
        };
        if news {
            *said = Some(now);
            StatusNotWritten { plugin: &due.key.to_string(), reason, error: &error.to_string() }.emit();
        }
    }
}

impl Entry {
    fn new(object: &Object, now: Instant) -> Self {
        let status = status(object);
        Self {
            uid: Arc::clone(object.uid()),
            since: now,
            continued: status.get("conditions").is_some(),
            times: Transitions::read(&status),
            told: Told::read(&status),
            written: None,
            compared: String::new(),
            righted: None,
            differs: false,
            failures: 0,
            not_before: now,
        }
    }

    /// Looks whether somebody else has changed what was written. Each version is looked at once: one that
    /// is older than the last write looks changed too, and costs a write that changes nothing.
    fn compare(&mut self, object: &Object, replica: &str) {
        let Some(written) = self.written.as_ref().filter(|_| self.compared != object.resource_version()) else { return };
        object.resource_version().clone_into(&mut self.compared);
        self.differs = !holds(&status(object), &written.outlook, replica);
    }

    /// Is there something to write now? Since when.
    fn due(&self, outlook: &Outlook, now: Instant) -> Option<Instant> {
        if now < self.not_before {
            return None;
        }
        let Some(written) = &self.written else {
            let wait = outlook.coming && self.continued && now < self.since + SETTLE;
            return (!wait).then_some(self.not_before);
        };
        let soon = !written.outlook.says_the_same(outlook);
        let right = self.differs && self.righted.is_none_or(|at| now >= at + SLOW);
        let counts = written.outlook.counts != outlook.counts && now >= written.at + SLOW;
        (soon || right || counts).then_some(written.at.max(self.not_before))
    }
}

/// What there is to tell of each plugin that is a resource.
fn outlooks(registry: &Registry) -> BTreeMap<ObjectKey, Outlook> {
    let key = |origin: &Origin| match origin {
        Origin::Resource { namespace, name } => Some(ObjectKey::new(namespace, name)),
        Origin::File(_) => None,
    };
    let unreadable = registry.unreadable();
    let unreadable = unreadable.iter().filter_map(|(origin, refusal)| Some((key(origin)?, Outlook::unreadable(refusal))));
    let mut plugins = registry.status();
    // Of these the resource is gone, or is another one by now.
    plugins.retain(|plugin| plugin.state != PluginState::Draining);
    let plugins = plugins.iter().filter_map(|plugin| Some((key(&plugin.origin)?, Outlook::of(plugin))));
    unreadable.chain(plugins).collect()
}

fn status(object: &Object) -> Value {
    let read = serde_json::from_str::<Value>(object.json()).ok();
    read.and_then(|mut value| value.get_mut("status").map(Value::take)).unwrap_or_default()
}

/// The time of day as a status has it.
fn stamp(clock: Clock) -> String {
    let seconds = i64::try_from(clock.now().as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
