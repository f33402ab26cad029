//! Errors as people see them: `error:`, `caused by:`, `hint:`, on standard error.
//!
//! Owns the form; what is said comes from the errors. Also owns writing data to standard
//! output, where a closed pipe is success.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wharf_core::causes;

/// An error with a hint and an exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CliError {
    /// What failed.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// How the process ends.
    pub code: u8,
    /// What it was caused by.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl CliError {
    /// An error without a hint.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: String::new(), code, source: None }
    }

    /// Wraps an `anyhow` chain.
    pub(crate) fn from_anyhow(code: u8, error: anyhow::Error) -> Self {
        let message = error.to_string();
        let source = error.source().map(|_| Box::<dyn std::error::Error + Send + Sync>::from(Cause::of(&error)));
        Self { message, hint: String::new(), code, source }
    }

    /// Adds what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// The causes below an `anyhow` error, kept as text.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Cause {
    text: String,
    #[source]
    next: Option<Box<Cause>>,
}

impl Cause {
    fn of(error: &anyhow::Error) -> Self {
        let mut causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        let mut cause = Self { text: causes.pop().unwrap_or_default(), next: None };
        while let Some(text) = causes.pop() {
            cause = Self { text, next: Some(Box::new(cause)) };
        }
        cause
    }
}

/// The text of an error: what failed, why, what to do.
pub(crate) fn render(error: &CliError) -> String {
    let mut text = format!("error: {}\n", error.message.trim_end());
    for cause in causes(error).iter().skip(1) {
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "  caused by: {cause}");
    }
    if !error.hint.is_empty() {
        let _infallible = writeln!(text, "\nhint: {}", error.hint);
    }
    text
}

/// Prints an error. If standard error is closed nobody is there to be told.
pub(crate) fn print_error(error: &CliError) {
    let _closed = io::stderr().write_all(render(error).as_bytes());
}

/// Prints what is no error, and no data either.
pub(crate) fn warn(text: &str) {
    let _closed = io::stderr().write_all(format!("Warning: {text}\n").as_bytes());
}

/// Writes data to standard output. A reader that has gone away is no error.
///
/// # Errors
/// Any other error of standard output.
pub(crate) fn print_data(text: &str) -> Result<(), CliError> {
    write_data(text).map(|_read| ())
}

/// The same for commands that go on: false if the reader has gone away.
///
/// # Errors
/// Any other error of standard output.
pub(crate) fn write_data(data: impl AsRef<[u8]>) -> Result<bool, CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(data.as_ref()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError { source: Some(error.into()), ..CliError::new(crate::exit::USAGE, "write to standard output") }),
    }
}

/// Writes beside the runtime, so that a full pipe holds up neither signals nor what is watched. False if
/// nobody reads any more.
///
/// # Errors
/// Any other error of standard output.
pub(crate) async fn write(data: impl AsRef<[u8]> + Send + 'static) -> Result<bool, CliError> {
    let written = tokio::task::spawn_blocking(move || write_data(data)).await;
    written.map_err(|error| CliError { source: Some(error.into()), ..CliError::new(crate::exit::USAGE, "write to standard output") })?
}

/// Returns when nobody reads standard output any more, which a command that waits for something to
/// write would else learn only then. Looks four times a second. Cancel safe.
pub(crate) async fn reader_gone() {
    const LOOK: Duration = Duration::from_millis(250);
    loop {
        let out = io::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        // What cannot be asked is not known to be gone; the next write tells.
        if poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            .is_ok_and(|_| asked.iter().any(|fd| fd.revents().contains(PollFlags::ERR)))
        {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_and_hint() {
        let error = anyhow::anyhow!("connection refused").context("GET /version").context("reach the API server");
        let error = CliError::from_anyhow(69, error).hint("check --kubeconfig");
        assert_eq!(
            render(&error),
            "error: reach the API server\n  caused by: GET /version\n  caused by: connection refused\n\nhint: check --kubeconfig\n"
        );
        assert_eq!(render(&CliError::new(1, "no\n")), "error: no\n");
        let error = anyhow::anyhow!("client error").context("ServiceError: client error").context("no answer");
        assert_eq!(render(&CliError::from_anyhow(1, error)), "error: no answer\n  caused by: ServiceError: client error\n");
    }
}
