//! What was typed. Pure data: what it means is worked out by the commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use wharf_runtime::config::{Layer, Secret};

mod dev;
mod host;
mod plugin;

pub use crate::invoke::args::InvokeArgs;
pub use dev::{ApiserverArgs, Authorization, DevArgs};
pub use host::{LogLevelArgs, LogOutput, LogsArgs, SortBy, TopArgs};
pub use plugin::{DescribeArgs, DrainArgs, ExplainArgs, HistoryArgs, OrderArgs, PageOutput, PluginArgs, RetryArgs, RollbackArgs};

/// Host for Kubernetes event handlers written as WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the host: watch the cluster and call the plugins
    Run(Box<RunArgs>),
    /// Run plugins on an API server of their own, to develop them: no cluster is needed
    Dev(Box<DevArgs>),
    /// Run the API server alone, for other people's controllers and tests
    Apiserver(Box<ApiserverArgs>),
    /// Build a plugin's folder into a component
    Build(BuildArgs),
    /// Check Plugin documents; reports every mistake with its line
    Validate(ValidateArgs),
    /// Show what a component is: world, imports, and what it asks for
    Inspect(InspectArgs),
    /// Compile components into a host's cache, ahead of a rollout
    Compile(CompileArgs),
    /// Call a component once, without a cluster, and show what it did
    Invoke(Box<InvokeArgs>),
    /// Show plugins, failures, failed calls, informers or queues of a running host, or objects of the cluster
    Get(Box<GetArgs>),
    /// Say why a plugin was or was not called for an object
    Explain(ExplainArgs),
    /// Call a plugin again for objects for which it failed
    Retry(RetryArgs),
    /// Show all that a host says of one plugin
    Describe(DescribeArgs),
    /// Show what plugins cost: processor, memory, calls
    Top(TopArgs),
    /// Print what a running host has logged, of one plugin or all, and what it logs from now on
    Logs(LogsArgs),
    /// Show or change what a running host logs, of one plugin or all
    LogLevel(LogLevelArgs),
    /// Stage what is wished of a plugin once more, also if it was withdrawn
    Reload(OrderArgs),
    /// Go back to an earlier revision of a plugin
    Rollback(RollbackArgs),
    /// Show the revisions of plugins that are kept
    History(HistoryArgs),
    /// Call a plugin for nothing until it is resumed; changes wait
    Pause(OrderArgs),
    /// Call a paused plugin for what has happened
    Resume(OrderArgs),
    /// Pause plugins and wait until their calls in flight have ended
    Drain(DrainArgs),
    /// Show objects of the cluster, and each change
    Watch(Box<WatchArgs>),
    /// Print the roles that a set of Plugin documents needs
    Rbac(RbacArgs),
    /// Print the CustomResourceDefinition of plugins
    Crd,
    /// Print the script with which a shell completes the command line
    Completion(CompletionArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
    /// Print the version
    Version(VersionArgs),
}

/// `wharf run`. What is not given comes from the environment, then from the file, then from
/// the defaults.
#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Configuration file (kind HostConfiguration) [env: WHARF_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder with Plugin documents and components
    #[arg(long, visible_alias = "plugins", value_name = "DIR")]
    pub plugins_dir: Option<PathBuf>,
    /// Also run components without a Plugin document (no grants)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub allow_bare: Option<bool>,
    /// Also run each folder in the plugins folder that has a plugin.yaml
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub plugin_folders: Option<bool>,
    /// Also run plugins that are custom resources (see `wharf crd`)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub cluster_plugins: Option<bool>,
    /// Only the custom resources of these namespaces, with commas between
    #[arg(long, value_name = "NAMESPACES")]
    pub plugin_namespaces: Option<String>,
    /// Which cluster
    #[command(flatten)]
    pub way: WayArgs,
    /// Folder for the compile cache and the control socket
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Control socket, or HOST:PORT on loopback [default: wharf.sock in the data folder]
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Where /metrics is served; 0 turns it off
    #[arg(long, value_name = "ADDRESS")]
    pub metrics_bind_address: Option<String>,
    /// Where /livez and /readyz are served; 0 turns them off
    #[arg(long, value_name = "ADDRESS")]
    pub health_probe_bind_address: Option<String>,
    /// Guest instances that may be alive at once
    #[arg(long, value_name = "N")]
    pub engine_instances: Option<u32>,
    /// Threads that run guests
    #[arg(long, value_name = "N")]
    pub engine_threads: Option<usize>,
    /// Time for calls in flight to finish when the host stops
    #[arg(long, value_name = "DURATION")]
    pub drain_deadline: Option<String>,
    /// Which of several hosts calls plugins
    #[command(flatten)]
    pub election: ElectionArgs,
    /// Log filter, for example `info` or `info,wharf::call=debug`
    #[arg(long, value_name = "FILTER")]
    pub log_level: Option<String>,
    /// auto, text, json or short; auto is text on a terminal
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Print the resulting configuration with the origin of each value, and end
    #[arg(long)]
    pub print_config: bool,
}

