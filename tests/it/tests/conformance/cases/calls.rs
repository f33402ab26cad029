//! Many calls one after the other in one instance: none traps, and memory stops growing.

use serde_json::{Value, json};

use crate::conformance::case::{Call, Case, Text, Want, add, add_with};

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("calls", name);
    vec![
        case("ten-thousand").burst(number("count", json!({})), 10_000),
        case("ten-thousand-with-1-kb").burst(number("churn", json!({"bytes": 1 << 10})), 10_000),
        case("thousand-with-100-kb").burst(number("churn", json!({"bytes": 100 << 10})), 1000),
        case("hundred-with-a-large-object").burst(Call { current: large(), ..number("count", json!({})) }, 100),
        case("each-in-an-instance-of-its-own").fresh().burst(number("count", json!({})), 50),
        case("after-two-hundred-errors")
            .calls((0..200).map(|_| {
                add("error", json!({"message": "again"})).want(Want::Retry("HandlerError".to_owned(), Text::has("again"), None)).any_lines()
            }))
            .call(add("string", json!({"pointer": "/metadata/name"})).reports("x")),
        case("after-two-hundred-copies").calls((0..200).map(|n| {
            let text = format!("{}{n}", "x".repeat(20_000));
            super::event::copy("current", &format!(r#""data":"{text}""#))
        })),
    ]
}

fn number(command: &str, args: Value) -> Call {
    add(command, args).holds("a number", Value::is_u64)
}

fn large() -> Option<String> {
    add_with("count", json!({}), &format!(r#""data":"{}""#, "x".repeat(1_000_000))).current
}
