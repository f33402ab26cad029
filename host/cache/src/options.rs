//! The numbers by which informers work. Owns the defaults and their reasons.

use std::time::Duration;

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
    /// The largest answer to a list that is accepted, in bytes of one page.
    pub max_page_bytes: usize,
    /// More different namespaces than this of one kind are served by one watch of the whole
    /// cluster, if the server lets it be listed.
    pub widen_after: usize,
    /// How long an informer is kept that nobody uses any more. Zero stops it at once.
    pub linger: Duration,
    /// The longest line of a watch that is accepted, in bytes: one event.
    pub max_line_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            watch_timeout: Duration::from_secs(300),
            idle_margin: Duration::from_secs(15),
            response_timeout: Duration::from_secs(75),
            page_size: 500,
            always_paginate: false,
            internal_error_window: Duration::ZERO,
            max_page_bytes: 1 << 30,
            widen_after: 4,
            linger: Duration::ZERO,
            max_line_bytes: 64 << 20,
        }
    }
}
