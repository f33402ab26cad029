//! A revision and its subscriptions are exchanged.
//!
//! Owns this as one step for whoever looks, under the dispatcher's lock: keys never leave the
//! queue, and the ledger is kept. Never decides which revision serves: that is `plugins`'.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, interval};
use wharf_core::plugin::Replay;
use wharf_core::{Cause, TargetKey};

use super::dispatcher::{Dispatcher, Serving, State};
use super::history::{Dropped, Sight, What};
use super::judge;
use super::passed::let_go;
use super::subscribed::Subscribed;
use super::worker;

/// How long a swap waits for stores that are behind; they are by milliseconds, if at all.
pub(super) const CATCH_UP: Duration = Duration::from_secs(10);

/// A replay goes through a thousand keys a second, so that the swap of a plugin with very many objects is
/// no storm of requests for whatever its handlers ask, and one of a small plugin is over at once.
const REPLAY_EACH: Duration = Duration::from_millis(1);
const REPLAY_AT_ONCE: Duration = Duration::from_millis(100);

/// What is delivered again when a revision goes into service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaying {
    /// As the document says.
    Policy(Replay),
    /// The revision of this number was withdrawn: what it handled, failed or still has in flight.
    Withdrawn(u64),
}

impl From<Replay> for Replaying {
    fn from(replay: Replay) -> Self {
        Self::Policy(replay)
    }
}

impl Dispatcher {
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
    pub fn swap(self: &Arc<Self>, serving: Serving, subscribed: Arc<Subscribed>, replaying: impl Into<Replaying>) -> Arc<Subscribed> {
        let replaying = replaying.into();
        let (concurrency, threads) = (serving.limits.concurrency, serving.revision.threads().cloned());
        let (old, keys, later, first, taken, given_up) = {
            let mut state = self.state.lock();
            let first = self.serving.load().is_none();
            let old = std::mem::replace(&mut state.subscribed, Arc::clone(&subscribed));
            // In this order: at least one of the two announces every change, and what serves has heard it before what is staged.
            subscribed.activate(&old);
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
            }
            let given_up = dropped.iter().filter_map(|key| self.every.give_up(key)).collect();
            for array in old.arrays(false).difference(&subscribed.arrays(true)) {
                state.ledger.unpack(*array, old.stored());
            }
            let taken = if first { state.take_up(&serving.identity, replaying) } else { None };
            if taken.is_none() && self.shared.checkpoint.is_some() {
                state.rewrite_sources(&old);
            }
            let related = if first { Vec::new() } else { state.exchange_sources(&old) };
            let replayed = if first { Vec::new() } else { state.replay(replaying) };
            // What is as an earlier host left it need not be looked at.
            let known = taken.as_ref().is_some_and(|taken| taken.same);
            let stored = if known { subscribed.unknown_to(&state.ledger) } else { subscribed.keys() };
            if first {
                // Before anybody can see that the plugin serves.
                stored.iter().for_each(|key| state.initial.expect(key));
            }
            self.serving.store(Some(Arc::new(serving)));
            state.header_changed = true;
            // What a withdrawn revision has done is put right without delay.
            let urgent = matches!(replaying, Replaying::Withdrawn(_));
            let mut replayed: HashMap<TargetKey, bool> = replayed
                .into_iter()
                .chain(taken.iter().flat_map(|taken| taken.replayed.iter().cloned()))
                .map(|key| (key, urgent))
                .collect();
            // A replay that another exchange meets half done goes on.
            for key in state.ledger.unsettled().filter(|key| state.ledger.only_reloads(key)) {
                replayed.entry(key.clone()).or_default();
            }
            // Whatever the stores hold or the ledger knows is judged by the new rules; what is as it
            // was costs one look. What is replayed does not stand in the way of what has changed.
            let others = state.ledger.unsettled().filter(|key| !replayed.contains_key(key));
            let mut keys: Vec<(TargetKey, Cause)> = others.cloned().map(|key| (key, Cause::Watch)).collect();
            keys.extend(related.into_iter().map(|key| (key, Cause::Related)));
            keys.extend(taken.iter().flat_map(|taken| &taken.related).map(|key| (key.clone(), Cause::Related)));
            keys.extend(taken.iter().flat_map(|taken| &taken.changed).map(|key| (key.clone(), Cause::ChangedOffline)));
            keys.extend(stored.into_iter().filter(|key| !replayed.contains_key(key)).map(|key| (key, Cause::InitialList)));
            // Of a replay that need not be at once, as much in a second as the rate says; a failed or an owed call is none.
            let (later, now): (Vec<_>, Vec<_>) = replayed.into_iter().partition(|(key, urgent)| !urgent && state.ledger.only_reloads(key));
            keys.extend(now.into_iter().map(|(key, _)| (key, Cause::Reload)));
            let later: Vec<TargetKey> = later.into_iter().map(|(key, _)| key).collect();
            (old, keys, later, first, taken, given_up)
        };
        let_go(given_up);
        if let Some(checkpoint) = &self.shared.checkpoint {
            checkpoint.waker().wake();
        }
        if let Some(taken) = &taken {
            self.tell(taken);
            for key in &taken.filtered {
                judge::note(self, key, Some(Dropped::OnlyIfChanged));
                self.note(key, What::Dropped { by: Dropped::OnlyIfChanged, version: 0 });
            }
        }
        for (key, cause) in keys {
            if first && cause == Cause::InitialList {
                self.note(&key, What::Seen { how: Sight::InitialList, version: 0, gone: false });
            }
            self.enqueue(key, cause);
        }
        for (number, key) in (1..).zip(in_order(later)) {
            self.enqueue_after(key, Cause::Reload, Some(spread(number)));
        }
        self.run_workers(concurrency, threads.as_ref());
        self.serves();
        old
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

/// The keys of a replay in an order that is always the same, whatever else is among them: a replay that goes on
/// after another exchange goes on where it was, and no faster.
fn in_order(mut keys: Vec<TargetKey>) -> Vec<TargetKey> {
    keys.sort_by_cached_key(|key| {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish()
    });
    keys
}

/// When the so-manieth key of a replay is due: a tenth of a second's worth at once, and then as many as
/// the rate says. A live change of such a key is not held back.
fn spread(number: u32) -> Duration {
    (REPLAY_EACH * number).saturating_sub(REPLAY_AT_ONCE)
}

impl State {
    /// Makes due what a new revision is told of, and names it.
    pub(super) fn replay(&mut self, replaying: Replaying) -> Vec<TargetKey> {
        let subscribed = Arc::clone(&self.subscribed);
        match replaying {
            Replaying::Policy(replay) => self.ledger.replay(subscribed.stored(), replay),
            Replaying::Withdrawn(number) => self.ledger.rollback(subscribed.stored(), number),
        }
    }
}
