//! A report as one JSON object, for programs. Owns its fields, which docs/invoke.md lists:
//! they are only ever added to.

use std::time::Duration;

use serde_json::{Value, json};
use wharf_core::{Failure, Gvk, Outcome};
use wharf_engine::{ApiError, Document, ObjectRef};
use wharf_runtime::admin::calls::UsageRow;

use super::call::Report;
use super::ports::{Answer, Line, Use};
use super::words::{level, millis, text};

/// The object.
pub(super) fn render(report: &Report) -> Value {
    let (plugin, case) = (&report.plugin, &report.case);
    json!({
        "component": {
            "file": plugin.component.display().to_string(),
            "digest": report.artifact.digest(),
            "size": report.artifact.size(),
            "name": report.description.name,
            "version": report.description.version,
        },
        "grants": if plugin.document.is_some() { "document" } else { "everything" },
        "limits": {
            "memory": report.limits.memory,
            "deadlineMs": millis(report.limits.deadline),
            "cpuMs": millis(report.limits.cpu),
        },
        "event": case.event.as_str(),
        "object": target(&case.kind, case.current.key().namespace.as_deref(), &case.current.key().name),
        "subscription": &*report.subscription,
        "cause": case.cause.as_str(),
        "removal": case.removal.as_str(),
        "attempt": case.attempt,
        "result": result(report),
        "log": report.record.lines.iter().map(line).collect::<Vec<_>>(),
        "cluster": report.record.uses.iter().map(used).collect::<Vec<_>>(),
        "usage": usage(report),
        "notes": report.notes,
    })
}

/// As a host shows it of a failed call, and what came before the call.
fn usage(report: &Report) -> Value {
    let mut usage = json!(UsageRow::from(&report.call));
    if let Some(fields) = usage.as_object_mut() {
        fields.insert("loadMicros".to_owned(), micros(report.load).into());
        fields.insert("compiled".to_owned(), (!report.artifact.from_cache()).into());
    }
    usage
}

/// All kinds of results have the same fields; those without meaning are null.
fn result(report: &Report) -> Value {
    let (kind, fault, after) = match &report.call.result {
        Ok(Ok(Outcome::Done)) => ("done", None, None),
        Ok(Ok(Outcome::RequeueAfter(after))) => ("requeue-after", None, Some(*after)),
        Ok(Err(Failure::Retry(fault))) => ("retry", Some((&*fault.reason, &fault.message)), fault.retry_after),
        Ok(Err(Failure::Permanent(fault))) => ("permanent", Some((&*fault.reason, &fault.message)), None),
        Err(strike) => ("strike", Some((strike.reason.as_str(), &strike.message)), None),
    };
    json!({
        "kind": kind,
        "reason": fault.map(|(reason, _)| reason),
        "message": fault.map(|(_, message)| message),
        "afterMs": after.map(millis),
        "hint": report.call.result.as_ref().err().map(|strike| strike.reason.hint()),
    })
}

fn line(line: &Line) -> Value {
    json!({"call": line.task.as_str(), "level": level(line.level), "message": line.message, "fields": line.fields})
}

fn used(used: &Use) -> Value {
    let target = used.target.as_ref().map(|ObjectRef { kind, namespace, name, .. }| target(kind, namespace.as_deref(), name));
    let answer = match &used.answer {
        Ok(answer) => json!({"ok": self::answer(answer)}),
        Err(error) => {
            let after = match error {
                ApiError::Throttled(after) => Some(millis(*after)),
                _ => None,
            };
            json!({"error": error.word(), "text": text(error), "retryAfterMs": after})
        }
    };
    json!({"call": used.call, "target": target, "request": used.request, "answer": answer})
}

fn answer(answer: &Answer) -> Value {
    match answer {
        Answer::Found(document) => json!({"object": object(document)}),
        Answer::Items(items, token) => json!({"items": items.iter().map(object).collect::<Vec<_>>(), "continueToken": token}),
        Answer::Written(effect, written) => json!({"effect": effect.as_str(), "object": parsed(written.json())}),
        Answer::Done => json!({}),
    }
}

fn target(kind: &Gvk, namespace: Option<&str>, name: &str) -> Value {
    json!({"apiVersion": kind.api_version(), "kind": &*kind.kind, "namespace": namespace, "name": name})
}

fn object(document: &Document) -> Value {
    parsed(document.json())
}

/// What the cluster in memory holds is JSON; anything else would be shown as the text it is.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
