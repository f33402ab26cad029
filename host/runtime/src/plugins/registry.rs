//! The plugins of this host: each one a `task` that turns wishes into a serving
//! revision.
//!
//! Owns which plugins there are, and their end. One task per plugin, so that a slow compile or a
//! watch that does not sync holds up nobody else. Exchanges no revision itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wharf_core::Reason;
use wharf_core::plugin::PluginName;

use super::desired::{Extent, Origin, Refusal, Wish, Wishes};
use super::order::Order;
use super::progress::{Progress, Step};
use super::revisions::Revisions;
use super::stage::Stage;
use super::task::Task;
use crate::dispatch::{Dispatcher, DispatcherStats, Shared, Subscribed};
use crate::telemetry::events::PluginRemoved;

/// Operators that may wait for a plugin's task at once.
const ORDERS: usize = 16;

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
    /// The document says `suspend: true`.
    Suspended,
    /// No source names it any more; what it has in flight ends.
    Draining,
}

impl PluginState {
    /// The word used in tables.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Standby => "Standby",
            Self::Serving => "Serving",
            Self::Refused(_) => "Refused",
            Self::Suspended => "Suspended",
            Self::Draining => "Draining",
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
    /// Where the last wish stands.
    pub origin: Origin,
    /// The generation of the custom resource that `state` speaks of; `None` for files.
    pub generation: Option<u64>,
    /// Since when this state holds.
    pub since: Instant,
    /// An operator has paused it.
    pub paused: bool,
    /// The last document that could be read suspends it.
    pub suspended: bool,
    /// The ServiceAccount of the serving revision, if it is known to be missing.
    pub lacks_account: Option<Arc<str>>,
    /// The step of a rollout that is under way, and for how long.
    pub step: Option<(Step, Duration)>,
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
    pub(super) stage: Stage,
    pub(super) shared: Arc<Shared>,
    /// Where revisions are kept, if they can be.
    pub(super) revisions: Option<Arc<Revisions>>,
    pub(super) plugins: Mutex<BTreeMap<PluginName, Plugin>>,
    /// Those that their tenants may have.
    admitted: Mutex<BTreeSet<PluginName>>,
    /// Where not even a plugin's name could be read.
    unreadable: Mutex<BTreeMap<Origin, Refusal>>,
    /// Removed ones that still drain. A new plugin of such a name has to wait.
    leaving: Mutex<BTreeMap<PluginName, Leaving>>,
    left: Notify,
    drains: TaskTracker,
    loaded: AtomicBool,
}

pub(super) struct Plugin {
    pub(super) dispatcher: Arc<Dispatcher>,
    wish: watch::Sender<Wish>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) status: Arc<Mutex<Status>>,
    /// Where the last wish stands that could be read: what serves goes on as long as that is there.
    origin: Origin,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// A plugin that drains, as it is shown.
struct Leaving {
    dispatcher: Arc<Dispatcher>,
    status: Arc<Mutex<Status>>,
    origin: Origin,
    since: Instant,
}

pub(super) struct Status {
    pub(super) state: PluginState,
    pub(super) revision: String,
    pub(super) digest: String,
    pub(super) since: Instant,
    pub(super) generation: Option<u64>,
    pub(super) paused: bool,
    pub(super) suspended: bool,
    pub(super) lacks_account: Option<Arc<str>>,
    /// Digest and subscriptions of what could serve if this host led.
    pub(super) ready: Option<(String, Weak<Subscribed>)>,
    pub(super) progress: Progress,
}

impl Registry {
    /// A registry without plugins.
    pub fn new(stage: Stage, shared: Arc<Shared>, revisions: Option<Arc<Revisions>>) -> Arc<Self> {
        Arc::new(Self {
            stage,
            shared,
            revisions,
            plugins: Mutex::default(),
            admitted: Mutex::default(),
            unreadable: Mutex::default(),
            leaving: Mutex::default(),
            left: Notify::new(),
            drains: TaskTracker::new(),
            loaded: AtomicBool::new(false),
        })
    }

