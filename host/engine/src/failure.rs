//! From an error to a [`Reason`]. Owns the error types of this crate and the one place that
//! decides what a failed call is called; never decides what happens to the key or the plugin.

use std::fmt;
use std::io;
use std::path::PathBuf;

use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wharf_core::{Reason, Strike};

use crate::limits::{Limiter, MAX_TEXT_BYTES, Refused, clean};

/// Why an engine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime refused its settings, for example for lack of address space.
    #[error("the WebAssembly engine could not be set up: {0}")]
    Setup(String),
    /// A thread could not be started.
    #[error("a thread for guests could not be started")]
    Thread(#[source] io::Error),
    /// The folder for compiled components cannot be used.
    #[error("the folder {} for compiled components cannot be used", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// Why a component cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// The machine name, for example [`Reason::ImportUnknown`].
    pub reason: Reason,
    /// Details for people; at most 4 KiB, or 32 where it names imports.
    pub message: String,
}

impl LoadError {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn caused(reason: Reason, error: &wasmtime::Error) -> Self {
        Self::new(reason, clean(&format!("{error:#}"), MAX_TEXT_BYTES))
    }
}

/// Why the host ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The wall time is used up.
    Wall,
    /// The processor time is used up.
    Cpu,
    /// The host is stopping.
    Cancelled,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wall => "the call took longer than it may",
            Self::Cpu => "the call used more processor time than it may",
            Self::Cancelled => "the host is stopping",
        })
    }
}

impl std::error::Error for Stop {}

/// An error that is the host's, not the guest's.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HostFault(pub(crate) String);

/// In which part of a call an error came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the instance was made.
    Instantiate,
    /// While an exported function ran.
    Run,
}

/// Names an error. Whatever is not known to be the host's counts as the guest's: a trap.
pub(crate) fn strike(error: &wasmtime::Error, phase: Phase, limiter: &Limiter) -> Strike {
    let reason = reason(error, phase, limiter);
    let mut message = text_of(error);
    if let Some(refused) =
        limiter.refused().filter(|_| matches!(reason, Reason::MemoryExceeded | Reason::InstantiateFailed | Reason::GuestMemoryShort))
    {
        message = format!("{refused}; {message}");
    }
    Strike { reason, message: clean(&message, MAX_TEXT_BYTES) }
}

fn reason(error: &wasmtime::Error, phase: Phase, limiter: &Limiter) -> Reason {
    match error.downcast_ref::<Stop>() {
        Some(Stop::Wall) => return Reason::DeadlineExceeded,
        Some(Stop::Cpu) => return Reason::CpuExceeded,
        Some(Stop::Cancelled) => return Reason::Cancelled,
        None => {}
    }
    if error.is::<HostFault>() || error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Reason::HostError;
    }
    let short = matches!(limiter.refused(), Some(Refused::Shared(..)));
    if phase == Phase::Instantiate {
        return if short { Reason::GuestMemoryShort } else { Reason::InstantiateFailed };
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) {
        return Reason::StackOverflow;
    }
    if error.is::<ResourceTableError>() || is_host_call_limit(error) {
        return Reason::HostCallLimit;
    }
    if short {
        return Reason::GuestMemoryShort;
    }
    if limiter.refused().is_some() {
        return Reason::MemoryExceeded;
    }
    Reason::Trap
}

/// wasmtime keeps the types of these two errors to itself, so their texts must do; the tests
/// with the hostile guests hold them.
fn is_host_call_limit(error: &wasmtime::Error) -> bool {
    let text = error.root_cause().to_string();
    text.contains("fuel allocated for hostcalls") || text.contains("store handle limit exceeded")
}

/// The cause and, where there is one, the functions that were running, innermost first.
pub(crate) fn text_of(error: &wasmtime::Error) -> String {
    let mut text = error.root_cause().to_string();
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        let frames = frames(trace);
        if !frames.is_empty() {
            text = format!("{text}; in {}", frames.join(", called by "));
        }
    }
    clean(&text, MAX_TEXT_BYTES)
}

/// The functions, demangled, with file and line where the component has debug information.
/// Their text form is `0: 0xOFFSET - module!name`, then maybe a line `at FILE:LINE:COLUMN`;
/// what was inlined into a function has lines of its own under the same number.
fn frames(trace: &WasmBacktrace) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for line in trace.to_string().lines().skip(1) {
        if let Some(place) = line.trim_start().strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                frame.push_str(&format!(" ({place})"));
            }
        } else if let Some((_, name)) = line.split_once(" - ") {
            // A module without a name of its own.
            frames.push(without_hashes(name.trim().trim_start_matches("<unknown>!")));
        }
    }
    // What a panic goes through is the same for all of them, and longer than what led to it.
    let own: Vec<String> = frames.iter().filter(|frame| !frame.contains("(/rustc/")).cloned().collect();
    if own.is_empty() { frames } else { own }
}

/// `std[a5439c0f]::panicking` is `std::panicking` to whoever reads it.
fn without_hashes(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once(']') {
            Some((hash, behind)) if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => rest = behind,
            _ => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_go_and_brackets_stay() {
        for (name, expected) in [
            ("add", "add"),
            ("std[a5439c0f6d2e]::panicking::panic", "std::panicking::panic"),
            ("<[u8]>::copy[0123456789abcdef] [x", "<[u8]>::copy [x"),
        ] {
            assert_eq!(without_hashes(name), expected);
        }
    }
}
