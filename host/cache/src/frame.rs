//! Cuts a stream of bytes into lines. Owns the buffer and its limit; never looks into a
//! line.

use memchr::memchr;

/// Collects chunks and gives out complete lines.
#[derive(Debug)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// Up to where no newline was found yet.
    scanned: usize,
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
        Self { buffer: Vec::new(), start: 0, scanned: 0, limit }
    }

    /// Adds what came from the stream.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if self.start == self.buffer.len() && self.buffer.capacity() > Self::KEEP {
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..self.start);
        }
        self.scanned = self.scanned.saturating_sub(self.start);
        self.start = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete line without its end; `None` if more bytes are needed.
    ///
    /// # Errors
    /// When a line, complete or not, is longer than the limit. The stream is of no use
    /// after that.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        let rest = self.buffer.get(self.scanned..).unwrap_or_default();
        let end = memchr(b'\n', rest).map(|at| self.scanned + at);
        let length = end.unwrap_or(self.buffer.len()) - self.start;
        if length > self.limit {
            return Err(LineTooLong { limit: self.limit });
        }
        let Some(end) = end else {
            self.scanned = self.buffer.len();
            return Ok(None);
        };
        let begin = std::mem::replace(&mut self.start, end + 1);
        self.scanned = self.start;
        Ok(self.buffer.get(begin..end).map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// What stands after the last newline: the whole of a last line without one, or a
    /// line that was cut off.
    pub(crate) fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }
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
        framer.push(b"1234\n12");
        assert_eq!(framer.next_line().unwrap(), Some(&b"1234"[..]));
        assert_eq!(framer.next_line(), Ok(None));
        framer.push(b"345");
        assert_eq!(framer.next_line(), Err(LineTooLong { limit: 4 }));
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut framer = Framer::new(usize::MAX);
        framer.push(&vec![b'x'; 3 << 20]);
        framer.push(b"\n");
        assert_eq!(framer.next_line().unwrap().map(<[u8]>::len), Some(3 << 20));
        framer.push(b"y\n");
        assert!(framer.buffer.capacity() <= Framer::KEEP);
        assert_eq!(lines(&mut framer), ["y"]);
    }

    proptest! {
        /// However the text is cut into chunks, the lines are those of the text.
        #[test]
        fn chunks_do_not_matter(text in "[ab\r\n]{0,60}", cuts in proptest::collection::vec(1usize..9, 0..60)) {
            let (mut framer, mut got, mut rest) = (Framer::new(usize::MAX), Vec::new(), text.as_bytes());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (chunk, after) = rest.split_at(cut.min(rest.len()));
                framer.push(chunk);
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
