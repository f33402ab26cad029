//! What a failure means. Owns the one classifier of all answers and errors of lists,
//! watches and discovery; never decides what is done about them.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use wharf_core::{Reason, one_line};

/// Classes of failures that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The resourceVersion or the continue token is too old: 410 wherever it comes.
    Expired,
    /// The resourceVersion is newer than what the server has.
    TooLarge,
    /// 429.
    TooManyRequests,
    /// 404.
    NotFound,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// The server understood and refuses for good: 400, 405, 422.
    Invalid,
    /// 500.
    Internal,
    /// No answer: not connected, cut off, or too slow.
    Unreachable,
    /// What came is not what was asked for.
    Undecodable,
    /// What was asked for would not fit into the memory for cached objects.
    OverBudget,
    /// Any other answer.
    Other,
    /// Our own fault.
    Defect,
}

impl Class {
    /// The reason shown to users.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Self::Expired | Self::TooLarge => Reason::WatchExpired,
            Self::NotFound => Reason::KindNotFound,
            Self::Unauthorized => Reason::Unauthorized,
            Self::Forbidden => Reason::Forbidden,
            Self::Invalid => Reason::DocumentInvalid,
            Self::Undecodable => Reason::Undecodable,
            Self::OverBudget => Reason::CacheBudgetExceeded,
            Self::Defect => Reason::HostError,
            Self::TooManyRequests | Self::Internal | Self::Unreachable | Self::Other => Reason::ServerUnavailable,
        }
    }

    /// Is the answer definite, so that waiting longer tells nothing new?
    pub(crate) const fn refused(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Forbidden | Self::Invalid)
    }
}

/// A failed request or stream: its class, and a message that says what was asked and what
/// came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    pub(crate) message: Arc<str>,
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl fmt::Display) -> Self {
        Self { class, message: message.to_string().into() }
    }

    /// No usable answer to `what`.
    pub(crate) fn unreachable(what: &str, error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(Class::Unreachable, format_args!("{what}: {}", one_line(error)))
    }

    /// Reads the body of an answer that is no success.
    pub(crate) fn from_response(what: &str, code: u16, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_default();
        let class = status.class(code);
        let text = if status.message.is_empty() { printable(body) } else { status.message };
        Self::new(class, format_args!("{what}: HTTP {code}: {text}"))
    }

    /// Reads the Status object of an ERROR event.
    pub(crate) fn from_event(what: &str, object: &str) -> Self {
        let status: Status = serde_json::from_str(object).unwrap_or_default();
        let class = status.class(status.code);
        Self::new(class, format_args!("{what}: error event {}: {}", status.code, status.message))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The parts of `meta/v1 Status` that matter here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

impl Status {
    fn class(&self, code: u16) -> Class {
        if self.too_large(code) {
            return Class::TooLarge;
        }
        match (code, &*self.reason) {
            (410, _) | (_, "Expired" | "Gone") => Class::Expired,
            (429, _) => Class::TooManyRequests,
            (404, _) => Class::NotFound,
            (401, _) => Class::Unauthorized,
            (403, _) => Class::Forbidden,
            (400 | 405 | 422, _) => Class::Invalid,
            (500, _) | (0, "InternalError") => Class::Internal,
            _ => Class::Other,
        }
    }

    /// Servers have said "too large resource version" in three ways over the years.
    fn too_large(&self, code: u16) -> bool {
        const TEXT: &str = "Too large resource version";
        let causes = self.details.as_ref().map_or(&[][..], |details| &details.causes);
        let timeout = code == 504 || self.reason == "Timeout";
        causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || (timeout && (self.message.contains(TEXT) || causes.iter().any(|cause| cause.message.contains(TEXT))))
    }
}

/// The start of a body that is no Status, for a message.
fn printable(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..200).unwrap_or(body)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_by_code_and_reason() {
        for (code, body, want) in [
            (410, r#"{"kind":"Status","reason":"Expired","code":410}"#, Class::Expired),
            (410, "", Class::Expired),
            (200, r#"{"reason":"Expired"}"#, Class::Expired),
            (429, r#"{"reason":"TooManyRequests"}"#, Class::TooManyRequests),
            (404, "404 page not found", Class::NotFound),
            (401, "", Class::Unauthorized),
            (403, r#"{"reason":"Forbidden"}"#, Class::Forbidden),
            (400, r#"{"reason":"BadRequest"}"#, Class::Invalid),
            (405, "", Class::Invalid),
            (422, r#"{"reason":"Invalid"}"#, Class::Invalid),
            (500, r#"{"reason":"InternalError"}"#, Class::Internal),
            (503, "<html>", Class::Other),
            (504, r#"{"reason":"Timeout","message":"Timeout: request did not complete"}"#, Class::Other),
        ] {
            assert_eq!(Failure::from_response("list", code, body.as_bytes()).class, want, "{code} {body}");
        }
    }

    /// The cause's reason (since 1.19), the cause's message, the message alone.
    #[test]
    fn cr4_too_large_in_its_three_forms() {
        for body in [
            r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}"#,
            r#"{"code":504,"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
            r#"{"code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 9, current: 1"}"#,
        ] {
            assert_eq!(Failure::from_response("list", 504, body.as_bytes()).class, Class::TooLarge, "{body}");
            assert_eq!(Failure::from_event("watch", body).class, Class::TooLarge, "{body}");
        }
    }

    #[test]
    fn messages_say_what_and_why() {
        let failure =
            Failure::from_response("list v1 ConfigMap", 403, br#"{"code":403,"reason":"Forbidden","message":"configmaps is forbidden"}"#);
        assert_eq!(&*failure.message, "list v1 ConfigMap: HTTP 403: configmaps is forbidden");
        let failure = Failure::from_response("list v1 ConfigMap", 502, b"Bad Gateway\n");
        assert_eq!(&*failure.message, "list v1 ConfigMap: HTTP 502: Bad Gateway");
        let error = std::io::Error::other("refused");
        assert_eq!(&*Failure::unreachable("list", &error).message, "list: refused");
    }
}
