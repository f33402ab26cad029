//! The `DeltaFifo` itself. Owns its lock, its wake-ups and its options; the rules are those
//! of `state`.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use super::delta::{Deletion, Delta};
use super::items::{Counted, Evicted, counted};
use super::popped::Popped;
use super::state::State;
use crate::Key;

/// What the user of a [`DeltaFifo`] knows already: the objects whose deltas were handed out
/// and done with. Calls come under the queue's lock: they must be quick and must not use
/// the queue.
pub trait KnownObjects<K, T>: Send + Sync {
    /// All keys.
    fn keys(&self) -> Vec<K>;
    /// The object of a key.
    fn get(&self, key: &K) -> Option<T>;
}

/// Why a transformer refused an object.
pub type TransformError = Box<dyn Error + Send + Sync>;

/// A change did not fit into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Full<K> {
    /// The key of the first delta that did not fit.
    pub key: K,
    /// The bytes that this delta counts.
    pub size: usize,
    /// The bytes in use before.
    pub used: usize,
    /// The bytes that the queue may hold.
    pub limit: usize,
}

/// Why a change was not queued.
#[derive(Debug)]
pub enum FifoError<K> {
    /// There is no room for it, or there was none for an earlier one.
    Full(Full<K>),
    /// The transformer refused an object.
    Transform {
        /// Its key.
        key: K,
        /// What the transformer said.
        source: TransformError,
    },
    /// The queue is closed.
    Closed,
}

impl<K: fmt::Debug> fmt::Display for Full<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, size, used, limit } = self;
        write!(f, "the change of {key:?} ({size} bytes) does not fit into the queue: {used} of {limit} bytes are in use")
    }
}

impl<K: fmt::Debug> fmt::Display for FifoError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => write!(f, "{full}; clear it and start from what is true now"),
            Self::Transform { key, source } => write!(f, "the change of {key:?} was not queued: its transformer failed: {source}"),
            Self::Closed => f.write_str("the queue is closed and takes no changes"),
        }
    }
}

impl<K: fmt::Debug> Error for Full<K> {}
impl<K: fmt::Debug> Error for FifoError<K> {}

impl<K> From<Full<K>> for FifoError<K> {
    fn from(full: Full<K>) -> Self {
        Self::Full(full)
    }
}

type KeyFn<K, T> = Box<dyn Fn(&T) -> K + Send + Sync>;
type SizeFn<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;
type Transformer<T> = Box<dyn Fn(T) -> Result<T, TransformError> + Send + Sync>;

/// How a [`DeltaFifo`] is made.
pub struct DeltaOptions<K, T> {
    limit: usize,
    key: KeyFn<K, T>,
    size: SizeFn<T>,
    known: Option<Arc<dyn KnownObjects<K, T>>>,
    transformer: Option<Transformer<T>>,
    replace_as_sync: bool,
}

impl<K: Key, T: Clone + Send + 'static> DeltaOptions<K, T> {
    /// A queue of at most `limit` bytes: the sum over all deltas, in work too, of what `size`
    /// says of the object plus [`DELTA_OVERHEAD`](crate::DELTA_OVERHEAD).
    pub fn new(limit: usize, key: impl Fn(&T) -> K + Send + Sync + 'static, size: impl Fn(&T) -> usize + Send + Sync + 'static) -> Self {
        Self { limit, key: Box::new(key), size: Box::new(size), known: None, transformer: None, replace_as_sync: false }
    }

    /// Says what is known already. Without it, only queued keys are known, and a resync
    /// does nothing.
    #[must_use]
    pub fn known_objects(mut self, known: Arc<dyn KnownObjects<K, T>>) -> Self {
        self.known = Some(known);
        self
    }

    /// Changes each object before it is queued, on the thread that adds it. Tombstones and
    /// what a resync finds were transformed before and are left as they are.
    #[must_use]
    pub fn transformer(mut self, transformer: impl Fn(T) -> Result<T, TransformError> + Send + Sync + 'static) -> Self {
        self.transformer = Some(Box::new(transformer));
        self
    }

    /// Lets [`DeltaFifo::replace`] queue `Sync` where it would queue `Replaced`, as
    /// client-go does unless `EmitDeltaTypeReplaced` is set.
    #[must_use]
    pub fn replace_as_sync(mut self) -> Self {
        self.replace_as_sync = true;
        self
    }

    /// The queue.
    pub fn build(self) -> DeltaFifo<K, T> {
        let state = Mutex::new(State::new(self.limit));
        DeltaFifo { shared: Arc::new(Shared { options: self, state, available: Notify::new() }) }
    }
}

