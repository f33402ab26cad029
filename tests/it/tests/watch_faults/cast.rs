//! The handlers of a run. Owns who is attached to what, from when to when; all that ever
//! were are kept, for the judge.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use wharf_cache::{Change, ChangeHandler, InformerSpec, Informers, Registration, Scope, View};
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

impl Listener {
    fn attach(name: &str, informers: &Informers, spec: &InformerSpec, selector: bool, slowness: Duration) -> Result<(Self, View)> {
        let recorder = Arc::new(Recorder::new(slowness)?);
        let registration = informers.attach(spec.clone(), Arc::<Recorder>::clone(&recorder));
        let view = registration.view();
        Ok((Self { name: name.to_owned(), selector, recorder, registration: Some(registration) }, view))
    }
}

/// All of them.
pub(crate) struct Cast {
    informers: Informers,
    all: InformerSpec,
    side: InformerSpec,
    listeners: Vec<Listener>,
    /// What the first registration sees, and the newest one with a selector.
    view: View,
    side_view: View,
    side_lives: u64,
    /// Asks for all namespaces: while it is there, the others are served by its informer.
    wide: Option<Registration>,
    wide_lives: u64,
}

/// Is told of other namespaces too, which nobody judges.
struct Unheard;

impl ChangeHandler for Unheard {
    fn on_change(&self, _: &Change<'_>) {}
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
        let (first, side_one) = (Listener::attach("first-0", &informers, &all, false, Duration::ZERO)?, "side-1");
        let second = Listener::attach(side_one, &informers, &side, true, Duration::ZERO)?;
        let (view, side_view) = (first.1, second.1);
        let listeners = vec![first.0, second.0];
        let mut cast = Self { informers, all, side, listeners, view, side_view, side_lives: 1, wide: None, wide_lives: 0 };
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
        self.side_view = self.attach("side", true, Duration::ZERO)?;
        Ok(())
    }

    /// Somebody asks for all namespaces, or leaves again: the others move, under whatever happens.
    pub(crate) fn toggle_wide(&mut self) {
        self.wide_lives += 1;
        self.wide = match self.wide.take() {
            Some(_) => None,
            None => {
                let spec = InformerSpec { scope: Scope::All, ..self.all.clone() };
                Some(self.informers.attach(spec, Arc::new(Unheard)))
            }
        };
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

    pub(crate) fn view(&self) -> View {
        self.view.clone()
    }

    pub(crate) fn side_view(&self) -> View {
        self.side_view.clone()
    }

    /// How often an informer may have been started: one of all objects, or one of the selector.
    pub(crate) fn lives(&self, selector: bool) -> u64 {
        1 + self.wide_lives + if selector { self.side_lives } else { 0 }
    }

    /// Removes everybody and stops the informers.
    pub(crate) async fn leave(self) {
        let Self { informers, listeners, view, side_view, wide, .. } = self;
        drop((listeners, view, side_view, wide));
        informers.shutdown().await;
    }

    fn attach(&mut self, name: &str, selector: bool, slowness: Duration) -> Result<View> {
        let spec = if selector { &self.side } else { &self.all };
        let name = format!("{name}-{}", self.listeners.len());
        let (listener, view) = Listener::attach(&name, &self.informers, spec, selector, slowness)?;
        self.listeners.push(listener);
        Ok(view)
    }

    /// False if there is none of that name.
    fn remove(&mut self, name: &str) -> bool {
        let mut named = self.listeners.iter_mut().filter(|listener| listener.name.starts_with(name));
        named.find_map(|listener| listener.registration.take()).is_some()
    }
}
