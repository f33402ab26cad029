//! Log lines: levels, fields, the host's limits, and the language's own logging.

use serde_json::{Value, json};
use wharf_engine::Level;

use crate::conformance::case::{Call, Case, Lines, add};
use crate::conformance::language::{Print, Traits};

const LEVELS: [(Level, &str); 5] =
    [(Level::Trace, "trace"), (Level::Debug, "debug"), (Level::Info, "info"), (Level::Warn, "warn"), (Level::Error, "error")];

pub(crate) fn cases(traits: &Traits) -> Vec<Case> {
    let case = |name| Case::new("log", name);
    let many: Vec<_> = (0..40).map(|n| (format!("f{n}"), n.to_string())).collect();
    let native = |lowest: Level| {
        let kept = traits.levels.iter().filter(|level| **level >= lowest);
        Lines::Say(kept.map(|level| (*level, "native ü \u{1f600}".to_owned())).collect())
    };
    vec![
        case("every-level")
            .level(Level::Trace)
            .calls(LEVELS.map(|(level, word)| line(word, "a line", &[("k", "v")], (level, "a line", &[("k", "v")])))),
        case("below-the-level").level(Level::Warn).calls(
            [("trace", None), ("debug", None), ("info", None), ("warn", Some(Level::Warn)), ("error", Some(Level::Error))].map(
                |(word, kept)| {
                    let call = log(word, "a line", &[]);
                    call.lines(Lines::Are(kept.map(|level| (level, "a line".to_owned(), Vec::new())).into_iter().collect()))
                },
            ),
        ),
        case("no-fields").call(line("info", "a line", &[], (Level::Info, "a line", &[]))),
        case("empty-texts").call(line("info", "", &[("", "")], (Level::Info, "", &[("", "")]))),
        case("same-name-twice").call(line("info", "m", &[("a", "1"), ("a", "2")], (Level::Info, "m", &[("a", "1"), ("a", "2")]))),
        case("unicode").call(line(
            "warn",
            "ü \u{1f600} שלום",
            &[("ключ", "\u{1d11e}"), ("json", r#"{"a":"b\\n"}"#)],
            (Level::Warn, "ü \u{1f600} שלום", &[("ключ", "\u{1d11e}"), ("json", r#"{"a":"b\\n"}"#)]),
        )),
        case("controls-are-escaped").call(line(
            "info",
            "a\nb\u{1b}[31m",
            &[("x", "1\r\n2\u{2028}")],
            (Level::Info, "a\\nb\\u{1b}[31m", &[("x", "1\\r\\n2\\u{2028}")]),
        )),
        case("too-many-fields").call({
            let kept = many.iter().take(32).cloned().collect();
            let fields: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            log("info", "m", &fields).lines(Lines::Are(vec![(Level::Info, "m".to_owned(), kept)]))
        }),
        case("too-long").call({
            let (long, cut) = ("x".repeat(5000), format!("{}…", "x".repeat(4096)));
            let kept = vec![(Level::Info, cut.clone(), vec![("long".to_owned(), cut)])];
            log("info", &long, &[("long", &long)]).lines(Lines::Are(kept))
        }),
        case("enabled-all")
            .level(Level::Trace)
            .call(add("enabled", json!({})).reports(json!({"trace": true, "debug": true, "info": true, "warn": true, "error": true}))),
        case("enabled-from-info")
            .level(Level::Info)
            .call(add("enabled", json!({})).reports(json!({"trace": false, "debug": false, "info": true, "warn": true, "error": true}))),
        case("native").level(Level::Trace).call(native_log().lines(native(Level::Trace))),
        case("native-below-the-level").level(Level::Warn).call(native_log().lines(native(Level::Warn))),
        case("print").call(add("print", json!({"message": "printed ü"})).lines(match traits.print {
            Print::Nothing => Lines::Are(Vec::new()),
            Print::Line => Lines::Say(vec![(Level::Info, "printed ü".to_owned())]),
            Print::Stream => Lines::Are(vec![(Level::Info, "printed ü".to_owned(), vec![("stream".to_owned(), "stdout".to_owned())])]),
        })),
    ]
}

fn log(level: &str, message: &str, fields: &[(&str, &str)]) -> Call {
    let fields: Vec<Value> = fields.iter().map(|(name, value)| json!([name, value])).collect();
    add("log", json!({"level": level, "message": message, "fields": fields}))
}

type Wanted<'a> = (Level, &'a str, &'a [(&'a str, &'a str)]);

fn line(level: &str, message: &str, fields: &[(&str, &str)], want: Wanted<'_>) -> Call {
    let (kept, text, with) = want;
    let with = with.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    log(level, message, fields).lines(Lines::Are(vec![(kept, text.to_owned(), with)]))
}

fn native_log() -> Call {
    add("native-log", json!({"message": "native ü \u{1f600}"}))
}
