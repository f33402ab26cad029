//! The words of a label selector, split as apimachinery's lexer does it, so that the errors name the same word.
//!
//! Knows no grammar.

/// A kind of word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
    /// Signs that are no operator.
    Error,
    End,
}

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) text: String,
}

/// All words, the last of which is the end.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    // A NUL ends the text: that is how the real lexer sees its end.
    let mut rest = text.split('\0').next().unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(is_space);
        let Some(first) = rest.chars().next() else {
            words.push(Word { token: Token::End, text: String::new() });
            return words;
        };
        let (word, left) = if is_sign(first) { sign(rest) } else { identifier(rest) };
        words.push(word);
        rest = left;
    }
}

fn identifier(rest: &str) -> (Word, &str) {
    let end = rest.find(|c| is_sign(c) || is_space(c)).unwrap_or(rest.len());
    let (text, left) = rest.split_at(end);
    let token = match text {
        "in" => Token::In,
        "notin" => Token::NotIn,
        _ => Token::Identifier,
    };
    (Word { token, text: text.to_owned() }, left)
}

/// The longest run of signs that is an operator: signs are added until they are one and with the next are none.
fn sign(rest: &str) -> (Word, &str) {
    let mut found = None;
    let run = rest.find(|c| !is_sign(c)).unwrap_or(rest.len());
    for end in 1..=run {
        let (text, left) = rest.split_at(end);
        match operator(text) {
            Some(token) => found = Some((Word { token, text: text.to_owned() }, left)),
            None if found.is_some() => break,
            None => {}
        }
    }
    found.unwrap_or_else(|| {
        let (text, left) = rest.split_at(run);
        (Word { token: Token::Error, text: format!("error expected: keyword found '{text}'") }, left)
    })
}

fn operator(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "(" => Token::Open,
        _ => return None,
    })
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// All signs are ASCII, so that a run of them can be split anywhere.
fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_the_real_lexer_does() {
        for (text, expected) in [
            ("", vec![(Token::End, "")]),
            ("a==b", vec![(Token::Identifier, "a"), (Token::DoubleEquals, "=="), (Token::Identifier, "b"), (Token::End, "")]),
            (
                "a===b",
                vec![
                    (Token::Identifier, "a"),
                    (Token::DoubleEquals, "=="),
                    (Token::Equals, "="),
                    (Token::Identifier, "b"),
                    (Token::End, ""),
                ],
            ),
            ("in notin", vec![(Token::In, "in"), (Token::NotIn, "notin"), (Token::End, "")]),
            (
                "\t!é(),",
                vec![
                    (Token::Not, "!"),
                    (Token::Identifier, "é"),
                    (Token::Open, "("),
                    (Token::Close, ")"),
                    (Token::Comma, ","),
                    (Token::End, ""),
                ],
            ),
            ("a\0b", vec![(Token::Identifier, "a"), (Token::End, "")]),
            ("!!=", vec![(Token::Not, "!"), (Token::NotEquals, "!="), (Token::End, "")]),
            ("=<", vec![(Token::Equals, "="), (Token::Less, "<"), (Token::End, "")]),
        ] {
            let found: Vec<(Token, String)> = words(text).into_iter().map(|word| (word.token, word.text)).collect();
            let expected: Vec<(Token, String)> = expected.into_iter().map(|(token, text)| (token, text.to_owned())).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
