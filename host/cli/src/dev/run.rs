//! `wharf dev`: an API server, a host and a folder of plugins in one process, for somebody at a desk. Owns how the three are put
//! together and what is told; each of them is its own crate's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use wharf_core::plugin::custom_resource_definition;
use wharf_devserver::fault::Faults;
use wharf_devserver::{ApiOptions, Running, ServerOptions, StoreOptions};
use wharf_runtime::app::Host;
use wharf_runtime::config::{Layer, Settings};
use wharf_runtime::telemetry::logging::{self, LogHandle};

use super::apiserver;
use super::manifests::Manifests;
use super::source::{self, Builder};
use crate::args::DevArgs;
use crate::exit;
use crate::report::{CliError, print_data};
use crate::run::{failed, start_error};
use crate::signals::{Signals, killed, name};

/// What is told if nothing else is asked for.
const FILTER: &str = "warn,wharf::call=debug,wharf::plugin=info,wharf::dev=info,guest=info";
const HISTORY: usize = 10_000;

pub(crate) fn run(args: &DevArgs) -> Result<u8, CliError> {
    if !args.dir.is_dir() {
        let hint = "name a plugin's folder, or one that has such folders in it";
        return Err(CliError::new(exit::USAGE, format!("{} is no folder", args.dir.display())).hint(hint));
    }
    let home = Home::new(args)?;
    let kubeconfig = absolute(&args.kubeconfig.clone().unwrap_or_else(|| home.path().join("kubeconfig")));
    let (mut settings, _) =
        Settings::resolve(layer(args, &home, &kubeconfig), &|_| None, None).map_err(|e| CliError::from_anyhow(exit::CONFIG, e))?;
    // Nobody else would, and rights are not looked at.
    settings.makes_accounts = true;
    let log =
        logging::init(settings.log_format, &settings.log_level, settings.log_buffer).map_err(|e| CliError::from_anyhow(exit::CONFIG, e))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::SOFTWARE, "start the async runtime") })?;
    let code = runtime.block_on(together(args, &home, &kubeconfig, &settings, log));
    runtime.shutdown_timeout(Duration::from_millis(500));
    code
}

/// The host's data folder: the one that is named, or one that goes with the command.
enum Home {
    Named(PathBuf),
    Own(TempDir),
}

impl Home {
    fn new(args: &DevArgs) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError { source: Some(error.into()), ..CliError::new(exit::CONFIG, "make the data folder") };
        match &args.data_dir {
            Some(folder) => std::fs::create_dir_all(folder).map(|()| Self::Named(folder.clone())).map_err(failed),
            None => tempfile::Builder::new().prefix("wharf-dev-").tempdir().map(Self::Own).map_err(failed),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Named(path) => path,
            Self::Own(folder) => folder.path(),
        }
    }
}

fn layer(args: &DevArgs, home: &Home, kubeconfig: &Path) -> Layer {
    Layer {
        plugins_directory: Some(args.dir.clone()),
        plugin_folders: Some(true),
        allow_bare: Some(true),
        cluster_plugins: Some(true),
        data_directory: Some(home.path().to_owned()),
        kubeconfig: Some(kubeconfig.to_owned()),
        metrics_bind_address: Some("0".to_owned()),
        health_probe_bind_address: Some("0".to_owned()),
        log_level: Some(args.log_level.clone().unwrap_or_else(|| FILTER.to_owned())),
        log_format: Some(args.log_format.clone()),
        ..Layer::default()
    }
}

