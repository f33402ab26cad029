//! What the control API answers, as rows. Host and command line share these types; the
//! JSON names are camelCase. Owns no data: a [`StatusSource`] has it.

use serde::{Deserialize, Serialize};

use crate::dispatch::Memory;

/// Where the rows come from. Called for each request; should answer within milliseconds.
pub trait StatusSource: Send + Sync {
    /// All plugins, by namespace and name.
    fn plugins(&self) -> Vec<PluginRow>;
    /// All informers, by kind and scope.
    fn informers(&self) -> Vec<InformerRow>;
    /// All workqueues, by plugin.
    fn queues(&self) -> Vec<QueueRow>;
    /// What plugins and the host have used until now.
    fn usage(&self) -> UsageRow;
}

/// One plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginRow {
    /// The tenant.
    pub namespace: String,
    /// Unique within the namespace.
    pub name: String,
    /// Short name of the serving revision; empty if none serves.
    pub revision: String,
    /// `sha256:…` of the serving component, on standby of the one that could; else empty.
    pub digest: String,
    /// `Starting`, `Standby`, `Serving`, `Refused`, `Sleeping`, `Suspended`, `Paused`, `Draining`. `Refused`: and no revision serves.
    pub state: String,
    /// Why, if it is refused, sleeps or stands by; or what is wrong though it serves, a wish that was refused for example.
    pub reason: String,
    /// The same in detail, for people.
    pub message: String,
    /// The step of a rollout that is under way: `read`, `compile`, `check`, `probe`, `resolve`, `sync`, `swap` or `bake`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// For how long, in seconds.
    pub step_seconds: u64,
    /// What it is subscribed to, in words.
    pub subscriptions: Vec<String>,
    /// Has it been called, with whatever outcome, for all that was there when it was first served? On standby: do its watches
    /// follow the server?
    pub synced: bool,
    /// Guest calls that ended.
    pub calls: u64,
    /// Those that failed.
    pub failures: u64,
    /// Keys that wait for a change after a failure.
    pub parked: u64,
    /// Keys whose last call failed, parked ones included, and deletes that have not ended.
    pub failing: u64,
    /// Keys that wait to be worked on, now or later.
    pub waiting: u64,
    /// For how long it has been in this state, in seconds.
    pub age_seconds: u64,
    /// The file or resource that defines it.
    pub source: String,
}

/// One informer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InformerRow {
    /// For example `ConfigMap`.
    pub kind: String,
    /// For example `v1` or `apps/v1`.
    pub api_version: String,
    /// A namespace, or `*`.
    pub scope: String,
    /// Label and field selectors; empty selects everything.
    pub selectors: String,
    /// Who listens.
    pub handlers: u64,
    /// Objects in the store.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// `Starting`, `Synced`, `Sleeping`, `Failing`, `Stopped`.
    pub state: String,
    /// Why, if it sleeps or fails.
    pub reason: String,
    /// Full lists after the first one.
    pub relists: u64,
    /// Since the server last sent anything, in seconds; absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_age_seconds: Option<u64>,
}

/// One workqueue and its plugin's ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueRow {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// Keys that could be worked on now.
    pub ready: u64,
    /// Keys that wait for their time.
    pub waiting: u64,
    /// Keys in work.
    pub processing: u64,
    /// Time that the oldest key in work has been worked on.
    pub longest_running_seconds: f64,
    /// Keys that wait for a change after a failure.
    pub parked: u64,
    /// Objects that the plugin was told about.
    pub ledger_entries: u64,
}

/// Counters and gauges; rates are what two of these differ in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageRow {
    /// When this was read, in seconds of the host's own clock.
    pub at_seconds: f64,
    /// The process.
    pub host: HostUsage,
    /// All plugins, by namespace and name.
    pub plugins: Vec<PluginUsage>,
}

/// What the host's process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostUsage {
    /// Processor time, guests included.
    pub cpu_seconds: f64,
    /// Resident memory now.
    pub memory_bytes: u64,
}

/// What memory a plugin holds, in bytes; what plugins share is divided by those who share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryRow {
    /// Machine code that is mapped.
    pub code: u64,
    /// Linear memory of its instances.
    pub instances: u64,
    /// Ledger and queue.
    pub keys: u64,
    /// What `wharf explain` shows.
    pub history: u64,
    /// What `wharf get failedcalls` shows.
    pub failures: u64,
    /// Changes that it is still to be told of one by one.
    pub backlog: u64,
    /// Cached objects.
    pub cache: u64,
}

impl From<Memory> for MemoryRow {
    fn from(Memory { code, instances, keys, history, failures, backlog, cache }: Memory) -> Self {
        Self { code, instances, keys, history, failures, backlog, cache }
    }
}

/// What one plugin has used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginUsage {
    /// The plugin, `namespace/name`.
    pub plugin: String,
    /// Short name of the serving revision; empty if none serves.
    pub revision: String,
    /// Guest calls that ended.
    pub calls: u64,
    /// Those that failed.
    pub failures: u64,
    /// Processor time of the serving revision, calls in flight included; begins anew with each revision.
    pub cpu_seconds: f64,
    /// Memory that it holds now, all parts together.
    pub memory_bytes: u64,
    /// The parts.
    pub memory: MemoryRow,
    /// Instances now.
    pub instances: u64,
    /// Keys that could be worked on now.
    pub queue_depth: u64,
}

/// The host itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VersionRow {
    /// Version of the host.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When the control API started, RFC 3339.
    pub started: String,
}

/// How the control API says no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRow {
    /// What failed.
    pub error: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}
