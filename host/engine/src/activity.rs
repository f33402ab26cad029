//! What a guest did in one call: which functions of the host it called how often, what it asked of
//! the cluster, and how long it waited for answers. Owns the counters and their bounds; never
//! keeps what was said, only that it was.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;
use wharf_core::{Gvk, Verb};

use crate::ports::ApiError;

/// Kinds of requests that are told apart in one call.
const MAX_REQUESTS: usize = 32;
/// The answer to a request that the call did not live to see.
const UNANSWERED: &str = "unanswered";

macro_rules! functions {
    ($($name:ident = $text:literal,)*) => {
        /// A function of the host that guests can call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "they are the contract's own functions")]
        pub enum HostFunction { $($name,)* }

        impl HostFunction {
            /// All of them, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Interface and function, in the contract's words.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

functions! {
    ConfigJson = "config.json",
    ConfigGet = "config.get",
    EventGet = "event.get",
    EventGetMany = "event.get-many",
    EventJson = "event.json",
    EventChanged = "event.changed",
    EventRemaining = "event.remaining-ms",
    LogEnabled = "log.enabled",
    LogEmit = "log.emit",
    SystemNow = "system.now",
    SystemRandom = "system.random",
    ClusterGet = "cluster.get",
    ClusterList = "cluster.list-objects",
    ClusterCreate = "cluster.create",
    ClusterApply = "cluster.apply",
    ClusterPatch = "cluster.merge-patch",
    ClusterDelete = "cluster.delete",
    ClusterEvent = "cluster.record-event",
}

/// Requests of one sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What was asked for.
    pub verb: Verb,
    /// Of which kind.
    pub kind: Gvk,
    /// `ok`, the contract's word of an error, or `unanswered` if the call ended before.
    pub answer: &'static str,
    /// How many there were.
    pub count: u32,
}

/// What a guest did in one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    counts: [u32; HostFunction::ALL.len()],
    /// What was asked of the cluster, whether a cache or the API server answered. Nothing that no grant covers.
    pub requests: Vec<Request>,
    /// Requests beyond those that are told apart.
    pub more_requests: u32,
    /// Time that the guest waited for answers.
    pub waited: Duration,
}

impl Activity {
    /// The functions that were called, and how often.
    pub fn host_calls(&self) -> impl Iterator<Item = (HostFunction, u32)> + '_ {
        HostFunction::ALL.iter().copied().zip(self.counts).filter(|(_, count)| *count > 0)
    }

    /// How many calls of the host's functions there were.
    pub fn total(&self) -> u32 {
        self.counts.iter().fold(0, |all, count| all.saturating_add(*count))
    }

    pub(crate) fn called(&mut self, function: HostFunction) {
        if let Some(count) = self.counts.get_mut(function as usize) {
            *count = count.saturating_add(1);
        }
    }

    fn answered(&mut self, verb: Verb, kind: &Gvk, answer: &'static str) {
        let same = |request: &&mut Request| request.verb == verb && request.answer == answer && request.kind == *kind;
        if let Some(request) = self.requests.iter_mut().find(same) {
            request.count = request.count.saturating_add(1);
        } else if self.requests.len() < MAX_REQUESTS {
            self.requests.push(Request { verb, kind: kind.clone(), answer, count: 1 });
        } else {
            self.more_requests = self.more_requests.saturating_add(1);
        }
    }
}

/// `event.get=2 log.emit=1`.
impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (function, count)) in self.host_calls().enumerate() {
            write!(f, "{}{}={count}", if i == 0 { "" } else { " " }, function.as_str())?;
        }
        Ok(())
    }
}

/// Requests as one text: `get v1 ConfigMap ok=2, apply apps/v1 Deployment conflict=1`.
#[derive(Debug)]
pub struct Requests<'a>(pub &'a Activity);

impl fmt::Display for Requests<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Request { verb, kind, answer, count }) in self.0.requests.iter().enumerate() {
            write!(f, "{}{} {kind} {answer}={count}", if i == 0 { "" } else { ", " }, verb.as_str())?;
        }
        match self.0.more_requests {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Writes down what the running call does.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) done: Activity,
    /// Since when an answer is awaited.
    since: Option<Instant>,
    /// For what, if that is a request.
    asked: Option<(Verb, Gvk)>,
}

impl Watched {
    /// A request begins.
    pub(crate) fn ask(&mut self, verb: Verb, kind: Gvk) {
        self.asked = Some((verb, kind));
    }

    /// Its answer is there.
    pub(crate) fn answer<T>(&mut self, answer: &Result<T, ApiError>) {
        if let Some((verb, kind)) = self.asked.take() {
            self.done.answered(verb, &kind, answer.as_ref().map_or_else(ApiError::word, |_| "ok"));
        }
    }

    /// An answer is awaited, or there.
    pub(crate) fn waits(&mut self, waits: bool) {
        let since = std::mem::replace(&mut self.since, waits.then(Instant::now));
        self.done.waited = self.done.waited.saturating_add(since.map_or(Duration::ZERO, |since| since.elapsed()));
    }

    /// The call is over, whatever it was waiting for.
    pub(crate) fn end(&mut self) -> Activity {
        self.waits(false);
        if let Some((verb, kind)) = self.asked.take() {
            self.done.answered(verb, &kind, UNANSWERED);
        }
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Gvk {
        Gvk::new("", "v1", name)
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_counted_by_function_and_by_answer() {
        let mut watched = Watched::default();
        for function in [HostFunction::EventGet, HostFunction::ClusterGet, HostFunction::ClusterGet] {
            watched.done.called(function);
        }
        for answer in [Ok(()), Ok(()), Err(ApiError::NotFound)] {
            watched.ask(Verb::Get, kind("ConfigMap"));
            watched.waits(true);
            tokio::time::advance(Duration::from_millis(3)).await;
            watched.waits(false);
            watched.answer(&answer);
        }
        watched.ask(Verb::List, kind("Secret"));
        watched.waits(true);
        tokio::time::advance(Duration::from_millis(5)).await;
        let done = watched.end();
        assert_eq!((done.to_string().as_str(), done.total()), ("event.get=1 cluster.get=2", 3));
        assert_eq!(Requests(&done).to_string(), "get v1 ConfigMap ok=2, get v1 ConfigMap not-found=1, list v1 Secret unanswered=1");
        assert_eq!(done.waited, Duration::from_millis(14));
        assert_eq!(watched.end(), Activity::default(), "the next call starts anew");
    }

    #[test]
    fn requests_that_are_told_apart_are_bounded() {
        let mut watched = Watched::default();
        for number in 0..MAX_REQUESTS + 5 {
            watched.ask(Verb::Get, kind(&format!("Kind{number}")));
            watched.answer(&Ok(()));
        }
        let done = watched.end();
        assert_eq!((done.requests.len(), done.more_requests), (MAX_REQUESTS, 5));
        assert!(Requests(&done).to_string().ends_with("get v1 Kind31 ok=1 and 5 more"));
    }

    #[test]
    fn each_function_has_a_counter_of_its_own() {
        let mut done = Activity::default();
        HostFunction::ALL.iter().for_each(|function| done.called(*function));
        assert!(done.host_calls().eq(HostFunction::ALL.iter().map(|function| (*function, 1))));
    }
}
