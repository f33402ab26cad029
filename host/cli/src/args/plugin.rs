//! What can be typed about one plugin of a running host.

use clap::Args;

use super::{HostArgs, Output};

/// `wharf reload`, `wharf pause` and `wharf resume`.
#[derive(Debug, Args)]
pub struct OrderArgs {
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
    pub order: OrderArgs,
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
