//! From a change of one object to the calls for others. Owns the step from a source's
//! announcement to the marks of its targets; which objects are meant is `wharf_core::mapping`'s.

use std::sync::Arc;

use wharf_cache::Change;
use wharf_core::ledger::{Here, Mark};
use wharf_core::mapping::Mapping;
use wharf_core::{Cause, Object, TargetKey};

use super::dispatcher::Dispatcher;
use super::subscribed::Present;

impl Dispatcher {
    /// A source of a mapping changed: what it names now, or named before, is due. Called under
    /// the informer's lock: never blocks, never fails. Costs a read of both texts up to the names.
    pub(super) fn related(&self, map: &Mapping, change: &Change<'_>, is_source: impl Fn(&Object) -> bool) {
        let named = |object: Option<&Arc<Object>>| object.filter(|object| is_source(object)).map(|object| map.targets(object));
        let mut targets = named(change.old).unwrap_or_default();
        for target in named(change.new).unwrap_or_default() {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        for target in targets {
            let key = TargetKey::object(Arc::clone(&map.to), target);
            if self.mark_related(&key) {
                self.enqueue(key, Cause::Related);
            }
        }
    }

    /// False if the plugin does not know the key: its first sight will do.
    fn mark_related(&self, key: &TargetKey) -> bool {
        let mut state = self.state.lock();
        let present = state.subscribed.object(key);
        let told = matches!(present, Present::Settled(_));
        let found = present.latest();
        let slot = found.as_ref().filter(|_| told).map(|found| found.slot);
        let marked = state.ledger.mark(Here { key, slot, now: found.as_ref().map(|found| &found.object) }, Mark::Related);
        // What the ledger knows of the key cannot be told before it has heard of the change.
        let later = !marked && !told && found.is_some();
        if later {
            state.related.insert(key.clone());
        }
        marked || later
    }
}
