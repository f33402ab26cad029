//! Lists and watches over HTTP. Owns the requests' form and what is accepted as an answer,
//! under limits of time and size; never looks into an object and never retries.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use wharf_core::ResourceKind;

use crate::chunks::Chunks;
use crate::classify::{Class, Failure};
use crate::options::Options;
use crate::reflector::{ListRequest, WatchRequest, whole_seconds};
use crate::spec::{Content, InformerSpec};

/// Sends requests through kube's client.
#[derive(Clone)]
pub(crate) struct Source {
    client: Client,
    response_timeout: Duration,
}

/// The largest answer to a question about kinds.
const ANSWER_BYTES: usize = 32 << 20;
const JSON: &str = "application/json";

/// Of an answer that is an error, so much is read for its message.
const ERROR_BODY_BYTES: usize = 64 << 10;

impl Source {
    pub(crate) fn new(client: Client, options: &Options) -> Self {
        Self { client, response_timeout: options.response_timeout }
    }

    /// The body of one page of a list, in parts.
    pub(crate) async fn list(&self, what: &str, kind: &ResourceKind, spec: &InformerSpec, list: &ListRequest) -> Result<ListBody, Failure> {
        let mut query = Query::of(spec);
        query.add("limit", list.limit.map(|limit| limit.to_string()).as_deref());
        query.add("continue", list.token.as_deref());
        query.add("resourceVersion", list.resource_version.as_deref());
        // By itself a version with a limit asks for the state at just that version. A watch that is
        // too old from there would be too old again after each such list.
        let from = list.limit.is_some() && list.resource_version.as_deref().is_some_and(|version| version != "0");
        let matching = if list.exact { Some("Exact") } else { from.then_some("NotOlderThan") };
        query.add("resourceVersionMatch", matching);
        let body = self.open(what, &uri(kind, spec, &query)?, form(spec, true)).await?;
        Ok(ListBody { chunks: Chunks::read(body), timeout: self.response_timeout })
    }

    /// An open watch.
    pub(crate) async fn watch(
        &self,
        what: &str,
        kind: &ResourceKind,
        spec: &InformerSpec,
        watch: &WatchRequest,
    ) -> Result<Chunks, Failure> {
        let mut query = Query::of(spec);
        let initial = watch.initial.is_some();
        query.add("watch", Some("1"));
        query.add("allowWatchBookmarks", Some("true"));
        query.add("sendInitialEvents", initial.then_some("true"));
        query.add("resourceVersionMatch", initial.then_some("NotOlderThan"));
        // The newest state is asked for without a version; a plain watch always has one.
        query.add("resourceVersion", Some(&*watch.resource_version).filter(|version| !initial || !version.is_empty()));
        query.add("timeoutSeconds", Some(&whole_seconds(watch.timeout).to_string()));
        Ok(Chunks::read(self.open(what, &uri(kind, spec, &query)?, form(spec, false)).await?))
    }

    /// The whole body of a plain GET.
    pub(crate) async fn get(&self, what: &str, uri: &str) -> Result<Vec<u8>, Failure> {
        self.get_as(what, uri, JSON).await
    }

    /// The same in the first of some forms that the server has.
    pub(crate) async fn get_as(&self, what: &str, uri: &str, accept: &str) -> Result<Vec<u8>, Failure> {
        let body = self.open(what, uri, accept).await?;
        self.collect(what, body, ANSWER_BYTES).await
    }

