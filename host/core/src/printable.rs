//! Text for terminals. Owns which characters are shown as escapes; never cuts.

/// Control characters and line separators escaped: some of what is printed comes from guests and
/// servers. Linear in the text.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_escaped_and_letters_stay() {
        assert_eq!(printable("a\u{1b}[2J\nü\u{2028}"), "a\\u{1b}[2J\\nü\\u{2028}");
    }
}
