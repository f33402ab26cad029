//! The host as a whole: builds the parts in order, and takes them down in the reverse one.
//!
//! Owns start and stop and nothing in between. Start: reach the API server, engine,
//! informers, servers, plugins. Stop: no new wishes, no new keys, calls in flight end
//! within the drain deadline, watches, Events, servers. What a resource's status says stays as it is.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wharf_cache::{CacheMetrics, Informers};
use wharf_core::Reason;
use wharf_core::ledger::Policy;
use wharf_core::plugin::PluginName;
use wharf_engine::Engine;

use crate::admin::{ControlEndpoint, ControlServer, Health, Probe, Server, StatusSource, serve_health, serve_metrics};
use crate::clock::Clock;
use crate::config::{FailureSettings, InformerSettings, Settings};
use crate::connect::{self, Wanted};
use crate::dispatch::Shared;
use crate::fairness::Fairness;
use crate::memory;
use crate::operate::Operator;
use crate::plugins::Registry;
use crate::plugins::cluster::Cluster;
use crate::plugins::directory::{Directory, Followed};
use crate::plugins::revisions::Revisions;
use crate::plugins::sources;
use crate::plugins::stage::Stage;
use crate::ports::api::{Api, Identity};
use crate::ports::recorder::Recorder;
use crate::ports::{PortsFactory, Rates};
use crate::publish::{ApiResources, Writer};
use crate::standby::{self, Books, Standby};
use crate::status::HostStatus;
use crate::telemetry::LogHandle;
use crate::telemetry::events::{HostReady, HostStopped, HostStopping};
use crate::telemetry::metrics::Metrics;

/// How long a host waits for its API server when it starts.
const REACHED: Duration = Duration::from_secs(30);

/// Revisions of each plugin that are kept on disk.
const KEEP_REVISIONS: usize = 10;

