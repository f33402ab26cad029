//! Keeps one store equal to the server: list, then watch, for ever. `machine` decides what
//! comes next; this file carries it out and owns the loop. Never decides by itself and
//! never sleeps but where it is told to.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wharf_core::ResourceKind;

use super::machine::{Decision, End, Health, Input, ListRequest, Machine, Step, StoreCall, WatchRequest};
use crate::classify::{Class, Failure};
use crate::decode::{Page, WatchEvent, item};
use crate::discovery::{Discovery, DiscoveryError};
use crate::frame::Framer;
use crate::metrics::WatchEventType;
use crate::options::Options;
use crate::shared::Shared;
use crate::source::{Source, WatchStream};

/// The task of one informer.
pub(crate) struct Reflector<'a> {
    shared: &'a Shared,
    source: Source,
    discovery: &'a Discovery,
    machine: Machine,
    options: Options,
    resource: Option<ResourceKind>,
}

/// After so many objects of a list other tasks get a turn.
const OBJECTS_PER_TURN: usize = 64;

impl<'a> Reflector<'a> {
    pub(crate) fn new(shared: &'a Shared, source: Source, discovery: &'a Discovery, options: Options, not_older_than: Box<str>) -> Self {
        let machine = Machine::new(&options, rand::random::<f64>, not_older_than);
        Self { shared, source, discovery, machine, options, resource: None }
    }

    /// Runs until it is dropped; what was applied up to then stays whole.
    pub(crate) async fn run(mut self) {
        let mut step = Step::Resolve { fresh: false };
        loop {
            let input = match step {
                Step::Resolve { fresh } => self.resolve(fresh).await,
                Step::List(request) => self.list(&request).await,
                Step::Watch(request) => Input::WatchEnded(self.watch(&request).await),
                Step::Sleep(time) => {
                    sleep(time).await;
                    Input::Woke
                }
            };
            let decision = self.machine.next(input, Instant::now());
            step = self.carry_out(decision);
        }
    }

    fn carry_out(&self, decision: Decision) -> Step {
        match &decision.store {
            StoreCall::Nothing => {}
            StoreCall::Finish { resource_version } => self.shared.finish_list(resource_version),
            StoreCall::Vanish => self.shared.vanish(),
        }
        let (kind, scope) = (&self.shared.spec.kind, &self.shared.spec.scope);
        match &decision.health {
            Health::Unchanged => {}
            Health::Synced => {
                tracing::debug!(%kind, %scope, objects = self.shared.store.len(), "informer is synced");
                self.shared.set_synced();
            }
            Health::Sleeping(failure) => {
                let reason = failure.class.reason();
                tracing::info!(%kind, %scope, %reason, hint = reason.hint(), "informer sleeps");
                self.shared.set_sleeping(failure.class.reason(), &failure.message);
            }
            Health::Failing(failure) => {
                let reason = failure.class.reason();
                tracing::warn!(%kind, %scope, %reason, error = %failure, hint = reason.hint(), "informer is failing");
                self.shared.set_failing(failure);
            }
            Health::Noted(failure) => {
                tracing::debug!(%kind, %scope, reason = %failure.class.reason(), error = %failure, "watch ended");
                self.shared.note_error(&failure.message);
            }
        }
        decision.step
    }

    async fn resolve(&mut self, fresh: bool) -> Input {
        let kind = &self.shared.spec.kind;
        if fresh {
            self.discovery.invalidate(kind);
        }
        match self.discovery.resolve(kind).await {
            Ok(resource) => {
                self.resource = Some(resource);
                Input::Resolved
            }
            Err(error) => {
                let class = match &error {
                    DiscoveryError::NotFound { .. } => Class::NotFound,
                    DiscoveryError::Forbidden { .. } => Class::Forbidden,
                    DiscoveryError::Unavailable { .. } => Class::Unreachable,
                };
                Input::Unresolved(Failure::new(class, error))
            }
        }
    }

    async fn list(&mut self, request: &ListRequest) -> Input {
        if request.first {
            self.shared.begin_list(request.reason);
        }
        match self.list_page(request).await {
            Ok(input) => input,
            Err(failure) => Input::ListFailed(failure),
        }
    }

