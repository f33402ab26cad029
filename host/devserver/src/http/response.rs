//! Answers as HTTP has them: the body's type, the headers every answer has, Status as a body.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WARNING};
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;

use super::accept::Format;
use crate::status::Status;

/// The characters of all warnings together after which each is cut short.
const WARNINGS_LIMIT: usize = 4096;
/// The characters that a warning keeps then.
const WARNING_SHORT: usize = 256;

/// A chunk and what makes the next one; no next one at the end. An error breaks the connection.
pub(crate) type Step = (io::Result<Bytes>, Option<Box<dyn Source>>);

/// Makes the chunks of a streamed body, one after the other.
pub(crate) trait Source: Send {
    /// The next chunk; none at the end.
    fn step(self: Box<Self>) -> Pin<Box<dyn Future<Output = Option<Step>> + Send>>;
}

/// The body of an answer.
pub(crate) enum Outgoing {
    /// All of it.
    Full(Option<Bytes>),
    /// A chunk when there is one.
    Stream(Option<Pin<Box<dyn Future<Output = Option<Step>> + Send>>>),
}

impl Outgoing {
    /// A body that `source` makes.
    pub(crate) fn stream(source: Box<dyn Source>) -> Self {
        Self::Stream(Some(source.step()))
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(pending) => {
                let Some(future) = pending else { return Poll::Ready(None) };
                let Poll::Ready(step) = future.as_mut().poll(context) else { return Poll::Pending };
                let Some((chunk, next)) = step else {
                    *pending = None;
                    return Poll::Ready(None);
                };
                *pending = next.map(Source::step);
                Poll::Ready(Some(chunk.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Stream(pending) => pending.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer with a whole body.
pub(crate) fn full(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response<Outgoing> {
    with_body(code, content_type, Outgoing::Full(Some(body.into())))
}

/// An answer with any body.
pub(crate) fn with_body(code: u16, content_type: &'static str, body: Outgoing) -> Response<Outgoing> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// `text/plain`, as Go's server writes it.
pub(crate) fn text(code: u16, body: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = full(code, "text/plain; charset=utf-8", body);
    response.headers_mut().insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    response
}

/// A path outside of everything that is served.
pub(crate) fn page_not_found() -> Response<Outgoing> {
    text(404, "404 page not found\n")
}

/// A JSON value in the format that was negotiated.
pub(crate) fn value(code: u16, format: Format, pretty: bool, value: &Value) -> Response<Outgoing> {
    full(code, format.content_type(), encode(format, pretty, value))
}

/// A refusal as its Status.
pub(crate) fn status(status: &Status, format: Format, pretty: bool) -> Response<Outgoing> {
    let mut response = value(status.code, format, pretty, &status.to_json());
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Writes a value; JSON ends with a newline, as from Go's encoder.
pub(crate) fn encode(format: Format, pretty: bool, value: &Value) -> Vec<u8> {
    let text = match format {
        Format::Json if pretty => serde_json::to_vec_pretty(value),
        Format::Json => serde_json::to_vec(value),
        // JSON is YAML too, should a value ever not be writable.
        Format::Yaml => return serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string()).into_bytes(),
    };
    let mut text = text.unwrap_or_default();
    text.push(b'\n');
    text
}

/// Adds one header `Warning: 299 - "…"` per text. What cannot stand in a header is left out.
pub(crate) fn add_warnings(headers: &mut HeaderMap, warnings: &[String]) {
    let all: usize = warnings.iter().map(String::len).sum();
    let mut written = 0_usize;
    for warning in warnings {
        let text: String = if all > WARNINGS_LIMIT { warning.chars().take(WARNING_SHORT).collect() } else { warning.clone() };
        written = written.saturating_add(text.len());
        if written > WARNINGS_LIMIT {
            break;
        }
        if text.chars().any(char::is_control) {
            continue;
        }
        let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append(WARNING, value);
        }
    }
}

/// What every answer of the API says about caches, unless it said something itself.
pub(crate) fn never_cached(headers: &mut HeaderMap) {
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde_json::json;

    use super::{Format, add_warnings, encode, status};
    use crate::status::Status;

    #[test]
    fn escapes_warnings() {
        let mut headers = HeaderMap::new();
        add_warnings(&mut headers, &[r#"unknown field "foo\bar""#.to_owned(), "two\nlines".to_owned(), "ä".to_owned()]);
        let found: Vec<&[u8]> = headers.get_all("warning").iter().map(http::HeaderValue::as_bytes).collect();
        assert_eq!(found, [br#"299 - "unknown field \"foo\\bar\"""#.as_slice(), "299 - \"ä\"".as_bytes()]);
    }

    #[test]
    fn bounds_warnings() {
        let mut headers = HeaderMap::new();
        add_warnings(&mut headers, &vec!["x".repeat(1000); 100]);
        let found: Vec<usize> = headers.get_all("warning").iter().map(http::HeaderValue::len).collect();
        assert_eq!(found, vec![256 + 8; 16]);
    }

    #[test]
    fn a_status_says_when_to_come_back() {
        let response = status(&Status::new(429, "TooManyRequests", "slow down").retry_in(3), Format::Json, false);
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "3");
        assert_eq!(response.headers()["content-type"], "application/json");
    }

    #[test]
    fn yaml_keeps_what_older_readers_take_for_booleans() {
        let text = String::from_utf8(encode(
            Format::Yaml,
            false,
            &json!({"y": "yes", "n": "0x10", "a": "on", "b": "null", "c": 1, "d": ["1e3", ""]}),
        ))
        .unwrap();
        for line in [r#""y": "yes""#, r#""n": "0x10""#, r#"a: "on""#, r#"b: "null""#, "c: 1"] {
            assert!(text.lines().any(|got| got.replace('\'', "\"") == line), "{line} in {text}");
        }
    }
}
