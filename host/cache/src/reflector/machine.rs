//! What a reflector does next: from what happened to the next request, store call or
//! sleep. Owns the rules for resourceVersions, pages, relists and waits; does no IO, reads
//! no clock and holds no object, so it is tested as a table.

use std::time::Duration;

use tokio::time::Instant;
use wharf_core::Reason;

use crate::backoff::{Backoff, KindBackoff, RetryWindow};
use crate::classify::{Class, Failure};
use crate::options::Options;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListRequest {
    /// `None` leaves the parameter out: the newest state, read from the quorum, or the
    /// list that the token continues.
    pub(crate) resource_version: Option<Box<str>>,
    pub(crate) limit: Option<u32>,
    pub(crate) token: Option<Box<str>>,
    /// Does this begin a full list?
    pub(crate) first: bool,
    /// Why there is a list.
    pub(crate) reason: Reason,
}

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchRequest {
    pub(crate) resource_version: Box<str>,
    /// How long the server shall let it run.
    pub(crate) timeout: Duration,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask discovery for the kind; `fresh` does not trust what it remembers.
    Resolve {
        fresh: bool,
    },
    List(ListRequest),
    Watch(WatchRequest),
    Sleep(Duration),
}

/// What happens to the store before the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreCall {
    Nothing,
    /// The full list is complete.
    Finish {
        resource_version: Box<str>,
    },
    /// The kind is gone, with all its objects.
    Vanish,
}

/// What is said about the informer before the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Unchanged,
    Synced,
    Sleeping(Failure),
    Failing(Failure),
    /// Part of normal life, worth a line in the log at most.
    Noted(Failure),
}

/// The answer to an [`Input`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) store: StoreCall,
    pub(crate) health: Health,
    pub(crate) step: Step,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Discovery has the kind.
    Resolved,
    /// Discovery does not have it, or does not answer.
    Unresolved(Failure),
    /// A page is in the store.
    Page { resource_version: Box<str>, next: Option<Box<str>> },
    /// A list failed.
    ListFailed(Failure),
    /// A watch could not be started, or ended.
    WatchEnded(End),
    /// The sleep is over.
    Woke,
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It could not be started.
    Refused(Failure),
    /// The server closed it.
    Closed,
    /// The server neither sent nor closed anything in time.
    Silent,
    /// The connection broke.
    Broken(Failure),
    /// The server sent an ERROR event.
    Error(Failure),
    /// The server sent something that cannot be read.
    Undecodable(Failure),
}

/// The reflector's memory.
#[derive(Debug)]
pub(crate) struct Machine {
    watch_timeout: Duration,
    page_size: u32,
    always_paginate: bool,
    random: fn() -> f64,
    backoff: Backoff,
    kind_backoff: KindBackoff,
    internal_errors: RetryWindow,
    /// The resourceVersion last listed or seen; empty before the first list.
    resource_version: Box<str>,
    /// The server does not have that version: ask once without one.
    unavailable: bool,
    /// The server pages lists even from version 0, so it has no cache to answer from.
    paginated: bool,
    /// A list or a watch said 404 and discovery is being asked.
    confirming: Option<Failure>,
    /// The informer is failing because of its watch, so a list alone does not heal it.
    watch_failing: bool,
    list: List,
    watch: Watch,
    after_sleep: AfterSleep,
}

/// The running list.
#[derive(Debug, Default)]
struct List {
    /// What its first page asked for.
    resource_version: Box<str>,
    limit: Option<u32>,
    pages: u32,
    /// It has fallen back to one list without pages.
    whole: bool,
}

/// The running watch.
#[derive(Debug, Default)]
struct Watch {
    started: Option<Instant>,
    events: u64,
}

#[derive(Clone, Copy, Debug)]
enum AfterSleep {
    Resolve,
    List(Reason),
    Watch,
}

/// A watch that ends within this time without an event was no watch.
const SHORT_WATCH: Duration = Duration::from_secs(1);

impl Machine {
    /// `random` gives numbers in \[0, 1).
    pub(crate) fn new(options: &Options, random: fn() -> f64, not_older_than: Box<str>) -> Self {
        Self {
            watch_timeout: options.watch_timeout,
            page_size: options.page_size,
            always_paginate: options.always_paginate,
            random,
            backoff: Backoff::requests(),
            kind_backoff: KindBackoff::new(),
            internal_errors: RetryWindow::new(options.internal_error_window),
            resource_version: not_older_than,
            unavailable: false,
            paginated: false,
            confirming: None,
            watch_failing: false,
            list: List::default(),
            watch: Watch::default(),
            after_sleep: AfterSleep::Resolve,
        }
    }

