//! Log lines of the plugin: a constant message, and values in fields. The host adds plugin,
//! revision, key and trace, and drops what is over the plugin's rate.
//!
//! ```
//! use wharf_sdk::log;
//! log::info!("copied", target = "team-b", items = 3);
//! log::warn!("label missing");
//! ```

use std::fmt::Display;

use crate::backend;

pub use crate::{log_debug as debug, log_error as error, log_info as info, log_trace as trace, log_warn as warn};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every step.
    Trace,
    /// For whoever looks for a bug.
    Debug,
    /// What happened.
    Info,
    /// What should not be, and did not stop the work.
    Warn,
    /// What stopped the work.
    Error,
}

/// False if the host would drop a line of this level. The macros ask by themselves.
pub fn enabled(level: Level) -> bool {
    backend::log_enabled(level)
}

/// Writes one line. The macros are shorter.
pub fn emit(level: Level, message: &str, fields: &[(&str, &dyn Display)]) {
    let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    backend::log_emit(level, message, &fields);
}

/// One line of a level that is known at run time: `log_at!(level, "message", field = value)`.
#[macro_export]
macro_rules! log_at {
    ($level:expr, $message:expr $(, $field:ident = $value:expr)* $(,)?) => {{
        let level = $level;
        if $crate::log::enabled(level) {
            $crate::log::emit(level, $message, &[$((::std::stringify!($field), &$value as &dyn ::std::fmt::Display)),*]);
        }
    }};
}

/// A line of level trace; use it as `log::trace!`.
#[macro_export]
macro_rules! log_trace { ($($line:tt)+) => { $crate::log_at!($crate::log::Level::Trace, $($line)+) }; }

/// A line of level debug; use it as `log::debug!`.
#[macro_export]
macro_rules! log_debug { ($($line:tt)+) => { $crate::log_at!($crate::log::Level::Debug, $($line)+) }; }

/// A line of level info; use it as `log::info!`.
#[macro_export]
macro_rules! log_info { ($($line:tt)+) => { $crate::log_at!($crate::log::Level::Info, $($line)+) }; }

/// A line of level warn; use it as `log::warn!`.
#[macro_export]
macro_rules! log_warn { ($($line:tt)+) => { $crate::log_at!($crate::log::Level::Warn, $($line)+) }; }

/// A line of level error; use it as `log::error!`.
#[macro_export]
macro_rules! log_error { ($($line:tt)+) => { $crate::log_at!($crate::log::Level::Error, $($line)+) }; }
