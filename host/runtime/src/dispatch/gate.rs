//! Whether a plugin's queue hands out keys: a revision serves, nobody holds it, and its breaker lets calls through.
//! Owns that all reasons come together in one place; what waits behind the gate is the queue's, and goes on being noted.

use std::future::pending;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tokio::time::sleep;
use wharf_core::ledger::Finished;
use wharf_core::{Reason, TargetKey};
use wharf_queue::{Item, Ready};

use super::breaker::{Breaker, BreakerPolicy, Outcome, Pass, Tripped, Turned};
use super::dispatcher::Dispatcher;
use super::tally::Ended;
use crate::telemetry::events::{BreakerClosed, BreakerOpened, BreakerTries};

/// The reasons.
#[derive(Debug)]
pub(super) struct Gate {
    serves: bool,
    held: bool,
    breaker: Breaker,
    /// What the queue was told last.
    open: bool,
}

impl Gate {
    /// Shut: nothing serves.
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        Self { serves: false, held: false, breaker: Breaker::new(policy), open: false }
    }
}

impl Dispatcher {
    /// Something changes that may open or shut the gate.
    fn turn<R>(&self, change: impl FnOnce(&mut Gate) -> R) -> R {
        let mut gate = self.gate.lock();
        let result = change(&mut gate);
        let open = gate.serves && !gate.held && gate.breaker.lets_through();
        if gate.open != open {
            gate.open = open;
            if open { self.queue.resume() } else { self.queue.pause() }
        }
        result
    }

    /// Another revision serves: what the one before has done says nothing of it.
    pub(super) fn serves(&self) {
        let turned = self.turn(|gate| {
            gate.serves = true;
            gate.breaker.reset()
        });
        self.tell_breaker(turned);
    }

    /// No key is handed out any more.
    pub(super) fn shut(&self) {
        self.turn(|gate| gate.serves = false);
        // Whatever opened it before.
        self.queue.pause();
    }

    /// Hands out no key until it is told otherwise, also over swaps. Changes are noted, calls in flight
    /// end. Without a revision no key is handed out anyway.
    pub fn hold(&self, held: bool) {
        self.turn(|gate| gate.held = held);
    }

    pub(super) fn is_held(&self) -> bool {
        self.gate.lock().held
    }

    /// The breaker, if it is not closed.
    pub fn tripped(&self) -> Option<Tripped> {
        self.gate.lock().breaker.tripped()
    }

    /// An open breaker does not wait any longer: the next call is the trial.
    pub fn try_now(&self) {
        let turned = self.turn(|gate| gate.breaker.try_now());
        self.tell_breaker(turned);
    }

    /// The key whose turn it is. With a breaker that is half open, one for all workers.
    pub(super) fn take(&self, ready: Ready<TargetKey>) -> Option<(Item<TargetKey>, Pass)> {
        self.turn(|gate| {
            // As the queue is told under the lock, there is none if the gate is shut.
            let item = ready.take()?;
            Some((item, gate.breaker.pass()))
        })
    }

    /// A call of a key has ended.
    pub(super) fn count_strikes(&self, pass: Pass, key: &TargetKey, finished: &Finished) {
        let reason = match finished {
            Finished::Strike(strike) => strike.reason,
            _ => Reason::Other,
        };
        let ended = Ended::from(finished);
        // Only then it is asked for.
        let all = if ended == Ended::Struck { self.state.lock().ledger.len() } else { 0 };
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let outcome = Outcome { key: hasher.finish(), ended, reason };
        let now = self.shared.clock.now();
        let turned = self.turn(|gate| gate.breaker.count(pass, outcome, all, now, rand::random()));
        self.tell_breaker(turned);
    }

    /// A worker is through with a key.
    pub(super) fn give_back(&self, pass: Pass) {
        self.turn(|gate| gate.breaker.give_back(pass));
    }

    /// Waits until an open breaker lets a trial through. The worker whose call has opened it is among those that wait, so
    /// nothing else has to. Never ends if it is not open. Cancel safe.
    pub(super) async fn until_trial(&self) {
        let until = self.gate.lock().breaker.until();
        let Some(until) = until else { return pending().await };
        sleep(until.saturating_sub(self.shared.clock.now())).await;
        let now = self.shared.clock.now();
        let turned = self.turn(|gate| gate.breaker.look(now));
        self.tell_breaker(turned);
    }

    /// As if enough calls had struck.
    #[cfg(test)]
    pub(crate) fn trip(&self) {
        let now = self.shared.clock.now();
        for key in 0..5 {
            let outcome = Outcome { key, ended: Ended::Struck, reason: Reason::Trap };
            self.turn(|gate| {
                let pass = gate.breaker.pass();
                gate.breaker.count(pass, outcome, 5, now, 0.0)
            });
        }
    }

    fn tell_breaker(&self, turned: Option<Turned>) {
        match turned {
            None => {}
            Some(Turned::Opened { wait, reason }) => {
                BreakerOpened { plugin: &self.label, last: reason, wait }.emit(&self.shared.metrics);
            }
            Some(Turned::Trying) => BreakerTries { plugin: &self.label }.emit(),
            Some(Turned::Closed) => BreakerClosed { plugin: &self.label }.emit(),
        }
    }
}
