//! A running host on this machine, asked over its control API. Owns the way to it and how its
//! refusals become errors; never speaks to a cluster.

use serde::de::DeserializeOwned;
use serde_json::Value;
use wharf_runtime::admin::client::{self, ControlTarget, HostRefused};
use wharf_runtime::config::{control_socket, data_directory};

use crate::args::HostArgs;
use crate::exit;
use crate::report::CliError;

/// What is there at a path.
///
/// # Errors
/// No host answers, or it says no.
pub(crate) fn get(args: &HostArgs, path: &str) -> Result<Value, CliError> {
    let target = target(args)?;
    crate::block_on(client::get(target, path))?.map_err(failed)
}

/// Asks for something at a path.
///
/// # Errors
/// No host answers, or it says no.
pub(crate) fn post(args: &HostArgs, path: &str, body: Value) -> Result<Value, CliError> {
    let target = target(args)?;
    crate::block_on(client::post(target, path, body))?.map_err(failed)
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

fn target(args: &HostArgs) -> Result<ControlTarget, CliError> {
    let socket = control_socket(args.data_dir.as_deref(), args.control_socket.as_deref());
    ControlTarget::of(&socket, &data_directory(args.data_dir.as_deref())).map_err(failed)
}

fn failed(error: anyhow::Error) -> CliError {
    match error.downcast::<HostRefused>() {
        Ok(HostRefused { error, hint, .. }) => CliError::new(exit::NO, error).hint(hint),
        Err(error) => CliError::from_anyhow(exit::NO, error),
    }
}
