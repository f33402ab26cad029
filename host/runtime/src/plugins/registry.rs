//! The plugins of this host: each one a task that turns wishes into a serving revision.
//!
//! Owns the only place where a revision is exchanged. One task per plugin, so that a slow
//! compile or a watch that does not sync holds up nobody else; of several wishes the task
//! works on the latest. A wish that is refused changes nothing that serves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::desired::{Desired, Refusal, Wishes};
use super::identity::identity;
use super::stage::Stage;
use crate::dispatch::{Dispatcher, DispatcherStats, Serving, Shared, Subscribed};
use crate::telemetry::events::{PluginRefused, PluginRemoved, PluginServing};

/// Staging that was refused is tried again after this time: a missing kind's rights or an
/// unreachable server may have changed without the plugin's file changing.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Watches that have not synced after this time are worth a word.
const PATIENCE: Duration = Duration::from_secs(30);

/// What has become of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// A first revision is being staged.
    Starting,
    /// A first revision could serve, but another host leads.
    Standby,
    /// The wished revision serves.
    Serving,
    /// The wish was refused; an earlier revision may serve.
    Refused(Refusal),
}

impl PluginState {
    /// The word used in tables.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Standby => "Standby",
            Self::Serving => "Serving",
            Self::Refused(_) => "Refused",
        }
    }
}

/// A plugin's state, for status and people.
#[derive(Clone, Debug)]
pub struct PluginStatus {
    /// Its name.
    pub name: PluginName,
    /// What has become of the last wish.
    pub state: PluginState,
    /// Short name of the serving revision; empty if none serves.
    pub revision: String,
    /// Digest of the serving component; empty if none serves.
    pub digest: String,
    /// Where the wish stands.
    pub origin: PathBuf,
    /// Since when this state holds.
    pub since: Instant,
    /// Why the plugin is not told of something it is subscribed to, if so.
    pub trouble: Option<(Reason, String)>,
    /// What it is subscribed to, in words.
    pub subscriptions: Vec<String>,
    /// Calls that may run at once; 0 if no revision serves.
    pub concurrency: u32,
    /// Queue and ledger.
    pub stats: DispatcherStats,
}

/// All plugins of a host.
pub struct Registry {
    stage: Stage,
    shared: Arc<Shared>,
    pub(super) plugins: Mutex<BTreeMap<PluginName, Plugin>>,
    /// Files in which not even a plugin's name could be read.
    unreadable: Mutex<BTreeMap<PathBuf, Refusal>>,
    /// Removed ones that still drain. A new plugin of such a name has to wait.
    leaving: Mutex<BTreeSet<PluginName>>,
    left: Notify,
    drains: TaskTracker,
    loaded: AtomicBool,
}

