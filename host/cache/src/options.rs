//! The numbers by which informers work. Owns the defaults and their reasons.

use std::time::Duration;

use wharf_core::Pointer;

/// Settings of all informers of a hub.
#[derive(Clone, Debug)]
pub struct Options {
    /// A watch asks for a random length in \[`watch_timeout`, 2 × `watch_timeout`), in whole
    /// seconds, so that watches do not all end together. Five minutes, as client-go has it; set it
    /// below the idle limit of a load balancer in between.
    pub watch_timeout: Duration,
    /// A watch that the server has not ended this long after its length is dead and is
    /// replaced.
    pub idle_margin: Duration,
    /// A watch that has shown bookmarks and then nothing for so long is dead and is replaced: in a
    /// watch an API server sends one about every minute.
    pub bookmark_silence: Duration,
    /// How long the head of an answer, or the next part of a list, may take. Longer than
    /// the API server's own limit of 60 s, so that its answer is seen.
    pub response_timeout: Duration,
    /// Objects in a page of a list, where pages are asked for.
    pub page_size: u32,
    /// Ask for pages in every list. By default lists that the server answers from its
    /// cache are asked whole, since it would have to go to etcd for pages.
    pub always_paginate: bool,
    /// How long the server may go on to end watches with internal errors before
    /// everything is listed again. Zero lists again at the first.
    pub internal_error_window: Duration,
    /// More different namespaces than this of one kind are served by one watch of the whole
    /// cluster, if the server lets it be listed.
    pub widen_after: usize,
    /// How long an informer is kept that nobody uses any more. Zero stops it at once.
    pub linger: Duration,
    /// The largest object that is accepted, in bytes of its JSON: an item of a list, or a
    /// line of a watch. One such object per informer may be in memory in addition to the store.
    /// etcd takes objects of a few MiB at most.
    pub max_object_bytes: usize,
    /// Get the first state, and the state after a break, as the beginning of a watch instead of by
    /// a list: the server then neither reads from etcd nor builds a page. A server that
    /// refuses that is asked for lists.
    pub watch_list: bool,
    /// After each such beginning, ask for a list at the same version and compare: an error
    /// in the log and [`CacheMetrics::watch_list_differs`](crate::CacheMetrics::watch_list_differs)
    /// tell of a server or a client that loses something. For tests; costs a list each time.
    pub verify_watch_list: bool,
    /// What all stores together may take, in bytes; `None` for no limit. An informer whose first
    /// list would not fit does not begin, says so ([`Reason::CacheBudgetExceeded`]), and asks again
    /// with the waits of failures. What was admitted is not limited afterwards.
    ///
    /// [`Reason::CacheBudgetExceeded`]: wharf_core::Reason::CacheBudgetExceeded
    pub max_bytes: Option<u64>,
    /// Members that no object in the stores has: removed while reading. A pointer for
    /// which [`Trim::is_needed`](wharf_core::Trim::is_needed) holds changes nothing.
    pub omit: Vec<Pointer>,
    /// Waits after failed lists and watches.
    pub waits: Waits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_timeout: Duration::from_secs(300),
            idle_margin: Duration::from_secs(15),
            bookmark_silence: Duration::from_secs(150),
            response_timeout: Duration::from_secs(75),
            page_size: 500,
            always_paginate: false,
            internal_error_window: Duration::ZERO,
            widen_after: 4,
            linger: Duration::ZERO,
            max_object_bytes: 64 << 20,
            watch_list: true,
            verify_watch_list: false,
            max_bytes: None,
            omit: Vec::new(),
            waits: Waits::default(),
        }
    }
}

/// How an informer waits after failures: `first`, doubling up to `max`, with jitter. A
/// success does not bring the waits back to `first`; only `quiet` without a wait does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The first wait is between once and twice this.
    pub first: Duration,
    /// No wait is longer.
    pub max: Duration,
    /// So long after the last wait the next one is a first again.
    pub quiet: Duration,
}

impl Default for Waits {
    /// 0.8 s, 30 s and two minutes, as client-go has it.
    fn default() -> Self {
        Self { first: Duration::from_millis(800), max: Duration::from_secs(30), quiet: Duration::from_secs(120) }
    }
}
