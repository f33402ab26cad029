//! What fuzzers feed: each function takes bytes as guests and strangers may hand them, in the form of its seeds in
//! `tests/fuzz/seeds`, and must neither panic nor hang, whatever they are. No part of the API. Owns what a good outcome is; makes
//! no input.

use serde_json::Value;

use crate::Pointer;
use crate::plugin::read_description;

/// What `describe` answers. What is accepted keeps its caps, what is refused has problems that can be shown.
pub fn description(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match read_description(&text) {
        Ok(description) => {
            for line in [&description.name, &description.version] {
                assert!(!line.is_empty() && line.chars().count() <= 128 && printable(line), "{line:?}");
            }
            assert!(description.reasons.len() <= 16 && description.subscribe.len() <= 32, "too much of it");
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "it is refused without a reason");
            for problem in problems {
                assert!(printable(&problem.message) && printable(&problem.hint), "{problem:?}");
                assert!(problem.message.len() <= 4096, "{} bytes", problem.message.len());
            }
        }
    }
}

/// A document, then pointers, one a line. What is found is what the tree has there.
pub fn pointers(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (document, pointers) = text.split_once("\n---\n").unwrap_or((&text, &text));
    let tree = serde_json::from_str::<Value>(document).ok();
    // Without names that are there twice.
    let plain = tree.as_ref().map(Value::to_string);
    for line in pointers.split('\n').take(64) {
        let Ok(pointer) = Pointer::parse(line) else { continue };
        assert_eq!(pointer.to_string(), line, "a pointer is written as it was");
        let found = pointer.lookup(document);
        let Some((tree, plain)) = tree.as_ref().zip(plain.as_ref()) else { continue };
        if let Some(found) = found {
            assert!(serde_json::from_str::<Value>(found).is_ok(), "{line:?} finds {found:?}");
        }
        let expected = tree.pointer(line).map(Value::to_string);
        assert_eq!(pointer.lookup(plain), expected.as_deref(), "{line:?} in {plain}");
    }
}

fn printable(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}
