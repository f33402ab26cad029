//! A report for people. Owns the form: what was called and how it ended first, then what the
//! guest said, what it did to the cluster, and what it cost. Every line is written by `say`,
//! so that no text of a guest or a file can fake one or steer the terminal.

use std::fmt::Write as _;

use serde_json::Value;
use wharf_core::printable;
use wharf_core::{Failure, Fault, Outcome};
use wharf_engine::{ApiError, Document, ObjectRef, Task};

use super::call::Report;
use super::ports::{Answer, Line, Use};
use super::words::{level, size, text, time};

/// Lines of an object that are shown.
const MAX_LINES: usize = 40;
/// Names of a list that are shown.
const MAX_NAMES: usize = 10;

/// The text.
pub(super) fn render(report: &Report) -> String {
    let (case, description, call) = (&report.case, &report.description, &report.call);
    let mut out = String::new();
    say(
        &mut out,
        0,
        &format!("{} {}: {} {} {}", description.name, description.version, case.event.as_str(), case.kind, case.current.key()),
    );
    let grants = match &report.plugin.document {
        Some(document) => format!("grants, limits and configuration of the Plugin document {}", document.name),
        None => "everything is granted: there is no Plugin document (--plugin)".to_owned(),
    };
    say(&mut out, 0, &grants);
    for note in &report.notes {
        say(&mut out, 0, &format!("note: {note}"));
    }
    out.push('\n');
    result(&mut out, report);
    if !report.record.lines.is_empty() {
        out.push_str("\nlog:\n");
        report.record.lines.iter().for_each(|line| log_line(&mut out, line));
    }
    if !report.record.uses.is_empty() {
        out.push_str("\ncluster:\n");
        report.record.uses.iter().enumerate().for_each(|(i, used)| use_of(&mut out, i + 1, used));
    }
    let made = if report.artifact.from_cache() { "from the cache" } else { "compiled" };
    let (wall, cpu, memory) = (time(call.wall), time(call.cpu), size(call.peak_memory));
    let _infallible = writeln!(out, "\ncall: time {wall}, CPU {cpu}, peak memory {memory}, {} host calls", call.activity.total());
    let _infallible = writeln!(out, "component: {}, ready in {} ({made})", size(report.artifact.size()), time(report.load));
    out
}

fn result(out: &mut String, report: &Report) {
    match &report.call.result {
        Ok(Ok(Outcome::Done)) => say(out, 0, "outcome: done"),
        Ok(Ok(Outcome::RequeueAfter(after))) => say(out, 0, &format!("outcome: requeue after {}", time(*after))),
        Ok(Err(Failure::Retry(fault))) => {
            let when = fault.retry_after.map_or_else(|| "with the queue's back-off".to_owned(), |after| format!("after {}", time(after)));
            failure(out, "retry", &when, fault);
        }
        Ok(Err(Failure::Permanent(fault))) => failure(out, "permanent", "until the object changes", fault),
        Err(strike) => {
            say(out, 0, &format!("strike: {}", strike.reason));
            say(out, 2, &strike.message);
            say(out, 2, &format!("hint: {}", strike.reason.hint()));
        }
    }
}

fn failure(out: &mut String, kind: &str, when: &str, fault: &Fault) {
    say(out, 0, &format!("failure: {kind} {when}, reason {}", fault.reason));
    say(out, 2, &fault.message);
}

fn log_line(out: &mut String, line: &Line) {
    let mut said = format!("{:<5} {}", level(line.level).to_uppercase(), line.message);
    for (name, value) in &line.fields {
        let _infallible = write!(said, " {name}={}", Value::from(value.as_str()));
    }
    if !matches!(line.task, Task::Handle(_)) {
        let _infallible = write!(said, " (in {})", line.task.as_str());
    }
    say(out, 2, &said);
}

fn use_of(out: &mut String, number: usize, used: &Use) {
    let target = used.target.as_ref().map(|target| format!(" {}", name(target))).unwrap_or_default();
    say(out, 2, &format!("{number}. {}{target}{}", used.call, options(&used.request)));
    if used.call == "record-event" {
        let field = |name: &str| used.request.get(name).and_then(Value::as_str).unwrap_or_default();
        return say(out, 5, &format!("{} {}: {}", field("type"), field("reason"), field("message")));
    }
    say(out, 5, &format!("-> {}", answer(&used.answer)));
    if let Some(body) = ["object", "patch"].iter().find_map(|field| used.request.get(field)) {
        yaml(out, 7, body);
    } else if let Ok(Answer::Found(document)) = &used.answer {
        found(out, document);
    }
}