/// A queue of changes, after client-go's `DeltaFIFO`. Clones are the same queue.
///
/// - **Oldest key first.** A key is handed out with all its deltas, in their order; keys
///   come in the order in which they were first queued. Adding to a queued key changes no order.
/// - **Nothing is compressed** but two deletions in a row, which become the one that says more.
/// - **One worker per key.** While a [`Popped`] lives, its key is not handed out again.
/// - **Nothing is lost.** What a [`Popped`] does not complete comes again.
/// - **Bounded in bytes.** A change that does not fit is refused with [`Full`], and so is every
///   change after it: the queue has a gap, says so ([`Self::overflowed`]), and starts anew
///   with [`Self::clear`]. What is queued is still handed out. Or the key that has the most makes
///   room: [`Self::update_evicting`].
///
/// What differs from client-go: work runs outside the lock, so a key in work counts as
/// queued where it matters (a deletion of it is kept, a resync passes over it, a full list
/// without it makes its tombstone); a full list is queued as a whole or not at all; a
/// closed queue refuses changes; the transformer runs before it is known whether a deletion
/// is dropped.
pub struct DeltaFifo<K, T> {
    shared: Arc<Shared<K, T>>,
}

pub(super) struct Shared<K, T> {
    options: DeltaOptions<K, T>,
    state: Mutex<State<K, T>>,
    available: Notify,
}

