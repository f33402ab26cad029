//! Typed reads: what each type takes, and the error where the object has another one.

use serde_json::{Value, json};

use crate::conformance::case::{Call, Case, Text, Want, add_with};
use crate::conformance::language::{Integers, Traits};

const TYPES: [&str; 5] = ["string", "integer", "number", "boolean", "strings"];

pub(crate) fn cases(traits: &Traits) -> Vec<Case> {
    let case = |name| Case::new("typed", name);
    let exact = traits.integers != Integers::Doubles;
    vec![
        case("string").calls([read("string", r#""a b""#, json!("a b")), read("string", r#""""#, json!(""))]),
        case("integer").calls(["0", "1", "-1", "2147483648", "-2147483649", "9007199254740991", "-9007199254740991"].map(|n| {
            let value: i64 = n.parse().unwrap_or_default();
            read("integer", n, value.into())
        })),
        case("integer-of-64-bits").calls([i64::MAX, i64::MIN, 9_007_199_254_740_993].map(|n| {
            let value = if exact { Value::from(n) } else { rounded(n) };
            read("integer", &n.to_string(), value)
        })),
        case("integer-too-large").call(match traits.integers {
            Integers::Bits64 => refused("integer", "9223372036854775808"),
            Integers::Any => read("integer", "9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
            Integers::Doubles => read("integer", "9223372036854775808", json!(9_223_372_036_854_775_808.0)),
        }),
        case("integer-with-a-fraction").calls(["1.5", "1.0", "-3.0"].map(|value| refused("integer", value))),
        case("integer-with-an-exponent").calls(["1e3", "1E0", "10e-1"].map(|value| refused("integer", value))),
        case("number").calls(["0.1", "1e308", "-1e308", "5e-324", "2.5", "3", "-0.0", "1e2", "123456789.125"].map(|n| {
            let value: f64 = n.parse().unwrap_or_default();
            read("number", n, json!(value))
        })),
        case("boolean").calls([read("boolean", "true", json!(true)), read("boolean", "false", json!(false))]),
        case("strings").calls([read("strings", "[]", json!([])), read("strings", r#"["a","","é \"q\""]"#, json!(["a", "", "é \"q\""]))]),
        case("absent").calls(TYPES.map(|kind| add_with(kind, json!({"pointer": "/none"}), r#""value":1"#).reports(Value::Null))),
        case("null-is-absent").calls(TYPES.map(|kind| read(kind, "null", Value::Null))),
        case("no-string").calls(["1", "true", "{}", r#"["a"]"#].map(|value| refused("string", value))),
        case("no-integer").calls([r#""1""#, "true", "[]"].map(|value| refused("integer", value))),
        case("no-number").calls([r#""0.1""#, "false", "{}"].map(|value| refused("number", value))),
        case("no-boolean").calls(["1", "0", r#""true""#].map(|value| refused("boolean", value))),
        case("no-strings").calls([r#""a""#, "[1]", r#"["a",2]"#, r#"["a",null]"#, "{}"].map(|value| refused("strings", value))),
    ]
}

fn read(kind: &str, value: &str, want: Value) -> Call {
    add_with(kind, json!({"pointer": "/value"}), &format!(r#""value":{value}"#)).reports(want)
}

/// The read error, which the guest does not catch: it names the pointer.
fn refused(kind: &str, value: &str) -> Call {
    add_with(kind, json!({"pointer": "/value"}), &format!(r#""value":{value}"#))
        .want(Want::Permanent("ObjectInvalid".to_owned(), Text::has("/value")))
        .any_lines()
}

#[allow(clippy::cast_precision_loss, reason = "that is what happens there")]
fn rounded(n: i64) -> Value {
    json!(n as f64)
}
