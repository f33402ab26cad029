//! What a component says before it serves: of its configuration and of itself.

use serde_json::json;

use crate::conformance::case::{Case, Told, Verdict, add};

const GREETING: &str = "greeting: must not be empty";
const NUMBER: &str = "number: must not be negative";

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("setup", name);
    vec![
        case("good").validate(Verdict::Good).describe(Told::Itself),
        case("good-with-all-fields")
            .config(json!({"greeting": "grüß \u{1f600}", "number": 0, "tags": ["a", ""]}))
            .validate(Verdict::Good)
            .describe(Told::Itself)
            .call(add("done", json!({}))),
        case("one-is-wrong").config(json!({"greeting": ""})).validate(Verdict::Wrong(vec![GREETING])),
        case("the-other-is-wrong").config(json!({"number": -1})).validate(Verdict::Wrong(vec![NUMBER])),
        case("both-are-wrong").config(json!({"greeting": "", "number": -5})).validate(Verdict::Wrong(vec![GREETING, NUMBER])),
        case("unknown-field").config(json!({"greetings": "typo"})).validate(Verdict::Mentions("greetings")),
        case("unknown-unicode-field").config(json!({"größe": 1})).validate(Verdict::Mentions("größe")),
        case("wrong-type").config(json!({"number": "seven"})).validate(Verdict::Mentions("number")),
        case("wrong-type-inside").config(json!({"tags": ["a", 1]})).validate(Verdict::Mentions("tags")),
        case("not-an-integer").config(json!({"number": 1.5})).validate(Verdict::Mentions("number")),
        case("field-in-another-case").config(json!({"GREETING": "x"})).validate(Verdict::Mentions("GREETING")),
        case("null-for-a-string").config(json!({"greeting": null})).validate(Verdict::Mentions("greeting")),
        case("null-for-an-integer").config(json!({"number": null})).validate(Verdict::Mentions("number")),
        case("null-for-a-list").config(json!({"tags": null})).validate(Verdict::Mentions("tags")),
        case("null-in-a-list").config(json!({"tags": ["a", null]})).validate(Verdict::Mentions("tags")),
        case("crash-in-validate")
            .config(json!({"greeting": "throw"}))
            .validate(Verdict::Crash("thrown in validate"))
            .validate(Verdict::Crash("thrown in validate")),
        case("crash-in-describe")
            .config(json!({"greeting": "throw-in-describe"}))
            .validate(Verdict::Good)
            .describe(Told::Crash("thrown in describe"))
            .call(add("done", json!({}))),
        // `describe` must work for whoever only looks at a component.
        case("describe-with-a-bad-configuration").config(json!({"number": "seven"})).describe(Told::Itself),
    ]
}
