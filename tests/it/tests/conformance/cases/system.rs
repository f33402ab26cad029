//! Time and randomness, from the host and by the language's own means.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::conformance::case::{Call, Case, add};

/// How far the guest's clock may be from this process's, in seconds: calls wait on busy
/// machines.
const APART: f64 = 120.0;

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("system", name);
    vec![
        case("now").call(add("now", json!({})).holds("now", is_now)),
        case("native-now").call(add("native-now", json!({})).holds("now", is_now)),
        case("random").calls([
            random(0).reports(""),
            random(1).holds("a byte in hex", |said| is_hex(said, 1)),
            random(16).holds("16 bytes in hex", |said| is_hex(said, 16)),
            random(64).holds("64 bytes in hex", |said| is_hex(said, 64)),
            random(65).reports(65),
            random(65_536).reports(65_536),
        ]),
        case("random-has-an-end").call(random(70_000).reports(65_536)),
        case("random-differs").calls((0..5).map(|_| random(16).distinct())),
        // An instance starts as a copy of a built one, so what a language seeds at build
        // time would be the same in all of them.
        case("native-random-differs-between-instances").fresh().calls((0..5).map(|_| add("native-random", json!({})).distinct())),
        case("native-random-differs-within-one").call(
            add("native-random", json!({}))
                .holds("two that differ", |said| matches!(said.as_array().map(Vec::as_slice), Some([a, b]) if a != b)),
        ),
    ]
}

fn random(len: u32) -> Call {
    add("random", json!({"len": len}))
}

fn is_now(said: &Value) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    said.as_f64().is_some_and(|said| (said - now.as_secs_f64()).abs() < APART)
}

fn is_hex(said: &Value, bytes: usize) -> bool {
    said.as_str().is_some_and(|text| text.len() == 2 * bytes && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}
