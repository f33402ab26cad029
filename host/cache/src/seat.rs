//! The place of one registration among the informers. Owns whose handler it is, what it asked
//! for and which informer serves it now; never decides that (the hub plans, `relocate` moves).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wharf_core::Reason;

use crate::change::{Change, ChangeHandler};
use crate::filter::Filter;
use crate::shared::{Shared, number};
use crate::spec::InformerSpec;
use crate::store::{IndexConflict, Indexer, Store};

/// Shared by a registration, the informer that serves it, and the hub.
pub(crate) struct Seat {
    pub(crate) id: u64,
    /// What was asked for.
    pub(crate) want: InformerSpec,
    handler: Arc<dyn ChangeHandler>,
    /// Cancelled when the registration has left: the handler is told nothing more.
    pub(crate) left: CancellationToken,
    /// For informers that are wider than `want`; `None` if only the server can select.
    filter: Option<Filter>,
    place: RwLock<Place>,
    told_synced: AtomicBool,
    /// The version up to which its handler was told, where versions are numbers. Bookmarks do not
    /// count: they show nothing.
    told: AtomicU64,
    moves: watch::Sender<u64>,
    /// Go with the seat from store to store. As many as its owner adds.
    indexers: Mutex<Vec<(Box<str>, Indexer)>>,
}

/// Where a seat is.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) shared: Arc<Shared>,
    /// What to see of it; `None` is all of it.
    pub(crate) filter: Option<Filter>,
    /// The handler is just being told how this informer differs from the one before.
    pub(crate) moving: bool,
}

impl Seat {
    /// A seat at an informer, which does not know of it yet.
    pub(crate) fn new(id: u64, want: InformerSpec, handler: Arc<dyn ChangeHandler>, shared: Arc<Shared>) -> Self {
        let filter = Filter::of(&want);
        let place = Place { filter: through(&filter, &want, &shared), shared, moving: false };
        Self {
            id,
            want,
            handler,
            left: CancellationToken::new(),
            filter,
            place: RwLock::new(place),
            told_synced: AtomicBool::new(false),
            told: AtomicU64::new(0),
            moves: watch::Sender::new(0),
            indexers: Mutex::default(),
        }
    }

    /// Indexes what it sees, here and wherever it moves.
    pub(crate) fn add_indexer(&self, name: &str, indexer: Indexer) -> Result<(), IndexConflict> {
        let mut indexers = self.indexers.lock();
        if self.left.is_cancelled() {
            // Nobody would take it away from the store again.
            return Ok(());
        }
        if indexers.iter().any(|(known, _)| **known == *name) {
            return Err(IndexConflict(name.into()));
        }
        self.place().shared.store.add_indexer(&self.index_name(name), Arc::clone(&indexer))?;
        indexers.push((name.into(), indexer));
        Ok(())
    }

    /// What a store calls an index of this seat: each seat has names of its own.
    pub(crate) fn index_name(&self, name: &str) -> String {
        format!("{}/{name}", self.id)
    }

    /// The store that it leaves needs its indexes no more.
    pub(crate) fn drop_indexes(&self, store: &Store) {
        for (name, _) in &*self.indexers.lock() {
            store.remove_indexer(&self.index_name(name));
        }
    }

    /// Can a wider informer serve it?
    pub(crate) fn can_be_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Where it is now.
    pub(crate) fn place(&self) -> Place {
        self.place.read().clone()
    }

    /// From now on until [`Self::settle_in`] its reads are of a state that its handler is still
    /// to be told of.
    pub(crate) fn get_up(&self) {
        self.place.write().moving = true;
    }

    /// Seats it elsewhere.
    pub(crate) fn sit(&self, shared: Arc<Shared>) -> Place {
        let place = Place { filter: through(&self.filter, &self.want, &shared), shared, moving: true };
        // Held over both, so that no index is added in between.
        let indexers = self.indexers.lock();
        for (name, indexer) in &*indexers {
            // A name of this seat cannot be taken in a store where it has not been.
            let _added = place.shared.store.add_indexer(&self.index_name(name), Arc::clone(indexer)).is_ok();
        }
        *self.place.write() = place.clone();
        place
    }

    /// The handler knows what the new place holds.
    pub(crate) fn settle_in(&self) {
        self.place.write().moving = false;
        self.moves.send_modify(|moves| *moves += 1);
    }

    /// Counts moves, for those who wait for something at one place.
    pub(crate) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// Calls the handler, unless its registration has left. A handler must not panic; one that
    /// does harms itself only: what it was told is skipped, and said in the log.
    pub(crate) fn call(&self, call: impl FnOnce(&dyn ChangeHandler)) {
        if self.left.is_cancelled() {
            return;
        }
        let called = catch_unwind(AssertUnwindSafe(|| call(&*self.handler)));
        if called.is_err() {
            let (kind, scope) = (&self.want.kind, &self.want.scope);
            tracing::error!(%kind, %scope, reason = %Reason::HostError, "a handler of an informer panicked; what it was told is skipped");
        }
    }

    /// Tells the handler that the first list is complete, once in its life.
    pub(crate) fn tell_synced(&self) {
        if !self.told_synced.swap(true, Ordering::SeqCst) {
            self.call(|handler| handler.on_synced());
        }
    }

    /// Was it told so?
    pub(crate) fn was_told_synced(&self) -> bool {
        self.told_synced.load(Ordering::SeqCst)
    }

    /// The version up to which its handler was told.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::SeqCst)
    }

    /// A full list is told completely: this is the state now, also if there was a newer one that
    /// the server has forgotten.
    pub(crate) fn told_all_up_to(&self, version: u64) {
        self.told.store(version, Ordering::SeqCst);
    }

    /// Tells the handler of a change within its namespace.
    pub(crate) fn tell(&self, filter: Option<&Filter>, change: &Change<'_>) {
        if let Some(object) = change.new.or(change.final_state) {
            self.told.fetch_max(number(object.resource_version()), Ordering::SeqCst);
        }
        match filter.map_or(Some(*change), |filter| filter.apply(change)) {
            Some(change) => self.call(|handler| handler.on_change(&change)),
            None => self.call(|handler| handler.on_passed(change.key, change.sequence)),
        }
    }
}

/// What a seat sees of an informer through.
fn through(filter: &Option<Filter>, want: &InformerSpec, shared: &Shared) -> Option<Filter> {
    if shared.spec == *want { None } else { filter.clone() }
}

thread_local! {
    static IN_HANDLER: Cell<u32> = const { Cell::new(0) };
}

/// Is this thread just calling a handler? Then it holds an apply lock, and waiting for one
/// would never end.
pub(crate) fn in_handler() -> bool {
    IN_HANDLER.get() > 0
}

/// Marks the thread as calling handlers while it lives.
pub(crate) struct Calling(());

impl Calling {
    pub(crate) fn handlers() -> Self {
        IN_HANDLER.set(IN_HANDLER.get() + 1);
        Self(())
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        IN_HANDLER.set(IN_HANDLER.get().saturating_sub(1));
    }
}