/// Server, then host, then what follows files; and back in the reverse order.
async fn together(args: &DevArgs, home: &Home, kubeconfig: &Path, settings: &Settings, log: LogHandle) -> Result<u8, CliError> {
    let mut signals =
        Signals::new().map_err(|e| CliError { source: Some(e.into()), ..CliError::new(exit::SOFTWARE, "listen for signals") })?;
    let running = apiserver::start(options(args)).await?;
    apiserver::write_kubeconfig(kubeconfig, &running)?;
    install(&running, custom_resource_definition()).await?;
    let manifests = match &args.manifests {
        Some(folder) => {
            let mut manifests = Manifests::new(folder, running.api().clone())?;
            // Before the host looks: what is there at its start is one list, not many changes.
            manifests.settle().await;
            Some(manifests)
        }
        None => None,
    };
    print_data(&told(args, home, kubeconfig, &running))?;
    let builder = args.watch_source.then(|| Builder::new(&args.dir, args.tools_dir.as_deref()));
    let builder = tokio::select! {
        // Before the host looks, too: a plugin that is not built yet is none that is refused.
        builder = built(&args.dir, builder) => builder,
        number = signals.next() => {
            apiserver::stop(running).await?;
            tracing::debug!(target: "wharf::dev", signal = name(number), "ended while building");
            return Ok(exit::OK);
        }
    };
    let mut host = tokio::select! {
        host = Host::start(settings, log) => host.map_err(start_error)?,
        number = signals.next() => return Ok(killed(number)),
    };
    let follow_manifests = async {
        match manifests {
            Some(manifests) => manifests.follow().await,
            None => std::future::pending().await,
        }
    };
    let follow_sources = async {
        match builder {
            Some(builder) => builder.follow().await,
            None => std::future::pending().await,
        }
    };
    let (cause, end) = tokio::select! {
        number = signals.next() => (name(number), Ok(exit::OK)),
        failure = host.failed() => ("Failed", Err(failed(failure))),
        () = follow_manifests => ("Manifests", Ok(exit::SOFTWARE)),
        () = follow_sources => ("Sources", Ok(exit::SOFTWARE)),
    };
    tokio::select! {
        _ = host.stop(cause, settings.drain_deadline) => {}
        number = signals.next() => return Ok(killed(number)),
    }
    apiserver::stop(running).await?;
    end
}

/// Builds what has to be built; without a builder says what is not.
async fn built(dir: &Path, builder: Option<Builder>) -> Option<Builder> {
    if let Some(mut builder) = builder {
        builder.look().await;
        return Some(builder);
    }
    for folder in source::plugins(dir) {
        let plugin = source::Plugin::of(&folder);
        if !plugin.is_built() {
            let how = format!("wharf build {}", folder.display());
            tracing::warn!(target: "wharf::dev", plugin = %plugin.name, "not built yet: run `{how}`, or start with --watch-source");
        }
    }
    None
}

fn options(args: &DevArgs) -> ServerOptions {
    let store = StoreOptions { history: HISTORY, data: args.data.clone(), first_version: None };
    let api = ApiOptions { store, controllers: true };
    ServerOptions { address: args.bind, faults: Faults::new(args.fault_seed), ..ServerOptions::new(api) }
}

/// What every cluster with wharf has.
async fn install(running: &Running, object: Value) -> Result<(), CliError> {
    let applied = running.api().apply("wharf-dev", object).await;
    applied.map(drop).map_err(|status| CliError::new(exit::SOFTWARE, format!("install the kind Plugin: {}", status.message)))
}

/// As it is named in another terminal, which may be in another folder.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What somebody needs who has just started it.
fn told(args: &DevArgs, home: &Home, kubeconfig: &Path, running: &Running) -> String {
    let mut text = format!("API server   {}\n", running.url());
    text.push_str(&format!("kubectl      export KUBECONFIG={}\n", kubeconfig.display()));
    text.push_str(&format!("wharf        export WHARF_DATA_DIR={}\n", absolute(home.path()).display()));
    text.push_str(&format!("plugins      {}\n", args.dir.display()));
    if let Some(folder) = &args.manifests {
        text.push_str(&format!("manifests    {}\n", folder.display()));
    }
    text.push_str("Each call of a plugin is a line below; Ctrl-C ends it.\n");
    text
}