    /// The watch has been accepted. True if that ends a failure.
    pub(crate) fn watching(&mut self, now: Instant) -> bool {
        self.watch = Watch { started: Some(now), events: 0 };
        std::mem::take(&mut self.watch_failing)
    }

    /// The watch delivered something of that resourceVersion (empty: of none).
    pub(crate) fn seen(&mut self, resource_version: &str, added: bool) {
        self.watch.events += 1;
        // A watch from no version first shows what exists, in no order of versions.
        let unordered = added && matches!(&*self.resource_version, "" | "0");
        if !resource_version.is_empty() && !unordered && *self.resource_version != *resource_version {
            self.resource_version = resource_version.into();
        }
    }

    /// What to do next.
    pub(crate) fn next(&mut self, input: Input, now: Instant) -> Decision {
        match input {
            Input::Resolved => self.resolved(now),
            Input::Unresolved(failure) => self.unresolved(failure, now),
            Input::Page { resource_version, next } => self.page(resource_version, next),
            Input::ListFailed(failure) => self.list_failed(failure, now),
            Input::WatchEnded(end) => self.watch_ended(end, now),
            Input::Woke => Decision::only(match self.after_sleep {
                AfterSleep::Resolve => Step::Resolve { fresh: false },
                AfterSleep::List(reason) => self.begin_list(reason),
                AfterSleep::Watch => self.begin_watch(),
            }),
        }
    }

    fn resolved(&mut self, now: Instant) -> Decision {
        self.kind_backoff.reset();
        match self.confirming.take() {
            // The kind exists, so the 404 means something else.
            Some(failure) => self.fail_and_list(Failure { class: Class::Other, ..failure }, now),
            None => Decision::only(self.begin_list(Reason::KindNotFound)),
        }
    }

    fn unresolved(&mut self, failure: Failure, now: Instant) -> Decision {
        if failure.class != Class::NotFound {
            let wait = self.backoff.next(now, (self.random)());
            self.after_sleep = AfterSleep::Resolve;
            return Decision { store: StoreCall::Nothing, health: Health::Failing(failure), step: Step::Sleep(wait) };
        }
        // The kind may come back as another one: everything begins anew.
        self.confirming = None;
        self.watch_failing = false;
        self.backoff = Backoff::requests();
        self.resource_version = Box::default();
        self.unavailable = false;
        self.paginated = false;
        self.after_sleep = AfterSleep::Resolve;
        Decision { store: StoreCall::Vanish, health: Health::Sleeping(failure), step: Step::Sleep(self.kind_backoff.next()) }
    }

    /// The first list asks for any version, which the server answers from its cache; a
    /// relist for one not older than what was seen. Only after the server said that it
    /// does not have that version, the newest one is asked for: so not all clients of a
    /// server that comes back read from its quorum.
    fn begin_list(&mut self, reason: Reason) -> Step {
        let version: Box<str> = match &*self.resource_version {
            _ if self.unavailable => "".into(),
            "" => "0".into(),
            version => version.into(),
        };
        // With a version, a limit would send the server past its cache to etcd.
        let exact = !matches!(&*version, "" | "0");
        let paged = self.always_paginate || self.paginated || !exact;
        self.list = List { resource_version: version, limit: paged.then_some(self.page_size), pages: 0, whole: false };
        self.list_step(reason)
    }

    fn list_step(&self, reason: Reason) -> Step {
        let version = &self.list.resource_version;
        let resource_version = (!version.is_empty()).then(|| version.clone());
        Step::List(ListRequest { resource_version, limit: self.list.limit, token: None, first: true, reason })
    }

    fn page(&mut self, resource_version: Box<str>, next: Option<Box<str>>) -> Decision {
        self.list.pages = self.list.pages.saturating_add(1);
        if let Some(token) = next {
            self.paginated |= *self.list.resource_version == *"0";
            let reason = Reason::WatchExpired; // only counted for a first page
            let request = ListRequest { resource_version: None, limit: self.list.limit, token: Some(token), first: false, reason };
            return Decision::only(Step::List(request));
        }
        self.unavailable = false;
        self.resource_version = resource_version.clone();
        let health = if self.watch_failing { Health::Unchanged } else { Health::Synced };
        Decision { store: StoreCall::Finish { resource_version }, health, step: self.begin_watch() }
    }

