//! Changes of `delivery: every-event` that lead to no call of their own: those that were passed
//! over, and those that were given up. Owns how they are noted and let go of, which is never under
//! the lock under which that was decided.

use std::sync::Arc;

use tokio::runtime::Handle;
use wharf_cache::{Change, ChangeCause};
use wharf_core::{Cause, Dropped, TargetKey};

use super::dispatcher::Dispatcher;
use super::every::{GivenUp, Lag, Step};
use super::history::What;
use super::judge;
use super::subscribed::Subscribed;

/// So many changes are let go of where they were given up: that takes some ten microseconds.
const AT_ONCE: usize = 256;

/// What is to be said and let go of once the state is not locked any more.
#[derive(Debug, Default)]
pub(super) struct Passed {
    over: Vec<Over>,
    given_up: Vec<GivenUp>,
}

/// A change that was passed over.
#[derive(Debug)]
struct Over {
    step: Step,
    matches: bool,
    dropped: Option<Dropped>,
}

impl Passed {
    /// A change needs no call. `matches`: what there is now is what the subscription is for.
    pub(super) fn over(&mut self, step: Step, matches: bool, dropped: Option<Dropped>) {
        self.over.push(Over { step, matches, dropped });
    }

    /// Was a change passed over?
    pub(super) fn any(&self) -> bool {
        !self.over.is_empty()
    }

    /// Counts and notes the changes as those of a plugin that is told of the last state, the oldest
    /// first, and lets go of them. Never under a lock.
    pub(super) fn tell(&mut self, dispatcher: &Dispatcher, key: &TargetKey) {
        for Over { step, matches, dropped } in self.over.drain(..) {
            judge::note(dispatcher, key, dropped);
            dispatcher.note_idle(key, step.cause(), step.now(), matches, dropped);
        }
        let_go(std::mem::take(&mut self.given_up));
    }
}

impl Dispatcher {
    /// Keeps a change for a plugin that is told of each. Returns what was given up for lack of room,
    /// for [`Self::merged`]: the keys are in the queue, and are told of their next change, or of what
    /// the store holds.
    pub(super) fn keep(&self, key: &TargetKey, change: &Change<'_>) -> Vec<GivenUp> {
        let cause = if change.cause == ChangeCause::Watch { Cause::Watch } else { Cause::ChangedOffline };
        self.every.note(key, change, cause)
    }

    /// Changes were given up for lack of room. Called under the informer's lock, but not under that
    /// of the state.
    pub(super) fn merged(&self, given_up: Vec<GivenUp>) {
        for one in &given_up {
            let changes = one.deltas().len();
            self.shared.metrics.changes_merged(&self.label, changes);
            self.note(one.key(), What::Merged { changes: u32::try_from(changes).unwrap_or(u32::MAX) });
        }
        let_go(given_up);
    }

    /// What a key has before it, if it is told of each change.
    pub(super) fn lag(&self, subscribed: &Arc<Subscribed>, key: &TargetKey, passed: &mut Passed) -> Option<Lag> {
        if subscribed.subscription(key).is_some_and(|wanted| wanted.every_event) {
            return self.every.of(key);
        }
        passed.given_up.extend(self.every.give_up(key));
        None
    }
}

/// Lets go of changes that were given up. A key may have thousands, and whoever gave them up may
/// hold the lock of an informer: then another thread does it.
pub(super) fn let_go(given_up: Vec<GivenUp>) {
    let changes: usize = given_up.iter().map(|one| one.deltas().len()).sum();
    if changes > AT_ONCE
        && let Ok(runtime) = Handle::try_current()
    {
        let _ends_by_itself = runtime.spawn_blocking(move || drop(given_up));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use tokio::runtime::Builder;
    use tokio::task::spawn_blocking;
    use wharf_core::{Gvk, Object, ObjectKey};

    use super::*;
    use crate::dispatch::every::{BACKLOG, Every};

    /// So many changes from and to the object, given up.
    fn given_up(object: &Arc<Object>, changes: usize) -> Vec<GivenUp> {
        let name = ObjectKey::new("team-a", "x");
        let key = TargetKey::object(Arc::new(Gvk::new("", "v1", "ConfigMap")), name.clone());
        let every = Every::new(BACKLOG);
        for _ in 0..changes {
            let change = Change {
                key: &name,
                old: Some(object),
                new: Some(object),
                final_state: None,
                final_known: true,
                slot: None,
                cause: ChangeCause::Watch,
                sequence: 1,
            };
            assert!(every.note(&key, &change, Cause::Watch).is_empty());
        }
        let given_up = every.give_up(&key).unwrap();
        assert_eq!((given_up.deltas().len(), every.bytes()), (changes, 0));
        vec![given_up]
    }

    /// Whoever holds an informer's lock does not take the time to free a whole backlog.
    #[test]
    fn much_is_let_go_of_by_another_thread() {
        let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        let json = r#"{"metadata": {"name": "x", "namespace": "team-a", "uid": "u", "resourceVersion": "1"}}"#;
        let object = Arc::new(Object::parse(json, &Gvk::new("", "v1", "ConfigMap")).unwrap());
        runtime.block_on(async {
            // The thread that does it is busy for now.
            let (go_on, waits) = channel();
            let busy = spawn_blocking(move || waits.recv());
            let_go(given_up(&object, AT_ONCE));
            assert_eq!(Arc::strong_count(&object), 1, "little is let go of at once");
            let_go(given_up(&object, AT_ONCE + 1));
            assert!(Arc::strong_count(&object) > 1);
            go_on.send(()).unwrap();
            busy.await.unwrap().unwrap();
            // It works off what it gets in turn.
            spawn_blocking(|| ()).await.unwrap();
        });
        assert_eq!(Arc::strong_count(&object), 1);
    }
}