    /// The body of a GET. Nothing compressed is asked for: servers from 1.37 on
    /// compress watches event by event, which decoders take for one stream that ends
    /// after the first; and a list is read faster than it is unpacked.
    async fn open(&self, what: &str, uri: &str, accept: &str) -> Result<Body, Failure> {
        let request = Request::get(uri).header(ACCEPT, accept).header(ACCEPT_ENCODING, "identity");
        let response = self.send(what, request).await?;
        match response.headers().get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
            None => Ok(response.into_body()),
            Some(encoding) => Err(Failure::new(
                Class::Undecodable,
                format_args!("{what}: the answer is compressed ({encoding:?}), which was not asked for"),
            )),
        }
    }

    /// Sends a request; an answer that is no success is a failure.
    async fn send(&self, what: &str, request: http::request::Builder) -> Result<Response<Body>, Failure> {
        let request = request.body(Body::empty()).map_err(|error| Failure::new(Class::Invalid, format_args!("{what}: {error}")))?;
        let response =
            in_time(what, self.response_timeout, self.client.send(request)).await?.map_err(|error| Failure::unreachable(what, &error))?;
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        // The code is known; a body that cannot be read only makes the message poorer.
        let body = self.collect(what, response.into_body(), ERROR_BODY_BYTES).await.unwrap_or_default();
        Err(Failure::from_response(what, code.as_u16(), &body))
    }

    async fn collect(&self, what: &str, mut body: Body, limit: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(frame) = in_time(what, self.response_timeout, body.frame()).await? {
            let frame = frame.map_err(|error| Failure::unreachable(what, &error))?;
            let Some(data) = frame.data_ref() else { continue };
            if bytes.len().saturating_add(data.len()) > limit {
                return Err(Failure::new(Class::Undecodable, format_args!("{what}: the answer has more than {limit} bytes")));
            }
            bytes.extend_from_slice(data);
        }
        Ok(bytes)
    }
}

/// The bytes of a page.
pub(crate) struct ListBody {
    chunks: Chunks,
    timeout: Duration,
}

impl ListBody {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// When they do not come in time, or the connection breaks.
    pub(crate) async fn next(&mut self, what: &str) -> Result<Option<Bytes>, Failure> {
        in_time(what, self.timeout, self.chunks.next()).await?.map_err(|error| Failure::unreachable(what, &error))
    }
}

async fn in_time<T>(what: &str, time: Duration, work: impl Future<Output = T>) -> Result<T, Failure> {
    let result = tokio::time::timeout(time, work).await;
    result.map_err(|_| Failure::new(Class::Unreachable, format_args!("{what}: no answer within {} s", time.as_secs())))
}

/// The form of what is asked for; a server that does not have it refuses.
const fn form(spec: &InformerSpec, list: bool) -> &'static str {
    match (spec.content, list) {
        (Content::Full | Content::Redacted, _) => JSON,
        (Content::Metadata, true) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        (Content::Metadata, false) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    }
}

fn uri(kind: &ResourceKind, spec: &InformerSpec, query: &Query) -> Result<String, Failure> {
    let namespace = spec.scope.namespace();
    if let Some(bad) = namespace.filter(|namespace| !is_segment(namespace)) {
        return Err(Failure::new(Class::Invalid, format_args!("{bad:?} is no name of a namespace")));
    }
    Ok(format!("{}{}", kind.path(namespace), query.0))
}

/// May this stand between two slashes of a path? True for all names of groups, versions,
/// resources and namespaces.
pub(crate) fn is_segment(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
}

/// A query string in the making.
struct Query(String);

impl Query {
    fn of(spec: &InformerSpec) -> Self {
        let mut query = Self(String::new());
        query.add("labelSelector", Some(&*spec.label_selector).filter(|text| !text.is_empty()));
        query.add("fieldSelector", Some(&*spec.field_selector).filter(|text| !text.is_empty()));
        query
    }

    fn add(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        self.0.push_str(name);
        self.0.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                self.0.push(char::from(byte));
            } else {
                self.0.push_str(&format!("%{byte:02X}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Scope;
    use wharf_core::Gvk;

    #[test]
    fn queries_are_escaped() {
        let mut spec = InformerSpec::new(Gvk::new("", "v1", "ConfigMap"), Scope::All);
        spec.label_selector = "a in (b,c),d!=e".into();
        let mut query = Query::of(&spec);
        query.add("continue", None);
        query.add("resourceVersion", Some("5"));
        assert_eq!(query.0, "?labelSelector=a%20in%20%28b%2Cc%29%2Cd%21%3De&resourceVersion=5");
    }

    #[test]
    fn namespaces_cannot_leave_their_place() {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true };
        for (namespace, ok) in [("team-a", true), ("", false), ("..", false), ("a/pods", false), ("a?x", false), ("a%2f", false)] {
            let spec = InformerSpec::new(kind.gvk.clone(), Scope::Namespace(namespace.into()));
            assert_eq!(uri(&kind, &spec, &Query::of(&spec)).is_ok(), ok, "{namespace}");
        }
    }
}