    /// Follows a source of wishes until stopped. Cancel safe: plugins stay as they are.
    pub async fn follow(self: Arc<Self>, mut wishes: watch::Receiver<Wishes>, stop: CancellationToken) {
        let tenure = &self.shared.tenure;
        // Everything that is kept was compared with all that is wished, by a host that leads.
        let mut compared = false;
        loop {
            let mut now = wishes.borrow_and_update().clone();
            let (extent, leads) = (now.extent, tenure.is_open());
            if extent > Extent::Nothing {
                if !self.loaded() || (leads && !compared) {
                    self.remember(&mut now).await;
                }
                self.admit(&mut now);
                self.apply(now);
            }
            if extent >= Extent::Missing {
                self.loaded.store(true, Ordering::SeqCst);
            }
            if leads && !compared && extent == Extent::Whole {
                compared = true;
                self.sweep().await;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = wishes.changed() => if changed.is_err() { return },
                () = self.left.notified() => {}
                () = tenure.opened(), if !leads => {}
            }
        }
    }

    /// True once all wishes were read for the first time; for readiness.
    pub fn loaded(&self) -> bool {
        self.loaded.load(Ordering::SeqCst)
    }

    /// Where not even a plugin's name could be read, and why.
    pub fn unreadable(&self) -> BTreeMap<Origin, Refusal> {
        self.unreadable.lock().clone()
    }

    /// Who leads in place of this host, in words, if it stands by.
    pub fn stands_by(&self) -> Option<String> {
        let tenure = &self.shared.tenure;
        (!tenure.owns()).then(|| tenure.leader())
    }

    /// How many plugins there are whose wish was neither met nor refused yet, and how many
    /// have a revision that serves, or could if this host led. Cheap.
    pub fn progress(&self) -> (usize, usize) {
        let plugins = self.plugins.lock();
        let starting = plugins.values().filter(|plugin| plugin.status.lock().state == PluginState::Starting).count();
        let serves = |plugin: &&Plugin| plugin.dispatcher.serving().is_some() || plugin.status.lock().state == PluginState::Standby;
        (starting, plugins.values().filter(serves).count())
    }

    /// The state of every plugin, by name; those that drain come last.
    pub fn status(&self) -> Vec<PluginStatus> {
        let row = |name: &PluginName, dispatcher: &Dispatcher, status: &Mutex<Status>, origin: Origin| {
            let status = status.lock();
            let subscribed = dispatcher.subscribed();
            PluginStatus {
                name: name.clone(),
                state: status.state.clone(),
                revision: status.revision.clone(),
                digest: status.digest.clone(),
                origin,
                generation: status.generation,
                since: status.since,
                paused: status.paused,
                suspended: status.suspended,
                lacks_account: status.lacks_account.clone(),
                step: status.progress.now(),
                trouble: subscribed.trouble(),
                subscriptions: subscribed.words(),
                concurrency: dispatcher.serving().map_or(0, |serving| serving.limits.concurrency),
                stats: dispatcher.stats(),
            }
        };
        let plugins = self.plugins.lock();
        let served = plugins.iter().map(|(name, p)| row(name, &p.dispatcher, &p.status, p.wish.borrow().origin.clone()));
        let mut rows: Vec<PluginStatus> = served.collect();
        let leaving = self.leaving.lock();
        rows.extend(leaving.iter().map(|(name, p)| PluginStatus {
            // Its task may still say something else.
            state: PluginState::Draining,
            since: p.since,
            ..row(name, &p.dispatcher, &p.status, p.origin.clone())
        }));
        rows
    }

    /// Drains all plugins at once. Returns how many calls had to be cancelled.
    pub async fn drain(&self, deadline: Duration) -> usize {
        let end_of_all = Instant::now() + deadline;
        let plugins = std::mem::take(&mut *self.plugins.lock());
        let drained = futures::future::join_all(plugins.into_values().map(|plugin| end(plugin, deadline))).await;
        self.drains.close();
        // Those that were leaving have deadlines of their own; the host's is this one.
        let left = tokio::time::timeout_at(end_of_all, self.drains.wait()).await;
        if let Some(revisions) = &self.revisions {
            revisions.writes.flush(revisions).await;
        }
        drained.into_iter().sum::<usize>() + usize::from(left.is_err())
    }

