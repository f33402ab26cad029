//! What handlers are told, written down. Owns the recorder, which is a handler like any
//! other; judges nothing, that is `model`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use wharf_cache::{Change, ChangeCause, ChangeHandler};
use wharf_core::{Object, Pointer};

/// Which state of which object.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ident {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Box<str>,
}

impl Ident {
    pub(crate) fn new(uid: &str, version: &str) -> Self {
        Self { uid: uid.into(), version: version.into() }
    }

    fn of(object: &Object) -> Self {
        Self { uid: object.uid().clone(), version: object.resource_version().into() }
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.uid, self.version)
    }
}

/// One call of a handler.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Attached {
        sequence: u64,
    },
    /// From one informer to another.
    Moving,
    Change(Fact),
    Recovered,
    Synced,
}

/// One announced change.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) key: String,
    pub(crate) old: Option<Ident>,
    pub(crate) new: Option<Ident>,
    /// The final state, for a removal.
    pub(crate) last: Option<Ident>,
    pub(crate) final_known: bool,
    pub(crate) cause: ChangeCause,
    pub(crate) sequence: u64,
    /// `data.value` of the new state, as JSON: what the writer wrote.
    pub(crate) value: Option<Box<str>>,
}

/// A handler that writes down what it is told. Its size is bounded by the run, which is short.
pub(crate) struct Recorder {
    told: Mutex<Vec<Told>>,
    value: Pointer,
    /// Every call takes at least so long.
    slowness: Duration,
}

impl Recorder {
    pub(crate) fn new(slowness: Duration) -> anyhow::Result<Self> {
        Ok(Self { told: Mutex::default(), value: Pointer::parse("/data/value")?, slowness })
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.lock().clone()
    }

    fn note(&self, told: Told) {
        self.told.lock().push(told);
        // Work, not a wait: that is how a handler is slow that keeps to its contract.
        let start = Instant::now();
        while start.elapsed() < self.slowness {
            std::hint::spin_loop();
        }
    }
}

impl ChangeHandler for Recorder {
    fn on_change(&self, change: &Change<'_>) {
        let ident = |object: Option<&Arc<Object>>| object.map(|object| Ident::of(object));
        self.note(Told::Change(Fact {
            key: change.key.to_string(),
            old: ident(change.old),
            new: ident(change.new),
            last: ident(change.final_state),
            final_known: change.final_known,
            cause: change.cause,
            sequence: change.sequence,
            value: change.new.and_then(|object| object.get(&self.value)).map(Into::into),
        }));
    }

    fn on_attached(&self, sequence: u64) {
        self.note(Told::Attached { sequence });
    }

    fn on_moving(&self) {
        self.note(Told::Moving);
    }

    fn on_recovered(&self) {
        self.note(Told::Recovered);
    }

    fn on_synced(&self) {
        self.note(Told::Synced);
    }
}
