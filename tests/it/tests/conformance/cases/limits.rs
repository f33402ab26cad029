//! Guests that never come back: the call ends, and the next one is as if nothing had been.

use std::time::Duration;

use serde_json::json;
use wharf_core::Reason;

use super::error::ends;
use crate::conformance::case::{Call, Case, Text, Want, add};
use crate::conformance::language::{Ending, Traits};

pub(crate) fn cases(traits: &Traits) -> Vec<Case> {
    let case = |name| Case::new("limit", name).memory(64 << 20);
    vec![
        case("recursion").calls(and_then(bad("recurse").want(ends(traits.recursion, names(traits.recursion, "RecursionError"))))),
        case("allocation").calls(and_then(bad("allocate").want(ends(traits.allocation, names(traits.allocation, "MemoryError"))))),
        case("computing")
            .cpu(Duration::from_millis(300))
            .calls(and_then(bad("spin").want(Want::Strike(Reason::CpuExceeded, Text::has("processor time"))))),
    ]
}

/// What ran out: in the host's words, or the language's own error where that is caught.
fn names(ending: Ending, error: &str) -> Text {
    Text::has(match ending {
        Ending::Strike(Reason::StackOverflow) => "stack",
        Ending::Strike(_) => "bytes of memory were asked for",
        Ending::Caught => error,
    })
}

fn bad(command: &str) -> Call {
    add(command, json!({})).any_lines()
}

/// Good, bad, good, bad, good.
fn and_then(bad: Call) -> [Call; 5] {
    let good = add("string", json!({"pointer": "/metadata/name"})).reports("x");
    [good.clone(), bad.clone(), good.clone(), bad, good]
}
