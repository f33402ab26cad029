//! Guests that never come back: the call ends, and the next one is as if nothing had been.

use std::time::Duration;

use serde_json::json;
use wharf_core::Reason;

use super::error::ends;
use crate::conformance::case::{Call, Case, Text, Want, add};
use crate::conformance::language::Traits;

pub(crate) fn cases(traits: &Traits) -> Vec<Case> {
    let case = |name| Case::new("limit", name).memory(64 << 20);
    vec![
        case("recursion").calls(and_then(bad("recurse").want(ends(traits.recursion, Text::Has(Vec::new()))))),
        case("allocation").calls(and_then(bad("allocate").want(ends(traits.allocation, Text::Has(Vec::new()))))),
        case("computing")
            .cpu(Duration::from_millis(300))
            .calls(and_then(bad("spin").want(Want::Strike(Reason::CpuExceeded, Text::Has(Vec::new()))))),
    ]
}

fn bad(command: &str) -> Call {
    add(command, json!({})).any_lines()
}

/// Good, bad, good, bad, good.
fn and_then(bad: Call) -> [Call; 5] {
    let good = add("string", json!({"pointer": "/metadata/name"})).reports("x");
    [good.clone(), bad.clone(), good.clone(), bad, good]
}