/// The election of a leader, in the words of Kubernetes' own components.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Leader election")]
pub struct ElectionArgs {
    /// Call plugins only as long as this host holds a lease; stand by until then
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub leader_elect: Option<bool>,
    /// Name of the lease
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_name: Option<String>,
    /// Namespace of the lease [default: the pod's, or that of the context]
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_elect_resource_namespace: Option<String>,
    /// A lease that has not changed for so long may be taken
    #[arg(long, value_name = "DURATION")]
    pub leader_elect_lease_duration: Option<String>,
    /// A leader that could not renew for so long stops to call plugins
    #[arg(long, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Option<String>,
    /// Time between two attempts
    #[arg(long, value_name = "DURATION")]
    pub leader_elect_retry_period: Option<String>,
}

/// `wharf build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The plugin's folder
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
    /// Language, where the folder holds more than one
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub language: Option<BuildLanguage>,
    /// Where the component goes [default: spec.component.file of plugin.yaml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where missing tools are installed; plugins can share it [default: DIR/.wharf/tools]
    #[arg(long, value_name = "FOLDER", env = "WHARF_TOOLS_DIR")]
    pub tools_dir: Option<PathBuf>,
    /// Keep what stack traces need to name lines
    #[arg(long)]
    pub debug: bool,
    /// Rust: leave the standard library's imports of WASI to the host, which offers nothing behind them
    #[arg(long)]
    pub keep_wasi: bool,
}

/// Languages that `build` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BuildLanguage {
    /// Cargo.toml
    Rust,
    /// go.mod
    Go,
    /// pyproject.toml
    Python,
    /// package.json
    Javascript,
    /// package.json whose `main` ends in .ts
    Typescript,
    /// plugin.c
    C,
}

/// `wharf validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Plugin documents; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `wharf compile`.
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// Folder for the machine code: `cwasm` in the data directory of a host of this version, which may be running
    #[arg(long, value_name = "DIR", required_unless_present = "helper")]
    pub cache: Option<PathBuf>,
    /// WebAssembly files
    #[arg(value_name = "COMPONENT", required_unless_present = "helper")]
    pub components: Vec<PathBuf>,
    /// Be the compiling process of a host: standard input to standard output
    #[arg(long, hide = true, conflicts_with_all = ["cache", "components"])]
    pub helper: bool,
    /// Code that is used once
    #[arg(long, hide = true, requires = "helper")]
    pub quick: bool,
}

/// `wharf inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A WebAssembly file
    #[arg(value_name = "COMPONENT")]
    pub component: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = InspectOutput::Text)]
    pub output: InspectOutput,
}

/// How `inspect` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InspectOutput {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// `wharf get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// plugins, failures, failedcalls, revisions, informers or queues of a running host; or kinds of the cluster, as kubectl
    /// takes them: `cm`, `deployments.apps`, `pods,services`, `pod/NAME`
    #[arg(value_name = "KIND")]
    pub what: String,
    /// Only what has these names; for failures: only those of this plugin; for failedcalls: a plugin, and maybe a key
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// After the list, print each change until the command is stopped
    #[arg(short, long)]
    pub watch: bool,
    /// How to look
    #[command(flatten)]
    pub look: LookArgs,
    /// Which host
    #[command(flatten)]
    pub host: HostArgs,
}

/// A running host on this machine.
#[derive(Clone, Debug, Default, Args)]
pub struct HostArgs {
    /// Data folder of the host
    #[arg(long, value_name = "DIR", env = "WHARF_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Control socket of the host, or its HOST:PORT [default: wharf.sock in the data folder]
    #[arg(long, value_name = "PATH", env = "WHARF_CONTROL_SOCKET")]
    pub control_socket: Option<PathBuf>,
}

