//! The handlers of a run. Owns who is attached to what, from when to when; all that ever
//! were are kept, for the judge.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use wharf_cache::{InformerSpec, Informers, Registration, Scope, Store};
use wharf_core::Gvk;

use crate::history::Recorder;
use crate::writer::SIDE;

/// One registration, also one that was removed.
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) selector: bool,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) registration: Option<Registration>,
}

/// All of them.
pub(crate) struct Cast {
    informers: Informers,
    all: InformerSpec,
    side: InformerSpec,
    listeners: Vec<Listener>,
    /// The stores of the first registration and of the newest one with a selector.
    store: Arc<Store>,
    side_store: Arc<Store>,
    side_lives: u64,
}

/// How long the slow handler takes for each change.
const SLOW: Duration = Duration::from_millis(2);

impl Cast {
    /// Attaches those that are there from the start.
    ///
    /// # Errors
    /// Never in practice: a pointer that does not parse.
    pub(crate) fn new(informers: Informers, namespace: &str) -> Result<Self> {
        let all = InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), Scope::Namespace(namespace.into()));
        let side = InformerSpec { label_selector: format!("{}={}", SIDE.0, SIDE.1), ..all.clone() };
        let nothing = Arc::<Store>::default();
        let mut cast =
            Self { informers, all, side, listeners: Vec::new(), store: Arc::clone(&nothing), side_store: nothing, side_lives: 1 };
        cast.store = cast.attach("first", false, Duration::ZERO)?;
        cast.side_store = cast.attach("side", true, Duration::ZERO)?;
        cast.attach("slow", false, SLOW)?;
        cast.attach("again", false, Duration::ZERO)?;
        Ok(cast)
    }

    /// Waits until it is known what there is.
    pub(crate) async fn settle(&self) {
        for registration in self.listeners.iter().filter_map(|listener| listener.registration.as_ref()) {
            registration.settle().await;
        }
    }

    /// A handler that comes in the middle.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn attach_late(&mut self) -> Result<()> {
        self.attach("late", false, Duration::ZERO).map(drop)
    }

    /// Removes the handler that goes and comes, or attaches a new one in its place.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn toggle_again(&mut self) -> Result<()> {
        if self.remove("again") { Ok(()) } else { self.attach("again", false, Duration::ZERO).map(drop) }
    }

    /// Removes the only handler with a selector, which ends what is there for it alone, and
    /// attaches a new one.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn renew_side(&mut self) -> Result<()> {
        self.remove("side");
        self.side_lives += 1;
        self.side_store = self.attach("side", true, Duration::ZERO)?;
        Ok(())
    }

    /// Two that come when all is over, and are told the final state. When this returns, every
    /// change is announced to everybody.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn attach_last(&mut self) -> Result<()> {
        self.attach("last", false, Duration::ZERO)?;
        self.attach("last", true, Duration::ZERO).map(drop)
    }

    pub(crate) fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// How the informers are doing, for the report of a failure.
    pub(crate) fn state(&self) -> String {
        self.informers.snapshot().iter().map(|status| format!("{status:?}\n")).collect()
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    pub(crate) fn side_store(&self) -> Arc<Store> {
        Arc::clone(&self.side_store)
    }

    /// How often the informer was started: the one of all objects, or that of the selector.
    pub(crate) fn lives(&self, selector: bool) -> u64 {
        if selector { self.side_lives } else { 1 }
    }

    /// Removes everybody and stops the informers.
    pub(crate) async fn leave(self) {
        let Self { informers, listeners, .. } = self;
        drop(listeners);
        informers.shutdown().await;
    }

    fn attach(&mut self, name: &str, selector: bool, slowness: Duration) -> Result<Arc<Store>> {
        let spec = if selector { &self.side } else { &self.all };
        let recorder = Arc::new(Recorder::new(slowness)?);
        let registration = self.informers.attach(spec.clone(), Arc::<Recorder>::clone(&recorder));
        let store = registration.store();
        let name = format!("{name}-{}", self.listeners.len());
        self.listeners.push(Listener { name, selector, recorder, registration: Some(registration) });
        Ok(store)
    }

    /// False if there is none of that name.
    fn remove(&mut self, name: &str) -> bool {
        let mut named = self.listeners.iter_mut().filter(|listener| listener.name.starts_with(name));
        named.find_map(|listener| listener.registration.take()).is_some()
    }
}
