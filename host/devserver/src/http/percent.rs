//! Percent decoding of paths and header names. Strict: what is no valid UTF-8 after decoding is refused, not replaced.

/// Decodes `%XX`. A plus stays a plus: this is for paths, not for queries.
pub(crate) fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = digit(bytes.next()?)?;
            let low = digit(bytes.next()?)?;
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Encodes a value for a query.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn decodes_strictly() {
        for (text, want) in [
            ("plain", Some("plain")),
            ("a%2Fb", Some("a/b")),
            ("%c3%A4", Some("ä")),
            ("a+b", Some("a+b")),
            ("%", None),
            ("%4", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn encodes_what_a_query_needs() {
        assert_eq!(encode("a=b&c ä"), "a%3Db%26c%20%C3%A4");
        assert_eq!(decode(&encode("x/y%z")).as_deref(), Some("x/y%z"));
    }
}
