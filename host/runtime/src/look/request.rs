//! Plain GETs beside the cache. Owns how an answer that is no success becomes an error.

use std::time::Duration;

use http::header::{ACCEPT, ACCEPT_ENCODING};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;
use wharf_core::one_line;

use super::Ask;
use super::failure::LookError;

/// The head of an answer may take so long; what follows is the reader's business.
const ANSWER: Duration = Duration::from_secs(60);
/// Of an answer that is an error, so much is read, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// What came back.
pub(super) enum Answer {
    /// Success.
    Body(Body),
    /// 406 and 410: not in that form, or not any more.
    Unsuitable,
}

/// Asks for a path. `what` begins all messages.
///
/// # Errors
/// The server refuses, or does not answer.
pub(super) async fn get(client: &kube::Client, what: &str, uri: &str, accept: &str) -> Result<Answer, LookError> {
    let unavailable = |error: &dyn std::fmt::Display| LookError::Unavailable(format!("{what}: {error}").into());
    let request = Request::get(uri).header(ACCEPT, accept).header(ACCEPT_ENCODING, "identity");
    let request = request.body(Body::empty()).map_err(|error| LookError::Refused(format!("{what}: {error}").into()))?;
    let response = timeout(ANSWER, client.send(request)).await.map_err(|_| unavailable(&"no answer within 60 s"))?;
    let response = response.map_err(|error| unavailable(&one_line(&error)))?;
    let code = response.status();
    if code.is_success() {
        return Ok(Answer::Body(response.into_body()));
    }
    if matches!(code, StatusCode::NOT_ACCEPTABLE | StatusCode::GONE) {
        return Ok(Answer::Unsuitable);
    }
    // The code says enough if the rest cannot be read.
    let body = timeout(ANSWER, Limited::new(response.into_body(), MAX_ERROR).collect()).await.ok().and_then(Result::ok);
    let status: Value = body.and_then(|body| serde_json::from_slice(&body.to_bytes()).ok()).unwrap_or_default();
    let words = status.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
    let message = format!("{what}: HTTP {}: {words}", code.as_u16()).into();
    Err(match code.as_u16() {
        401 => LookError::Unauthorized(message),
        403 => LookError::Forbidden(message),
        404 => LookError::Gone(message),
        429 | 500.. => LookError::Unavailable(message),
        _ => LookError::Refused(message),
    })
}

/// The collection's path with these parameters, less the empty ones, and the selectors.
pub(super) fn uri(ask: &Ask, parameters: &[(&str, &str)]) -> String {
    let selectors = [("labelSelector", ask.label_selector.as_str()), ("fieldSelector", ask.field_selector.as_str())];
    let mut uri = ask.kind.path(ask.namespace.as_deref());
    let mut sign = '?';
    for (name, value) in parameters.iter().copied().chain(selectors).filter(|(_, value)| !value.is_empty()) {
        uri.push(std::mem::replace(&mut sign, '&'));
        uri.push_str(&format!("{name}="));
        uri.extend(value.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        }));
    }
    uri
}

#[cfg(test)]
mod tests {
    use wharf_core::{Gvk, ResourceKind};

    use super::*;

    #[test]
    fn selectors_are_escaped() {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true };
        let ask = Ask { kind, namespace: Some("a".to_owned()), label_selector: "a in (b,c)".to_owned(), field_selector: String::new() };
        let want = "/api/v1/namespaces/a/configmaps?watch=1&labelSelector=a%20in%20%28b%2Cc%29";
        assert_eq!(uri(&ask, &[("watch", "1"), ("continue", "")]), want);
    }
}
