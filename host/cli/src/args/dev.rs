//! What can be typed about the embedded API server and what runs on it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `wharf dev`.
#[derive(Debug, Args)]
pub struct DevArgs {
    /// Folder with plugins: one with a plugin.yaml, or one that has such folders in it, or documents and components
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
    /// Apply the YAML files of this folder, and follow them: a saved file is applied, what went from it is deleted
    #[arg(long, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
    /// Also build plugins whose sources change
    #[arg(long)]
    pub watch_source: bool,
    /// Where missing tools are installed; plugins can share it [default: DIR/.wharf/tools]
    #[arg(long, value_name = "FOLDER", env = "WHARF_TOOLS_DIR")]
    pub tools_dir: Option<PathBuf>,
    /// Keep objects in this file; without it they live as long as the command
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Where the API server listens; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub bind: SocketAddr,
    /// Where the kubeconfig is written [default: in the data folder of the host]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Folder for the compile cache and the control socket [default: one that goes with the command]
    // No environment: where it was said to ask this host, another one would take its folder.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Seed of the dice of faults with a probability
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub fault_seed: u64,
    /// Log filter [default: calls, what plugins say, revisions, and what goes wrong]
    #[arg(long, value_name = "FILTER")]
    pub log_level: Option<String>,
    /// short, text or json
    #[arg(long, value_name = "FORMAT", default_value = "short")]
    pub log_format: String,
}

/// `wharf apiserver`.
#[derive(Debug, Args)]
pub struct ApiserverArgs {
    /// Where it listens; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    pub bind: SocketAddr,
    /// Plain HTTP without credentials; on loopback only
    #[arg(long)]
    pub insecure: bool,
    /// Keep objects in this file; without it they live as long as the server
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Keep the certificates in this folder, so that a kubeconfig outlives the server
    #[arg(long, value_name = "DIR")]
    pub cert_dir: Option<PathBuf>,
    /// Where the kubeconfig is written [default: wharf-apiserver.kubeconfig in the folder for temporary files]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Users: lines `token,user,uid,"group1,group2"`, as kube-apiserver's --token-auth-file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Who may do what
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Authorization::AlwaysAllow)]
    pub authorization: Authorization,
    /// Leave out what kube-controller-manager does: deleted namespaces stay, nothing is garbage collected
    #[arg(long)]
    pub no_controllers: bool,
    /// Changes of each kind that watches and old reads can go back
    #[arg(long, value_name = "CHANGES", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub history: u32,
    /// The first resourceVersion of a server without objects [default: a number made of the time, greater than any of an earlier life]
    #[arg(long, value_name = "VERSION")]
    pub first_version: Option<u64>,
    /// Seed of the dice of faults with a probability
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub fault_seed: u64,
    /// Log filter; requests are `wharf_devserver::audit=info`
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub log_level: String,
    /// auto, text, json or short
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub log_format: String,
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Authorization {
    /// Everybody everything
    AlwaysAllow,
    /// What roles and bindings say
    Rbac,
}
