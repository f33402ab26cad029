//! Requests to the API server in the name of one identity.
//!
//! Owns URLs, impersonation, size limits and the translation of the server's answers into
//! the contract's errors. Never decides whether a plugin may do something: the grant was
//! checked before, the cluster's own RBAC decides after.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::Deserialize;
use wharf_cache::{DiscoveryError, Informers};
use wharf_core::{Gvk, ResourceKind};
use wharf_engine::ApiError;

use super::rate::Rate;
use crate::lease::Tenure;

/// The largest answer that is read, in bytes. The API server itself stores 1.5 MB per
/// object; a page of a list may be larger.
const MAX_ANSWER: usize = 32 << 20;
/// A request that gets no answer for so long is given up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// In whose name a request is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The host's own account.
    Host,
    /// A ServiceAccount, by impersonation: `system:serviceaccount:NAMESPACE:NAME`.
    ServiceAccount(Arc<str>),
}

impl Identity {
    /// The identity of a plugin in a namespace.
    pub fn of(namespace: &str, service_account: Option<&str>) -> Self {
        match service_account {
            Some(name) => Self::ServiceAccount(format!("system:serviceaccount:{namespace}:{name}").into()),
            None => Self::Host,
        }
    }
}

/// The API server, for one identity.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    informers: Informers,
    identity: Identity,
    tenure: Tenure,
    rate: Option<Arc<Rate>>,
}

