//! Regular expressions as Kubernetes' users write them, which is RE2's language. Owns what differs from the language of the
//! crate `regex`: `\d`, `\w`, `\s` and `\b` are ASCII, `\Q…\E`, and what is plain text in a class.

use regex::{Regex, RegexBuilder};

/// Bytes of a pattern, at most.
const MAX_BYTES: usize = 16 * 1024;
/// Bytes of a compiled pattern, at most.
const MAX_COMPILED: usize = 4 << 20;

/// Compiles a pattern. Matching is linear in the text, whatever the pattern.
///
/// # Errors
/// Why it is none.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_BYTES {
        return Err(format!("error parsing regexp: expression too large: {} bytes", pattern.len()));
    }
    let built = RegexBuilder::new(&translate(pattern)).size_limit(MAX_COMPILED).nest_limit(100).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "error parsing regexp: expression too large".to_owned(),
        // The last line says what is wrong; those before point into the translated text.
        other => {
            format!("error parsing regexp: {}: `{pattern}`", other.to_string().lines().last().unwrap_or("").trim_start_matches("error: "))
        }
    })
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len().saturating_add(16));
    let mut characters = pattern.chars().peekable();
    // Inside of `[…]`, and whether a `]` would still be a plain one.
    let (mut in_class, mut at_start) = (false, false);
    while let Some(one) = characters.next() {
        let first = std::mem::replace(&mut at_start, false);
        match one {
            '\\' => match characters.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
                Some('b') if !in_class => out.push_str("(?-u:\\b)"),
                Some('Q') if !in_class => quote(&mut characters, &mut out),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                (in_class, at_start) = (true, true);
                out.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            // `[:alpha:]` is a class in a class; any other bracket there is plain.
            '[' if characters.peek() != Some(&':') => out.push_str("\\["),
            '[' => {
                out.push('[');
                for inner in characters.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            ']' if in_class && first => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', one]),
            other => out.push(other),
        }
    }
    out
}

/// Copies plain text up to `\E`.
fn quote(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(one) = characters.next() {
        if one == '\\' && characters.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(one.encode_utf8(&mut [0; 4])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_re2() {
        for (pattern, text, want) in [
            ("^a+$", "aaa", true),
            ("b", "abc", true),
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\w.]+$", "a_1.b", true),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^\S+$", "a b", false),
            (r"\bfoo\b", "a foo b", true),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"^\Qa.b\E$", "axb", false),
            ("^[[a]+$", "[a[", true),
            ("^[]a]+$", "]a", true),
            ("^[^]]$", "]", false),
            ("^[[:alpha:]]+$", "ab", true),
            ("^[a&&b]+$", "a&b", true),
            ("^(?i)AB$", "ab", true),
            ("^.$", "ä", true),
        ] {
            assert_eq!(compile(pattern).map(|regex| regex.is_match(text)), Ok(want), "{pattern} on {text}");
        }
        for pattern in ["(", "a**(", "[", "(?=a)", r"(a)\1", r"\", "((((a{1000}){1000}){1000}){1000})"] {
            let refused = compile(pattern).unwrap_err();
            assert!(refused.starts_with("error parsing regexp: "), "{pattern}: {refused}");
        }
    }
}
