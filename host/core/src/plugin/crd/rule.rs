//! Rules in CEL, as an API server evaluates them for each document, and the patterns in them. Owns
//! their spelling; what they say is the reader's, so that both refuse in the same words.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// A DNS-1123 label.
pub(super) const LABEL: &str = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
/// A kind.
pub(super) const KIND: &str = "[A-Z][A-Za-z0-9]*";
/// The key of a ConfigMap, but for those that begin with `..`.
pub(super) const CONFIG_MAP_KEY: &str = "[-._a-zA-Z0-9]+";
/// A pointer to a field: not the empty one.
pub(super) const POINTER: &str = "(/([^~/]|~[01])*)+";
/// Numbers with units, as they are written in durations.
pub(super) const DURATION: &str = r"(([0-9]+\.?[0-9]*|\.[0-9]+)(ms|s|m|h))+";
/// A whole number, and what it counts.
pub(super) const BYTES: &str = "[0-9]+(k|M|G|Ki|Mi|Gi)?";

/// A DNS-1123 subdomain.
pub(super) fn subdomain() -> String {
    format!(r"{LABEL}(\.{LABEL})*")
}

/// `version` or `group/version`.
pub(super) fn api_version() -> String {
    format!("({}/)?{LABEL}", subdomain())
}

/// The key of a label or an annotation.
pub(super) fn label_key() -> String {
    format!("({}/)?[A-Za-z0-9]([-_.A-Za-z0-9]{{0,61}}[A-Za-z0-9])?", subdomain())
}

/// A selector as kubectl takes it.
pub(super) fn selector() -> String {
    const KEY: &str = "[-_./a-zA-Z0-9]+";
    let value = VALUE;
    list(&format!(r"(!\s*{KEY}|{KEY}\s*(!=|==?)\s*{value}|{KEY}|{KEY}\s+(in|notin)\s*\(\s*{value}\s*(,\s*{value}\s*)*\))"))
}

/// A selector by the fields that every kind has.
pub(super) fn field_selector() -> String {
    list(&format!(r"metadata\.(name|namespace)\s*(!=|==?)\s*{VALUE}"))
}

/// The value of a label.
const VALUE: &str = "[-_.a-zA-Z0-9]*";

fn list(part: &str) -> String {
    format!(r"\s*({part}(\s*,\s*{part})*)?\s*")
}

/// A pattern for all of a text.
pub(super) fn whole(pattern: &str) -> String {
    format!("^({pattern})$")
}

/// Does a text, given as an expression, match?
pub(super) fn matches(text: &str, pattern: &str) -> String {
    format!("{text}.matches(r'{pattern}')")
}

/// A text as it stands in an expression.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// What must hold, and what is said if it does not.
pub(super) fn rule(holds: &str, message: &str, hint: &str) -> Value {
    json!({"rule": holds, "message": said(message, hint)})
}

/// The same, said of one field of the object.
pub(super) fn rule_of(field: &str, holds: &str, message: &str, hint: &str) -> Value {
    json!({"rule": holds, "fieldPath": format!(".{field}"), "message": said(message, hint)})
}

/// The same, where the message begins with a text, given as an expression.
pub(super) fn naming(holds: &str, text: &str, message: &str, hint: &str) -> Value {
    let message = literal(&format!(" {}", said(message, hint)));
    json!({"rule": holds, "messageExpression": format!("({text} == '' ? 'an empty text' : {text}) + {message}")})
}

/// The same, where all of the message is an expression.
pub(super) fn saying(holds: &str, message: &str, hint: &str) -> Value {
    json!({"rule": holds, "messageExpression": format!("{message} + {}", literal(&said("", hint)))})
}

/// A text that is read as a number of something: it must be one, and within its range. `text` and
/// `read` are expressions; the ends are printed as they are written in a document.
pub(super) fn within(text: &str, pattern: &str, read: &str, ends: &RangeInclusive<String>, what: &str, hint: &str) -> Vec<Value> {
    let good = matches(text, &whole(pattern));
    let range = format!("between {} and {}", ends.start(), ends.end());
    let ordered = |order: &str, end: &str| format!("!{good} || {}", read.replace("SELF", text).replace("ORDER", order).replace("END", end));
    vec![
        naming(&good, text, &format!("is no {what}"), hint),
        naming(&ordered(">=", ends.start()), text, &format!("is less than {}", ends.start()), &range),
        naming(&ordered("<=", ends.end()), text, &format!("is more than {}", ends.end()), &range),
    ]
}

fn said(message: &str, hint: &str) -> String {
    if hint.is_empty() { message.to_owned() } else { format!("{message} ({hint})") }
}
