//! The handlers of a run. Owns who is attached to what, from when to when; all that ever
//! were are kept, for the judge.

use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::Result;
use wharf_cache::{Change, ChangeHandler, InformerSpec, InformerState, Informers, Registration, Scope, View};
use wharf_core::{Gvk, Object};

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
    /// Others who ask for so much that one watch of the whole cluster takes over; what they are
    /// told nobody judges.
    crowd: Vec<Registration>,
}

/// One of the others.
struct Unheard;

impl ChangeHandler for Unheard {
    fn on_change(&self, _: &Change<'_>) {}
}

/// More namespaces than are watched one by one.
const CROWD: [&str; 5] = ["default", "kube-system", "kube-public", "kube-node-lease", "faults-nowhere"];

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
        let mut cast = Self { informers, all, side, listeners: Vec::new(), crowd: Vec::new() };
        cast.attach("first", false, Duration::ZERO)?;
        cast.attach("side", true, Duration::ZERO)?;
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

    /// Does the store of every registration follow the server?
    pub(crate) fn follows(&self) -> bool {
        let mut registrations = self.listeners.iter().filter_map(|listener| listener.registration.as_ref());
        registrations.all(|registration| registration.state() == InformerState::Synced)
    }

    /// A handler that comes in the middle.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn attach_late(&mut self) -> Result<()> {
        self.attach("late", false, Duration::ZERO)
    }

    /// Removes the handler that goes and comes, or attaches a new one in its place.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn toggle_again(&mut self) -> Result<()> {
        if self.remove("again") { Ok(()) } else { self.attach("again", false, Duration::ZERO) }
    }

    /// Removes the only handler with a selector, which ends what is there for it alone, and
    /// attaches a new one.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn renew_side(&mut self) -> Result<()> {
        self.remove("side");
        self.attach("side", true, Duration::ZERO)
    }

    /// Somebody asks for many namespaces, or leaves: the others move to one watch of all, and stay.
    pub(crate) fn toggle_crowd(&mut self) {
        self.toggle(CROWD.map(|namespace| Scope::Namespace(namespace.into())));
    }

    /// Somebody asks for the whole cluster, or leaves: the others move, and move back.
    pub(crate) fn toggle_wide(&mut self) {
        self.toggle([Scope::All]);
    }

    /// Two that come when all is over, and are told the final state. When this returns, every
    /// change that a store holds is announced to everybody who reads it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn attach_last(&mut self) -> Result<()> {
        self.attach("last", false, Duration::ZERO)?;
        self.attach("last", true, Duration::ZERO)
    }

    pub(crate) fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// How the informers are doing, for the report of a failure.
    pub(crate) fn state(&self) -> String {
        self.informers.snapshot().iter().map(|status| format!("{status:?}\n")).collect()
    }

    /// What the newest registration without a selector reads.
    pub(crate) fn view(&self) -> Option<View> {
        let mut listeners = self.listeners.iter().rev().filter(|listener| !listener.selector);
        listeners.find_map(|listener| listener.registration.as_ref()).map(Registration::view)
    }

    /// The objects in the stores, to see whether they go.
    pub(crate) fn objects(&self) -> Vec<Weak<Object>> {
        self.view().iter().flat_map(|view| view.list(None)).map(|object| Arc::downgrade(&object)).collect()
    }

    /// Removes everybody and stops the informers.
    pub(crate) async fn leave(self) {
        let Self { informers, listeners, crowd, .. } = self;
        drop((listeners, crowd));
        informers.shutdown().await;
    }

    fn toggle(&mut self, scopes: impl IntoIterator<Item = Scope>) {
        if !self.crowd.is_empty() {
            self.crowd.clear();
            return;
        }
        let specs = scopes.into_iter().map(|scope| InformerSpec { scope, ..self.all.clone() });
        self.crowd = specs.map(|spec| self.informers.attach(spec, Arc::new(Unheard))).collect();
    }

    fn attach(&mut self, name: &str, selector: bool, slowness: Duration) -> Result<()> {
        let spec = if selector { &self.side } else { &self.all };
        let recorder = Arc::new(Recorder::new(slowness)?);
        let registration = self.informers.attach(spec.clone(), Arc::<Recorder>::clone(&recorder));
        let name = format!("{name}-{}", self.listeners.len());
        self.listeners.push(Listener { name, selector, recorder, registration: Some(registration) });
        Ok(())
    }

    /// False if there is none of that name.
    fn remove(&mut self, name: &str) -> bool {
        let mut named = self.listeners.iter_mut().filter(|listener| listener.name.starts_with(name));
        named.find_map(|listener| listener.registration.take()).is_some()
    }
}
