//! From a change of one object to the calls for others. Owns the step from a source's
//! announcement to the marks of its targets; which objects are meant is `wharf_core::mapping`'s.

use std::sync::Arc;

use wharf_cache::Change;
use wharf_core::mapping::Mapping;
use wharf_core::{Cause, Object, TargetKey};

use super::dispatcher::Dispatcher;

impl Dispatcher {
    /// A source of a mapping changed: what it names now, or named before, is due. Called under
    /// the informer's lock: never blocks, never fails. Costs a read of both texts up to the names.
    pub(super) fn related(&self, source: &TargetKey, map: &Mapping, change: &Change<'_>, is_source: impl Fn(&Object) -> bool) {
        let named = |object: Option<&Arc<Object>>| object.filter(|object| is_source(object)).map(|object| map.targets(object));
        let mut targets = named(change.old).unwrap_or_default();
        for target in named(change.new).unwrap_or_default() {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        let keys = targets.into_iter().map(|target| TargetKey::object(Arc::clone(&map.to), target));
        let marked: Vec<TargetKey> = {
            let mut state = self.state.lock();
            let marked: Vec<TargetKey> = keys.filter(|key| state.mark_related(key)).collect();
            if let Some(checkpoint) = &self.shared.checkpoint {
                if state.sources.is_empty() {
                    checkpoint.waker().wake();
                }
                state.sources.note(source.clone(), marked.iter().cloned());
            }
            marked
        };
        for key in marked {
            self.enqueue(key, Cause::Related);
        }
    }
}
