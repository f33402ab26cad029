//! `wharf run`: settings, logging, the host, signals, exit code.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::timeout;
use wharf_core::Reason;
use wharf_runtime::app::{Host, HostFailure, StartError};
use wharf_runtime::config::{Layer, Settings};
use wharf_runtime::telemetry::http::filter_of_verbosity;
use wharf_runtime::telemetry::logging::{self, LogHandle};

use crate::args::RunArgs;
use crate::exit;
use crate::report::{CliError, print_data};
use crate::signals::{Signals, killed, name};

pub(crate) fn run(args: RunArgs) -> Result<u8, CliError> {
    let (file, print_config, verbosity) = (args.config.clone(), args.print_config, args.way.verbosity);
    let env = |name: &str| std::env::var(name).ok();
    let file = file.or_else(|| env("WHARF_CONFIG").map(Into::into));
    let (settings, origins) = Settings::resolve(layer(args), &env, file.as_deref()).map_err(|e| CliError::from_anyhow(exit::CONFIG, e))?;
    if print_config {
        print_data(&settings.print(&origins))?;
        return Ok(exit::OK);
    }
    let filter = with_verbosity(&settings.log_level, verbosity);
    let log = logging::init(settings.log_format, &filter, settings.log_buffer).map_err(|e| CliError::from_anyhow(exit::CONFIG, e))?;
    raise_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("wharf-control")
        // Reading files and looking at components: a few at a time is enough, and each
        // thread keeps memory.
        .max_blocking_threads(4)
        .build()
        .map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::SOFTWARE, "start the async runtime") })?;
    let code = runtime.block_on(host(&settings, log));
    // Nothing that is still running may keep the process from ending.
    runtime.shutdown_timeout(Duration::from_millis(500));
    code
}

/// Each component keeps a file open, and each connection is one: as many as may be, not as many as old programs can count.
fn raise_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(target: "wharf::host", %error, "the limit of open files stays as it is");
    }
}

/// Runs a host until a signal, or until it leads no more. The first signal drains, the second one ends at once.
async fn host(settings: &Settings, log: LogHandle) -> Result<u8, CliError> {
    let mut signals =
        Signals::new().map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::SOFTWARE, "listen for signals") })?;
    let mut host = tokio::select! {
        host = Host::start(settings, log) => host.map_err(start_error)?,
        number = signals.next() => return Ok(killed(number)),
    };
    let mut patience = Duration::MAX;
    let (cause, end) = tokio::select! {
        number = signals.next() => (name(number), Ok(exit::OK)),
        failure = host.failed() => match failure {
            HostFailure::LeaseLost => {
                // Nothing is called or written any more: a disk that hangs need not be waited for.
                patience = settings.drain_deadline;
                (Reason::LeaseLost.as_str(), Ok(exit::LEASE_LOST))
            }
            HostFailure::InUse(_) => ("CheckpointInUse", Err(failed(failure))),
            HostFailure::Defect(_) => return Err(failed(failure)),
        },
    };
    tokio::select! {
        _ = timeout(patience, host.stop(cause, settings.drain_deadline)) => end,
        number = signals.next() => Ok(killed(number)),
    }
}

pub(crate) fn failed(failure: HostFailure) -> CliError {
    let (code, hint) = match &failure {
        HostFailure::InUse(_) => {
            (exit::CONFIG, "hosts that share a checkpoint must elect a leader by the same lease; others need folders of their own")
        }
        _ => (exit::SOFTWARE, "report it with the log; the process may simply be started again"),
    };
    CliError::from_anyhow(code, failure.into()).hint(hint)
}

pub(crate) fn start_error(error: StartError) -> CliError {
    let (code, hint) = match &error {
        StartError::Config(_) | StartError::Unusable(_) => (exit::CONFIG, "`wharf run --print-config` shows where each setting comes from"),
        other => (exit::UNAVAILABLE, connection_hint(other)),
    };
    CliError::from_anyhow(code, error.into()).hint(hint)
}

/// What to do about a connection that does not stand.
pub(crate) fn connection_hint(error: &StartError) -> &'static str {
    match error {
        StartError::Config(_) => "name a cluster by --kubeconfig and --context, or by --server",
        StartError::Unusable(_) => "correct what is named, or name another one by a flag or in the kubeconfig",
        StartError::NoCredentials(_) => {
            "check --token-file, or the tokenFile or exec plugin of the kubeconfig's user; --token and --token-file win over both"
        }
        StartError::Refused { reason, .. } => reason.hint(),
        StartError::Untrusted(_) => {
            "name the authority that signed it by --certificate-authority, or by certificate-authority in the kubeconfig; a server that is \
             reached by another name than its certificate has needs tls-server-name there"
        }
        StartError::Unavailable(_) => "check --kubeconfig, --context and --server, and that the server runs; -v 6 shows the requests",
    }
}

/// A log filter, and what `-v` adds to it.
pub(crate) fn with_verbosity(filter: &str, verbosity: Option<u8>) -> String {
    match filter_of_verbosity(verbosity.unwrap_or_default()) {
        "" => filter.to_owned(),
        more => format!("{filter},{more}"),
    }
}

fn layer(args: RunArgs) -> Layer {
    Layer {
        plugins_directory: args.plugins_dir,
        allow_bare: args.allow_bare,
        plugin_folders: args.plugin_folders,
        cluster_plugins: args.cluster_plugins,
        plugin_namespaces: args.plugin_namespaces,
        data_directory: args.data_dir,
        control_socket: args.control_socket,
        metrics_bind_address: args.metrics_bind_address,
        health_probe_bind_address: args.health_probe_bind_address,
        engine_instances: args.engine_instances,
        engine_threads: args.engine_threads,
        drain_deadline: args.drain_deadline,
        leader_elect: args.election.leader_elect,
        leader_elect_name: args.election.leader_elect_resource_name,
        leader_elect_namespace: args.election.leader_elect_resource_namespace,
        leader_elect_lease: args.election.leader_elect_lease_duration,
        leader_elect_renew: args.election.leader_elect_renew_deadline,
        leader_elect_retry: args.election.leader_elect_retry_period,
        log_level: args.log_level,
        log_format: args.log_format,
        ..args.way.layer()
    }
}
