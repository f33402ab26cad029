//! What can be typed about a running host as a whole: what it costs, and what it logs.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{HostArgs, Output, duration};

/// `wharf top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Only these plugins: NAMESPACE/NAME, or NAME
    #[arg(value_name = "PLUGIN")]
    pub plugins: Vec<String>,
    /// Only plugins of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// The time over which rates are measured
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = window)]
    pub window: Duration,
    /// What comes first is what has most of this
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Cpu)]
    pub sort_by: SortBy,
    /// Measure again and again until the command is stopped
    #[arg(short, long)]
    pub watch: bool,
    /// Output format [default: table]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// What `top` sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Processor time of calls
    Cpu,
    /// Memory that a plugin holds
    Memory,
    /// Calls
    Calls,
    /// Failed calls
    Failures,
    /// Keys that could be worked on
    Queue,
    /// Namespace and name, from A to Z
    Name,
}

/// `wharf logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Only what is logged of this plugin, by itself or by the host: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN")]
    pub plugin: Option<String>,
    /// Of several plugins of one name, the one there
    #[arg(short, long, value_name = "NAMESPACE", requires = "plugin")]
    pub namespace: Option<String>,
    /// Print what is logged from now on, too
    #[arg(short, long)]
    pub follow: bool,
    /// Only lines that are not older
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub since: Option<Duration>,
    /// Only the last lines
    #[arg(long, value_name = "LINES")]
    pub tail: Option<u64>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = LogOutput::Text)]
    pub output: LogOutput,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// How `logs` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogOutput {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// `wharf log-level`.
#[derive(Debug, Args)]
pub struct LogLevelArgs {
    /// The plugin: NAMESPACE/NAME, or NAME if only one has it [default: the host]
    #[arg(value_name = "PLUGIN")]
    pub plugin: Option<String>,
    /// Of several plugins of one name, the one there
    #[arg(short, long, value_name = "NAMESPACE", requires = "plugin")]
    pub namespace: Option<String>,
    /// off, error, warn, info, debug or trace; without a plugin also a filter, for example `info,wharf::call=debug`
    #[arg(long, value_name = "LEVEL", conflicts_with = "reset")]
    pub level: Option<String>,
    /// Back to what the host was started with; of a plugin: to what the host has
    #[arg(long)]
    pub reset: bool,
    /// Output format [default: table]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// Long enough that clocks tell two looks apart, and no longer than somebody waits.
fn window(text: &str) -> Result<Duration, &'static str> {
    let within = |window: &Duration| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(window);
    duration(text).ok().filter(within).ok_or("write a time from 100ms to 1h")
}