    fn list_failed(&mut self, failure: Failure, now: Instant) -> Decision {
        let too_old = failure.class == Class::Expired;
        if too_old && self.list.pages > 0 && !self.list.whole {
            // The token has expired; it would again on a server that is this busy.
            self.list = List { limit: None, pages: 0, whole: true, ..std::mem::take(&mut self.list) };
            return Decision::noted(failure, self.list_step(Reason::WatchExpired));
        }
        if too_old || failure.class == Class::TooLarge {
            if !std::mem::replace(&mut self.unavailable, true) {
                let step = self.begin_list(Reason::WatchExpired);
                return Decision::noted(failure, step);
            }
        } else if failure.class == Class::NotFound {
            return self.confirm(failure);
        }
        self.fail_and_list(failure, now)
    }

    /// A 404: only discovery can say whether it means that the kind is gone.
    fn confirm(&mut self, failure: Failure) -> Decision {
        self.confirming = Some(failure.clone());
        Decision::noted(failure, Step::Resolve { fresh: true })
    }

    fn begin_watch(&mut self) -> Step {
        self.watch = Watch::default();
        // In [1, 2) times the setting, so that watches do not end together.
        let timeout = self.watch_timeout.saturating_add(self.watch_timeout.mul_f64((self.random)().clamp(0.0, 1.0)));
        Step::Watch(WatchRequest { resource_version: self.resource_version.clone(), timeout })
    }

    fn watch_ended(&mut self, end: End, now: Instant) -> Decision {
        match end {
            End::Refused(failure) => match failure.class {
                // Nothing is known to be wrong with the version: no list, only patience.
                Class::Unreachable | Class::TooManyRequests => {
                    self.watch_failing = true;
                    Decision { health: Health::Failing(failure), ..self.wait_and_watch(now) }
                }
                Class::Expired => self.wait_and_list(failure, now),
                Class::NotFound => self.confirm(failure),
                _ => {
                    self.watch_failing = true;
                    self.fail_and_list(failure, now)
                }
            },
            End::Error(failure) => match failure.class {
                Class::Expired => self.wait_and_list(failure, now),
                Class::TooManyRequests => Decision { health: Health::Noted(failure), ..self.wait_and_watch(now) },
                Class::Internal if self.internal_errors.allows(now) => Decision::noted(failure, self.begin_watch()),
                _ => self.fail_and_list(failure, now),
            },
            End::Undecodable(failure) => self.fail_and_list(failure, now),
            End::Closed | End::Silent | End::Broken(_) => self.watch_over(end, now),
        }
    }

    /// The normal end: go on from where it was, at once. But a watch that was over before
    /// it began would be begun again thousands of times a second.
    fn watch_over(&mut self, end: End, now: Instant) -> Decision {
        let lasted = self.watch.started.map_or(Duration::ZERO, |started| now.saturating_duration_since(started));
        if lasted < SHORT_WATCH && self.watch.events == 0 {
            let why = match end {
                End::Broken(failure) => failure.message,
                _ => "the server ended the watch at once, without an event".into(),
            };
            return self.fail_and_list(Failure { class: Class::Other, message: why }, now);
        }
        match end {
            End::Broken(failure) => Decision::noted(failure, self.begin_watch()),
            End::Silent => Decision::noted(
                Failure::new(Class::Unreachable, "the server neither sent anything nor ended the watch in time"),
                self.begin_watch(),
            ),
            _ => Decision::only(self.begin_watch()),
        }
    }

    fn fail_and_list(&mut self, failure: Failure, now: Instant) -> Decision {
        Decision { health: Health::Failing(failure.clone()), ..self.wait_and_list(failure, now) }
    }

    fn wait_and_list(&mut self, failure: Failure, now: Instant) -> Decision {
        self.after_sleep = AfterSleep::List(failure.class.reason());
        Decision::noted(failure, Step::Sleep(self.backoff.next(now, (self.random)())))
    }

    fn wait_and_watch(&mut self, now: Instant) -> Decision {
        self.after_sleep = AfterSleep::Watch;
        Decision::only(Step::Sleep(self.backoff.next(now, (self.random)())))
    }
}

impl Decision {
    const fn only(step: Step) -> Self {
        Self { store: StoreCall::Nothing, health: Health::Unchanged, step }
    }

    const fn noted(failure: Failure, step: Step) -> Self {
        Self { store: StoreCall::Nothing, health: Health::Noted(failure), step }
    }
}