impl<K: Key, T: Clone + Send + 'static> DeltaFifo<K, T> {
    /// Queues `Added`.
    ///
    /// # Errors
    /// When it does not fit, the transformer fails, or the queue is closed.
    pub fn add(&self, object: T) -> Result<(), FifoError<K>> {
        self.change(object, Delta::Added)
    }

    /// Queues `Updated`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn update(&self, object: T) -> Result<(), FifoError<K>> {
        self.change(object, Delta::Updated)
    }

    /// Queues `Updated`, and makes room for it: as long as there is none, the key that has the most
    /// bytes queued loses all its deltas. Keys that have less keep theirs, and what is in work
    /// stays. Where that leaves no room, the change is dropped itself. Returns what was dropped: keys
    /// whose order has a gap from now on, and objects for the caller to let go of when it wants.
    ///
    /// Costs the logarithm of the queued keys, once for the change and once for each key dropped.
    ///
    /// # Errors
    /// When the transformer fails, the queue is closed, or another change did not fit before.
    pub fn update_evicting(&self, object: T) -> Result<Vec<Evicted<K, T>>, FifoError<K>> {
        let key = (self.shared.options.key)(&object);
        let object = self.transform(&key, object)?;
        let delta = self.counted(Delta::Updated(object));
        self.open(|state| state.change_evicting(key, delta))
    }

    /// Drops what is queued of a key; what is in work of it stays.
    pub fn evict(&self, key: &K) -> Option<Evicted<K, T>> {
        self.shared.with(|state, _| state.evict(key))
    }

    /// Queues `Deleted` with the object's final state, unless the key is neither queued nor
    /// in work nor known: then nobody heard of it, and nobody has to hear of its end.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn delete(&self, last: T) -> Result<(), FifoError<K>> {
        let key = (self.shared.options.key)(&last);
        let last = self.transform(&key, last)?;
        self.delete_key(key, Deletion::Seen(last))
    }

    /// Queues a tombstone, for a deletion that was not seen, under the same condition. It is
    /// not transformed.
    ///
    /// # Errors
    /// When it does not fit, or the queue is closed.
    pub fn delete_unseen(&self, key: K, last: Option<T>) -> Result<(), FifoError<K>> {
        self.delete_key(key, Deletion::FinalStateUnknown(last))
    }

    /// A full list: queues `Replaced` for each object, and a tombstone for each other key that
    /// is queued, in work or known, with its latest object.
    ///
    /// # Errors
    /// As [`Self::add`]; then nothing of the list is queued.
    pub fn replace(&self, objects: Vec<T>) -> Result<(), FifoError<K>> {
        let options = &self.shared.options;
        let mut listed = Vec::with_capacity(objects.len());
        for object in objects {
            let key = (options.key)(&object);
            let object = self.transform(&key, object)?;
            let delta = if options.replace_as_sync { Delta::Sync(object) } else { Delta::Replaced(object) };
            listed.push((key, counted(delta, &options.size)));
        }
        self.open(|state| state.replace(listed, options.known.as_deref(), &options.size))
    }

    /// Queues `Sync` for each known object, but for keys that have something queued or are
    /// in work: their users are about to see them anyway.
    ///
    /// # Errors
    /// When not all of it fits; then nothing is queued, and the queue does not count as
    /// overflowed, since no change is missing. When the queue is closed.
    pub fn resync(&self) -> Result<(), FifoError<K>> {
        let options = &self.shared.options;
        let Some(known) = &options.known else { return Ok(()) };
        self.open(|state| state.resync(&**known, &options.size))
    }

    /// Waits for the oldest key. `None` means that the queue is closed and has nothing left
    /// to hand out.
    ///
    /// Cancel safe: if the future is dropped before it returns, nothing was taken, and
    /// another worker that waits is woken in its place.
    pub async fn pop(&self) -> Option<Popped<K, T>> {
        consume_budget().await;
        loop {
            let woken = self.shared.available.notified();
            let (taken, finished, due) = self.shared.with(|state, _| (state.take(), state.finished(), state.next_due()));
            match (taken, due) {
                (Some(taken), _) => return Some(Popped::new(self.shared.clone(), taken)),
                (None, _) if finished => return None,
                (None, None) => woken.await,
                (None, Some(due)) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    /// The oldest key if there is one now.
    pub fn try_pop(&self) -> Option<Popped<K, T>> {
        let taken = self.shared.with(|state, _| state.take())?;
        Some(Popped::new(self.shared.clone(), taken))
    }

    /// The oldest delta of one key, before its turn: for a user whose own queue says whose turn it
    /// is, and that keeps only the deltas here. The others stay queued, see [`Popped::take_next`].
    /// `None` if the key has none, is in work, or waits for a retry.
    pub fn try_pop_oldest(&self, key: &K) -> Option<Popped<K, T>> {
        let taken = self.shared.with(|state, _| state.take_oldest(key))?;
        Some(Popped::new(self.shared.clone(), taken))
    }

    /// Takes no change any more. What is queued is still handed out, and then [`Self::pop`]
    /// ends; keys that wait for a retry are dropped. Returns how many deltas that were.
    pub fn close(&self) -> usize {
        self.shared.with(|state, _| state.close())
    }

    /// Was the queue filled, and has what was in it at first (deletions too) been worked on? True
    /// too if a change came before the first full list. A first list that is empty counts.
    pub fn has_synced(&self) -> bool {
        self.shared.with(|state, _| state.has_synced())
    }

    /// Was a change refused because it did not fit? All changes are refused then.
    pub fn overflowed(&self) -> bool {
        self.shared.with(|state, _| state.overflowed())
    }

    /// Starts anew: drops all that is queued, and what work in progress would give back.
    /// The next full list counts as the first one. Returns how many queued deltas there were.
    pub fn clear(&self) -> usize {
        self.shared.with(|state, _| state.clear())
    }

    /// The keys that have deltas to hand out, those in work or waiting for a retry included.
    pub fn len(&self) -> usize {
        self.shared.with(|state, _| state.len())
    }

    /// Has no key deltas to hand out?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys to hand out, oldest first, without those that wait for a retry.
    pub fn keys(&self) -> Vec<K> {
        self.shared.with(|state, _| state.keys())
    }

    /// The bytes that the deltas count, those in work included.
    pub fn bytes(&self) -> usize {
        self.shared.with(|state, _| state.bytes())
    }

    fn change(&self, object: T, make: impl FnOnce(T) -> Delta<T>) -> Result<(), FifoError<K>> {
        let key = (self.shared.options.key)(&object);
        let object = self.transform(&key, object)?;
        let delta = self.counted(make(object));
        self.open(|state| state.change(key, delta))
    }

    fn delete_key(&self, key: K, deletion: Deletion<T>) -> Result<(), FifoError<K>> {
        let delta = self.counted(Delta::Deleted(deletion));
        self.open(|state| state.delete(key, delta, self.shared.options.known.as_deref()))
    }

    fn counted(&self, delta: Delta<T>) -> Counted<T> {
        counted(delta, &self.shared.options.size)
    }

    fn transform(&self, key: &K, object: T) -> Result<T, FifoError<K>> {
        let Some(transformer) = &self.shared.options.transformer else { return Ok(object) };
        transformer(object).map_err(|source| FifoError::Transform { key: key.clone(), source })
    }

    /// Changes the queue if it is open.
    fn open<R>(&self, act: impl FnOnce(&mut State<K, T>) -> Result<R, Full<K>>) -> Result<R, FifoError<K>> {
        self.shared.with(|state, _| if state.closed() { Err(FifoError::Closed) } else { Ok(act(state)?) })
    }
}

impl<K, T> Clone for DeltaFifo<K, T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K: Key, T: Clone> fmt::Debug for DeltaFifo<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, bytes) = self.shared.with(|state, _| (state.len(), state.bytes()));
        f.debug_struct("DeltaFifo").field("keys", &keys).field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl<K: Key, T: Clone> Shared<K, T> {
    /// Uses the sets under the lock, after making ready what is due, then wakes a worker if
    /// there is something for one.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut State<K, T>, Instant) -> R) -> R {
        let mut state = self.state.lock();
        let now = Instant::now();
        let due = state.next_due();
        let finished = state.finished();
        state.promote(now);
        let result = act(&mut state, now);
        let earlier = state.next_due().is_some_and(|next| due.is_none_or(|due| next < due));
        let (ended, available) = (state.finished() && !finished, state.is_available());
        drop(state);
        if earlier || ended {
            self.available.notify_waiters();
        }
        if available {
            self.available.notify_one();
        }
        result
    }
}
