//! `cargo xtask …`: every developer task. Owns the command line; each task has a file.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to the terminal")]

mod bindings;
mod cluster;
mod demo;
mod guests;
mod kinds;
mod peers;
mod proof;
mod setup;
mod step;
mod test;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use wharf_testkit::{Kind, paths};

/// Developer tasks of wharf.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build all that tests and demo need: cluster tools, guests, the host
    Setup,
    /// Set up, then run all tests, or those that the arguments of `cargo test` choose
    #[command(disable_help_flag = true)]
    Test {
        /// Arguments of `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build the host and two plugins, then show the main job
    Demo {
        /// On which API server: wharf's own, or etcd and kube-apiserver, which are built first
        #[arg(long, value_enum, default_value_t = Server::Embedded)]
        cluster: Server,
        /// Stay when it is over, to go on by hand
        #[arg(long)]
        keep: bool,
    },
    /// Build kube-apiserver, etcd and kubectl
    Cluster {
        /// Start a cluster and stay until Ctrl-C. It has no controllers: a namespace that is deleted stays, and nothing is garbage collected
        #[arg(long)]
        run: bool,
    },
    /// Build the example plugins and the guests of the tests
    Guests,
    /// Write what the embedded API server knows of Kubernetes' own kinds, from a real API server
    Kinds,
    /// Run a long proof or measurement: apiserver, dispatch, events, fairness, figures, informers, kill, languages, swap, teams, watch-faults
    Proof {
        /// Which
        name: String,
    },
    /// Write the SDK's bindings of the contract in wit/
    Bindings {
        /// Only compare
        #[arg(long)]
        check: bool,
    },
}

/// An API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Server {
    /// `wharf apiserver`
    Embedded,
    /// etcd and kube-apiserver
    Real,
}

impl Server {
    fn kind(self) -> Kind {
        match self {
            Self::Embedded => Kind::Embedded,
            Self::Real => Kind::Real,
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  caused by: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    let root = paths::root();
    match task {
        Task::Setup => setup::all(&root)?,
        Task::Test { args } => return test::run(&root, &args),
        Task::Demo { cluster, keep } => demo::run(&root, cluster.kind(), keep)?,
        Task::Cluster { run } => {
            cluster::build(&root)?;
            cluster::build_informers(&root)?;
            if run {
                cluster::stay()?;
            }
        }
        Task::Guests => {
            setup::host(&root)?;
            guests::build(&root)?;
        }
        Task::Kinds => kinds::write(&root)?,
        Task::Proof { name } => proof::run(&root, &name)?,
        Task::Bindings { check } => bindings::bindings(&root, check)?,
    }
    Ok(ExitCode::SUCCESS)
}
