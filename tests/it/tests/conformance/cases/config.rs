//! The configuration: typed, raw, and one that does not fit.

use serde_json::{Value, json};

use crate::conformance::case::{Call, Case, Text, Want, add};

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("config", name);
    let full = json!({"greeting": "grüß \u{1f600}", "number": 9_007_199_254_740_991_i64, "tags": ["a", "", "é"]});
    vec![
        case("defaults").call(add("config", json!({})).reports(json!({"greeting": "hello", "number": 0, "tags": []}))),
        case("all-fields").config(full.clone()).call(add("config", json!({})).reports(full)),
        case("some-fields")
            .config(json!({"number": 7}))
            .call(add("config", json!({})).reports(json!({"greeting": "hello", "number": 7, "tags": []}))),
        case("raw-values").config(json!({"greeting": "a\"b", "number": 7, "tags": ["x", "y"]})).calls([
            raw("/greeting").reports(r#""a\"b""#),
            raw("/number").reports("7"),
            raw("/tags").reports(r#"["x","y"]"#),
            raw("/tags/1").reports(r#""y""#),
            raw("/none").reports(Value::Null),
            raw("no pointer").reports(Value::Null),
            raw("").reports(r#"{"greeting":"a\"b","number":7,"tags":["x","y"]}"#),
        ]),
        case("raw-of-nothing").calls([raw("").reports("{}"), raw("/greeting").reports(Value::Null)]),
        case("wrong-type").config(json!({"number": "seven"})).call(unfit("number")),
        case("wrong-type-inside").config(json!({"tags": ["a", 1]})).call(unfit("tags")),
        case("unknown-field").config(json!({"greetings": "typo"})).call(unfit("greetings")),
        case("field-in-another-case").config(json!({"GREETING": "x"})).call(unfit("GREETING")),
        case("null").config(json!({"greeting": null})).call(unfit("greeting")),
    ]
}

fn raw(pointer: &str) -> Call {
    add("config-value", json!({"pointer": pointer}))
}

/// Nobody asked the guest whether the configuration is good, and it is not because of this field.
fn unfit(field: &str) -> Call {
    add("config", json!({})).want(Want::Permanent("ConfigInvalid".to_owned(), Text::has(field))).any_lines()
}