/// `wharf watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// One kind of the cluster, as kubectl takes it: `cm`, `deployments.apps`
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// Only the object of this name
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// How to look
    #[command(flatten)]
    pub look: LookArgs,
}

/// How `get` and `watch` look at the cluster.
#[derive(Clone, Debug, Args)]
pub struct LookArgs {
    /// Output format [default: table]
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
    /// Namespace [default: that of the context, else `default`]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// All namespaces, whatever -n says
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Label selector, for example `app=web,tier!=db`
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Field selector, for example `metadata.name=web`
    #[arg(long, value_name = "SELECTOR")]
    pub field_selector: Option<String>,
    /// Do not print what is there already, only what changes
    #[arg(long)]
    pub watch_only: bool,
    /// Print each change with its type: ADDED, MODIFIED or DELETED
    #[arg(long)]
    pub output_watch_events: bool,
    /// Print the watch as the server sends it, past the cache; without -o
    #[arg(long)]
    pub raw: bool,
    /// Known so that it can be refused with a reason
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", default_value = "false")]
    pub show_managed_fields: bool,
    /// Which cluster
    #[command(flatten)]
    pub way: WayArgs,
}

/// The way to the cluster, and what is told of it. What is not given comes from the environment (WHARF_SERVER
/// and so on), then from the kubeconfig.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub struct WayArgs {
    /// Kubeconfig file; without one: KUBECONFIG, ~/.kube/config, or the pod's ServiceAccount
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// URL of the API server
    #[arg(short, long, value_name = "URL")]
    pub server: Option<String>,
    /// Token that says who asks; other users of this machine can see it, --token-file hides it
    #[arg(long, value_name = "TOKEN", value_parser = secret)]
    pub token: Option<Secret>,
    /// File with that token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// PEM file that the server's certificate is checked against
    #[arg(long, value_name = "FILE")]
    pub certificate_authority: Option<PathBuf>,
    /// Do not check the server's certificate
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Show requests, as kubectl does: 6 one line each, 7 with headers, 8 with bodies, 9 everything
    #[arg(short = 'v', long = "v", value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=10))]
    pub verbosity: Option<u8>,
}

/// A time as documents write it: `5m`, `1.5s`.
fn duration(text: &str) -> Result<Duration, &'static str> {
    wharf_core::quantity::parse_duration(text).ok_or("write a time as 500ms, 30s, 5m or 1h30m")
}

/// Never fails, and never prints what it was given.
fn secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::from(text.to_owned()))
}

impl LookArgs {
    /// How to print.
    pub fn output(&self) -> Output {
        self.output.unwrap_or(Output::Table)
    }
}

impl WayArgs {
    /// The settings in it.
    pub fn layer(self) -> Layer {
        Layer {
            kubeconfig: self.kubeconfig,
            context: self.context,
            server: self.server,
            token: self.token,
            token_file: self.token_file,
            certificate_authority: self.certificate_authority,
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            ..Layer::default()
        }
    }
}

/// How `get` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table
    Table,
    /// A table with more columns
    Wide,
    /// A JSON list
    Json,
    /// The same as YAML
    Yaml,
    /// Names only
    Name,
}

/// `wharf rbac`.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// Plugin documents; `-` is standard input
    #[arg(required_unless_present = "cluster_plugins", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also what the host needs to follow custom resources
    #[arg(long)]
    pub cluster_plugins: bool,
    /// Namespace that the host runs in
    #[arg(short, long, value_name = "NAMESPACE", default_value = "wharf-system")]
    pub namespace: String,
    /// ServiceAccount that the host runs as
    #[arg(long, value_name = "NAME", default_value = "wharf")]
    pub service_account: String,
    /// Also what hosts need that elect a leader
    #[arg(long)]
    pub leader_elect: bool,
    /// Name of their lease
    #[arg(long, value_name = "NAME", default_value = "wharf")]
    pub leader_elect_resource_name: String,
}

/// `wharf completion`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell: `source <(wharf completion bash)`
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `wharf man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `wharf version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = InspectOutput::Text)]
    pub output: InspectOutput,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_help_says_what_wharf_is() {
        let about = Cli::command().get_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Host for Kubernetes event handlers written as WebAssembly components"));
    }
}
