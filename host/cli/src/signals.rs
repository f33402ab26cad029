//! The signals that end a command. Owns their numbers, names and exit codes; what is ended is
//! the command's.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit;

/// A signal's name for the log.
pub(crate) fn name(number: i32) -> &'static str {
    if number == SignalKind::interrupt().as_raw_value() { "SIGINT" } else { "SIGTERM" }
}

/// 128 and the signal's number, as shells report it.
pub(crate) fn killed(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(exit::SOFTWARE)
}

/// Listens from its making on.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next signal's number. Cancel safe.
    pub(crate) async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}
