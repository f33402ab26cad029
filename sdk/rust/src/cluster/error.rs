//! Why a use of the cluster failed.

use std::fmt;
use std::time::Duration;

/// Why a use of the cluster failed. `?` makes a retry of each
/// ([`Failure`](crate::Failure) says with which reason).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The Plugin document does not grant it; nothing was sent. The text says how to grant it.
    NotGranted(String),
    /// The plugin's identity does not have the right.
    Forbidden(String),
    /// No such object; for a write also: no such namespace.
    NotFound,
    /// Another state, or a field of another manager.
    Conflict(String),
    /// The name is taken.
    AlreadyExists,
    /// The API server does not accept the object or the request.
    Invalid(String),
    /// Too many requests: try again after this time.
    Throttled(Duration),
    /// The API server cannot be reached or is not able to answer.
    Unavailable(String),
    /// The object or the answer is larger than the host hands over.
    TooLarge,
    /// The answer does not have the asked for type, or the object cannot be written as JSON.
    /// Only inside the plugin: the host never says this.
    Decode(String),
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(text) => write!(f, "not granted: {text}"),
            Self::Forbidden(text) => write!(f, "forbidden: {text}"),
            Self::NotFound => f.write_str("not found"),
            Self::Conflict(text) => write!(f, "conflict: {text}"),
            Self::AlreadyExists => f.write_str("already exists"),
            Self::Invalid(text) => write!(f, "invalid: {text}"),
            Self::Throttled(after) => write!(f, "throttled: try again after {} ms", after.as_millis()),
            Self::Unavailable(text) => write!(f, "unavailable: {text}"),
            Self::TooLarge => f.write_str("too large"),
            Self::Decode(text) => write!(f, "cannot be read: {text}"),
        }
    }
}

impl std::error::Error for ApiError {}
