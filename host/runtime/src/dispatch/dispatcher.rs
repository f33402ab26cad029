//! The queue, the ledger and the serving revision of one plugin.
//!
//! Owns what survives a swap: keys never leave the queue and the ledger is kept, only the
//! revision and the subscriptions are exchanged, under one lock. Never runs a guest itself
//! (see `worker`) and never waits for one while it holds the lock.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};
use wharf_cache::{Change, ChangeCause};
use wharf_core::ledger::{Here, Ledger, Mark, Policy};
use wharf_core::plugin::{Limits, PluginName, Replay};
use wharf_core::{Cause, Object, OwnWrites, TargetKey};
use wharf_queue::{Add, ExponentialPerKey, LOW, Stats, WorkQueue};

use super::callee::Callee;
use super::every::{BACKLOG, Every, Lag};
use super::history::{History, Sight, What};
use super::initial::Initial;
use super::recall::Prior;
use super::subscribed::{Announcer, Subscribed};
use super::worker;
use crate::checkpoint::Checkpoint;
use crate::clock::Clock;
use crate::lease::Tenure;
use crate::telemetry::metrics::Metrics;

/// How long a swap waits for stores that are behind; they are by milliseconds, if at all.
pub(super) const CATCH_UP: Duration = Duration::from_secs(10);

/// What every dispatcher of a host shares.
pub struct Shared {
    /// The host's clock.
    pub clock: Clock,
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
    /// When a key is parked, and how many may fail.
    pub policy: Policy,
    /// Bytes of each plugin's history.
    pub history_bytes: usize,
    /// Where ledgers survive the host, if they do.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// Whether this host may call plugins.
    pub tenure: Tenure,
}

/// The revision of a plugin that serves now. Immutable; exchanged as a whole.
pub struct Serving {
    /// The component, ready to be called.
    pub revision: Arc<dyn Callee>,
    /// Grows with every swap of this plugin, also over restarts of the host if its checkpoint
    /// survives.
    pub number: u64,
    /// Tells it from other revisions, also over restarts: a digest of component and configuration.
    pub identity: Arc<str>,
    /// Short name of the revision in logs and status.
    pub tag: Arc<str>,
    /// Limits of its calls.
    pub limits: Limits,
    /// Failure reasons that count by themselves in metrics.
    pub reasons: Vec<Arc<str>>,
}

impl Serving {
    /// A guest's failure reason as a metric label: itself if the description lists it.
    pub fn label_of<'a>(&self, reason: &'a str) -> &'a str {
        if self.reasons.iter().any(|known| **known == *reason) { reason } else { wharf_core::Reason::Other.as_str() }
    }
}

/// The dispatcher of one plugin.
pub struct Dispatcher {
    pub(super) name: PluginName,
    /// `namespace/name`: the metric label and log field.
    pub(super) label: Arc<str>,
    pub(super) queue: WorkQueue<TargetKey>,
    pub(super) serving: ArcSwapOption<Serving>,
    pub(super) state: Mutex<State>,
    /// What subscriptions with `delivery: every-event` were not told of yet.
    pub(super) every: Every,
    pub(super) shared: Arc<Shared>,
    pub(super) history: History,
    /// One task per number below the largest concurrency so far; it may have ended.
    pub(super) workers: Mutex<Vec<JoinHandle<()>>>,
    pub(super) calls: AtomicU64,
    pub(super) failures: AtomicU64,
}

/// What changes together, under one lock.
pub(super) struct State {
    pub(super) ledger: Ledger<TargetKey, Arc<Object>>,
    pub(super) subscribed: Arc<Subscribed>,
    /// Why a waiting key was enqueued last; at most one entry per waiting key.
    pub(super) causes: HashMap<TargetKey, Cause>,
    pub(super) initial: Initial,
    /// Writes of the plugin that are in flight or not decided on; it has bounds of its own.
    pub(super) own: OwnWrites<TargetKey>,
    /// Keys to be marked as related when the ledger has heard of their change; at most the
    /// objects that are changing in the stores.
    pub(super) related: HashSet<TargetKey>,
    /// What an earlier host knew, until the first revision serves.
    pub(super) prior: Option<Prior>,
    /// Nothing can be asked of the stores any more.
    pub(super) retired: bool,
    /// Revision or subscriptions have changed since they were written.
    pub(super) header_changed: bool,
    /// Keys whose last state is not written in full yet; at most those of the ledger, and some that
    /// have left it.
    pub(super) bodies_due: BTreeSet<TargetKey>,
}

