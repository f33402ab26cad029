//! Finds the end of a JSON value in a text that comes in pieces. Owns the nesting; never
//! validates: what it finds is parsed by somebody else.

use memchr::memchr2;

/// The state of the search; begins at a value's first byte.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    depth: usize,
    /// Within a string.
    string: bool,
    /// The byte before was a backslash that counts.
    escaped: bool,
}

impl Scan {
    /// Goes on with the next piece: how many of its bytes belong to the value, and whether
    /// the value ends with them. Cost: each byte once, strings by memchr.
    pub(crate) fn run(&mut self, piece: &[u8]) -> (usize, bool) {
        let mut rest = piece;
        let used = |rest: &[u8]| piece.len() - rest.len();
        loop {
            if self.escaped {
                let Some((_, after)) = rest.split_first() else { break };
                (self.escaped, rest) = (false, after);
            }
            if self.string {
                let Some(at) = memchr2(b'"', b'\\', rest) else { break };
                let Some((&byte, after)) = rest.get(at..).and_then(<[u8]>::split_first) else { break };
                rest = after;
                if byte == b'\\' {
                    self.escaped = true;
                    continue;
                }
                self.string = false;
                if self.depth == 0 {
                    return (used(rest), true);
                }
            }
            let next = if self.depth == 0 {
                // A number or a word ends where something else begins.
                rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']' | b',') || byte.is_ascii_whitespace())
            } else {
                rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'))
            };
            let Some((&byte, after)) = next.and_then(|at| rest.get(at..)).and_then(<[u8]>::split_first) else { break };
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (used(after), true);
                    }
                }
                // The end of a number or a word; the byte belongs to what is around it.
                _ => return (used(after).saturating_sub(1), true),
            }
            rest = after;
        }
        (piece.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// However it is cut, a value ends where it ends.
    #[test]
    fn values_end_where_they_end() {
        for (text, length) in [
            (r#"{"a":[1,{"}":"]"}]},"#, 19),
            (r#""a\"b\\","#, 8),
            ("12,3", 2),
            ("null]", 4),
            ("true }", 4),
            ("[]]", 2),
            (r#"{"\\":"\\\""}}"#, 13),
        ] {
            for cut in 0..=text.len() {
                let mut scan = Scan::default();
                let (first, done) = scan.run(&text.as_bytes()[..cut]);
                let used = if done { first } else { cut + scan.run(&text.as_bytes()[cut..]).0 };
                assert_eq!(used, length, "{text} cut at {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn junk_never_panics(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let (used, _) = Scan::default().run(&text);
            prop_assert!(used <= text.len());
        }
    }
}