/// One request, apart from where it goes.
pub struct Call<'a> {
    /// HTTP method.
    pub method: Method,
    /// Path below the server's root, from [`Api::path`].
    pub path: String,
    /// Query parameters; values are escaped here.
    pub query: Vec<(&'a str, String)>,
    /// Body and its content type.
    pub body: Option<(&'static str, Vec<u8>)>,
}

impl Api {
    /// The API server for one identity.
    pub fn new(client: kube::Client, informers: Informers, identity: Identity) -> Self {
        Self { client, informers, identity, tenure: Tenure::always(), rate: None }
    }

    /// The same server, to which nothing is written when this host leads no more.
    #[must_use]
    pub fn within(self, tenure: Tenure) -> Self {
        Self { tenure, ..self }
    }

    /// The same server for another identity.
    #[must_use]
    pub fn with_identity(&self, identity: Identity) -> Self {
        Self { identity, ..self.clone() }
    }

    /// The same server, asked no more often than that.
    #[must_use]
    pub(super) fn at_the_rate(self, rate: Arc<Rate>) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Finds a kind on the server (cached).
    ///
    /// # Errors
    /// `Invalid` if there is no such kind.
    pub async fn resolve(&self, kind: &Gvk) -> Result<ResourceKind, ApiError> {
        self.informers.discovery().resolve(kind).await.map_err(|error| match error {
            DiscoveryError::NotFound { .. } => ApiError::Invalid(format!("the API server has no kind {kind}")),
            DiscoveryError::Unauthorized { .. } | DiscoveryError::Forbidden { .. } => ApiError::Forbidden(error.to_string()),
            DiscoveryError::Unavailable { .. } => ApiError::Unavailable(error.to_string()),
        })
    }

    /// The path of a collection, an object, or a subresource.
    ///
    /// # Errors
    /// `Invalid` for names that would change the path.
    pub fn path(kind: &ResourceKind, namespace: Option<&str>, name: Option<&str>, subresource: Option<&str>) -> Result<String, ApiError> {
        for segment in [namespace, name, subresource].into_iter().flatten() {
            check_segment(segment)?;
        }
        let mut path = kind.path(namespace);
        for segment in [name, subresource].into_iter().flatten() {
            path.push('/');
            path.push_str(segment);
        }
        Ok(path)
    }

    /// Sends a request and reads the answer's JSON text.
    ///
    /// # Errors
    /// What the server said, in the contract's words. Cancel safe, but a write may have
    /// been carried out when the future is dropped.
    pub async fn send(&self, call: Call<'_>) -> Result<String, ApiError> {
        if let Some(rate) = &self.rate {
            tokio::time::sleep(rate.turn().map_err(ApiError::Throttled)?).await;
        }
        match tokio::time::timeout(TIMEOUT, self.exchange(call)).await {
            Ok(answer) => answer,
            Err(_) => Err(ApiError::Unavailable(format!("no answer within {} s", TIMEOUT.as_secs()))),
        }
    }

    async fn exchange(&self, call: Call<'_>) -> Result<String, ApiError> {
        if call.method != Method::GET && !self.tenure.may_act() {
            return Err(ApiError::Unavailable("this host leads no more, another one may".to_owned()));
        }
        let request = self.request(call)?;
        let response = self.client.send(request).await.map_err(|error| ApiError::Unavailable(error.to_string()))?;
        let code = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body: Bytes = body.map_err(|error| unread(error.as_ref()))?.to_bytes();
        // No copy of what is text, as it should be.
        let text = String::from_utf8(body.into()).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if code.is_success() { Ok(text) } else { Err(refused(code, retry_after, &text)) }
    }

    fn request(&self, call: Call<'_>) -> Result<Request<Body>, ApiError> {
        let mut target = call.path;
        for (i, (name, value)) in call.query.iter().enumerate() {
            target.push(if i == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.extend(escape(value));
        }
        let mut request = Request::builder().method(call.method).uri(target).header(ACCEPT, "application/json");
        if let Identity::ServiceAccount(user) = &self.identity {
            // The server adds the groups of a ServiceAccount by itself when none are given.
            request = request.header("Impersonate-User", &**user);
        }
        let body = match call.body {
            Some((content_type, body)) => {
                request = request.header(CONTENT_TYPE, content_type);
                Body::from(body)
            }
            None => Body::empty(),
        };
        request.body(body).map_err(|error| ApiError::Invalid(error.to_string()))
    }
}

fn refused(code: StatusCode, retry_after: Option<u64>, text: &str) -> ApiError {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Status {
        message: String,
        reason: String,
    }
    let status = serde_json::from_str::<Status>(text).unwrap_or_default();
    let message = if status.message.is_empty() { format!("the API server answered {code}") } else { status.message };
    match code {
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ApiError::Forbidden(message),
        StatusCode::NOT_FOUND => ApiError::NotFound,
        StatusCode::CONFLICT if status.reason == "AlreadyExists" => ApiError::AlreadyExists,
        StatusCode::CONFLICT => ApiError::Conflict(message),
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooLarge,
        StatusCode::TOO_MANY_REQUESTS => ApiError::Throttled(Duration::from_secs(retry_after.unwrap_or(1))),
        code if code.is_client_error() => ApiError::Invalid(message),
        _ => ApiError::Unavailable(message),
    }
}

fn unread(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
    if error.is::<http_body_util::LengthLimitError>() { ApiError::TooLarge } else { ApiError::Unavailable(error.to_string()) }
}

/// A name that goes into a path as it is: no slash, no escape, not `.` or `..`.
fn check_segment(segment: &str) -> Result<(), ApiError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:~".contains(c);
    if segment.is_empty() || segment.len() > 253 || matches!(segment, "." | "..") || !segment.chars().all(plain) {
        return Err(ApiError::Invalid(format!("{segment:?} is no name of an object")));
    }
    Ok(())
}

/// Percent-encoding of a query value.
fn escape(value: &str) -> impl Iterator<Item = char> + '_ {
    value.bytes().flat_map(|byte| {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0').to_ascii_uppercase();
        let chars = if plain { [Some(char::from(byte)), None, None] } else { [Some('%'), Some(digit(byte >> 4)), Some(digit(byte & 15))] };
        chars.into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_change_the_path_are_refused() {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true };
        for bad in ["", ".", "..", "a/b", "a?b", "a%2fb", "a b", "ä"] {
            assert!(matches!(Api::path(&kind, Some("ns"), Some(bad), None), Err(ApiError::Invalid(_))), "{bad}");
        }
        assert_eq!(Api::path(&kind, Some("ns"), Some("a.b"), Some("status")).unwrap(), "/api/v1/namespaces/ns/configmaps/a.b/status");
    }

    #[test]
    fn query_values_are_escaped() {
        assert_eq!(escape("a=b,c in (d)&é").collect::<String>(), "a%3Db%2Cc%20in%20%28d%29%26%C3%A9");
    }

    #[test]
    fn identities() {
        assert_eq!(Identity::of("team-a", Some("x")), Identity::ServiceAccount("system:serviceaccount:team-a:x".into()));
        assert_eq!(Identity::of("team-a", None), Identity::Host);
    }
}
