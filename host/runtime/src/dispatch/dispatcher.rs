//! The queue, the ledger and the serving revision of one plugin.
//!
//! Owns what survives a swap, and how it hears of changes. Never runs a guest itself (see
//! `worker`), never waits for one while it holds its lock, and never exchanges a revision (see
//! `swap`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use wharf_cache::{Change, ChangeCause};
use wharf_core::ledger::{Here, Ledger, Mark, Policy};
use wharf_core::plugin::{Limits, PluginName};
use wharf_core::{Cause, Object, OwnWrites, Reason, TargetKey};
use wharf_engine::Used;
use wharf_queue::{Add, ExponentialPerKey, LOW, Stats, WorkQueue};

use super::announcer::Announcer;
use super::breaker::{BreakerPolicy, Tripped};
use super::callee::Callee;
use super::every::{BACKLOG, Every};
use super::gate::Gate;
use super::history::History;
use super::initial::Initial;
use super::kept::{KeepFailed, Kept};
use super::memory::Memory;
use super::recall::Prior;
use super::refusals::Refusals;
use super::sources::Sources;
use super::streak::{InVain, Streak};
use super::subscribed::Subscribed;
use super::tally::Tally;
use crate::checkpoint::Checkpoint;
use crate::clock::Clock;
use crate::lease::Tenure;
use crate::telemetry::metrics::Metrics;

/// What every dispatcher of a host shares.
pub struct Shared {
    /// The host's clock.
    pub clock: Clock,
    /// Where calls are counted.
    pub metrics: Arc<Metrics>,
    /// When a key is parked, and how many may fail.
    pub policy: Policy,
    /// For how long a plugin whose calls strike as a whole is not called.
    pub breaker: BreakerPolicy,
    /// Bytes of each plugin's history.
    pub history_bytes: usize,
    /// What of failed calls is kept.
    pub keep_failed: KeepFailed,
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
    /// Counts its calls.
    pub tally: Arc<Tally>,
}

impl Serving {
    /// A guest's failure reason as a metric label: itself if the description lists it.
    pub fn label_of<'a>(&self, reason: &'a str) -> &'a str {
        if self.reasons.iter().any(|known| **known == *reason) { reason } else { Reason::Other.as_str() }
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
    /// Whether keys are handed out. May be locked under the lock of the state, and not the other way round.
    pub(super) gate: Mutex<Gate>,
    pub(super) calls: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) streak: Streak,
    pub(super) refusals: Arc<Refusals>,
    pub(super) kept: Kept,
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
    /// Objects that name others and whose record is to be written; with a checkpoint only.
    pub(super) sources: Sources,
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
    /// Instances that wait for the next call.
    pub idle_instances: usize,
    /// What the serving revision has computed, and what memory its instances hold.
    pub used: Used,
    /// Bytes of the changes that wait to be told one by one.
    pub backlog_bytes: usize,
    /// What memory it holds.
    pub memory: Memory,
    /// Calls that ended.
    pub calls: u64,
    /// ... without success.
    pub failures: u64,
    /// Do all calls fail?
    pub in_vain: Option<InVain>,
    /// Is it not called for a while, because its calls strike?
    pub tripped: Option<Tripped>,
    /// Why the newest Event that the plugin did not get was refused.
    pub refused: Option<(Reason, String)>,
    /// See [`Dispatcher::has_synced`]; not as long as a watch is refused.
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
            sources: Sources::default(),
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
            gate: Mutex::new(Gate::new(shared.breaker)),
            shared,
            workers: Mutex::new(Vec::new()),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            streak: Streak::default(),
            refusals: Arc::default(),
            kept: Kept::default(),
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

    /// What becomes of its Events.
    pub fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(&self.refusals)
    }

    /// What the plugin is subscribed to now.
    pub fn subscribed(&self) -> Arc<Subscribed> {
        Arc::clone(&self.state.lock().subscribed)
    }

    /// Notes a change of the store and enqueues the key. Called under the informer's lock:
    /// never blocks, never fails.
    pub(super) fn announce(&self, key: TargetKey, change: &Change<'_>, cause: Cause, announcer: &Announcer) {
        let given_up = {
            let mut state = self.state.lock();
            // A swap has come between its turn and that of the subscription of before, which has told the ledger.
            if announcer.is_late(change) {
                return;
            }
            // Under the lock: whoever decides next sees the change and the note together, and
            // a swap that makes the announcer active reads the store after this change.
            let active = announcer.hear(change.sequence);
            // That a new subscription sees what was there is no news for the one that serves.
            if !active && change.cause == ChangeCause::InitialList {
                return;
            }
            // Who was told by this store what the slot holds must hear that it does not any more; but not once more after
            // the subscription that serves was told of it by the same store, and a worker has told the plugin.
            if !active && !change.slot.is_some_and(|slot| state.ledger.holds(slot) && !state.subscribed.is_told_by(slot, &key)) {
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
                if active { self.keep(&key, change) } else { Vec::new() }
            } else {
                state.ledger.observe(here, change.old, change.final_state, change.final_known);
                Vec::new()
            }
        };
        self.merged(given_up);
        self.note_seen(&key, change);
        self.enqueue(key, cause);
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
        let (open, stored) = {
            let state = self.state.lock();
            let told = |key: &&TargetKey| state.subscribed.tells(announcer, key);
            let open: Vec<TargetKey> = state.ledger.unsettled().filter(told).cloned().collect();
            // Settled keys, and what came while they slept and is in no ledger yet.
            let stored = state.subscribed.stored_by(announcer).map(|(_, stored)| stored);
            let stored: Vec<TargetKey> = stored.into_iter().flatten().map(|(key, ..)| key).collect();
            (open, stored)
        };
        open.into_iter().for_each(|key| self.enqueue(key, Cause::Watch));
        // A pass over everything, of which most is as it was.
        stored.into_iter().for_each(|key| self.enqueue(key, Cause::Resync));
    }

    /// Numbers for status and metrics.
    pub fn stats(&self) -> DispatcherStats {
        let queue = self.queue.stats();
        let synced = self.has_synced() && !self.subscribed().is_refused();
        let serving = self.serving();
        let memory = self.memory();
        let tripped = self.tripped();
        let state = self.state.lock();
        DispatcherStats {
            queue,
            memory,
            ledger_entries: state.ledger.len(),
            parked: state.ledger.parked(),
            failing: state.ledger.failing(),
            full: state.ledger.is_full(&self.shared.policy),
            idle_instances: serving.as_ref().map_or(0, |serving| serving.revision.idle()),
            used: serving.as_ref().map_or_else(Used::default, |serving| serving.revision.used()),
            backlog_bytes: self.every.bytes(),
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            in_vain: self.streak.in_vain(state.ledger.failing(), state.ledger.len()),
            tripped,
            refused: self.refusals.newest(),
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
        self.enqueue_after(key, cause, None);
    }

    /// The same, not before that time; another cause may bring the key earlier.
    pub(super) fn enqueue_after(&self, key: TargetKey, cause: Cause, after: Option<Duration>) {
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
        self.queue.add_with(key, Add { priority: priority(cause), after, ..Add::default() });
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
