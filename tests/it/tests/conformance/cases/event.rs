//! Raw reads of the object: at a pointer, at several, whole; now, as it was, and absent.

use serde_json::{Value, json};
use wharf_core::Event;

use crate::conformance::case::{Call, Case, Text, Want, add, add_with, object};

const MEMBERS: &str = r#""data":{"text":"a\"b","number":1.50,"yes":true,"no":false,"nothing":null,"list":[1,[2,{"x":"y"}]],"empty":{}}"#;

pub(crate) fn cases() -> Vec<Case> {
    let case = |name| Case::new("event", name);
    vec![
        case("get-every-kind-of-value").calls(
            [
                ("/data/text", r#""a\"b""#),
                ("/data/number", "1.50"),
                ("/data/yes", "true"),
                ("/data/no", "false"),
                ("/data/nothing", "null"),
                ("/data/list", r#"[1,[2,{"x":"y"}]]"#),
                ("/data/list/1/1/x", r#""y""#),
                ("/data/empty", "{}"),
                ("/metadata/resourceVersion", r#""7""#),
            ]
            .map(|(pointer, raw)| get(pointer).reports(raw)),
        ),
        case("get-the-whole-object").call({
            let text = object("get", &json!({"pointer": ""}), MEMBERS);
            get("").reports(text)
        }),
        case("get-what-is-not-there")
            .calls(["/none", "/data/none", "/data/text/x", "/data/list/2", "/data/list/-", "/data/list/01", "/"].map(absent)),
        case("get-by-what-is-no-pointer").calls(["data", "/~2", "/data/~"].map(absent)),
        case("get-by-a-pointer-that-is-too-long").call(absent(format!("/{}", "a".repeat(4096)))),
        case("previous-is-absent-in-add").call(was("/metadata/name").reports(Value::Null)),
        case("previous-in-update").calls([
            was("/data/k").event(Event::Update).previous(state("old")).reports(r#""old""#),
            was("/data/none").event(Event::Update).previous(state("old")).reports(Value::Null),
            was("").event(Event::Update).previous(state("old")).reports(state("old")),
        ]),
        case("previous-in-delete").call(was("/data/k").event(Event::Delete).previous(state("last")).reports(r#""last""#)),
        // Without an object there is no command either.
        case("current-may-be-absent-in-delete").call(
            Call { current: None, ..add("done", json!({})).event(Event::Delete) }
                .want(Want::Permanent("UnknownCommand".to_owned(), Text::has("command")))
                .any_lines(),
        ),
        case("get-many").call(
            add_with("get-many", json!({"pointers": ["/data/text", "/none", "no pointer", "/data/list/0", "/data/nothing"]}), MEMBERS)
                .reports(json!([r#""a\"b""#, null, null, "1", "null"])),
        ),
        case("get-many-of-nothing").call(add("get-many", json!({"pointers": []})).reports(json!([]))),
        case("get-many-of-previous").calls([
            add("get-many", json!({"pointers": ["/data/k", "/x"], "which": "previous"})).reports(json!([null, null])),
            add("get-many", json!({"pointers": ["/data/k", "/x"], "which": "previous"}))
                .event(Event::Update)
                .previous(state("old"))
                .reports(json!(["\"old\"", null])),
        ]),
        case("changed").call(
            changed(&["/data/k", "/metadata/name", "/none", "no pointer", "/data"])
                .event(Event::Update)
                .previous(state("old"))
                .reports(json!([true, false, false, true, true])),
        ),
        case("changed-without-previous").call(changed(&["/data/k", "/metadata/name", "/none"]).reports(json!([true, true, true]))),
        case("changed-of-nothing").call(changed(&[]).reports(json!([]))),
        case("whole-object-is-handed-on-as-it-is").call(copy("current", MEMBERS)),
        case("whole-previous-object").calls([
            add("copy", json!({"which": "previous"})).reports(Value::Null),
            add("copy", json!({"which": "previous"}))
                .event(Event::Update)
                .previous(state("old"))
                .reports("8")
                .asked([created(state("old"))]),
        ]),
        case("object-as-the-languages-value").call(add_with("object", json!({}), MEMBERS).reports(6)),
        case("remaining").call(add("remaining", json!({})).reports(true)),
    ]
}

/// `copy` of an object with these members.
pub(super) fn copy(which: &str, members: &str) -> Call {
    let args = json!({"which": which});
    let text = object("copy", &args, members);
    add_with("copy", args, members).reports("8").asked([created(text)])
}

fn created(body: String) -> Value {
    json!({"create": "v1 ConfigMap team-a x", "body": body, "dryRun": false, "force": false, "ifResourceVersion": "", "status": false})
}

fn get(pointer: &str) -> Call {
    add_with("get", json!({"pointer": pointer}), MEMBERS)
}

fn absent(pointer: impl AsRef<str>) -> Call {
    get(pointer.as_ref()).reports(Value::Null)
}

fn was(pointer: &str) -> Call {
    add("get", json!({"pointer": pointer, "which": "previous"}))
}

fn changed(pointers: &[&str]) -> Call {
    add_with("changed", json!({"pointers": pointers}), r#""data":{"k":"new"}"#)
}

/// An earlier state.
fn state(value: &str) -> String {
    object("done", &json!({}), &format!(r#""data":{{"k":"{value}"}}"#))
}
