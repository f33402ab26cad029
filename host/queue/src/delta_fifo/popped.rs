//! The deltas of a key in work. Owns what happens to those that were not worked off.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::delta::Delta;
use super::fifo::Shared;
use super::items::{Counted, costs};
use super::state::Taken;
use crate::Key;

/// A key in work with its deltas, oldest first. While it lives the key is not handed out
/// again; newer changes of it wait.
///
/// A drop (also by a worker that panics or is cancelled) is a [`retry`](Self::retry) of what
/// was not completed. In client-go a requeue gives the deltas up when the key has newer
/// ones by then; here they come first, and nothing is given up.
pub struct Popped<K: Key, T: Clone> {
    shared: Arc<Shared<K, T>>,
    key: K,
    deltas: VecDeque<Counted<T>>,
    in_initial_list: bool,
    /// So many keys of the first full list end with it.
    initial: usize,
    epoch: u64,
    delay: Duration,
}

impl<K: Key, T: Clone> Popped<K, T> {
    pub(super) fn new(shared: Arc<Shared<K, T>>, taken: Taken<K, T>) -> Self {
        let Taken { key, deltas, in_initial_list, initial, epoch } = taken;
        Self { shared, key, deltas, in_initial_list, initial, epoch, delay: Duration::ZERO }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The deltas that are not completed, oldest first.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = &Delta<T>> {
        self.deltas.iter().map(|counted| &counted.delta)
    }

    /// The oldest delta that is not completed.
    pub fn oldest(&self) -> Option<&Delta<T>> {
        self.deltas().next()
    }

    /// The newest delta.
    pub fn newest(&self) -> Option<&Delta<T>> {
        self.deltas.back().map(|counted| &counted.delta)
    }

    /// Was the key handed out before the first full list was through?
    pub fn in_initial_list(&self) -> bool {
        self.in_initial_list
    }

    /// The oldest delta is done with, or given up; it does not come again. Returns it.
    pub fn complete_oldest(&mut self) -> Option<Delta<T>> {
        let Counted { delta, cost } = self.deltas.pop_front()?;
        self.shared.with(|state, _| state.free(cost));
        Some(delta)
    }

    /// Takes the key's oldest queued delta, if it has one and none is left here. True if there is one
    /// to work on.
    pub fn take_next(&mut self) -> bool {
        if self.deltas.is_empty()
            && let Some((delta, initial, epoch)) = self.shared.with(|state, _| state.take_next(&self.key))
        {
            self.deltas.push_back(delta);
            self.initial += usize::from(initial);
            self.epoch = epoch;
        }
        !self.deltas.is_empty()
    }

    /// All deltas are done with, or given up.
    pub fn done(mut self) {
        let cost = costs(&self.deltas);
        self.deltas.clear();
        self.shared.with(|state, _| state.free(cost));
    }

    /// What was not completed comes again, before newer deltas of the key. Other keys go on.
    pub fn retry(self) {}

    /// As [`Self::retry`], but the key is not handed out before so long a time has passed. A
    /// closed queue waits for no key: then the deltas are dropped.
    pub fn retry_after(mut self, delay: Duration) {
        self.delay = delay;
    }
}

impl<K: Key, T: Clone> Drop for Popped<K, T> {
    fn drop(&mut self) {
        let taken = Taken {
            key: self.key.clone(),
            deltas: std::mem::take(&mut self.deltas),
            in_initial_list: self.in_initial_list,
            initial: self.initial,
            epoch: self.epoch,
        };
        self.shared.with(|state, now| state.release(taken, self.delay, now));
    }
}

impl<K: Key + fmt::Debug, T: Clone + fmt::Debug> fmt::Debug for Popped<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Popped").field("key", &self.key).field("deltas", &self.deltas).finish_non_exhaustive()
    }
}
