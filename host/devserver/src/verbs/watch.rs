//! WATCH: initial events, changes through selectors, bookmarks, timeouts, versions that are too old or in the future.
//!
//! Owns what a change means to a reader who sees some objects only. Never writes an event: `http` does.

mod clock;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::list::{ListOptions, PATIENCE, namespace_of, parse_version, selects, too_large};
use super::{Request, events};
use crate::kind::{Registry, Resource};
use crate::select::{FieldSelector, LabelSelector};
use crate::status::Status;
use crate::store::{Change, Cursor, Event, Next, Store, Stored};

use clock::Clock;

/// A running watch: pulls from the store's history, holds no buffer of its own but the initial objects.
pub(crate) struct Watch {
    store: Arc<Store>,
    storage: Arc<str>,
    /// As what the objects are shown.
    resource: Arc<Resource>,
    view: View,
    clock: Clock,
    state: State,
    /// For custom objects: what is served.
    served: Option<watch::Receiver<Arc<Registry>>>,
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`; `version` is the object's resourceVersion, that of the change: an object that left the selector
    /// is shown as it was before, with the new version.
    Change {
        /// The event's type.
        kind: &'static str,
        /// The object, whose own version is `version` too.
        object: Arc<Stored>,
        /// The version of the change.
        version: u64,
    },
    /// Only apiVersion, kind and metadata.resourceVersion; `initial_end` adds the annotation k8s.io/initial-events-end.
    Bookmark {
        /// Everything up to this version has been sent.
        version: u64,
        /// The initial events are complete.
        initial_end: bool,
    },
    /// The last event.
    Error(Status),
}

/// How far a watch is.
enum State {
    /// Waits, until then, for the version at which the initial events shall be read.
    Waiting {
        version: u64,
        until: Instant,
    },
    /// Sends the objects that were there, then goes on.
    Initial {
        objects: std::vec::IntoIter<Arc<Stored>>,
        end: Option<u64>,
        cursor: Cursor,
    },
    /// Sends changes.
    Live(Cursor),
    /// Sends this and ends.
    Failed(Status),
    Ended,
}

/// What the reader sees.
struct View {
    namespace: Option<Box<str>>,
    labels: LabelSelector,
    fields: FieldSelector,
    bookmarks: bool,
}

impl Watch {
    /// Starts a watch by the request's parameters. Does not wait: what has to be waited for is waited for in [`Watch::next`].
    pub(crate) async fn start(store: &Arc<Store>, request: &Request) -> Result<Self, Status> {
        let options = ListOptions::parse(request, true)?;
        let version = parse_version(&options.version).map_err(Status::server_error)?;
        let storage = Arc::clone(&request.resource.storage);
        let state = match options.send_initial_events {
            Some(true) => State::Waiting { version, until: Instant::now() + PATIENCE },
            initial => {
                // Without initial events no version means from now on.
                let from = if version == 0 && initial.is_some() { store.version() } else { version };
                match store.watch(&storage, from) {
                    Ok(cursor) => State::Live(cursor),
                    Err(gone) => State::Failed(too_old(from, gone.oldest)),
                }
            }
        };
        let view = View {
            namespace: namespace_of(request).map(Into::into),
            labels: options.labels,
            fields: options.fields,
            bookmarks: options.bookmarks,
        };
        Ok(Self {
            store: Arc::clone(store),
            storage,
            resource: Arc::clone(&request.resource),
            view,
            clock: Clock::start(options.timeout_seconds),
            state,
            served: None,
        })
    }

    /// Ends when the resource is served no more, or in another way, after all that happened before: who watches must look anew.
    #[must_use]
    pub(crate) fn while_served(mut self, registry: &watch::Sender<Arc<Registry>>) -> Self {
        self.served = self.resource.is_custom().then(|| registry.subscribe());
        self
    }

    fn is_withdrawn(&mut self) -> bool {
        let Self { served: Some(served), resource, .. } = self else { return false };
        let registry = served.borrow_and_update();
        !registry.find(&resource.group, &resource.version, &resource.plural).is_some_and(|now| Arc::ptr_eq(now, resource))
    }

    /// The next event; `None` when the watch has ended (its timeout). Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if self.clock.is_over() {
                self.state = State::Ended;
            }
            // Asked first: what happened before is told.
            let withdrawn = self.is_withdrawn();
            if let Some(event) = self.now() {
                return Some(self.shown(event));
            }
            if withdrawn {
                self.state = State::Ended;
            }
            let end = sleep_until(self.clock.end());
            let changed = changed(&mut self.served);
            match &mut self.state {
                State::Ended => return None,
                State::Waiting { version, until } => {
                    let (version, until) = (*version, *until);
                    tokio::select! {
                        biased;
                        () = end => {}
                        () = changed => {}
                        () = self.store.reached(version) => {}
                        () = sleep_until(until) => self.state = State::Failed(too_large(version, self.store.version())),
                    }
                }
                State::Live(cursor) => {
                    let bookmark = self.clock.bookmark().filter(|_| self.view.bookmarks);
                    tokio::select! {
                        biased;
                        () = end => {}
                        () = changed => {}
                        () = until(bookmark) => {
                            self.clock.bookmarked();
                            // A reader who waits for a version in the future must not be told that it has come.
                            if cursor.has_begun() {
                                return Some(WatchEvent::Bookmark { version: cursor.seen(), initial_end: false });
                            }
                        }
                        next = cursor.next() => {
                            if let Some(event) = self.take(next) {
                                return Some(self.shown(event));
                            }
                        }
                    }
                }
                // These do not wait.
                State::Initial { .. } | State::Failed(_) => {}
            }
        }
    }

    /// Events that are there without waiting, up to `most`: so that one write serves many.
    pub(crate) fn ready(&mut self, most: usize) -> Vec<WatchEvent> {
        let mut events = Vec::new();
        while events.len() < most && !self.clock.is_over() {
            let Some(event) = self.now() else { break };
            events.push(self.shown(event));
        }
        events
    }

    /// An event with its object in the shape of the resource.
    fn shown(&self, event: WatchEvent) -> WatchEvent {
        match event {
            WatchEvent::Change { kind, object, version } => {
                WatchEvent::Change { kind, object: events::view(&self.resource, object), version }
            }
            other => other,
        }
    }

    /// The next event if there is one already.
    fn now(&mut self) -> Option<WatchEvent> {
        loop {
            match &mut self.state {
                State::Ended => return None,
                State::Failed(_) => {
                    let State::Failed(status) = std::mem::replace(&mut self.state, State::Ended) else { return None };
                    return Some(WatchEvent::Error(status));
                }
                State::Waiting { version, .. } => {
                    if self.store.version() < *version {
                        return None;
                    }
                    let (snapshot, cursor) = self.store.list_and_watch(&self.storage, self.view.namespace.as_deref());
                    let end = self.view.bookmarks.then_some(snapshot.version);
                    self.state = State::Initial { objects: snapshot.items.into_iter(), end, cursor };
                }
                State::Initial { objects, end, .. } => {
                    if let Some(object) = objects.find(|object| selects(&self.view.labels, &self.view.fields, object)) {
                        return Some(change("ADDED", object));
                    }
                    let end = end.take();
                    if let State::Initial { cursor, .. } = std::mem::replace(&mut self.state, State::Ended) {
                        self.state = State::Live(cursor);
                    }
                    if let Some(version) = end {
                        self.clock.told();
                        return Some(WatchEvent::Bookmark { version, initial_end: true });
                    }
                }
                State::Live(cursor) => {
                    let next = cursor.try_next()?;
                    if let Some(event) = self.take(next) {
                        return Some(event);
                    }
                }
            }
        }
    }

    /// What the reader sees of what came.
    fn take(&mut self, next: Next) -> Option<WatchEvent> {
        match next {
            Next::Event(event) => self.view.show(event),
            Next::Gone(gone) => {
                let position = match std::mem::replace(&mut self.state, State::Ended) {
                    State::Live(cursor) => cursor.seen(),
                    _ => 0,
                };
                Some(WatchEvent::Error(too_old(position, gone.oldest)))
            }
        }
    }
}

impl View {
    /// A change as this reader sees it: objects come and go with the selector.
    fn show(&self, event: Event) -> Option<WatchEvent> {
        if self.namespace.as_deref().is_some_and(|namespace| namespace != &*event.object.namespace) {
            return None;
        }
        let all = self.labels.is_empty() && self.fields.is_empty();
        let sees = |object: &Stored| all || selects(&self.labels, &self.fields, object);
        let before = event.previous.filter(|previous| sees(previous));
        let after = event.change != Change::Deleted && sees(&event.object);
        match (before, after) {
            (None, true) => Some(change("ADDED", event.object)),
            (Some(_), true) => Some(change("MODIFIED", event.object)),
            (None, false) => None,
            // The last state of a deleted object, which is at the version of the change already.
            (Some(_), false) if event.change == Change::Deleted => Some(change("DELETED", event.object)),
            (Some(previous), false) => Some(change("DELETED", Arc::new(previous.at_version(event.version)))),
        }
    }
}

fn change(kind: &'static str, object: Arc<Stored>) -> WatchEvent {
    WatchEvent::Change { kind, version: object.version, object }
}

/// 410: changes after `version` have left the history.
fn too_old(version: u64, oldest: u64) -> Status {
    Status::expired(format!("too old resource version: {version} ({oldest})"))
}

/// Until something else is served.
async fn changed(served: &mut Option<watch::Receiver<Arc<Registry>>>) {
    // It fails when the API is gone, and with it the watch.
    if let Some(served) = served
        && served.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
