//! `wharf:plugin/log`, and the one way of a guest's text into the host's log. Owns the caps
//! per line and per call, and what the guest said of its errors; never the format (that is
//! the runtime's).

use std::sync::Arc;

use parking_lot::Mutex;

use crate::activity::HostFunction;
use crate::bindings::wharf::plugin::log::{self, Level as WitLevel};
use crate::host::Ctx;
use crate::limits::{MAX_FIELD_NAME_BYTES, MAX_LOG_FIELDS, MAX_TEXT_BYTES, clean};
use crate::ports::{CallInfo, Level, Ports};

/// Error lines of a call that are remembered.
const MAX_LAST_WORDS: usize = 8;
/// One of them, in bytes.
const MAX_LAST_WORD_BYTES: usize = 512;

/// Takes the lines of an instance, one call after the other: from `log`, from stdout and from
/// stderr. One call runs on one thread at a time, so the lock is never waited for.
pub(crate) struct LogSink {
    ports: Arc<dyn Ports>,
    /// Lines of one call.
    max: u32,
    of_call: Mutex<OfCall>,
}

/// What starts anew with each call.
struct OfCall {
    call: Arc<CallInfo>,
    lines: u32,
    dropped: u32,
    /// The first error that was logged and the last ones, whether or not they were kept.
    errors: Vec<String>,
}

impl OfCall {
    fn new(call: CallInfo) -> Self {
        Self { call: Arc::new(call), lines: 0, dropped: 0, errors: Vec::new() }
    }

    fn note(&mut self, message: &str) {
        if self.errors.len() >= MAX_LAST_WORDS {
            self.errors.remove(1);
        }
        self.errors.push(clean(message, MAX_LAST_WORD_BYTES));
    }
}

impl LogSink {
    pub(crate) fn new(ports: Arc<dyn Ports>, max: u32, call: CallInfo) -> Self {
        Self { ports, max, of_call: Mutex::new(OfCall::new(call)) }
    }

    /// The lines that follow belong to another call.
    pub(crate) fn begin(&self, call: CallInfo) {
        *self.of_call.lock() = OfCall::new(call);
    }

    /// The call that runs.
    pub(crate) fn call(&self) -> Arc<CallInfo> {
        Arc::clone(&self.of_call.lock().call)
    }

    /// Lines that were handed on, and lines that were dropped because there were too many.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let of_call = self.of_call.lock();
        (of_call.lines, of_call.dropped)
    }

    /// What the guest logged as errors in this call: why it trapped, if somebody knows. Empty
    /// if it logged none.
    pub(crate) fn last_words(&self) -> String {
        self.of_call.lock().errors.join(" / ")
    }

    /// Remembers a line as what went wrong.
    pub(crate) fn note(&self, message: &str) {
        self.of_call.lock().note(message);
    }

    pub(crate) fn enabled(&self, level: Level) -> bool {
        self.of_call.lock().lines < self.max && self.ports.log_enabled(level)
    }

    /// Hands a line on, unless nobody wants its level or the call has had its lines.
    pub(crate) fn write(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let kept = self.ports.log_enabled(level);
        let call = {
            let mut of_call = self.of_call.lock();
            if level == Level::Error {
                of_call.note(message);
            }
            if !kept {
                return;
            }
            if of_call.lines >= self.max {
                of_call.dropped = of_call.dropped.saturating_add(1);
                return;
            }
            of_call.lines = of_call.lines.saturating_add(1);
            Arc::clone(&of_call.call)
        };
        let (message, fields) = line(message, fields);
        self.ports.log(&call, level, &message, &fields);
    }
}

/// What is kept of a message and its fields.
pub(crate) fn line(message: &str, fields: &[(String, String)]) -> (String, Vec<(String, String)>) {
    let fields = fields.iter().take(MAX_LOG_FIELDS);
    let fields = fields.map(|(name, value)| (clean(name, MAX_FIELD_NAME_BYTES), clean(value, MAX_TEXT_BYTES)));
    (clean(message, MAX_TEXT_BYTES), fields.collect())
}

impl log::Host for Ctx {
    fn enabled(&mut self, level: WitLevel) -> wasmtime::Result<bool> {
        self.enter(HostFunction::LogEnabled);
        Ok(self.log.enabled(level.into()))
    }

    fn emit(&mut self, level: WitLevel, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.enter(HostFunction::LogEmit);
        self.log.write(level.into(), &message, &fields);
        Ok(())
    }
}

impl From<WitLevel> for Level {
    fn from(level: WitLevel) -> Self {
        match level {
            WitLevel::Trace => Self::Trace,
            WitLevel::Debug => Self::Debug,
            WitLevel::Info => Self::Info,
            WitLevel::Warn => Self::Warn,
            WitLevel::Error => Self::Error,
        }
    }
}