impl State {
    /// Why a key was enqueued. A pass over everything makes the map large once; it must not
    /// stay so.
    pub(super) fn take_cause(&mut self, key: &TargetKey) -> Cause {
        let cause = self.causes.remove(key).unwrap_or(Cause::Watch);
        let (left, capacity) = (self.causes.len(), self.causes.capacity());
        if capacity > 64 && left < capacity / 8 {
            self.causes.shrink_to(left.saturating_mul(2));
        }
        cause
    }
}

/// Numbers of one dispatcher, for status and metrics.
#[derive(Clone, Debug)]
pub struct DispatcherStats {
    /// Of the queue.
    pub queue: Stats,
    /// Keys that the ledger knows.
    pub ledger_entries: usize,
    /// Keys that are parked.
    pub parked: usize,
    /// Keys whose last call failed, and deletes that have not ended.
    pub failing: usize,
    /// Do so many fail that the plugin is told of no further object?
    pub full: bool,
    /// Bytes of the history.
    pub history_bytes: usize,
    /// Instances that wait for the next call.
    pub idle_instances: usize,
    /// Bytes of the changes that wait to be told one by one.
    pub backlog_bytes: usize,
    /// Calls that ended.
    pub calls: u64,
    /// ... without success.
    pub failures: u64,
    /// See [`Dispatcher::has_synced`].
    pub synced: bool,
}

impl Dispatcher {
    /// A dispatcher without a revision: its queue fills, and nothing is called.
    pub fn new(name: PluginName, shared: Arc<Shared>) -> Arc<Self> {
        let label: Arc<str> = name.to_string().into();
        let queue = WorkQueue::with(Arc::clone(&label), ExponentialPerKey::default(), shared.metrics.queue(&label));
        queue.pause();
        let mut state = State {
            ledger: Ledger::new(),
            subscribed: Arc::default(),
            causes: HashMap::new(),
            initial: Initial::new(),
            own: OwnWrites::default(),
            related: HashSet::new(),
            prior: None,
            retired: false,
            header_changed: false,
            bodies_due: BTreeSet::new(),
        };
        if let Some(checkpoint) = &shared.checkpoint {
            state.ledger.track(checkpoint.waker());
        }
        let dispatcher = Arc::new(Self {
            label,
            queue,
            serving: ArcSwapOption::empty(),
            state: Mutex::new(state),
            every: Every::new(BACKLOG),
            history: History::new(shared.history_bytes),
            shared,
            workers: Mutex::new(Vec::new()),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            name,
        });
        if let Some(checkpoint) = &dispatcher.shared.checkpoint {
            let source: Weak<Self> = Arc::downgrade(&dispatcher);
            checkpoint.add(source);
        }
        dispatcher
    }

    /// The plugin's name.
    pub fn name(&self) -> &PluginName {
        &self.name
    }

    /// The revision that serves now.
    pub fn serving(&self) -> Option<Arc<Serving>> {
        self.serving.load_full()
    }

    /// What the plugin is subscribed to now.
    pub fn subscribed(&self) -> Arc<Subscribed> {
        Arc::clone(&self.state.lock().subscribed)
    }

    /// Notes a change of the store and enqueues the key. Called under the informer's lock:
    /// never blocks, never fails.
    pub(super) fn announce(&self, key: TargetKey, change: &Change<'_>, cause: Cause, announcer: &Announcer) {
        {
            let mut state = self.state.lock();
            // Under the lock: whoever decides next sees the change and the note together, and
            // a swap that makes the announcer active reads the store after this change.
            let active = announcer.hear(change.sequence);
            // Who was told by this store what the slot holds must hear that it does not any more.
            if !active && !change.slot.is_some_and(|slot| state.ledger.holds(slot)) {
                return;
            }
            let here = Here { key: &key, slot: change.slot, now: change.new };
            // Of a change that concerns nobody there is nothing to tell in its turn.
            let concerns = || announcer.concerns(change) || state.ledger.unsettled_has(&key);
            if announcer.every_event()
                && change.cause != ChangeCause::InitialList
                && (here.slot.is_some_and(|slot| state.ledger.holds(slot)) || concerns())
            {
                state.ledger.lag(here, change.old);
                // An old subscription only says what its slots held; the new one tells of the change.
                if active {
                    self.keep(&key, change);
                }
            } else {
                state.ledger.observe(here, change.old, change.final_state, change.final_known);
            }
        }
        self.note_seen(&key, change);
        self.enqueue(key, cause);
    }

    /// Keeps a change for a plugin that is told of each. If there is no room, all that wait are given
    /// up: their keys are in the queue, and are told of what the store holds.
    fn keep(&self, key: &TargetKey, change: &Change<'_>) {
        let cause = if change.cause == ChangeCause::Watch { Cause::Watch } else { Cause::ChangedOffline };
        if self.every.note(key, change, cause).is_err() {
            let given_up = self.every.clear().saturating_add(1);
            self.shared.metrics.changes_merged(&self.label, given_up);
        }
    }

