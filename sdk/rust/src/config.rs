//! The plugin's configuration: `spec.config` of the Plugin document. Fixed for the life of
//! an instance.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::backend;

/// The whole configuration as a type; `{}` where the document has none. The handler itself
/// is read so; this is for [`Handler::describe`](crate::Handler::describe), which has no
/// handler yet.
///
/// # Errors
/// If it does not have the form of `T`.
pub fn config<T: DeserializeOwned>() -> Result<T, ConfigError> {
    serde_json::from_str(&backend::config_json()).map_err(|error| ConfigError::new("", error))
}

/// The value at an RFC 6901 pointer of the configuration.
///
/// # Errors
/// If there is a value of another type.
pub fn config_value<T: DeserializeOwned>(pointer: &str) -> Result<Option<T>, ConfigError> {
    let parse = |json: String| serde_json::from_str(&json).map_err(|error| ConfigError::new(pointer, error));
    backend::config_get(pointer).map(parse).transpose()
}

/// The JSON text at an RFC 6901 pointer of the configuration.
pub fn config_raw(pointer: &str) -> Option<String> {
    backend::config_get(pointer)
}

/// The configuration does not have the asked for type.
#[derive(Debug)]
pub struct ConfigError {
    pointer: String,
    source: serde_json::Error,
}

impl ConfigError {
    pub(crate) fn new(pointer: &str, source: serde_json::Error) -> Self {
        Self { pointer: pointer.to_owned(), source }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "config{}: {}", self.pointer, self.source)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
