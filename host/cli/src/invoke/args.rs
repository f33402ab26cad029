//! What can be typed after `wharf invoke`. Pure data: what it means is worked out by the
//! command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::InspectOutput;

/// `wharf invoke`.
#[derive(Debug, Args)]
pub struct InvokeArgs {
    /// A component, or a plugin's folder with a plugin.yaml
    #[arg(value_name = "COMPONENT")]
    pub component: PathBuf,
    /// Which function of the handler is called
    #[arg(long, value_enum, required_unless_present = "call")]
    pub event: Option<EventWord>,
    /// The object of the call, YAML or JSON; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "call")]
    pub object: Option<PathBuf>,
    /// If the call traps, write a WebAssembly core dump to this file: the memory of the instance, and which functions ran
    #[arg(long, value_name = "FILE")]
    pub coredump: Option<PathBuf>,
    /// A failed call of a host, as `wharf get failedcalls PLUGIN KEY -o json` prints it; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["event", "object", "old", "subscription", "cause", "attempt", "removal"])]
    pub call: Option<PathBuf>,
    /// The object at the last call [default: for `update` the object itself]
    #[arg(long, value_name = "FILE")]
    pub old: Option<PathBuf>,
    /// The configuration, YAML or JSON [default: the document's]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A Plugin document whose grants, limits and configuration hold; without one everything is granted
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Objects that the cluster has: a file, or a folder of .yaml, .yml and .json files
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = InspectOutput::Text)]
    pub output: InspectOutput,
    /// For which of the component's subscriptions [default: the one of the object's kind]
    #[arg(long, value_name = "NAME")]
    pub subscription: Option<String>,
    /// Why the host is calling
    #[arg(long, value_enum, default_value_t = CauseWord::Watch)]
    pub cause: CauseWord,
    /// How often it was tried, this time included
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: u32,
    /// Why `delete` is called [default: gone]
    #[arg(long, value_enum)]
    pub removal: Option<RemovalWord>,
    /// The least important log lines that are kept
    #[arg(long, value_enum, default_value_t = LevelWord::Debug)]
    pub log_level: LevelWord,
    /// Where compiled components are kept [default: wharf in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Compile anew, and keep nothing
    #[arg(long, conflicts_with = "cache_dir")]
    pub no_cache: bool,
}

/// A function of the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventWord {
    /// The plugin did not know the object
    Add,
    /// The object changed, or it is time again
    Update,
    /// The object is gone
    Delete,
}

/// Why a handler is called, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CauseWord {
    /// The first full list
    InitialList,
    /// A change
    Watch,
    /// A pass over everything
    Resync,
    /// The plugin asked for it
    Requeue,
    /// The last call failed
    Retry,
    /// A new revision
    Reload,
    /// Changed while no host was watching
    ChangedOffline,
    /// A related object changed
    Related,
    /// An operator asked for it
    Manual,
    /// The plugin's schedule
    Schedule,
}

/// Why `delete` is called, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RemovalWord {
    /// The object was deleted
    Gone,
    /// It exists but no longer matches
    Unmatched,
    /// Another object took its name
    Replaced,
}

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LevelWord {
    /// Every step
    Trace,
    /// For the author
    Debug,
    /// For the operator
    Info,
    /// Something is wrong
    Warn,
    /// Something failed
    Error,
}
