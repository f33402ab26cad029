//! docs/errors.md, which is made from the list of reasons. Tests only; see
//! `metrics::golden` for how to write it anew.

use std::fmt::Write;

use wharf_core::Reason;

use super::metrics::golden::compare;

const INTRODUCTION: &str = "\
# Errors

Every cause has one name. It is the same in a log line (`reason`), a metric label, an error message (`[GrantMissing]`), the status of
a plugin and here. A plugin may declare failure reasons of its own; they stand beside these in `wharf_guest_failures_total`.
";

#[test]
fn every_reason_is_documented() {
    let mut text = String::from(INTRODUCTION);
    for reason in Reason::ALL {
        let mut hint = reason.hint().to_owned();
        if let Some(first) = hint.get(..1) {
            let first = first.to_uppercase();
            hint.replace_range(..1, &first);
        }
        write!(text, "\n## {reason}\n\n{}\n\n*What to do:* {hint}.\n", reason.summary()).unwrap();
    }
    compare("../../docs/errors.md", &text);
}

#[test]
fn names_are_unique_words_and_texts_are_whole() {
    for (at, reason) in Reason::ALL.iter().enumerate() {
        let name = reason.as_str();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()) && name.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
        assert!(!Reason::ALL.iter().take(at).any(|earlier| earlier.as_str() == name), "{name} comes twice");
        assert!(reason.summary().ends_with('.') && !reason.hint().is_empty() && !reason.hint().ends_with('.'), "{name}");
    }
}
