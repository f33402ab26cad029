//! What a reflector does next: from what happened to the next request, store call or
//! sleep. Owns the rules for resourceVersions, pages, relists and waits; does no IO, reads
//! no clock and holds no object, so it is tested as a table.

use std::time::Duration;

use tokio::time::Instant;
use wharf_core::Reason;

use super::step::{Decision, End, Health, Input, ListRequest, Step, StoreCall, WatchRequest};
use crate::backoff::{Backoff, KindBackoff, RetryWindow};
use crate::classify::{Class, Failure};
use crate::options::Options;

/// The reflector's memory.
#[derive(Debug)]
pub(crate) struct Machine {
    watch_timeout: Duration,
    page_size: u32,
    always_paginate: bool,
    /// Is the state asked for as the beginning of a watch where the server can do that?
    prefer_watch_list: bool,
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
    /// The server has not refused to begin a watch with what exists.
    watch_list: bool,
    /// So many such watches in a row did not come to the end of that.
    initial_attempts: u32,
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
    /// It still shows what exists.
    initial: bool,
}

#[derive(Clone, Copy, Debug)]
enum AfterSleep {
    Resolve,
    Refresh(Reason),
    Watch,
}

/// A watch that ends within this time without an event was no watch.
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// After so many watches that did not come to the end of what exists, it is listed instead:
/// pages get through where one long stream does not.
const INITIAL_ATTEMPTS: u32 = 5;

impl Machine {
    /// `random` gives numbers in \[0, 1). The first state is not older than
    /// `resource_version`; any will do if that is empty.
    pub(crate) fn new(options: &Options, resource_version: Box<str>, random: fn() -> f64) -> Self {
        Self {
            watch_timeout: options.watch_timeout,
            page_size: options.page_size,
            always_paginate: options.always_paginate,
            prefer_watch_list: options.watch_list,
            random,
            backoff: Backoff::new(options.waits),
            kind_backoff: KindBackoff::new(),
            internal_errors: RetryWindow::new(options.internal_error_window),
            resource_version,
            unavailable: false,
            paginated: false,
            watch_list: options.watch_list,
            initial_attempts: 0,
            confirming: None,
            watch_failing: false,
            list: List::default(),
            watch: Watch::default(),
            after_sleep: AfterSleep::Resolve,
        }
    }

    /// The watch has been accepted. True if that ends a failure.
    pub(crate) fn watching(&mut self, now: Instant) -> bool {
        self.watch.started = Some(now);
        // One that begins with what exists heals only once that is complete.
        !self.watch.initial && std::mem::take(&mut self.watch_failing)
    }

    /// The watch delivered something of that resourceVersion (empty: of none).
    ///
    /// # Errors
    /// When the server goes back in time. What it sent is not to be believed.
    pub(crate) fn seen(&mut self, resource_version: &str, added: bool) -> Result<(), Failure> {
        self.watch.events += 1;
        // What exists is shown in no order of versions: by a watch that begins with it,
        // and by one from no version.
        let unordered = self.watch.initial || (added && matches!(&*self.resource_version, "" | "0"));
        if resource_version.is_empty() || unordered || *self.resource_version == *resource_version {
            return Ok(());
        }
        if older(resource_version, &self.resource_version) {
            let text = format!("the watch went back from version {} to {resource_version}", self.resource_version);
            return Err(Failure::new(Class::Undecodable, text));
        }
        self.resource_version = resource_version.into();
        Ok(())
    }

    /// The watch has shown all that exists, as of that version, and goes on with changes.
    ///
    /// # Errors
    /// When that is older than what was asked for.
    pub(crate) fn initial_end(&mut self, resource_version: Box<str>) -> Result<(StoreCall, Health), Failure> {
        self.watch.events += 1;
        if !self.unavailable && older(&resource_version, &self.resource_version) {
            let text = format!("the watch began at version {resource_version}, though {} was asked for", self.resource_version);
            return Err(Failure::new(Class::Undecodable, text));
        }
        self.watch.initial = false;
        self.watch_failing = false;
        self.complete(resource_version.clone());
        Ok((StoreCall::Finish { resource_version }, Health::Synced))
    }

    /// What to do next.
    pub(crate) fn next(&mut self, input: Input, now: Instant) -> Decision {
        match input {
            Input::Resolved => self.resolved(now),
            Input::Unresolved(failure) => self.unresolved(failure, now),
            Input::Page { resource_version, next } => self.page(resource_version, next, now),
            Input::ListFailed(failure) => self.list_failed(failure, now),
            Input::WatchEnded(end) => self.watch_ended(end, now),
            Input::Woke => Decision::only(match self.after_sleep {
                AfterSleep::Resolve => Step::Resolve { fresh: false },
                AfterSleep::Refresh(reason) => self.refresh(reason),
                AfterSleep::Watch => self.begin_watch(),
            }),
        }
    }