pub(super) struct Plugin {
    pub(super) dispatcher: Arc<Dispatcher>,
    wish: watch::Sender<Result<Desired, Refusal>>,
    pub(super) status: Arc<Mutex<Status>>,
    origin: PathBuf,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

pub(super) struct Status {
    pub(super) state: PluginState,
    revision: String,
    digest: String,
    since: Instant,
}

impl Registry {
    /// A registry without plugins.
    pub fn new(stage: Stage, shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            stage,
            shared,
            plugins: Mutex::default(),
            unreadable: Mutex::default(),
            leaving: Mutex::default(),
            left: Notify::new(),
            drains: TaskTracker::new(),
            loaded: AtomicBool::new(false),
        })
    }

    /// Follows a source of wishes until stopped. Cancel safe: plugins stay as they are.
    pub async fn follow(self: Arc<Self>, mut wishes: watch::Receiver<Wishes>, stop: CancellationToken) {
        loop {
            let now = wishes.borrow_and_update().clone();
            self.apply(now);
            self.loaded.store(true, Ordering::SeqCst);
            tokio::select! {
                () = stop.cancelled() => return,
                changed = wishes.changed() => if changed.is_err() { return },
                () = self.left.notified() => {}
            }
        }
    }

    /// True once the first wishes were read; for readiness.
    pub fn loaded(&self) -> bool {
        self.loaded.load(Ordering::SeqCst)
    }

    /// Files in which not even a plugin's name could be read, and why.
    pub fn unreadable(&self) -> BTreeMap<PathBuf, Refusal> {
        self.unreadable.lock().clone()
    }

    /// How many plugins there are whose wish was neither met nor refused yet, and how many
    /// have a revision that serves, or could if this host led. Cheap.
    pub fn progress(&self) -> (usize, usize) {
        let plugins = self.plugins.lock();
        let starting = plugins.values().filter(|plugin| plugin.status.lock().state == PluginState::Starting).count();
        let serves = |plugin: &&Plugin| plugin.dispatcher.serving().is_some() || plugin.status.lock().state == PluginState::Standby;
        (starting, plugins.values().filter(serves).count())
    }

    /// The state of every plugin, by name.
    pub fn status(&self) -> Vec<PluginStatus> {
        let plugins = self.plugins.lock();
        let row = |(name, plugin): (&PluginName, &Plugin)| {
            let status = plugin.status.lock();
            let subscribed = plugin.dispatcher.subscribed();
            let mut subscriptions: Vec<String> = subscribed.subscriptions().map(|s| format!("{}={}", s.name, s.kind)).collect();
            subscriptions.sort();
            PluginStatus {
                name: name.clone(),
                state: status.state.clone(),
                revision: status.revision.clone(),
                digest: status.digest.clone(),
                origin: plugin.origin.clone(),
                since: status.since,
                trouble: subscribed.trouble(),
                subscriptions,
                concurrency: plugin.dispatcher.serving().map_or(0, |serving| serving.limits.concurrency),
                stats: plugin.dispatcher.stats(),
            }
        };
        plugins.iter().map(row).collect()
    }

    /// Drains all plugins at once. Returns how many calls had to be cancelled.
    pub async fn drain(&self, deadline: Duration) -> usize {
        let end_of_all = Instant::now() + deadline;
        let plugins = std::mem::take(&mut *self.plugins.lock());
        let drained = futures::future::join_all(plugins.into_values().map(|plugin| end(plugin, deadline))).await;
        // Those that were leaving have deadlines of their own.
        self.drains.close();
        // Those that were leaving have deadlines of their own; the host's is this one.
        let left = tokio::time::timeout_at(end_of_all, self.drains.wait()).await;
        drained.into_iter().sum::<usize>() + usize::from(left.is_err())
    }

    fn apply(self: &Arc<Self>, wishes: Wishes) {
        let known = std::mem::replace(&mut *self.unreadable.lock(), wishes.unreadable.clone());
        for (path, refusal) in wishes.unreadable.iter().filter(|(path, refusal)| known.get(*path) != Some(*refusal)) {
            tracing::error!(
                target: "wharf::plugin", file = %path.display(), reason = %refusal.reason, error = %refusal.message, hint = %refusal.hint,
                "plugin document refused"
            );
        }
        let gone: Vec<(PluginName, Plugin)> = {
            let mut plugins = self.plugins.lock();
            let gone = |name: &PluginName, p: &Plugin| !wishes.plugins.contains_key(name) && !wishes.unreadable.contains_key(&p.origin);
            let names: Vec<PluginName> = plugins.iter().filter(|(name, p)| gone(name, p)).map(|(name, _)| name.clone()).collect();
            names.into_iter().filter_map(|name| plugins.remove_entry(&name)).collect()
        };
        for (name, plugin) in gone {
            self.leave(name, plugin);
        }
        let known = wishes.unreadable.is_empty();
        for (name, wish) in wishes.plugins {
            self.wish(name, wish);
        }
        // A file that cannot be read may be that of any plugin.
        if let Some(checkpoint) = self.shared.checkpoint.as_ref().filter(|_| known) {
            checkpoint.present(self.plugins.lock().keys().map(ToString::to_string).collect());
        }
    }

    /// Drains a removed plugin beside everything else; what is running has as long as one
    /// call may take.
    fn leave(self: &Arc<Self>, name: PluginName, plugin: Plugin) {
        self.leaving.lock().insert(name.clone());
        let registry = Arc::clone(self);
        self.drains.spawn(async move {
            let deadline = plugin.dispatcher.serving().map_or(Duration::ZERO, |serving| serving.limits.deadline);
            end(plugin, deadline).await;
            PluginRemoved { plugin: &name.to_string() }.emit(&registry.shared.metrics);
            registry.leaving.lock().remove(&name);
            registry.left.notify_one();
        });
    }

    fn wish(self: &Arc<Self>, name: PluginName, wish: Result<Desired, Refusal>) {
        if self.leaving.lock().contains(&name) {
            return;
        }
        let mut plugins = self.plugins.lock();
        if let Some(plugin) = plugins.get_mut(&name) {
            if let Ok(desired) = &wish {
                plugin.origin.clone_from(&desired.origin);
            }
            plugin.wish.send_if_modified(|last| {
                let changed = *last != wish;
                *last = wish;
                changed
            });
            return;
        }
        let origin = wish.as_ref().map(|desired| desired.origin.clone()).unwrap_or_default();
        let dispatcher = Dispatcher::new(name.clone(), Arc::clone(&self.shared));
        let (sender, receiver) = watch::channel(wish);
        let status = Status { state: PluginState::Starting, revision: String::new(), digest: String::new(), since: Instant::now() };
        let status = Arc::new(Mutex::new(status));
        let stop = CancellationToken::new();
        let task = Task {
            label: name.to_string().into(),
            registry: Arc::clone(self),
            dispatcher: Arc::clone(&dispatcher),
            status: Arc::clone(&status),
            served: None,
            number: 0,
        };
        let task = tokio::spawn(task.run(receiver, stop.clone()));
        plugins.insert(name, Plugin { dispatcher, wish: sender, status, origin, stop, task });
    }
}

async fn end(plugin: Plugin, deadline: Duration) -> usize {
    plugin.stop.cancel();
    plugin.task.abort();
    // Ended or aborted: either way no swap comes any more.
    let _ended = plugin.task.await;
    plugin.dispatcher.drain(deadline).await
}