    /// What a key has before it, if it is told of each change.
    pub(super) fn lag(&self, subscribed: &Subscribed, key: &TargetKey) -> Option<Lag> {
        let lag = self.every.of(key)?;
        if subscribed.subscription(key).is_some_and(|wanted| wanted.every_event) {
            return Some(lag);
        }
        lag.give_up();
        None
    }

    /// A subscription's period is over for a key that did not change. Called under the
    /// informer's lock: never blocks, never fails.
    pub(super) fn resync(&self, key: &TargetKey, change: &Change<'_>, announcer: &Announcer) {
        if !announcer.is_active() {
            return;
        }
        self.state.lock().ledger.mark(Here { key, slot: change.slot, now: change.new }, Mark::Resync);
        self.note_seen(key, change);
        self.enqueue(key.clone(), Cause::Resync);
    }

    /// A registration moves to another informer: what the ledger keeps in the places of the old
    /// store is given entries of its own, until it has been judged by the new one. Called under
    /// both informers' locks.
    pub(super) fn leave_store(&self, announcer: &Announcer) {
        let mut state = self.state.lock();
        if announcer.is_active() {
            let subscribed = Arc::clone(&state.subscribed);
            if let Some((array, stored)) = subscribed.stored_by(announcer) {
                state.ledger.unpack(array, stored);
            }
        }
    }

    /// A change that the selectors of a watch hide. A worker may have put the key off because of it.
    pub(super) fn passed(&self, key: TargetKey) {
        let awaited = {
            let state = self.state.lock();
            state.ledger.unsettled_has(&key) || state.causes.contains_key(&key) || state.related.contains(&key)
        };
        if awaited {
            self.enqueue(key, Cause::Watch);
        }
    }

    /// A watch is in order again, or another one serves: everything that it tells of is judged.
    pub(super) fn wake(&self, announcer: &Announcer) {
        let keys: Vec<TargetKey> = {
            let state = self.state.lock();
            let told = |key: &&TargetKey| state.subscribed.tells(announcer, key);
            let mut keys: Vec<TargetKey> = state.ledger.unsettled().filter(told).cloned().collect();
            // Settled keys, and what came while they slept and is in no ledger yet.
            let stored = state.subscribed.stored_by(announcer).map(|(_, stored)| stored);
            keys.extend(stored.into_iter().flatten().map(|(key, ..)| key));
            keys
        };
        for key in keys {
            self.enqueue(key, Cause::Watch);
        }
    }

    /// Waits until the stores of other subscriptions have seen what the plugin was told of by those
    /// that serve now, so that a swap does not take it back in time. Not for longer than a while: a
    /// server that sends nothing must not keep a revision from serving. Cancel safe.
    pub async fn let_catch_up(&self, subscribed: &Subscribed) {
        let deadline = Instant::now() + CATCH_UP;
        let mut look = interval(CATCH_UP / 500);
        while !subscribed.has_seen(&self.subscribed()) && Instant::now() < deadline {
            look.tick().await;
        }
    }

