//! `wharf invoke`: one call of a component, without a server. What a host does before a call
//! is done here too, in its order, so that a component that works here is accepted there.
//!
//! - [`plugin`], [`case`]: what is called and with what; [`input`], [`saved`], [`fields`], [`given`] and
//!   [`scope`] are how files become objects.
//! - [`call`]: the call in the real engine; [`asked`] chooses the subscription.
//! - [`ports`]: what the guest did, in front of a cluster in [`memory`].
//! - [`text`], [`json`]: what is printed.

pub(crate) mod args;
mod asked;
mod cache;
mod call;
mod case;
mod fields;
mod given;
mod input;
mod json;
mod memory;
mod merge;
mod plugin;
mod ports;
mod saved;
mod scope;
mod text;
mod words;

use std::sync::Arc;

use wharf_engine::Level;

use crate::args::InspectOutput;
use crate::exit;
use crate::report::{CliError, print_data};
use args::{InvokeArgs, LevelWord};
use case::Case;
use plugin::Plugin;
use ports::Recorder;

pub(crate) fn run(args: &InvokeArgs) -> Result<u8, CliError> {
    let plugin = Plugin::find(args)?;
    let (case, scopes, memory) = Case::read(args)?;
    let ports = Arc::new(Recorder::new(level(args.log_level), scopes, memory));
    let report = crate::block_on(call::make(args, plugin, case, ports))??;
    let text = match args.output {
        InspectOutput::Json => format!("{:#}\n", json::render(&report)),
        InspectOutput::Text => text::render(&report),
    };
    print_data(&text)?;
    Ok(if matches!(report.call.result, Ok(Ok(_))) { exit::OK } else { exit::NO })
}

const fn level(word: LevelWord) -> Level {
    match word {
        LevelWord::Trace => Level::Trace,
        LevelWord::Debug => Level::Debug,
        LevelWord::Info => Level::Info,
        LevelWord::Warn => Level::Warn,
        LevelWord::Error => Level::Error,
    }
}
