//! Why there is no connection, by what can be done about it. Owns the way from an error of a request
//! to the [`StartError`] that fits; never decides whether it is tried again.

use std::io;

use http::StatusCode;
use rustls::Error as TlsError;
use wharf_core::Reason;

use crate::app::StartError;

/// The server answered, and does not want who asked.
#[derive(Debug, thiserror::Error)]
#[error("the server refuses the credentials (GET /version answered {0})")]
pub(super) struct Refused(pub(super) StatusCode);

/// The error for what came of a request.
pub(super) fn of(error: anyhow::Error) -> StartError {
    if let Some(Refused(code)) = error.downcast_ref() {
        let reason = if *code == StatusCode::UNAUTHORIZED { Reason::Unauthorized } else { Reason::Forbidden };
        return StartError::Refused { reason, source: error };
    }
    // What a proxy's own certificate is checked against is another matter.
    let proxy = error.chain().any(|error| error.to_string().starts_with("tunnel error"));
    match tls(error.as_ref()) {
        Some(TlsError::InvalidCertificate(_)) if !proxy => StartError::Untrusted(error),
        _ => StartError::Unavailable(error),
    }
}

/// What TLS says, wherever it is: errors of IO hide what they hold from those who look for sources.
fn tls<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e TlsError> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match held {
        Some(held) => tls(held),
        None => tls(error.source()?),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn each_error_has_the_head_that_fits() {
        let certificate = || io::Error::other(io::Error::other(TlsError::InvalidCertificate(CertificateError::UnknownIssuer)));
        let heads = |error: anyhow::Error| {
            let error = of(error.context("no answer from one:1"));
            (error.to_string(), error.reason())
        };
        for (error, head, reason) in [
            (Refused(StatusCode::UNAUTHORIZED).into(), "refuses the credentials", Reason::Unauthorized),
            (Refused(StatusCode::FORBIDDEN).into(), "refuses the credentials", Reason::Forbidden),
            (certificate().into(), "is not trusted", Reason::ServerUnavailable),
            (Err::<(), _>(certificate()).context("tunnel error: x").unwrap_err(), "cannot be reached", Reason::ServerUnavailable),
            (io::Error::other("refused").into(), "cannot be reached", Reason::ServerUnavailable),
        ] {
            let said = heads(error);
            assert!(said.0.contains(head) && said.1 == reason, "{said:?}");
        }
    }
}
