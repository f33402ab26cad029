//! Bodies while they pass. Owns how much of one is kept for the log, and that a watch is
//! logged event by event; hands every frame on as it came, in the moment it came.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Uri};
use http_body::{Body, Frame, SizeHint};

use super::mask;

/// A log line takes so much of a body at once, in bytes.
const PART: usize = 8 << 10;

/// A body that may be looked at.
pub(crate) struct LogBody<B> {
    body: B,
    tap: Option<Tap>,
}

impl<B> LogBody<B> {
    pub(super) fn plain(body: B) -> Self {
        Self { body, tap: None }
    }

    pub(super) fn tapped(body: B, tap: Tap) -> Self {
        Self { body, tap: Some(tap) }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for LogBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(tap), Some(data)) = (&mut self.tap, frame.data_ref()) {
                    tap.push(data);
                }
            }
            Poll::Ready(None | Some(Err(_))) => {
                if let Some(mut tap) = self.tap.take() {
                    tap.finish();
                }
            }
            Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        // Only a body that was read to its end has been logged.
        self.tap.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for LogBody<B> {
    fn drop(&mut self) {
        if let Some(mut tap) = self.tap.take() {
            tap.finish();
        }
    }
}

/// What is kept of a body, or of a line of one.
pub(super) struct Tap {
    message: &'static str,
    url: String,
    /// Most that is kept.
    limit: usize,
    kept: Vec<u8>,
    /// Bytes beyond that.
    cut: usize,
    /// Line by line, as a watch comes.
    lines: bool,
    json: bool,
    secrets: bool,
    /// Something was written, or there was nothing.
    done: bool,
}

impl Tap {
    pub(super) fn request(uri: &Uri, headers: &HeaderMap, limit: usize) -> Self {
        Self::new("request body", uri, headers, limit, false)
    }

    pub(super) fn response(uri: &Uri, headers: &HeaderMap, limit: usize) -> Self {
        let query = uri.query().unwrap_or_default();
        let watch = query.split('&').any(|pair| matches!(pair, "watch=1" | "watch=true" | "watch"));
        Self::new(if watch { "watch event" } else { "response body" }, uri, headers, limit, watch)
    }

    fn new(message: &'static str, uri: &Uri, headers: &HeaderMap, limit: usize, lines: bool) -> Self {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // Server-side apply is JSON too, whatever its type is called.
        let json = kind.contains("json") || kind.contains("apply-patch");
        let secrets = mask::leads_to_secrets(uri.path());
        Self { message, url: uri.to_string(), limit, kept: Vec::new(), cut: 0, lines, json, secrets, done: false }
    }

    /// Looks at more bytes.
    pub(super) fn push(&mut self, data: &[u8]) {
        if !self.lines {
            return self.keep(data);
        }
        let mut pieces = data.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.keep(piece);
            if pieces.peek().is_some() {
                self.write();
            }
        }
    }

    /// The body has ended, or nobody reads on.
    pub(super) fn finish(&mut self) {
        if !std::mem::replace(&mut self.done, true) {
            self.write();
        }
    }

    fn keep(&mut self, data: &[u8]) {
        let (kept, cut) = data.split_at_checked(self.limit - self.kept.len()).unwrap_or((data, &[]));
        self.kept.extend_from_slice(kept);
        self.cut += cut.len();
    }

    fn write(&mut self) {
        let (kept, cut) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.cut));
        if kept.is_empty() {
            return;
        }
        let (message, url) = (self.message, &self.url);
        if !self.json {
            let bytes = kept.len() + cut;
            tracing::trace!(target: "wharf::http::body", url, bytes, "{message} that is no JSON");
            return;
        }
        let text = mask::json(&String::from_utf8_lossy(&kept), self.secrets);
        let mut parts = parts(&text).enumerate().peekable();
        while let Some((i, body)) = parts.next() {
            let last = parts.peek().is_none();
            match (i, last, cut) {
                (0, true, 0) => tracing::trace!(target: "wharf::http::body", url, body, "{message}"),
                (_, true, 1..) => tracing::trace!(target: "wharf::http::body", url, part = i + 1, body, bytes_cut = cut, "{message}"),
                _ => tracing::trace!(target: "wharf::http::body", url, part = i + 1, body, "{message}"),
            }
        }
    }
}

/// A text in pieces of at most [`PART`] bytes, cut between characters.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at_checked(rest.floor_char_boundary(PART)).unwrap_or((rest, ""));
        rest = after;
        Some(part)
    })
}