/// Why a host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting, a folder or an address cannot be used.
    #[error("the host cannot start with this configuration")]
    Config(#[source] anyhow::Error),
    /// A file or an URL that the connection needs cannot be used.
    #[error("the connection to the API server cannot be made with what is configured")]
    Unusable(#[source] anyhow::Error),
    /// There are no credentials just now: a token file is missing or empty, an exec plugin fails.
    #[error("the API server was not asked: there are no credentials for it")]
    NoCredentials(#[source] anyhow::Error),
    /// The API server answers, and refuses who asks.
    #[error("the API server refuses the credentials")]
    Refused {
        /// `Unauthorized` or `Forbidden`.
        reason: Reason,
        /// What was asked and what came back.
        source: anyhow::Error,
    },
    /// Whoever answers has no certificate that makes it the API server.
    #[error("the API server's certificate is not trusted")]
    Untrusted(#[source] anyhow::Error),
    /// The API server cannot be reached within the deadline.
    #[error("the API server cannot be reached")]
    Unavailable(#[source] anyhow::Error),
}

impl StartError {
    /// The reason shown to users.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Config(_) | Self::Unusable(_) | Self::NoCredentials(_) => Reason::HostConfigInvalid,
            Self::Refused { reason, .. } => *reason,
            Self::Untrusted(_) | Self::Unavailable(_) => Reason::ServerUnavailable,
        }
    }
}

/// Why a running host can go on no more.
#[derive(Debug, thiserror::Error)]
pub enum HostFailure {
    /// It led, and another host may lead now. What is in flight is for [`Host::stop`].
    #[error("the lease was lost: another host may lead")]
    LeaseLost,
    /// It was elected, and another process has the checkpoint open.
    #[error("this host was elected and cannot lead")]
    InUse(#[source] anyhow::Error),
    /// A part that must run has ended.
    #[error("a part of the host has ended by itself")]
    Defect(#[source] anyhow::Error),
}

/// A running host.
pub struct Host {
    registry: Arc<Registry>,
    informers: Informers,
    servers: Servers,
    follow: Part,
    standby: Standby,
    /// Writes the status of resources, if there are any.
    publish: Part,
    recorder: Part,
    /// Ends the source of plugins first, everything else after the drain.
    stop_plugins: CancellationToken,
    stop_rest: CancellationToken,
}

impl Host {
    /// Starts a host; `log` is what the control API shows and changes. Returns when the servers listen and the plugins are being loaded;
    /// `/readyz` tells when everything has synced.
    ///
    /// # Errors
    /// See [`StartError`]. What was started until then is taken down again.
    pub async fn start(settings: &Settings, log: LogHandle) -> Result<Self, StartError> {
        let started = Instant::now();
        let metrics = Metrics::with_log_lines(settings.ceilings.log_lines_per_second);
        let connection = connect::connect(&settings.way, &metrics, Wanted::Accepted { patience: REACHED }).await?;
        let (stop_plugins, stop_rest) = (CancellationToken::new(), CancellationToken::new());
        // Whoever leaves early takes the tasks along.
        let guard = stop_rest.clone().drop_guard();
        let guard_plugins = stop_plugins.clone().drop_guard();
        for (folder, what) in [(&settings.data_directory, "data directory"), (&settings.checkpoint.directory, "checkpoint's directory")] {
            let made = std::fs::create_dir_all(folder).with_context(|| format!("create the {what} {}", folder.display()));
            made.map_err(StartError::Config)?;
        }
        let engine_config = settings.engine.config(&settings.data_directory.join("cwasm"));
        let max_component_bytes = engine_config.max_component_bytes;
        let fairness = Fairness::new(&engine_config, settings.engine.tenant_weights.clone());
        let engine = Engine::with_scheduler(engine_config, fairness).context("start the engine").map_err(StartError::Config)?;
        let cache_metrics: Arc<dyn CacheMetrics> = Arc::<Metrics>::clone(&metrics);
        let informers = Informers::new(connection.client.clone(), informer_options(settings), cache_metrics);
        let (recorder, recorder_task) = Recorder::start(Arc::clone(&metrics), connect::instance_name(), stop_rest.clone());
        let api = Api::new(connection.client, informers.clone(), Identity::Host);
        let clock = Clock::start();
        let (elector, tenure) = standby::candidate(settings, &api, &connection.namespace, clock, &metrics);
        let api = api.within(tenure.clone());
        let rates = Rates::new(settings.ceilings.requests_per_second);
        let ports =
            Arc::new(PortsFactory { api: api.clone(), recorder: recorder.clone(), metrics: Arc::clone(&metrics), rates, log: log.clone() });
        let stage = Stage {
            engine,
            informers: informers.clone(),
            ports,
            metrics: Arc::clone(&metrics),
            turns: Arc::new(Semaphore::new(2)),
            max_component_bytes,
            defaults: settings.limits,
            ceilings: settings.ceilings.plugins,
            makes_accounts: settings.makes_accounts,
        };
        let FailureSettings { strikes, park, max_keys, kept: keep_failed, breaker } = settings.failures;
        let policy = Policy { strikes, park, max_failing: max_keys };
        let books = Books::new(settings, clock, &metrics, &tenure, stop_rest.child_token());
        // A host without an election leads at once.
        if let Some(own) = books.as_ref().filter(|_| !tenure.is_elected()) {
            own.open().await.map_err(StartError::Config)?;
        }
        let checkpoint = books.as_ref().map(|books| Arc::clone(&books.checkpoint));
        let shared = Arc::new(Shared {
            clock,
            metrics: Arc::clone(&metrics),
            policy,
            breaker,
            history_bytes: settings.history_bytes,
            keep_failed,
            checkpoint: checkpoint.clone(),
            tenure: tenure.clone(),
        });
        let revisions = revisions(settings).await;
        let kept = kept(revisions.clone()).await;
        let registry = Registry::new(stage, shared, revisions);
        let operator = Arc::new(Operator::new(Arc::clone(&registry), informers.clone(), clock, log.clone()));
        let status = Arc::new(HostStatus::new(Arc::clone(&registry), informers.clone(), checkpoint, tenure.clone(), log));
        metrics.on_scrape(status.scraper());
        let servers = Servers::start(settings, Arc::clone(&metrics), &status, operator, &stop_rest).await.map_err(StartError::Config)?;
        let directory =
            Directory { path: settings.plugins_directory.clone(), allow_bare: settings.allow_bare, folders: settings.plugin_folders };
        let Followed { wishes, components } = directory.follow(stop_plugins.clone()).map_err(StartError::Config)?;
        let (mut sources, mut publish) = (vec![wishes], None);
        if settings.cluster_plugins.enabled {
            let cluster = Cluster {
                namespaces: settings.cluster_plugins.namespaces.clone(),
                folder: settings.plugins_directory.clone(),
                per_namespace: settings.ceilings.plugins.plugins_per_tenant,
                kept,
            };
            sources.push(cluster.follow(&informers, components, stop_plugins.clone()));
            let resources = ApiResources::new(&settings.cluster_plugins.namespaces, &informers, api, recorder);
            let writer = Writer::new(resources, connect::instance_name(), clock, metrics);
            publish = Some(tokio::spawn(writer.run(Arc::clone(&registry), tenure.clone(), stop_plugins.clone())));
        }
        let wishes = sources::follow(sources, informers.clone(), stop_plugins.clone());
        let follow = tokio::spawn(Arc::clone(&registry).follow(wishes, stop_plugins.clone()));
        let standby = Standby::start(elector, tenure, books);
        guard.disarm();
        guard_plugins.disarm();
        tracing::info!(target: "wharf::host", server = %connection.version, plugins = %settings.plugins_directory.display(), "host started");
        tokio::spawn(tell_when_ready(status, started, stop_plugins.clone()));
        let (follow, publish) = (Part::new("the plugin registry", Some(follow)), Part::new("what writes the status of resources", publish));
        let recorder = Part::new("the Event recorder", Some(recorder_task));
        Ok(Self { registry, informers, servers, follow, standby, publish, recorder, stop_plugins, stop_rest })
    }

    /// Waits until the host can go on no more: a part of it that must run has ended by itself, which is a defect, or
    /// it leads no more.
    /// Cancel safe.
    pub async fn failed(&mut self) -> HostFailure {
        tokio::select! {
            // With the leadership other parts end in order.
            biased;
            failure = self.standby.failed() => failure,
            failure = self.follow.failed() => failure,
            failure = self.publish.failed() => failure,
            failure = self.recorder.failed() => failure,
        }
    }

    /// Drains and stops. Calls in flight have until the deadline, or until another host may lead; returns
    /// how many had to be cancelled (they are delivered again at the next start). The lease is given
    /// back when nothing more is called or written.
    pub async fn stop(self, cause: &str, deadline: Duration) -> usize {
        let started = Instant::now();
        HostStopping { cause, deadline }.emit();
        self.stop_plugins.cancel();
        // No plugin is added any more.
        self.follow.abort().await;
        // It breaks off what it writes.
        self.publish.ended().await;
        let cancelled = self.registry.drain(deadline).await;
        self.standby.end().await;
        self.informers.shutdown().await;
        self.stop_rest.cancel();
        if tokio::time::timeout(Duration::from_secs(2), self.recorder.ended()).await.is_err() {
            tracing::warn!(target: "wharf::host", "some Events were not written before the stop");
        }
        self.servers.stopped().await;
        HostStopped { cancelled, duration: started.elapsed() }.emit();
        cancelled
    }
}

/// A task that must run as long as the host does, if there is one.
struct Part {
    name: &'static str,
    /// `None` when it has ended.
    task: Option<JoinHandle<()>>,
}

impl Part {
    fn new(name: &'static str, task: Option<JoinHandle<()>>) -> Self {
        Self { name, task }
    }

    /// Waits until it has ended by itself. Cancel safe.
    async fn failed(&mut self) -> HostFailure {
        let Some(task) = &mut self.task else { return std::future::pending().await };
        let ended = task.await;
        self.task = None;
        HostFailure::Defect(anyhow::anyhow!("{} has ended: {ended:?}", self.name))
    }

    /// Waits until it has ended, as it was told to.
    async fn ended(self) {
        if let Some(task) = self.task {
            let _ended = task.await.is_ok();
        }
    }

    /// Ends it where it is.
    async fn abort(self) {
        self.task.iter().for_each(JoinHandle::abort);
        self.ended().await;
    }
}

/// Where revisions are kept. Without that place plugins serve all the same. Hosts that elect a leader share it: what
/// one has withdrawn or paused is so for the next.
async fn revisions(settings: &Settings) -> Option<Arc<Revisions>> {
    let home = if settings.election.enabled { &settings.checkpoint.directory } else { &settings.data_directory };
    let (folder, keep) = (home.join("revisions"), KEEP_REVISIONS);
    let opened = tokio::task::spawn_blocking(move || Revisions::open(&folder, keep));
    match opened.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        Ok(revisions) => Some(Arc::new(revisions)),
        Err(error) => {
            let reason = Reason::RevisionsUnusable;
            tracing::error!(target: "wharf::host", %reason, %error, hint = reason.hint(), "revisions are not kept");
            None
        }
    }
}

/// The plugins that have served before. That they cannot be read is said when they are needed.
async fn kept(revisions: Option<Arc<Revisions>>) -> Vec<PluginName> {
    let names = tokio::task::spawn_blocking(move || revisions.and_then(|revisions| revisions.names().ok()));
    names.await.ok().flatten().unwrap_or_default()
}

fn informer_options(settings: &Settings) -> wharf_cache::Options {
    let InformerSettings { watch_timeout, widen_after, linger, max_bytes } = settings.informers;
    // Of what is left the guests, a compilation and the reading of lists need their part.
    let max_bytes = max_bytes.or_else(|| memory::available().map(|bytes| bytes / 5 * 3));
    wharf_cache::Options { watch_timeout, widen_after, linger, max_bytes, ..wharf_cache::Options::default() }
}

/// The host's own servers.
struct Servers {
    http: Vec<Server>,
    control: ControlServer,
}

impl Servers {
    async fn start(
        settings: &Settings,
        metrics: Arc<Metrics>,
        status: &Arc<HostStatus>,
        operator: Arc<Operator>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let health = Health::new();
        let (loaded, synced, elected) = (Arc::clone(status), Arc::clone(status), Arc::clone(status));
        health.add("plugins", Probe::Ready, move || loaded.plugins_loaded());
        health.add("informers", Probe::Ready, move || synced.informers_settled());
        if settings.election.enabled {
            health.add("leader-election", Probe::Live, move || elected.election());
        }
        let http = [
            serve_health(&settings.health_probe_bind_address, health, stop.clone()).await?,
            serve_metrics(&settings.metrics_bind_address, metrics, stop.clone()).await?,
        ];
        let endpoint = ControlEndpoint::of(&settings.control_socket, &settings.data_directory);
        let source: Arc<dyn StatusSource> = Arc::<HostStatus>::clone(status);
        let control = ControlServer::start(&endpoint, source, Arc::<Operator>::clone(&operator), operator, stop.clone()).await?;
        Ok(Self { http: http.into_iter().flatten().collect(), control })
    }

    /// Waits until the last connection has ended.
    async fn stopped(self) {
        let ended = futures::future::join_all(self.http.into_iter().map(Server::stopped)).await;
        for result in ended.into_iter().chain([self.control.stopped().await]) {
            if let Err(error) = result {
                tracing::warn!(target: "wharf::host", error = format!("{error:#}"), "a server did not stop in order");
            }
        }
    }
}

/// Says once that everything that was there at the start serves or was refused.
async fn tell_when_ready(status: Arc<HostStatus>, started: Instant, stop: CancellationToken) {
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = look.tick() => {}
        }
        if let Some(plugins) = status.ready() {
            HostReady { plugins, duration: started.elapsed() }.emit();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_ends_by_itself_is_a_failure_and_the_stop_does_not_wait_for_it() {
        let mut ended = Part::new("a part", Some(tokio::spawn(async {})));
        assert!(matches!(ended.failed().await, HostFailure::Defect(error) if error.to_string().starts_with("a part has ended")));
        ended.abort().await;
        let mut there_is_none = Part::new("none", None);
        assert!(tokio::time::timeout(Duration::ZERO, there_is_none.failed()).await.is_err());
        there_is_none.ended().await;
    }
}