    /// Gets one page and puts it into the store object by object.
    async fn list_page(&self, request: &ListRequest) -> Result<Input, Failure> {
        let what = self.what("list");
        let body = self.source.list(&what, self.resource()?, &self.shared.spec, request).await?;
        self.shared.heard();
        let page = Page::parse(&what, &body)?;
        for objects in page.items.chunks(OBJECTS_PER_TURN) {
            let objects = objects.iter().map(|text| item(&what, text, &self.shared.spec.kind));
            self.shared.listed(objects.collect::<Result<Vec<_>, _>>()?);
            tokio::task::yield_now().await;
        }
        Ok(Input::Page { resource_version: page.resource_version, next: page.next })
    }

    async fn watch(&mut self, request: &WatchRequest) -> End {
        let what = self.what("watch");
        let resource = match self.resource() {
            Ok(resource) => resource,
            Err(failure) => return End::Refused(failure),
        };
        match self.source.watch(&what, resource, &self.shared.spec, request).await {
            Ok(stream) => {
                if self.machine.watching(Instant::now()) {
                    self.shared.set_synced();
                }
                let deadline = Instant::now() + request.timeout + self.options.idle_margin;
                self.follow(&what, stream, deadline).await
            }
            Err(failure) => End::Refused(failure),
        }
    }

    /// Reads a watch to its end.
    async fn follow(&mut self, what: &str, mut stream: WatchStream, deadline: Instant) -> End {
        let mut framer = Framer::new(self.options.max_line_bytes);
        loop {
            match tokio::time::timeout_at(deadline, stream.chunk()).await {
                Err(_) => return End::Silent,
                Ok(Err(error)) => return End::Broken(Failure::unreachable(what, &error)),
                Ok(Ok(None)) => {
                    // A last line without a newline counts if it is whole; if it was cut
                    // off, its event comes again, since the resourceVersion has not moved.
                    let event = WatchEvent::parse(what, framer.rest(), &self.shared.spec.kind);
                    return event.map_or(End::Closed, |event| self.event(event).unwrap_or(End::Closed));
                }
                Ok(Ok(Some(chunk))) => framer.push(&chunk),
            }
            self.shared.heard();
            loop {
                let event = match framer.next_line() {
                    Err(error) => return End::Undecodable(Failure::new(Class::Undecodable, format_args!("{what}: {error}"))),
                    Ok(None) => break,
                    Ok(Some([])) => continue,
                    Ok(Some(line)) => WatchEvent::parse(what, line, &self.shared.spec.kind),
                };
                let end = match event {
                    Ok(event) => self.event(event),
                    Err(failure) => Some(End::Undecodable(failure)),
                };
                if let Some(end) = end {
                    return end;
                }
            }
        }
    }

    /// Applies one event; says so if it is the watch's end.
    fn event(&mut self, event: WatchEvent) -> Option<End> {
        let (shared, event_type) = (self.shared, event.event_type());
        match event {
            WatchEvent::Applied(_, object) => {
                self.machine.seen(object.resource_version(), event_type == WatchEventType::Added);
                shared.applied(event_type, object);
            }
            WatchEvent::Deleted(object) => {
                self.machine.seen(object.resource_version(), false);
                shared.deleted(object);
            }
            WatchEvent::Bookmark(resource_version) => {
                self.machine.seen(&resource_version, false);
                shared.bookmark(&resource_version);
            }
            WatchEvent::Foreign(_, message) => {
                let (kind, scope) = (&shared.spec.kind, &shared.spec.scope);
                tracing::warn!(%kind, %scope, error = %message, "watch event is ignored");
                shared.count(event_type);
                shared.note_error(&message);
                self.machine.seen("", false);
            }
            WatchEvent::Error(failure) => {
                shared.count(event_type);
                return Some(End::Error(failure));
            }
        }
        None
    }

    fn resource(&self) -> Result<&ResourceKind, Failure> {
        self.resource.as_ref().ok_or_else(|| Failure::new(Class::Other, "the kind has not been resolved"))
    }

    fn what(&self, verb: &str) -> String {
        let spec = &self.shared.spec;
        match spec.scope.namespace() {
            Some(namespace) => format!("{verb} {} in namespace {namespace}", spec.kind),
            None => format!("{verb} {}", spec.kind),
        }
    }
}

/// The length of a watch in whole seconds, at least one.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}
