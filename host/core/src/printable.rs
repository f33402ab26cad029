//! Text for terminals. Owns which characters are shown as escapes; never cuts.

/// Control characters, line separators, and what changes the direction of text or is not to be seen, escaped: some of what
/// is printed comes from guests and servers. Linear in the text.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| print(c, &mut out));
    out
}

/// The same for one character.
pub fn print(c: char, out: &mut String) {
    if is_deceptive(c) {
        out.extend(c.escape_default());
    } else {
        out.push(c);
    }
}

/// Would a reader see something else than what stands there?
fn is_deceptive(c: char) -> bool {
    // ASCII first: that is most of it. Joiners (U+200C and U+200D) stay: words of some scripts, and pictures, are made with them.
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_escaped_and_letters_stay() {
        assert_eq!(printable("a\u{1b}[2J\nü\u{2028}"), "a\\u{1b}[2J\\nü\\u{2028}");
    }

    #[test]
    fn what_turns_text_round_or_hides_is_escaped() {
        assert_eq!(
            printable("no\u{202e}sey\u{2066}\u{200b}\u{feff} ‘é’ 日本 😀 👨\u{200d}👩"),
            "no\\u{202e}sey\\u{2066}\\u{200b}\\u{feff} ‘é’ 日本 😀 👨\u{200d}👩"
        );
    }
}
