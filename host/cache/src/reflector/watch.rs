//! A watch from its request to its end: events to the store, one by one. Owns the
//! deadlines of silence; what an end means is the machine's business.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::driver::{OBJECTS_PER_TURN, Reflector};
use super::step::{End, WatchRequest};
use crate::chunks::Chunks;
use crate::classify::{Class, Failure};
use crate::decode::WatchEvent;
use crate::frame::Framer;
use crate::metrics::WatchEventType;

/// So often it is said that a watch has not shown yet what exists.
const LATE: Duration = Duration::from_secs(10);

/// The times by which a watch must have done something.
struct Deadlines {
    /// The server should have ended it before.
    end: Instant,
    /// While it shows what exists.
    initial: Option<Initial>,
    /// Something should have come before, on a connection that lives: once the server has shown
    /// that it sends bookmarks on its own.
    life: Option<Instant>,
    /// See [`Options`](crate::Options).
    silence: Duration,
}

struct Initial {
    begun: Instant,
    /// Another object, or the end of them, should have come before.
    next: Instant,
    /// When it is said again that the end is late.
    warning: Instant,
}

impl Reflector<'_> {
    /// One watch, to its end.
    pub(super) async fn watch(&mut self, request: &WatchRequest) -> End {
        if request.initial.is_some()
            && let Err(failure) = self.admit().await
        {
            return End::Refused(failure);
        }
        let what = self.what("watch");
        let resource = match self.resource() {
            Ok(resource) => resource,
            Err(failure) => return End::Refused(failure),
        };
        let stream = match self.source.watch(&what, resource, &self.shared.spec, request).await {
            Ok(stream) => stream,
            Err(failure) => return End::Refused(failure),
        };
        let now = Instant::now();
        if self.machine.watching(now) {
            self.shared.set_synced();
        }
        if let Some(reason) = request.initial {
            self.shared.begin_list(reason, request.resource_version.is_empty());
        }
        let initial = request.initial.map(|_| Initial { begun: now, next: now + self.options.response_timeout, warning: now + LATE });
        let deadlines = Deadlines {
            end: now + request.timeout + self.options.idle_margin,
            initial,
            life: None,
            silence: self.options.bookmark_silence,
        };
        self.follow(&what, stream, deadlines).await
    }

    /// Reads a watch to its end.
    async fn follow(&mut self, what: &str, mut stream: Chunks, mut deadlines: Deadlines) -> End {
        let mut framer = Framer::new(self.options.max_object_bytes);
        let mut count = 0_usize;
        loop {
            self.warn_if_late(&mut deadlines);
            match timeout_at(deadlines.next(), stream.next()).await {
                Err(_) if deadlines.passed(Instant::now()) => return End::Silent,
                Err(_) => continue,
                Ok(Err(error)) => return End::Broken(Failure::unreachable(what, &error)),
                Ok(Ok(None)) => {
                    // A last line without a newline counts if it is whole; if it was cut
                    // off, its event comes again, since the resourceVersion has not moved.
                    return match self.decoder.event(what, framer.rest()) {
                        Ok(event) => self.event(event, &mut deadlines).await.unwrap_or(End::Closed),
                        Err(_) => End::Closed,
                    };
                }
                Ok(Ok(Some(chunk))) => framer.push(chunk),
            }
            deadlines.heard();
            self.shared.heard();
            loop {
                let event = match framer.next_line() {
                    Err(error) => return End::Undecodable(Failure::new(Class::Undecodable, format_args!("{what}: {error}"))),
                    Ok(None) => break,
                    Ok(Some([])) => continue,
                    Ok(Some(line)) => self.decoder.event(what, line),
                };
                let end = match event {
                    Ok(event) => self.event(event, &mut deadlines).await,
                    Err(failure) => Some(End::Undecodable(failure)),
                };
                if let Some(end) = end {
                    return end;
                }
                count += 1;
                if count.is_multiple_of(OBJECTS_PER_TURN) {
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Applies one event; says so if it is the watch's end.
    async fn event(&mut self, event: WatchEvent, deadlines: &mut Deadlines) -> Option<End> {
        let (shared, event_type) = (self.shared, event.event_type());
        let seen = match &event {
            WatchEvent::Applied(_, object) => self.machine.seen(object.resource_version(), event_type == WatchEventType::Added),
            WatchEvent::Deleted(object) => self.machine.seen(object.resource_version(), false),
            WatchEvent::Foreign(..) => self.machine.seen("", false),
            // The end of what exists has its own rule.
            WatchEvent::Bookmark { initial_end: true, .. } if deadlines.initial.is_some() => Ok(()),
            WatchEvent::Bookmark { resource_version, .. } => self.machine.seen(resource_version, false),
            WatchEvent::Error(_) => Ok(()),
        };
        if let Err(failure) = seen {
            return Some(End::Undecodable(failure));
        }
        match event {
            WatchEvent::Applied(_, object) if deadlines.initial.is_some() => {
                deadlines.object_came(self.options.response_timeout);
                shared.count(event_type);
                shared.listed(vec![object]);
            }
            WatchEvent::Applied(_, object) => shared.applied(event_type, object),
            WatchEvent::Deleted(object) => {
                deadlines.object_came(self.options.response_timeout);
                shared.deleted(object);
            }
            WatchEvent::Bookmark { resource_version, initial_end: true } if deadlines.initial.take().is_some() => {
                shared.count(event_type);
                return self.initial_end(resource_version).await;
            }
            WatchEvent::Bookmark { .. } if deadlines.initial.is_some() => shared.count(event_type),
            WatchEvent::Bookmark { resource_version, .. } => {
                deadlines.bookmark_came();
                shared.bookmark(&resource_version);
            }
            WatchEvent::Foreign(_, message) => {
                let (kind, scope) = (&shared.spec.kind, &shared.spec.scope);
                tracing::warn!(%kind, %scope, error = %message, "watch event is ignored");
                shared.count(event_type);
                shared.note_error(&message);
            }
            WatchEvent::Error(failure) => {
                shared.count(event_type);
                return Some(End::Error(failure));
            }
        }
        None
    }

    /// All that exists has been shown; the same stream goes on with what changes.
    async fn initial_end(&mut self, resource_version: Box<str>) -> Option<End> {
        match self.machine.initial_end(resource_version.clone()) {
            Ok((store, health)) => self.carry_out(&store, &health),
            Err(failure) => return Some(End::Undecodable(failure)),
        }
        if self.options.verify_watch_list {
            self.verify(resource_version).await;
        }
        None
    }

    fn warn_if_late(&self, deadlines: &mut Deadlines) {
        let Some(initial) = &mut deadlines.initial else { return };
        let now = Instant::now();
        if now < initial.warning {
            return;
        }
        initial.warning = now + LATE;
        let (kind, scope, waited) = (&self.shared.spec.kind, &self.shared.spec.scope, now.saturating_duration_since(initial.begun));
        tracing::warn!(%kind, %scope, seconds = waited.as_secs(), "the watch has not come to the end of what exists");
        self.shared.report(|metrics, spec| metrics.initial_events_late(spec, waited));
    }
}

impl Deadlines {
    /// When to look again, if nothing comes.
    fn next(&self) -> Instant {
        let end = self.life.map_or(self.end, |life| self.end.min(life));
        self.initial.as_ref().map_or(end, |initial| end.min(initial.next).min(initial.warning))
    }

    fn passed(&self, now: Instant) -> bool {
        let over = |at: Instant| at <= now;
        over(self.end) || self.life.is_some_and(over) || self.initial.as_ref().is_some_and(|initial| over(initial.next))
    }

    fn heard(&mut self) {
        if let Some(life) = &mut self.life {
            *life = Instant::now() + self.silence;
        }
    }

    /// A server sends one when a watch is about to end, too; that says nothing of others.
    fn bookmark_came(&mut self) {
        let next = Instant::now() + self.silence;
        if next < self.end {
            self.life = Some(next);
        }
    }

    /// A server that does not know how to end what exists still sends bookmarks: only
    /// objects are a sign that there is more to come.
    fn object_came(&mut self, timeout: Duration) {
        if let Some(initial) = &mut self.initial {
            initial.next = Instant::now() + timeout;
        }
    }
}
