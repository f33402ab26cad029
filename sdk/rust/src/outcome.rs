//! How a call ends: done, again later, or failed. Owns the conversions that let a plugin
//! use `?`; never decides when a key comes back (the host's queue does).

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::cluster::ApiError;
use crate::config::ConfigError;
use crate::event::ReadError;

/// What a handler's functions return.
pub type Result<T = Outcome, E = Failure> = std::result::Result<T, E>;

/// The reasons that the conversions of this crate use; every description lists them.
pub(crate) const SDK_REASONS: [&str; 8] =
    ["ConfigInvalid", "ObjectInvalid", "GrantMissing", "Forbidden", "Conflict", "ServerUnavailable", "ApiError", HANDLER_ERROR];

/// The reason of an error that neither the plugin nor this crate has a name for.
const HANDLER_ERROR: &str = "HandlerError";

/// A call that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Forget the key until it changes again.
    Done,
    /// Call again after this time even if nothing changes.
    RequeueAfter(Duration),
}

impl Outcome {
    /// Forget the key until it changes again.
    pub const fn done() -> Self {
        Self::Done
    }

    /// Call again after this time even if nothing changes. To the millisecond, at most 49
    /// days.
    pub const fn requeue_after(after: Duration) -> Self {
        Self::RequeueAfter(after)
    }
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    permanent: bool,
    reason: Cow<'static, str>,
    message: String,
    retry_after: Option<Duration>,
}

impl Failure {
    /// Try again, with the queue's backoff. `reason` is one CamelCase word and a metric
    /// label: list it with [`Description::reasons`](crate::Description::reasons), else it
    /// counts as `Other`.
    pub fn retry(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { permanent: false, reason: reason.into(), message: message.into(), retry_after: None }
    }

    /// Do not try again until the object changes.
    pub fn permanent(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { permanent: true, reason: reason.into(), message: message.into(), retry_after: None }
    }

    /// A retry with reason `HandlerError` for any other error: `.map_err(Failure::from_error)`.
    /// Its message is the error's text and those of its sources. Of an `anyhow::Error` pass
    /// `&*error`.
    pub fn from_error(error: impl std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors already end with the text of their source.
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self::retry(HANDLER_ERROR, message)
    }

    /// Not before this time, instead of the queue's backoff. Without effect on a permanent
    /// failure.
    #[must_use]
    pub const fn after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// Is it given up until the object changes?
    pub const fn is_permanent(&self) -> bool {
        self.permanent
    }

    /// The CamelCase word.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The time asked for with [`Failure::after`].
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl std::error::Error for Failure {}

/// A retry: what was not readable may be written by someone else. Throttled calls come
/// back when the host said.
impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let reason = match &error {
            ApiError::NotGranted(_) => "GrantMissing",
            ApiError::Forbidden(_) => "Forbidden",
            ApiError::Conflict(_) => "Conflict",
            ApiError::Throttled(_) | ApiError::Unavailable(_) => "ServerUnavailable",
            ApiError::Decode(_) => "ObjectInvalid",
            ApiError::NotFound | ApiError::AlreadyExists | ApiError::Invalid(_) | ApiError::TooLarge => "ApiError",
        };
        let failure = Self::retry(reason, error.to_string());
        match error {
            ApiError::Throttled(after) => failure.after(after),
            _ => failure,
        }
    }
}

/// A retry with reason `ObjectInvalid`.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::retry("ObjectInvalid", error.to_string())
    }
}

/// Permanent with reason `ObjectInvalid`: the object of the event stays as it is until it
/// changes, and then the host calls anyway.
impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::permanent("ObjectInvalid", error.to_string())
    }
}

/// Permanent with reason `ConfigInvalid`: a new configuration is a new revision, which
/// replays.
impl From<&ConfigError> for Failure {
    fn from(error: &ConfigError) -> Self {
        Self::permanent("ConfigInvalid", error.to_string())
    }
}

/// As for a borrowed one.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_mark_keeps_what_the_error_knows() {
        fn throttled() -> Result {
            Err(ApiError::Throttled(Duration::from_millis(300)))?
        }
        fn json() -> Result {
            let number: u32 = serde_json::from_str("\"x\"")?;
            Ok(Outcome::requeue_after(Duration::from_secs(number.into())))
        }
        let failure = throttled().unwrap_err();
        assert_eq!(
            (failure.is_permanent(), failure.reason(), failure.retry_after()),
            (false, "ServerUnavailable", Some(Duration::from_millis(300)))
        );
        let failure = json().unwrap_err();
        assert_eq!((failure.is_permanent(), failure.reason()), (false, "ObjectInvalid"));
        assert!(failure.message().contains("invalid type"), "{failure}");
    }

    #[test]
    fn any_error_becomes_a_retry_with_its_sources() {
        let io = std::io::Error::other("disk full");
        assert_eq!(Failure::from_error(&io), Failure::retry("HandlerError", "disk full"));
        let dynamic: Box<dyn std::error::Error> = Box::new(io);
        assert_eq!(Failure::from_error(&*dynamic).message(), "disk full");

        let json = serde_json::from_str::<u8>("x").unwrap_err();
        let text = json.to_string();
        let config = ConfigError::new("/a", json);
        assert_eq!(Failure::from_error(config).message(), format!("config/a: {text}"), "the source is not said twice");

        #[derive(Debug)]
        struct Outer(std::io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cannot save")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let failure = Failure::from_error(Outer(std::io::Error::other("disk full")));
        assert_eq!(failure.message(), "cannot save: disk full");
        assert!(SDK_REASONS.contains(&failure.reason()));
    }

    #[test]
    fn every_conversion_uses_a_listed_reason() {
        let text = String::new;
        for error in [
            ApiError::NotGranted(text()),
            ApiError::Forbidden(text()),
            ApiError::NotFound,
            ApiError::Conflict(text()),
            ApiError::AlreadyExists,
            ApiError::Invalid(text()),
            ApiError::Throttled(Duration::ZERO),
            ApiError::Unavailable(text()),
            ApiError::TooLarge,
            ApiError::Decode(text()),
        ] {
            let failure = Failure::from(error);
            assert!(!failure.is_permanent());
            assert!(SDK_REASONS.contains(&failure.reason()), "{failure}");
        }
    }
}
