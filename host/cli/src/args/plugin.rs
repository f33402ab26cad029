//! What can be typed about one plugin of a running host.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{HostArgs, Output, duration};

/// `wharf reload`, `wharf pause` and `wharf resume`.
#[derive(Debug, Args)]
pub struct OrderArgs {
    /// The plugins: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN", required_unless_present = "all")]
    pub plugins: Vec<String>,
    /// All plugins; with -n those of the namespace
    #[arg(long, conflicts_with = "plugins")]
    pub all: bool,
    /// Of several plugins of one name, the one there
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// `wharf drain`.
#[derive(Debug, Args)]
pub struct DrainArgs {
    /// Which plugins
    #[command(flatten)]
    pub order: OrderArgs,
    /// How long to wait for calls in flight; 0s waits until they have ended
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub timeout: Duration,
}

/// One plugin.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// The plugin: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN")]
    pub plugin: String,
    /// Of several plugins of one name, the one there
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// `wharf rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The revision to go back to, as `wharf history` shows it [default: the last good one before]
    #[arg(long, value_name = "REVISION")]
    pub to_revision: Option<u64>,
    /// Which plugin
    #[command(flatten)]
    pub which: PluginArgs,
}

/// `wharf history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only of this plugin: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN")]
    pub plugin: Option<String>,
    /// Only of plugins of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Output format [default: table]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// `wharf describe`.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// Which plugin
    #[command(flatten)]
    pub which: PluginArgs,
    /// The plugin, if the word before it is `plugin`, as kubectl wants it
    #[arg(value_name = "NAME", hide = true)]
    pub name: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PageOutput::Text)]
    pub output: PageOutput,
}

/// `wharf explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The plugin: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN")]
    pub plugin: String,
    /// The object: KIND/NAMESPACE/NAME, KIND/NAME, NAMESPACE/NAME or NAME, where that is clear
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Namespace of an object that names none [default: that of the plugin]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PageOutput::Text)]
    pub output: PageOutput,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// How `explain` and `describe` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageOutput {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// The same as YAML
    Yaml,
}

/// `wharf retry`.
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// The plugin: NAMESPACE/NAME, or NAME if only one has it
    #[arg(value_name = "PLUGIN")]
    pub plugin: String,
    /// Objects: KIND/NAMESPACE/NAME, KIND/NAME, NAMESPACE/NAME or NAME, where that is clear
    #[arg(value_name = "KEY", required_unless_present = "all")]
    pub keys: Vec<String>,
    /// All for which it failed
    #[arg(long, conflicts_with = "keys")]
    pub all: bool,
    /// Namespace of an object that names none [default: that of the plugin]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}
