//! Commands that use what is no object and no cluster: log, configuration, time, randomness.

use serde::Deserialize;
use serde_json::{Value, json};
use wharf_sdk::log::Level;
use wharf_sdk::prelude::*;
use wharf_sdk::system;

use crate::{args, report, unknown};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Args {
    level: String,
    message: String,
    fields: Vec<(String, String)>,
    pointer: String,
    len: u32,
}

pub(crate) fn obey(command: &str, event: &Event) -> Result {
    let args: Args = match command {
        "enabled" | "now" | "native-now" | "native-random" | "print" => Args::default(),
        _ => args(event)?,
    };
    match command {
        "log" => line(&args),
        "native-log" => native_log(&args.message),
        // There is no standard output.
        "print" => Ok(Outcome::done()),
        "enabled" => report(json!({
            "trace": log::enabled(Level::Trace),
            "debug": log::enabled(Level::Debug),
            "info": log::enabled(Level::Info),
            "warn": log::enabled(Level::Warn),
            "error": log::enabled(Level::Error),
        })),
        "config-value" => report(wharf_sdk::config_raw(&args.pointer)),
        "now" | "native-now" => report(system::now().as_secs()),
        "random" => report(random(args.len)),
        "native-random" => report([random(8), random(8)]),
        _ => unknown(command),
    }
}

fn line(args: &Args) -> Result {
    let level = match args.level.as_str() {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    let fields: Vec<(&str, &dyn std::fmt::Display)> = args.fields.iter().map(|(name, value)| (name.as_str(), value as _)).collect();
    log::emit(level, &args.message, &fields);
    Ok(Outcome::done())
}

fn native_log(message: &str) -> Result {
    tracing::trace!("{message}");
    tracing::debug!("{message}");
    tracing::info!("{message}");
    tracing::warn!("{message}");
    tracing::error!("{message}");
    Ok(Outcome::done())
}

/// The bytes in hex, or only their number if there are many.
fn random(len: u32) -> Value {
    let bytes = system::random(len);
    if len > 64 { bytes.len().into() } else { bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into() }
}
