//! The request log: what goes over the wire to the API server, as `kubectl -v` shows it.
//!
//! Four targets, each with more than the one before: `wharf::http` at debug writes a line for each
//! answer (method, URL, status, time); at trace `wharf::http::headers` adds headers,
//! `wharf::http::body` the first 1024 bytes of bodies, `wharf::http::curl` whole bodies (up to
//! 1 MiB) and each request as a curl command. So `wharf::http=trace` is everything.
//!
//! Owns when something is written and what is masked; never changes a request or an answer,
//! and never delays one: bodies are looked at while they pass. Off, it costs the comparison
//! of a level.

mod body;
mod layer;
mod mask;

pub(crate) use layer::HttpLog;

/// The log filter for kubectl's `-v`: what it adds to a filter. Below 6 nothing.
pub fn filter_of_verbosity(level: u8) -> &'static str {
    match level {
        0..=5 => "",
        6 => "wharf::http=debug",
        7 => "wharf::http=debug,wharf::http::headers=trace",
        8 => "wharf::http=debug,wharf::http::headers=trace,wharf::http::body=trace",
        _ => "wharf::http=trace",
    }
}

#[cfg(test)]
mod tests;
