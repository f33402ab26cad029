//! Unicode, escapes, odd keys, and numbers as text.

use serde_json::{Value, json};

use crate::conformance::case::{Call, Case, Text, Want, add, add_with};

/// Name, JSON text, value.
const STRINGS: [(&str, &str, &str); 16] = [
    ("four-bytes", "\"\u{1d11e}\u{1f600}\u{10ffff}\"", "\u{1d11e}\u{1f600}\u{10ffff}"),
    ("combining", "\"e\u{301}\u{1f468}\u{200d}\u{1f469}\"", "e\u{301}\u{1f468}\u{200d}\u{1f469}"),
    ("right-to-left", "\"שלום \u{202e}abc\"", "שלום \u{202e}abc"),
    ("cjk", "\"漢字かな한글\"", "漢字かな한글"),
    ("nul", r#""a\u0000b""#, "a\0b"),
    ("controls", r#""\b\f\n\r\t\u001b\u007f""#, "\u{8}\u{c}\n\r\t\u{1b}\u{7f}"),
    ("raw-delete-and-c1", "\"\u{7f}\u{85}\u{9f}\"", "\u{7f}\u{85}\u{9f}"),
    ("line-separators", "\"\u{2028}\u{2029}\"", "\u{2028}\u{2029}"),
    ("escaped-line-separators", r#""\u2028\u2029""#, "\u{2028}\u{2029}"),
    ("surrogate-pair-escape", r#""\ud83d\ude00""#, "\u{1f600}"),
    ("byte-order-mark", "\"\u{feff}x\"", "\u{feff}x"),
    ("not-a-character", "\"\u{fffe}\u{fffd}\"", "\u{fffe}\u{fffd}"),
    ("quotes-and-slashes", r#""\"\\\/'`""#, "\"\\/'`"),
    ("html", r#""<a href=\"x\">&amp;</a>""#, "<a href=\"x\">&amp;</a>"),
    ("looks-like-an-escape", r#""\\n\\u0041 %s %d {} ${x}""#, r"\n\u0041 %s %d {} ${x}"),
    ("spaces", "\" \u{a0}\u{3000} \"", " \u{a0}\u{3000} "),
];

/// Key, and its pointer token.
const KEYS: [(&str, &str); 10] = [
    ("a/b", "a~1b"),
    ("a~b", "a~0b"),
    ("~1", "~01"),
    ("/", "~1"),
    ("", ""),
    (" ", " "),
    ("a\"b", "a\"b"),
    ("a.b[0]", "a.b[0]"),
    ("ключ\u{1f511}", "ключ\u{1f511}"),
    ("0", "0"),
];

const NUMBERS: [&str; 13] = [
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "123456789012345678901234567890",
    "-0",
    "0.1",
    "1.0",
    "1e308",
    "1E400",
    "-1.5e-10",
    "0.30000000000000004",
    "1e5",
];

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("text", name);
    let strings = STRINGS.map(|(name, json, value)| {
        case(name).calls([
            value_of("string", json).reports(value),
            value_of("get", json).reports(json),
            value_of("strings", &format!("[{json},{json}]")).reports(json!([value, value])),
        ])
    });
    let more = [
        case("odd-keys").calls(KEYS.map(|(key, token)| {
            let members = format!(r#""data":{{{}:"found"}}"#, Value::from(key));
            add_with("string", json!({"pointer": format!("/data/{token}")}), &members).reports("found")
        })),
        case("odd-keys-at-once").call({
            let data: serde_json::Map<String, Value> = KEYS.iter().map(|(key, _)| ((*key).to_owned(), Value::from(1))).collect();
            let pointers: Vec<_> = KEYS.iter().map(|(_, token)| format!("/data/{token}")).collect();
            let members = format!(r#""data":{}"#, Value::from(data));
            add_with("get-many", json!({"pointers": pointers}), &members).reports(vec![Value::from("1"); KEYS.len()])
        }),
        case("key-written-with-escapes").call(
            add_with("string", json!({"pointer": "/data/é/\u{1f600}"}), r#""data":{"\u00e9":{"\ud83d\ude00":"found"}}"#).reports("found"),
        ),
        case("numbers-keep-their-text").calls(NUMBERS.map(|number| value_of("get", number).reports(number))),
        case("half-a-surrogate-stays-raw").call(value_of("get", r#""\ud800""#).reports(r#""\ud800""#)),
        case("in-a-failure").call({
            let message =
                STRINGS.iter().filter(|(name, ..)| !unprintable(name)).map(|(_, _, value)| *value).collect::<Vec<_>>().join(" | ");
            add("permanent", json!({"reason": "Custom", "message": message})).want(Want::Permanent("Custom".to_owned(), Text::Is(message)))
        }),
        case("in-an-error").call(
            add("error", json!({"message": "ünïcode \u{1f4a5} שלום"}))
                .want(Want::Retry("HandlerError".to_owned(), Text::has("ünïcode \u{1f4a5} שלום"), None))
                .any_lines(),
        ),
        case("in-an-event").call(
            add("record-event", json!({"type": "normal", "reason": "Ünï", "message": "\u{1f4e3} \"quoted\" é"})).asked([json!({
                "event": "v1 ConfigMap team-a x", "uid": "u1", "warning": false, "reason": "Ünï", "message": "\u{1f4e3} \"quoted\" é",
            })]),
        ),
    ];
    strings.into_iter().chain(more).collect()
}

/// What the host escapes in messages.
fn unprintable(name: &str) -> bool {
    matches!(
        name,
        "nul" | "controls" | "raw-delete-and-c1" | "line-separators" | "escaped-line-separators" | "right-to-left" | "byte-order-mark"
    )
}

fn value_of(command: &str, json: &str) -> Call {
    add_with(command, json!({"pointer": "/value"}), &format!(r#""value":{json}"#))
}