    /// Puts a revision and its subscriptions into service: one step for whoever looks.
    /// Calls in flight end on the old revision; keys never leave the queue. The old
    /// subscriptions are returned, so that the caller drops their watches when it wants.
    pub fn swap(self: &Arc<Self>, serving: Serving, subscribed: Arc<Subscribed>, replay: Replay) -> Arc<Subscribed> {
        let (concurrency, threads) = (serving.limits.concurrency, serving.revision.threads().cloned());
        let (old, keys, first, taken) = {
            let mut state = self.state.lock();
            let first = self.serving.load().is_none();
            let old = std::mem::replace(&mut state.subscribed, Arc::clone(&subscribed));
            // In this order: at least one of the two announces every change.
            subscribed.activate();
            old.deactivate();
            let dropped = state.ledger.narrow(
                old.stored(),
                &|key, object| !object.is_bare() && old.matches(key, object),
                &|key, object| subscribed.matches(key, object),
                &|key| old.object(key).latest().map(|found| found.object),
            );
            for key in &dropped {
                self.queue.forget(key);
                self.note(key, What::Left);
                if let Some(lag) = self.every.of(key) {
                    lag.give_up();
                }
            }
            for array in old.arrays(false).difference(&subscribed.arrays(true)) {
                state.ledger.unpack(*array, old.stored());
            }
            let taken = if first { state.take_up(&serving.identity, replay) } else { None };
            let replayed = if first { Vec::new() } else { state.ledger.replay(subscribed.stored(), replay) };
            // What is as an earlier host left it need not be looked at.
            let known = taken.as_ref().is_some_and(|taken| taken.same);
            let stored = if known { subscribed.unknown_to(&state.ledger) } else { subscribed.keys() };
            if first {
                // Before anybody can see that the plugin serves.
                stored.iter().for_each(|key| state.initial.expect(key));
            }
            self.serving.store(Some(Arc::new(serving)));
            state.header_changed = true;
            let replayed: HashSet<TargetKey> =
                replayed.into_iter().chain(taken.iter().flat_map(|taken| taken.replayed.iter().cloned())).collect();
            // Whatever the stores hold or the ledger knows is judged by the new rules; what is as it
            // was costs one look. What is replayed does not stand in the way of what has changed.
            let others = state.ledger.unsettled().filter(|key| !replayed.contains(key));
            let mut keys: Vec<(TargetKey, Cause)> = others.cloned().map(|key| (key, Cause::Watch)).collect();
            keys.extend(replayed.into_iter().map(|key| (key, Cause::Reload)));
            keys.extend(taken.iter().flat_map(|taken| &taken.changed).map(|key| (key.clone(), Cause::ChangedOffline)));
            keys.extend(stored.into_iter().map(|key| (key, Cause::InitialList)));
            (old, keys, first, taken)
        };
        if let Some(checkpoint) = &self.shared.checkpoint {
            checkpoint.waker().wake();
        }
        if let Some(taken) = &taken {
            self.tell(taken);
        }
        for (key, cause) in keys {
            if first && cause == Cause::InitialList {
                self.note(&key, What::Seen { how: Sight::InitialList, version: 0, gone: false });
            }
            self.enqueue(key, cause);
        }
        self.run_workers(concurrency, threads.as_ref());
        self.queue.resume();
        old
    }

    /// Numbers for status and metrics.
    pub fn stats(&self) -> DispatcherStats {
        let queue = self.queue.stats();
        let synced = self.has_synced();
        let state = self.state.lock();
        DispatcherStats {
            queue,
            ledger_entries: state.ledger.len(),
            parked: state.ledger.parked(),
            failing: state.ledger.failing(),
            full: state.ledger.is_full(&self.shared.policy),
            history_bytes: self.history.bytes(),
            idle_instances: self.serving().map_or(0, |serving| serving.revision.idle()),
            backlog_bytes: self.every.bytes(),
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            synced,
        }
    }

    /// Has the plugin been called for everything that was there when it was first served? A call
    /// counts however it ended; a kind that does not exist or may not be watched has nothing.
    /// Stays true.
    pub fn has_synced(&self) -> bool {
        let mut state = self.state.lock();
        let subscribed = Arc::clone(&state.subscribed);
        state.initial.is_over(|| self.serving.load().is_some() && subscribed.settled())
    }

    /// A worker is through with a key.
    pub(super) fn through(&self, key: &TargetKey) {
        self.state.lock().initial.through(key);
    }

    /// Enqueues a key; of several causes the last one is told to the guest, but no cause is
    /// ever hidden behind a pass over everything.
    pub(super) fn enqueue(&self, key: TargetKey, cause: Cause) {
        {
            let mut state = self.state.lock();
            let pass = matches!(cause, Cause::InitialList | Cause::Resync | Cause::Reload);
            if !pass || !state.causes.contains_key(&key) {
                state.causes.insert(key.clone(), cause);
            }
            if cause == Cause::InitialList {
                state.initial.expect(&key);
            }
        }
        self.queue.add_with(key, Add { priority: priority(cause), ..Add::default() });
    }

    /// As many workers as the revision's concurrency: each runs one call at a time. A
    /// worker whose number is too high ends by itself.
    fn run_workers(self: &Arc<Self>, concurrency: u32, threads: Option<&Handle>) {
        let mut workers = self.workers.lock();
        for index in 0..concurrency {
            let work = worker::run(Arc::clone(self), index);
            let task = || match threads {
                Some(threads) => threads.spawn(work),
                None => tokio::spawn(work),
            };
            match workers.get_mut(index as usize) {
                Some(worker) if worker.is_finished() => *worker = task(),
                Some(_) => {}
                None => workers.push(task()),
            }
        }
    }
}

/// What nobody waits for stands behind what has just happened: a pass over everything costs a new
/// event one call at most. A first list is one too, and the queue's ageing lets none starve.
fn priority(cause: Cause) -> i32 {
    match cause {
        Cause::InitialList | Cause::Resync | Cause::Reload => LOW,
        Cause::Watch | Cause::Requeue | Cause::Retry | Cause::ChangedOffline | Cause::Related | Cause::Manual | Cause::Schedule => 0,
    }
}
