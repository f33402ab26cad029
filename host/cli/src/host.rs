//! A running host on this machine, asked over its control API. Owns the way to it, how its
//! refusals become errors, and how a command ends that goes on; never speaks to a cluster.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use wharf_runtime::admin::client::{self, ControlTarget, HostRefused};
use wharf_runtime::admin::rows::PluginRow;
use wharf_runtime::config::{control_socket, data_directory};

use crate::args::HostArgs;
use crate::exit;
use crate::report::{CliError, reader_gone};
use crate::signals::{Signals, killed};

/// How a host says that too many ask for the same.
const BUSY: u16 = 429;

/// What is there at a path.
///
/// # Errors
/// No host answers, or it says no.
pub(crate) fn get(args: &HostArgs, path: &str) -> Result<Value, CliError> {
    crate::block_on(Host::at(args)?.get(path))?
}

/// Asks for something at a path.
///
/// # Errors
/// No host answers, or it says no.
pub(crate) fn post(args: &HostArgs, path: &str, body: Value) -> Result<Value, CliError> {
    crate::block_on(Host::at(args)?.post(path, body))?
}

/// Where a host is.
#[derive(Clone, Debug)]
pub(crate) struct Host(ControlTarget);

impl Host {
    /// The one that is named.
    ///
    /// # Errors
    /// The token of a loopback address cannot be read.
    pub(crate) fn at(args: &HostArgs) -> Result<Self, CliError> {
        let socket = control_socket(args.data_dir.as_deref(), args.control_socket.as_deref());
        ControlTarget::of(&socket, &data_directory(args.data_dir.as_deref())).map(Self).map_err(failed)
    }

    /// What is there at a path. Cancel safe.
    ///
    /// # Errors
    /// No host answers, or it says no.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, CliError> {
        client::get(self.0.clone(), path).await.map_err(failed)
    }

    /// Asks for something at a path. Cancelled, it may have taken effect.
    ///
    /// # Errors
    /// No host answers, or it says no.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value, CliError> {
        client::post(self.0.clone(), path, body).await.map_err(failed)
    }

    /// The same; `None` if too many ask for that at the moment.
    ///
    /// # Errors
    /// No host answers, or it says no.
    pub(crate) async fn post_if_free(&self, path: &str, body: Value) -> Result<Option<Value>, CliError> {
        match client::post(self.0.clone(), path, body).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.downcast_ref::<HostRefused>().is_some_and(|refused| refused.status == BUSY) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Changes what is at a path. Cancelled, it may have taken effect.
    ///
    /// # Errors
    /// No host answers, or it says no.
    pub(crate) async fn put(&self, path: &str, body: Value) -> Result<Value, CliError> {
        client::put(self.0.clone(), path, body).await.map_err(failed)
    }
}

/// Reads an answer.
///
/// # Errors
/// It is that of a host of another version.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, CliError> {
    T::deserialize(answer).map_err(|error| {
        CliError::new(exit::USAGE, format!("the host's answer cannot be read: {error}"))
            .hint("use the `wharf` of the same version as the host; `wharf version` shows it")
    })
}

/// An answer as YAML.
///
/// # Errors
/// It cannot be written so.
pub(crate) fn yaml(answer: &Value) -> Result<String, CliError> {
    serde_saphyr::to_string(answer).map_err(|error| CliError::new(exit::USAGE, error.to_string()))
}

/// Is this the plugin `full` (`NAMESPACE/NAME`), or its name?
pub(crate) fn is_plugin(full: &str, text: &str) -> bool {
    let text = text.strip_prefix("plugin/").unwrap_or(text);
    full == text || full.split_once('/').is_some_and(|(_, name)| name == text)
}

/// What is said of a plugin that is not there.
pub(crate) fn no_plugin(text: &str) -> CliError {
    CliError::new(exit::NO, format!("there is no plugin {text:?}")).hint("`wharf get plugins` lists them")
}

/// All plugins, `NAMESPACE/NAME`; those of a namespace, if one is given.
///
/// # Errors
/// No host answers.
pub(crate) async fn plugins(host: &Host, namespace: Option<&str>) -> Result<Vec<String>, CliError> {
    let rows: Vec<PluginRow> = read(&host.get("/v1/plugins").await?)?;
    // A document that cannot be read has no namespace, and is no plugin yet.
    let there = |row: &PluginRow| !row.namespace.is_empty() && row.state != "Draining";
    let wanted = |row: &PluginRow| there(row) && namespace.is_none_or(|namespace| row.namespace == namespace);
    Ok(rows.into_iter().filter(wanted).map(|row| format!("{}/{}", row.namespace, row.name)).collect())
}

/// Runs a command that goes on: until it ends by itself, by a signal, or because nobody reads what it prints.
///
/// # Errors
/// Those of the command.
pub(crate) fn until_ended(work: impl Future<Output = Result<u8, CliError>>) -> Result<u8, CliError> {
    let failed = |what: &str, error: std::io::Error| CliError { source: Some(error.into()), ..CliError::new(exit::USAGE, what) };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed("start the async runtime", error))?;
    let code = runtime.block_on(async {
        let mut signals = Signals::new().map_err(|error| failed("listen for signals", error))?;
        tokio::select! {
            code = work => code,
            number = signals.next() => Ok(killed(number)),
            () = reader_gone() => Ok(exit::OK),
        }
    });
    // A write to a full pipe may never end; it must not keep the process.
    runtime.shutdown_timeout(Duration::ZERO);
    code
}

fn failed(error: anyhow::Error) -> CliError {
    match error.downcast::<HostRefused>() {
        Ok(HostRefused { error, hint, .. }) => CliError::new(exit::NO, error).hint(hint),
        Err(error) => CliError::from_anyhow(exit::NO, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_by_either_name() {
        for (text, same) in [("a/x", true), ("x", true), ("plugin/a/x", true), ("b/x", false), ("a", false)] {
            assert_eq!(is_plugin("a/x", text), same, "{text}");
        }
    }
}
