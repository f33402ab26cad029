//! The crate `log`: its records become lines, their key-values become fields, and their
//! target the field `target`.

use log_facade::kv::{Error, Key, Value, VisitSource};
use log_facade::{LevelFilter, Log, Metadata, Record};

use crate::backend;
use crate::log::Level;

pub(super) fn install() {
    // A logger of the plugin's own has come first: it is meant to get the records.
    if log_facade::set_logger(&HostLog).is_ok() {
        log_facade::set_max_level(LevelFilter::Trace);
    }
}

struct HostLog;

impl Log for HostLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        backend::log_enabled(level(metadata.level()))
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut fields = Fields(vec![("target".to_owned(), record.target().to_owned())]);
        // The visitor below never fails, and what a source could not say is left out.
        let _complete = record.key_values().visit(&mut fields);
        backend::log_emit(level(record.level()), &record.args().to_string(), &fields.0);
    }

    fn flush(&self) {}
}

struct Fields(Vec<(String, String)>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        self.0.push((key.to_string(), value.to_string()));
        Ok(())
    }
}

const fn level(level: log_facade::Level) -> Level {
    match level {
        log_facade::Level::Trace => Level::Trace,
        log_facade::Level::Debug => Level::Debug,
        log_facade::Level::Info => Level::Info,
        log_facade::Level::Warn => Level::Warn,
        log_facade::Level::Error => Level::Error,
    }
}
