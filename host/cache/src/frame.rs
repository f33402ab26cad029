//! Cuts a stream of bytes into lines. Owns what came of a line whose end has not come, and its
//! limit; never looks into a line, and copies only those that came in several chunks.

use bytes::Bytes;
use memchr::memchr;

/// Takes chunks and gives out complete lines.
#[derive(Debug)]
pub(crate) struct Framer {
    chunk: Bytes,
    /// Where the next line begins, or goes on, in the chunk.
    at: usize,
    /// The beginning of a line that goes on in the chunk.
    begun: Vec<u8>,
    /// The line that begun there was given out.
    spent: bool,
    limit: usize,
}

/// A line is longer than is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the watch has more than {limit} bytes")]
pub(crate) struct LineTooLong {
    limit: usize,
}

impl Framer {
    /// A buffer larger than this is given back once it is empty: one huge object must not
    /// keep its memory for the life of a watch.
    const KEEP: usize = 1 << 20;

    /// A framer for lines of at most `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { chunk: Bytes::new(), at: 0, begun: Vec::new(), spent: false, limit }
    }

    /// Takes what came from the stream, after [`next_line`](Self::next_line) had no more.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "there may be lines in the chunk before");
        (self.chunk, self.at) = (chunk, 0);
    }

    /// The next complete line without its end; `None` if more bytes are needed.
    ///
    /// # Errors
    /// When a line, complete or not, is longer than the limit. The stream is of no use
    /// after that.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        if std::mem::take(&mut self.spent) {
            self.begun.clear();
            if self.begun.capacity() > Self::KEEP {
                self.begun = Vec::new();
            }
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let end = memchr(b'\n', rest);
        let part = end.unwrap_or(rest.len());
        if self.begun.len().saturating_add(part) > self.limit {
            return Err(LineTooLong { limit: self.limit });
        }
        if end.is_some() && self.begun.is_empty() {
            let line = self.at..self.at + part;
            self.at += part + 1;
            return Ok(self.chunk.get(line).map(ended));
        }
        self.begun.extend_from_slice(rest.get(..part).unwrap_or_default());
        if end.is_none() {
            (self.chunk, self.at) = (Bytes::new(), 0);
            return Ok(None);
        }
        self.at += part + 1;
        self.spent = true;
        Ok(Some(ended(&self.begun)))
    }

    /// What stands after the last newline: the whole of a last line without one, or a
    /// line that was cut off.
    pub(crate) fn rest(&self) -> &[u8] {
        if self.spent { &[] } else { &self.begun }
    }
}

/// A line without the first half of an end in two bytes.
fn ended(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(framer: &mut Framer) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(line) = framer.next_line().unwrap() {
            out.push(String::from_utf8(line.to_vec()).unwrap());
        }
        out
    }

    #[test]
    fn a_long_line_is_refused_before_its_end_comes() {
        let mut framer = Framer::new(4);
        framer.push(Bytes::from_static(b"1234\n12"));
        assert_eq!(framer.next_line().unwrap(), Some(&b"1234"[..]));
        assert_eq!(framer.next_line(), Ok(None));
        framer.push(Bytes::from_static(b"345"));
        assert_eq!(framer.next_line(), Err(LineTooLong { limit: 4 }));
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut framer = Framer::new(usize::MAX);
        framer.push(Bytes::from(vec![b'x'; 3 << 20]));
        assert_eq!(framer.next_line(), Ok(None));
        framer.push(Bytes::from_static(b"\n"));
        assert_eq!(framer.next_line().unwrap().map(<[u8]>::len), Some(3 << 20));
        assert_eq!(framer.next_line(), Ok(None));
        framer.push(Bytes::from_static(b"y\n"));
        assert!(framer.begun.capacity() <= Framer::KEEP);
        assert_eq!(lines(&mut framer), ["y"]);
    }

    proptest! {
        /// However the text is cut into chunks, the lines are those of the text.
        #[test]
        fn chunks_do_not_matter(text in "[ab\r\n]{0,60}", cuts in proptest::collection::vec(1usize..9, 0..60)) {
            let (mut framer, mut got, mut rest) = (Framer::new(usize::MAX), Vec::new(), text.as_bytes());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (chunk, after) = rest.split_at(cut.min(rest.len()));
                framer.push(Bytes::copy_from_slice(chunk));
                got.extend(lines(&mut framer));
                rest = after;
            }
            let mut want: Vec<&str> = text.split('\n').collect();
            let last = want.pop().unwrap();
            let want: Vec<_> = want.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
            prop_assert_eq!(got, want);
            prop_assert_eq!(framer.rest(), last.as_bytes());
        }
    }
}
