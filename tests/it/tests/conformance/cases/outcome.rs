//! The ends of a call that a plugin chooses, at their edges.

use serde_json::json;
use wharf_core::Event;

use crate::conformance::case::{Call, Case, Text, Want, add};

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("outcome", name);
    vec![
        case("done").calls(Event::ALL.map(|event| add("done", json!({})).event(event))),
        case("requeue").calls([0, 1, 60_000, u32::MAX].map(|ms| add("requeue", json!({"ms": ms})).want(Want::RequeueAfter(ms)))),
        case("requeue-in-update-and-delete")
            .calls([Event::Update, Event::Delete].map(|event| add("requeue", json!({"ms": 5})).want(Want::RequeueAfter(5)).event(event))),
        case("retry").call(retry("Custom", "not yet", None)),
        case("retry-after").calls([0, 1, u32::MAX].map(|ms| retry("Custom", "not yet", Some(ms)))),
        case("retry-in-update-and-delete")
            .calls([Event::Update, Event::Delete].map(|event| retry("Custom", "not yet", Some(9)).event(event))),
        case("permanent").calls(Event::ALL.map(|event| permanent("Custom", "never").event(event))),
        case("unlisted-reason").call(permanent("Surprise", "the host maps it, not the guest")),
        case("empty-texts").calls([permanent("", ""), retry("", "", None)]),
        case("unicode").calls([permanent("Custom", "ü \u{1f600} שלום \"q\""), retry("Größe", "漢字", Some(1))]),
        case("controls-are-escaped").call(
            add("permanent", json!({"reason": "Custom", "message": "a\nb"}))
                .want(Want::Permanent("Custom".to_owned(), Text::Is("a\\nb".to_owned()))),
        ),
        case("too-long").call(
            add("permanent", json!({"reason": "R".repeat(100), "message": "m".repeat(5000)}))
                .want(Want::Permanent(format!("{}…", "R".repeat(64)), Text::Is(format!("{}…", "m".repeat(4096))))),
        ),
        case("unknown-command").call(
            add("no such command", json!({})).want(Want::Permanent("UnknownCommand".to_owned(), Text::has("no such command"))).any_lines(),
        ),
    ]
}

fn retry(reason: &str, message: &str, ms: Option<u32>) -> Call {
    let mut args = json!({"reason": reason, "message": message});
    if let (Some(ms), Some(args)) = (ms, args.as_object_mut()) {
        args.insert("ms".to_owned(), ms.into());
    }
    add("retry", args).want(Want::Retry(reason.to_owned(), Text::Is(message.to_owned()), ms))
}

fn permanent(reason: &str, message: &str) -> Call {
    add("permanent", json!({"reason": reason, "message": message})).want(Want::Permanent(reason.to_owned(), Text::Is(message.to_owned())))
}
