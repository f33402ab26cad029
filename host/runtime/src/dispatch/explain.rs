//! The facts about one key of one plugin, gathered for a question of a person. Owns where each
//! fact is read; what follows from them is `wharf_core::explain`'s.

use wharf_cache::InformerState;
use wharf_core::TargetKey;
use wharf_core::explain::{Facts, Finding, Place, Standing, Watch, explain};
use wharf_core::ledger::Here;
use wharf_queue::Found;

use super::dispatcher::Dispatcher;
use super::history::Past;
use super::subscribed::Present;

/// The answer.
#[derive(Debug)]
pub struct Explained {
    /// What holds now, in the order of an event's way.
    pub findings: Vec<Finding>,
    /// What was decided, as far as it is remembered.
    pub past: Past,
}

impl Dispatcher {
    /// Why the plugin was or was not called for a key, whose `kind` is printed so. `refused` is why its document is not in
    /// service. Store, ledger and queue are looked at one after the other: a key that is just being
    /// worked on may move in between. Walks through the history and, for a key that is ready, the queue.
    pub fn explain(&self, key: &TargetKey, kind: &str, refused: Option<(&str, &str)>) -> Explained {
        let past = self.history.of(key);
        let place = self.queue.find(key).map(|found| match found {
            Found::Working(time) => Place::Working(time),
            Found::Ready { ahead } => Place::Ready(ahead as u64),
            Found::Later(time) => Place::Later(time),
        });
        let TargetKey::Object { key: object, .. } = key else { return Explained { findings: Vec::new(), past } };
        let serving = self.serving();
        let tripped = self.tripped();
        let state = self.state.lock();
        let subscribed = &state.subscribed;
        let mut kinds: Vec<String> = subscribed.subscriptions().map(|subscription| subscription.kind.to_string()).collect();
        kinds.sort();
        let watch = subscribed.watch(key);
        let present = subscribed.object(key);
        let told = matches!(present, Present::Settled(_));
        let found = present.latest();
        let here =
            Here { key, slot: found.as_ref().filter(|_| told).map(|found| found.slot), now: found.as_ref().map(|found| &found.object) };
        let facts = Facts {
            now: self.shared.clock.now(),
            plugin: Standing::Known { serving: serving.as_ref().map(|serving| &*serving.tag), refused, held: self.is_held() },
            breaker: tripped.map(|tripped| (tripped.reason, tripped.until)),
            kind,
            key: object,
            kinds,
            subscription: subscribed.subscription(key),
            watch: watch.as_ref().and_then(watched),
            object: found.as_ref().map(|found| &*found.object),
            entry: state.ledger.entry(here),
            place,
            dropped: past.dropped().map(|by| by.as_str()),
            full: state.ledger.is_full(&self.shared.policy).then_some(state.ledger.failing() as u64),
        };
        Explained { findings: explain(&facts), past }
    }
}

fn watched(state: &InformerState) -> Option<Watch<'_>> {
    Some(match state {
        InformerState::Starting => Watch::Starting,
        InformerState::Synced => Watch::Synced,
        InformerState::Sleeping { reason } => Watch::Sleeping(*reason),
        InformerState::Failing { reason, message } => Watch::Failing(*reason, message),
        // The host is stopping.
        InformerState::Stopped => return None,
    })
}