fn found(out: &mut String, document: &Document) {
    match serde_json::from_str::<Value>(document.json()) {
        Ok(value) => yaml(out, 7, &value),
        // A number that is none to a reader, such as 1e400.
        Err(_) => say(out, 7, document.json()),
    }
}

/// Options that are short; objects and the parts of an Event have lines of their own.
fn options(request: &Value) -> String {
    let Some(fields) = request.as_object() else { return String::new() };
    let apart = ["object", "patch", "type", "reason", "message"];
    let short = fields.iter().filter(|(name, _)| !apart.contains(&name.as_str()));
    let words: Vec<_> = short
        .map(|(name, value)| match value {
            Value::Bool(true) => name.clone(),
            Value::String(text) => format!("{name} {text}"),
            value => format!("{name} {value}"),
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn answer(answer: &Result<Answer, ApiError>) -> String {
    match answer {
        Ok(Answer::Found(_)) => "found".to_owned(),
        Ok(Answer::Items(items, token)) => listed(items, token),
        Ok(Answer::Written(effect, object)) => format!("{}, resourceVersion {}", effect.as_str(), object.resource_version()),
        Ok(Answer::Done) => "deleted".to_owned(),
        Err(error) if text(error).is_empty() => error.word().to_owned(),
        Err(error) => format!("{}: {}", error.word(), text(error).trim_start_matches("not granted: ")),
    }
}

fn listed(items: &[Document], token: &str) -> String {
    let key = |document: &Document| match document {
        Document::Cached(object) => object.key().to_string(),
        Document::Text(_) => "an object".to_owned(),
    };
    let mut names: Vec<_> = items.iter().take(MAX_NAMES).map(key).collect();
    if items.len() > MAX_NAMES {
        names.push("…".to_owned());
    }
    let more = if token.is_empty() { "" } else { ", and there are more" };
    let noun = if items.len() == 1 { "object" } else { "objects" };
    let colon = if items.is_empty() { "" } else { ": " };
    format!("{} {noun}{colon}{}{more}", items.len(), names.join(", "))
}

fn name(target: &ObjectRef) -> String {
    let ObjectRef { kind, namespace, name, .. } = target;
    match (namespace, name.is_empty()) {
        (Some(namespace), true) => format!("{kind} in {namespace}"),
        (None, true) => format!("{kind} everywhere"),
        (Some(namespace), false) => format!("{kind} {namespace}/{name}"),
        (None, false) => format!("{kind} {name}"),
    }
}

fn yaml(out: &mut String, indent: usize, value: &Value) {
    let text = serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string());
    let count = text.lines().count();
    for line in text.lines().take(MAX_LINES) {
        say(out, indent, line);
    }
    if count > MAX_LINES {
        say(out, indent, &format!("… {} more lines (-o json has all)", count - MAX_LINES));
    }
}

/// One line, whatever is in the text.
fn say(out: &mut String, indent: usize, text: &str) {
    let _infallible = writeln!(out, "{:indent$}{}", "", printable(text));
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wharf_core::Gvk;

    use super::*;

    const EVIL: &str = "x\n\noutcome: done\r\u{1b}[2K\u{9b}1A\u{2028}";
    const SHOWN: &str = "x\\n\\noutcome: done\\r\\u{1b}[2K\\u{9b}1A\\u{2028}";

    fn shown(request: Value, answer: Result<Answer, ApiError>) -> String {
        let target = ObjectRef { kind: Gvk::new("", "v1", "ConfigMap"), namespace: None, name: EVIL.to_owned(), uid: String::new() };
        let mut out = String::new();
        use_of(&mut out, 1, &Use { call: "delete", target: Some(target), request, answer });
        out
    }

    #[test]
    fn a_guests_texts_stay_on_their_lines() {
        let out = shown(json!({"ifUid": EVIL}), Err(ApiError::Conflict(EVIL.to_owned())));
        assert_eq!(out, format!("  1. delete v1 ConfigMap {SHOWN} (ifUid {SHOWN})\n     -> conflict: {SHOWN}\n"));
        let out = shown(json!({"patch": {"k": EVIL}}), Ok(Answer::Done));
        assert!(!out.contains(|c: char| c.is_control() && c != '\n') && !out.contains("\noutcome"), "{out:?}");
    }
}
