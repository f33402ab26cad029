//! `wharf:plugin/log`, and the one way of a guest's text into the host's log. Owns the caps
//! per line and per call; never the format (that is the runtime's).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bindings::wharf::plugin::log::{self, Level as WitLevel};
use crate::host::Ctx;
use crate::limits::{MAX_FIELD_NAME_BYTES, MAX_LOG_FIELDS, MAX_LOG_LINES, MAX_TEXT_BYTES, clean};
use crate::ports::{CallInfo, Level, Ports};

/// Takes the lines of one call: from `log`, from stdout and from stderr.
pub(crate) struct LogSink {
    ports: Arc<dyn Ports>,
    call: CallInfo,
    lines: AtomicU32,
    dropped: AtomicU32,
}

impl LogSink {
    pub(crate) fn new(ports: Arc<dyn Ports>, call: CallInfo) -> Self {
        Self { ports, call, lines: AtomicU32::new(0), dropped: AtomicU32::new(0) }
    }

    /// Lines that were handed on, and lines that were dropped because there were too many.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.lines.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }

    pub(crate) fn enabled(&self, level: Level) -> bool {
        self.lines.load(Ordering::Relaxed) < MAX_LOG_LINES && self.ports.log_enabled(level)
    }

    /// Hands a line on, unless nobody wants its level or the call has had its lines.
    pub(crate) fn write(&self, level: Level, message: &str, fields: &[(String, String)]) {
        if !self.ports.log_enabled(level) {
            return;
        }
        // One call runs on one thread at a time: load and store need not be one step.
        let lines = self.lines.load(Ordering::Relaxed);
        if lines >= MAX_LOG_LINES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.lines.store(lines.saturating_add(1), Ordering::Relaxed);
        let fields: Vec<_> = fields
            .iter()
            .take(MAX_LOG_FIELDS)
            .map(|(name, value)| (clean(name, MAX_FIELD_NAME_BYTES), clean(value, MAX_TEXT_BYTES)))
            .collect();
        self.ports.log(&self.call, level, &clean(message, MAX_TEXT_BYTES), &fields);
    }
}

impl log::Host for Ctx {
    fn enabled(&mut self, level: WitLevel) -> wasmtime::Result<bool> {
        self.enter();
        Ok(self.log.enabled(level.into()))
    }

    fn emit(&mut self, level: WitLevel, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        self.enter();
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