    /// What is kept of plugins that no source names: as long as something was not read the last good
    /// revision serves, then it is forgotten.
    async fn remember(self: &Arc<Self>, wishes: &mut Wishes) {
        let Some(revisions) = self.revisions.clone() else { return };
        let names = tokio::task::spawn_blocking(move || revisions.names()).await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let names = match names {
            Ok(names) => names,
            Err(error) => {
                let reason = Reason::RevisionsUnusable;
                tracing::error!(target: "wharf::plugin", %reason, %error, hint = reason.hint(), "revisions cannot be read");
                return;
            }
        };
        // Who has served before goes first, where a tenant has too many.
        self.admitted.lock().extend(names.iter().cloned());
        // A plugin that is there is kept or drained as its source says.
        let there = |name: &PluginName| self.loaded() && self.plugins.lock().contains_key(name);
        for name in names.into_iter().filter(|name| !wishes.plugins.contains_key(name) && !there(name)).collect::<Vec<_>>() {
            let unread = wishes.unreadable.iter().next().map(|(origin, refusal)| {
                let message = format!("no source names it, but {origin} cannot be read: {}", refusal.message);
                (origin.clone(), Refusal { message, ..refusal.clone() })
            });
            let unseen = || {
                let origin = Origin::Resource { namespace: Arc::clone(&name.namespace), name: Arc::clone(&name.name) };
                (origin, Refusal::new(Reason::ServerUnavailable, "its source was not read yet"))
            };
            match unread.or_else(|| (wishes.extent < Extent::Missing).then(unseen)) {
                Some((origin, refusal)) => {
                    wishes.plugins.insert(name, Wish { origin, generation: None, desired: Err(refusal) });
                }
                None if wishes.extent < Extent::Whole => {}
                None => self.forget(&name).await,
            }
        }
    }