    fn resolved(&mut self, now: Instant) -> Decision {
        self.kind_backoff.reset();
        match self.confirming.take() {
            // The kind exists, so the 404 means something else.
            Some(failure) => self.fail_and_refresh(Failure { class: Class::Other, ..failure }, now),
            None => Decision::only(self.refresh(Reason::KindNotFound)),
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
        self.backoff.reset();
        self.complete(Box::default());
        self.paginated = false;
        self.watch_list = self.prefer_watch_list;
        self.after_sleep = AfterSleep::Resolve;
        Decision { store: StoreCall::Vanish, health: Health::Sleeping(failure), step: Step::Sleep(self.kind_backoff.next()) }
    }

    /// Gets the whole state, in the way that this server can do.
    fn refresh(&mut self, reason: Reason) -> Step {
        if !self.watch_list {
            return self.begin_list(reason);
        }
        self.watch = Watch { initial: true, ..Watch::default() };
        let resource_version = if self.unavailable { Box::default() } else { self.resource_version.clone() };
        Step::Watch(WatchRequest { resource_version, timeout: self.timeout(), initial: Some(reason) })
    }

    /// The whole state is known, up to that version.
    fn complete(&mut self, resource_version: Box<str>) {
        self.unavailable = false;
        self.initial_attempts = 0;
        self.resource_version = resource_version;
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
        Step::List(ListRequest { resource_version, limit: self.list.limit, exact: false, token: None, first: true, reason })
    }

    fn page(&mut self, resource_version: Box<str>, next: Option<Box<str>>, now: Instant) -> Decision {
        self.list.pages = self.list.pages.saturating_add(1);
        if let Some(token) = next {
            self.paginated |= *self.list.resource_version == *"0";
            let reason = Reason::WatchExpired; // only counted for a first page
            let (limit, token) = (self.list.limit, Some(token));
            return Decision::only(Step::List(ListRequest { resource_version: None, exact: false, limit, token, first: false, reason }));
        }
        if older(&resource_version, &self.list.resource_version) {
            let text = format!("the list is of version {resource_version}, though {} was asked for", self.list.resource_version);
            return self.without_version(Failure::new(Class::Undecodable, text), now);
        }
        self.complete(resource_version.clone());
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
        match failure.class {
            Class::Expired | Class::TooLarge => self.without_version(failure, now),
            Class::NotFound => self.confirm(failure),
            _ => self.fail_and_refresh(failure, now),
        }
    }

    /// The server does not have the version that was asked for: asks at once for the newest
    /// state, but only once without a wait.
    fn without_version(&mut self, failure: Failure, now: Instant) -> Decision {
        if std::mem::replace(&mut self.unavailable, true) {
            return self.fail_and_refresh(failure, now);
        }
        let step = if self.watch.initial { self.refresh(Reason::WatchExpired) } else { self.begin_list(Reason::WatchExpired) };
        Decision::noted(failure, step)
    }

    /// A 404: only discovery can say whether it means that the kind is gone.
    fn confirm(&mut self, failure: Failure) -> Decision {
        self.confirming = Some(failure.clone());
        Decision::noted(failure, Step::Resolve { fresh: true })
    }

    fn begin_watch(&mut self) -> Step {
        self.watch = Watch::default();
        Step::Watch(WatchRequest { resource_version: self.resource_version.clone(), timeout: self.timeout(), initial: None })
    }

    /// In [1, 2) times the setting, so that watches do not end together.
    fn timeout(&self) -> Duration {
        self.watch_timeout.saturating_add(self.watch_timeout.mul_f64((self.random)().clamp(0.0, 1.0)))
    }

    fn watch_ended(&mut self, end: End, now: Instant) -> Decision {
        if self.watch.initial {
            return self.initial_ended(end, now);
        }
        match end {
            End::Refused(failure) => match failure.class {
                // Nothing is known to be wrong with the version: no list, only patience.
                Class::Unreachable | Class::TooManyRequests => {
                    self.watch_failing = true;
                    Decision { health: Health::Failing(failure), ..self.wait_and_watch(now) }
                }
                Class::Expired => self.wait_and_refresh(failure, now),
                Class::NotFound => self.confirm(failure),
                _ => {
                    self.watch_failing = true;
                    self.fail_and_refresh(failure, now)
                }
            },
            End::Error(failure) => match failure.class {
                Class::Expired => self.wait_and_refresh(failure, now),
                Class::TooManyRequests => Decision { health: Health::Noted(failure), ..self.wait_and_watch(now) },
                Class::Internal if self.internal_errors.allows(now) => Decision::noted(failure, self.begin_watch()),
                _ => self.fail_and_refresh(failure, now),
            },
            End::Undecodable(failure) => self.fail_and_refresh(failure, now),
            End::Closed | End::Silent | End::Broken(_) => self.watch_over(end, now),
        }
    }

    /// The watch ended before it had shown all that exists. What it did show is in the
    /// store; what it did not is still there too, until another attempt is complete.
    fn initial_ended(&mut self, end: End, now: Instant) -> Decision {
        let lasted = self.lasted(now);
        match end {
            End::Refused(failure) if matches!(failure.class, Class::Unreachable | Class::OverBudget) => self.fail_and_refresh(failure, now),
            End::Refused(failure) | End::Error(failure) => match failure.class {
                Class::TooManyRequests => self.attempt_again(failure, now),
                // It does not even reach its own newest version: if that stays so, only a list says why.
                Class::TooLarge if self.unavailable && self.initial_attempts > 0 => self.list_instead(failure),
                Class::TooLarge if self.unavailable => self.attempt_again(failure, now),
                Class::Expired | Class::TooLarge => self.without_version(failure, now),
                Class::Invalid => {
                    self.watch_list = false;
                    self.list_instead(failure)
                }
                // Missing rights, a kind that is gone, a sick server: the list will tell.
                _ => self.list_instead(failure),
            },
            End::Undecodable(failure) => self.list_instead(failure),
            End::Silent => self.list_instead(Failure::new(Class::Unreachable, "the server did not show to the end what exists")),
            End::Closed | End::Broken(_) => {
                let failure = match end {
                    End::Broken(failure) => failure,
                    _ => Failure::new(Class::Unreachable, "the server ended the watch before it had shown what exists"),
                };
                let nothing = lasted < SHORT_WATCH && self.watch.events == 0;
                if nothing { self.list_instead(failure) } else { self.attempt_again(failure, now) }
            }
        }
    }

    fn list_instead(&mut self, failure: Failure) -> Decision {
        self.initial_attempts = 0;
        self.watch.initial = false;
        let step = self.begin_list(failure.class.reason());
        Decision::noted(failure, step)
    }

    fn attempt_again(&mut self, failure: Failure, now: Instant) -> Decision {
        self.initial_attempts += 1;
        if self.initial_attempts >= INITIAL_ATTEMPTS { self.list_instead(failure) } else { self.fail_and_refresh(failure, now) }
    }

    fn lasted(&self, now: Instant) -> Duration {
        self.watch.started.map_or(Duration::ZERO, |started| now.saturating_duration_since(started))
    }

    /// The normal end: go on from where it was, at once. But a watch that was over before
    /// it began would be begun again thousands of times a second.
    fn watch_over(&mut self, end: End, now: Instant) -> Decision {
        if self.lasted(now) < SHORT_WATCH && self.watch.events == 0 {
            let why = match end {
                End::Broken(failure) => failure.message,
                _ => "the server ended the watch at once, without an event".into(),
            };
            return self.fail_and_refresh(Failure { class: Class::Other, message: why }, now);
        }
        match end {
            End::Broken(failure) => Decision::noted(failure, self.begin_watch()),
            End::Silent => Decision::noted(
                Failure::new(Class::Unreachable, "the server sent nothing more and did not end the watch in time"),
                self.begin_watch(),
            ),
            _ => Decision::only(self.begin_watch()),
        }
    }

    fn fail_and_refresh(&mut self, failure: Failure, now: Instant) -> Decision {
        Decision { health: Health::Failing(failure.clone()), ..self.wait_and_refresh(failure, now) }
    }

    fn wait_and_refresh(&mut self, failure: Failure, now: Instant) -> Decision {
        self.after_sleep = AfterSleep::Refresh(failure.class.reason());
        Decision::noted(failure, Step::Sleep(self.backoff.next(now, (self.random)())))
    }

    fn wait_and_watch(&mut self, now: Instant) -> Decision {
        self.after_sleep = AfterSleep::Watch;
        Decision::only(Step::Sleep(self.backoff.next(now, (self.random)())))
    }
}

/// Is the first version certainly older? Only versions that are plain numbers can be
/// compared; nothing is known of others.
fn older(version: &str, than: &str) -> bool {
    matches!((version.parse::<u64>(), than.parse::<u64>()), (Ok(version), Ok(than)) if version < than)
}