/// The task of one plugin.
struct Task {
    label: Arc<str>,
    registry: Arc<Registry>,
    dispatcher: Arc<Dispatcher>,
    status: Arc<Mutex<Status>>,
    /// The wish that serves, with the digest of its component.
    served: Option<(Desired, String)>,
    number: u64,
}

impl Task {
    async fn run(mut self, mut wishes: watch::Receiver<Result<Desired, Refusal>>, stop: CancellationToken) {
        loop {
            let wish = wishes.borrow_and_update().clone();
            // A newer wish ends the staging of an older one: nothing of it serves yet.
            let met = tokio::select! {
                met = self.meet(wish) => met,
                changed = wishes.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                () = stop.cancelled() => return,
            };
            let refused = met.is_err();
            if let Err(refusal) = met {
                self.refuse(refusal);
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = wishes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(RETRY_AFTER), if refused => {}
            }
        }
    }

    /// Stages the wish and puts it into service, unless it serves already.
    async fn meet(&mut self, wish: Result<Desired, Refusal>) -> Result<(), Refusal> {
        let desired = wish?;
        let started = Instant::now();
        let stage = self.registry.stage.clone();
        let artifact = stage.load(&desired.component).await?;
        if let Some((served, digest)) = &self.served
            && served.document == desired.document
            && digest == artifact.digest()
        {
            let digest = digest.clone();
            // Only then it is news: another wish was refused in between.
            if let Some(serving) = self.dispatcher.serving().filter(|_| self.set(PluginState::Serving)) {
                let duration = started.elapsed();
                PluginServing { plugin: &self.label, revision: &serving.tag, digest: &digest, duration, swapped: false }
                    .emit(&self.registry.shared.metrics);
            }
            self.served = Some((desired, digest));
            return Ok(());
        }
        let staged = stage.stage(&desired, &artifact, &self.dispatcher).await?;
        self.settle(&staged.subscribed).await;
        self.stand_by().await;
        self.dispatcher.let_catch_up(&staged.subscribed).await;
        let identity: Arc<str> = identity(&staged.digest, &desired.document).into();
        self.number = match self.served {
            Some(_) => self.number + 1,
            None => self.dispatcher.recall(&staged.subscribed, &identity).await,
        };
        let tag: Arc<str> = format!("{}-{}", self.number, short(&staged.digest)).into();
        staged.ports.serve_as(Arc::clone(&tag));
        let serving = Serving {
            revision: staged.revision,
            number: self.number,
            identity,
            tag: Arc::clone(&tag),
            limits: staged.limits,
            reasons: staged.reasons,
        };
        let swapped = self.served.is_some();
        // Dropping the old subscriptions stops the watches that nobody needs any more.
        drop(self.dispatcher.swap(serving, staged.subscribed, desired.document.replay));
        {
            let mut status = self.status.lock();
            (status.revision, status.digest) = (tag.to_string(), staged.digest.clone());
        }
        self.set(PluginState::Serving);
        let subscribed = self.dispatcher.subscribed();
        let kinds = subscribed.subscriptions().map(|subscription| &*subscription.kind);
        self.registry.shared.metrics.subscribed(
            &self.label,
            kinds,
            &self.dispatcher.serving().map(|s| s.reasons.clone()).unwrap_or_default(),
        );
        PluginServing { plugin: &self.label, revision: &tag, digest: &staged.digest, duration: started.elapsed(), swapped }
            .emit(&self.registry.shared.metrics);
        self.served = Some((desired, staged.digest));
        Ok(())
    }

    /// Waits until this host leads. Until then nothing of the plugin has begun: its ledger is another
    /// host's still.
    async fn stand_by(&self) {
        let tenure = &self.registry.shared.tenure;
        if !tenure.is_open() {
            self.set(PluginState::Standby);
            tenure.opened().await;
        }
    }

    /// Waits until the state of every watch is known, and says so if that takes long.
    async fn settle(&self, subscribed: &Subscribed) {
        let settled = subscribed.settle();
        tokio::pin!(settled);
        if tokio::time::timeout(PATIENCE, &mut settled).await.is_ok() {
            return;
        }
        let (reason, message) = subscribed.trouble().unwrap_or_else(|| (Reason::ServerUnavailable, "its watches do not sync".to_owned()));
        self.refuse(Refusal::new(reason, format!("waiting for its watches: {message}")));
        settled.await;
    }

    /// Says it once per reason: a refusal that is tried again in vain is no news.
    fn refuse(&self, refusal: Refusal) {
        if self.status.lock().state == PluginState::Refused(refusal.clone()) {
            return;
        }
        let reason: Reason = refusal.reason;
        PluginRefused { plugin: &self.label, reason, error: &refusal.message, hint: &refusal.hint, serving: self.served.is_some() }
            .emit(&self.registry.shared.metrics);
        self.set(PluginState::Refused(refusal));
    }

    /// True if that is news.
    fn set(&self, state: PluginState) -> bool {
        let mut status = self.status.lock();
        let news = status.state != state;
        if news {
            status.state = state;
            status.since = Instant::now();
        }
        news
    }
}

/// The first twelve digits of a digest, for people.
fn short(digest: &str) -> &str {
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    hex.get(..12).unwrap_or(hex)
}