    /// Removes what a host has left behind that ended in the middle of a write.
    async fn sweep(&self) {
        let Some(revisions) = self.revisions.clone() else { return };
        let tenure = self.shared.tenure.clone();
        let swept = tokio::task::spawn_blocking(move || if tenure.owns() { revisions.sweep() } else { Ok(()) }).await;
        if let Err(error) = swept.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            let reason = Reason::RevisionsUnusable;
            tracing::warn!(target: "wharf::plugin", %reason, %error, "components that no revision needs stay");
        }
    }

    /// Nothing is kept of a plugin that is gone. On standby, what is kept is another host's.
    async fn forget(&self, name: &PluginName) {
        let Some(revisions) = self.revisions.clone() else { return };
        let forgotten = revisions.writes.forget(&revisions, name, self.shared.tenure.clone()).await;
        if let Err(error) = forgotten {
            let reason = Reason::RevisionsUnusable;
            tracing::warn!(target: "wharf::plugin", plugin = %name, %reason, %error, "revisions of a removed plugin stay");
        }
    }

    /// Refuses what tenants have too many.
    fn admit(&self, wishes: &mut Wishes) {
        let plugins = self.plugins.lock();
        let kept: BTreeSet<PluginName> =
            plugins.iter().filter(|(_, p)| wishes.unreadable.contains_key(&p.origin)).map(|(name, _)| name.clone()).collect();
        self.stage.ceilings.admit(wishes, &mut self.admitted.lock(), |name| kept.contains(name));
    }

    fn apply(self: &Arc<Self>, wishes: Wishes) {
        let known = std::mem::replace(&mut *self.unreadable.lock(), wishes.unreadable.clone());
        for (origin, refusal) in wishes.unreadable.iter().filter(|(origin, refusal)| known.get(*origin) != Some(*refusal)) {
            tracing::error!(
                target: "wharf::plugin", %origin, reason = %refusal.reason, error = %refusal.message, hint = %refusal.hint,
                "plugin document refused"
            );
        }
        let gone: Vec<(PluginName, Plugin, Instant)> = {
            let mut plugins = self.plugins.lock();
            let gone = |name: &PluginName, p: &Plugin| !wishes.plugins.contains_key(name) && !wishes.unreadable.contains_key(&p.origin);
            let names: Vec<PluginName> = plugins.iter().filter(|(name, p)| gone(name, p)).map(|(name, _)| name.clone()).collect();
            let mut leaving = self.leaving.lock();
            // In one step for whoever looks.
            let mut leave = |name: PluginName| {
                let (name, plugin) = plugins.remove_entry(&name)?;
                let (dispatcher, status, origin) = (Arc::clone(&plugin.dispatcher), Arc::clone(&plugin.status), plugin.origin.clone());
                let since = Instant::now();
                leaving.insert(name.clone(), Leaving { dispatcher, status, origin, since });
                Some((name, plugin, since))
            };
            names.into_iter().filter_map(&mut leave).collect()
        };
        for (name, plugin, since) in gone {
            self.leave(name, plugin, since);
        }
        let known = wishes.extent == Extent::Whole && wishes.unreadable.is_empty();
        for (name, wish) in wishes.plugins {
            self.wish(name, wish);
        }
        // What cannot be read may be of any plugin.
        if let Some(checkpoint) = self.shared.checkpoint.as_ref().filter(|_| known) {
            checkpoint.present(self.plugins.lock().keys().map(ToString::to_string).collect());
        }
    }

    /// Drains a removed plugin beside everything else; what is running has as long as one
    /// call may take.
    fn leave(self: &Arc<Self>, name: PluginName, plugin: Plugin, since: Instant) {
        let registry = Arc::clone(self);
        self.drains.spawn(async move {
            let deadline = plugin.dispatcher.serving().map_or(Duration::ZERO, |serving| serving.limits.deadline);
            let cancelled = end(plugin, deadline).await;
            registry.forget(&name).await;
            PluginRemoved { plugin: &name.to_string(), duration: since.elapsed(), cancelled }.emit(&registry.shared.metrics);
            registry.leaving.lock().remove(&name);
            registry.left.notify_one();
        });
    }

    fn wish(self: &Arc<Self>, name: PluginName, wish: Wish) {
        if self.leaving.lock().contains_key(&name) {
            return;
        }
        let mut plugins = self.plugins.lock();
        if let Some(plugin) = plugins.get_mut(&name) {
            if wish.desired.is_ok() {
                plugin.origin.clone_from(&wish.origin);
            }
            plugin.wish.send_if_modified(|last| {
                let changed = *last != wish;
                *last = wish;
                changed
            });
            return;
        }
        let origin = wish.origin.clone();
        let dispatcher = Dispatcher::new(name.clone(), Arc::clone(&self.shared));
        let status = Status {
            state: PluginState::Starting,
            revision: String::new(),
            digest: String::new(),
            since: Instant::now(),
            generation: wish.generation,
            paused: false,
            suspended: false,
            lacks_account: None,
            ready: None,
            progress: Progress::new(name.to_string().into(), Arc::clone(&self.shared.metrics)),
        };
        let status = Arc::new(Mutex::new(status));
        let (sender, receiver) = watch::channel(wish);
        let stop = CancellationToken::new();
        let (orders, ordered) = mpsc::channel(ORDERS);
        let task = Task::new(name.clone(), self, Arc::clone(&dispatcher), Arc::clone(&status));
        let task = tokio::spawn(task.run(receiver, ordered, stop.clone()));
        plugins.insert(name, Plugin { dispatcher, wish: sender, orders, status, origin, stop, task });
    }
}

async fn end(plugin: Plugin, deadline: Duration) -> usize {
    plugin.stop.cancel();
    plugin.task.abort();
    // Ended or aborted: either way no swap comes any more.
    let _ended = plugin.task.await;
    plugin.dispatcher.drain(deadline).await
}
