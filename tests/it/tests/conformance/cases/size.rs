//! Large, deep, wide and empty: what crosses the border whole.

use serde_json::{Value, json};
use wharf_core::{Event, Reason};

use super::event::copy;
use crate::conformance::case::{Call, Case, Text, Want, add, add_with, object};

/// Pointers that the host looks up in one crossing.
const MOST_POINTERS: usize = 256;

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("size", name);
    let deep = nested(100);
    vec![
        case("megabyte-both-ways").calls([copy("current", &text_of("x", 1_000_000)), add("done", json!({}))]),
        case("megabyte-of-four-byte-characters").call(copy("current", &text_of("\u{1f600}", 250_000))),
        case("megabyte-of-escapes").call(copy("current", &text_of(r"\n", 500_000))),
        case("megabyte-of-small-values").call({
            let list = vec!["[1,\"a\"]"; 110_000].join(",");
            copy("current", &format!(r#""data":[{list}]"#))
        }),
        case("megabyte-read-for-one-value").call({
            let members = format!(r#"{},"last":"here""#, text_of("x", 1_000_000));
            add_with("string", json!({"pointer": "/last"}), &members).reports("here")
        }),
        case("megabyte-as-the-languages-value").call(add_with("object", json!({}), &text_of("ü", 500_000)).reports(6)),
        case("megabyte-previous").call({
            let previous = object("done", &json!({}), &text_of("y", 1_000_000));
            let want = json!({"create": "v1 ConfigMap team-a x", "body": previous, "dryRun": false, "force": false, "ifResourceVersion": "", "status": false});
            add("copy", json!({"which": "previous"})).event(Event::Update).previous(previous).reports("8").asked([want])
        }),
        case("more-than-may-be-handed-over").calls([
            add_with("copy", json!({"which": "current"}), &text_of("x", 2_000_000))
                .want(Want::Strike(Reason::HostCallLimit, Text::has("hostcall")))
                .any_lines(),
            add("done", json!({})),
        ]),
        case("deep").calls([
            add_with("get", json!({"pointer": format!("/deep{}", "/0".repeat(99))}), &format!(r#""deep":{deep}"#)).reports("[1]"),
            add_with("get", json!({"pointer": "/deep"}), &format!(r#""deep":{deep}"#)).reports(deep.as_str()),
            add_with("object", json!({}), &format!(r#""deep":{deep}"#)).reports(6),
            copy("current", &format!(r#""deep":{deep}"#)),
        ]),
        case("deep-objects").call({
            let value = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
            add_with("integer", json!({"pointer": format!("/deep{}", "/a".repeat(100))}), &format!(r#""deep":{value}"#)).reports(1)
        }),
        case("five-thousand-members").call({
            let members: Vec<_> = (0..5000).map(|n| format!(r#""k{n}":"{n}""#)).collect();
            add_with("object", json!({}), &members.join(",")).reports(5005)
        }),
        case("as-many-pointers-as-are-looked-up").call(many(MOST_POINTERS)),
        case("more-pointers-than-are-looked-up").call(many(MOST_POINTERS + 44)),
        case("more-pointers-than-are-compared").call({
            let pointers = vec!["/data/k"; MOST_POINTERS + 44];
            let want: Vec<_> = (0..pointers.len()).map(|at| Value::from(at >= MOST_POINTERS)).collect();
            let previous = object("done", &json!({}), r#""data":{"k":"v"}"#);
            add_with("changed", json!({"pointers": pointers}), r#""data":{"k":"v"}"#).event(Event::Update).previous(previous).reports(want)
        }),
        case("empty-values").calls(["{}", "[]", r#""""#, "0", "false", "null"].map(|value| {
            add_with("get", json!({"pointer": "/value"}), &format!(r#""value":{value}"#)).reports(value)
        })),
        case("longest-pointer").call({
            let key = "k".repeat(4095);
            add_with("get", json!({"pointer": format!("/{key}")}), &format!(r#""{key}":"found""#)).reports(r#""found""#)
        }),
    ]
}

/// A member `data` with a long string in it.
fn text_of(unit: &str, times: usize) -> String {
    format!(r#""data":{{"text":"{}"}}"#, unit.repeat(times))
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

/// `get-many` of so many pointers to the same value.
fn many(count: usize) -> Call {
    let want: Vec<_> = (0..count).map(|at| if at < MOST_POINTERS { Value::from("7") } else { Value::Null }).collect();
    add_with("get-many", json!({"pointers": vec!["/value"; count]}), r#""value":7"#).reports(want)
}
