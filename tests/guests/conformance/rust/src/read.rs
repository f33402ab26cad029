//! Commands that read the event: the delivery, and the object as raw text and as types.

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wharf_sdk::View;
use wharf_sdk::prelude::*;

use crate::{args, report, unknown};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Args {
    pointer: String,
    pointers: Vec<String>,
    which: String,
}

pub(crate) fn obey(command: &str, event: &Event) -> Result {
    match command {
        "delivery" => return delivery(event),
        "object" => return report(event.object::<Map<String, Value>>()?.map(|object| object.len())),
        "remaining" => {
            let remaining = event.remaining();
            return report(!remaining.is_zero() && remaining <= event.delivery().budget);
        }
        _ => {}
    }
    let Args { pointer, pointers, which } = args(event)?;
    let view = if which == "previous" { event.previous() } else { event.current() };
    let pointers: Vec<&str> = pointers.iter().map(String::as_str).collect();
    match command {
        "get" => report(view.raw(&pointer)),
        "get-many" => report(view.raw_many(&pointers)),
        "changed" => report(event.changed_each(&pointers)),
        "string" => typed::<String>(event, &pointer),
        "integer" => typed::<i64>(event, &pointer),
        "number" => typed::<f64>(event, &pointer),
        "boolean" => typed::<bool>(event, &pointer),
        "strings" => typed::<Vec<String>>(event, &pointer),
        "copy" => copy(view),
        _ => unknown(command),
    }
}

fn typed<T: DeserializeOwned + Serialize>(event: &Event, pointer: &str) -> Result {
    report(event.get::<T>(pointer)?)
}

fn copy(view: View) -> Result {
    let Some(text) = view.json() else { return report(Value::Null) };
    let written = cluster::create(&RawValue::from_string(text)?)?;
    report(written.resource_version)
}

fn delivery(event: &Event) -> Result {
    let delivery = event.delivery();
    let key = &delivery.key;
    report(json!({
        "event": event.change().as_str(),
        "kind": {"group": key.kind.group, "version": key.kind.version, "kind": key.kind.kind},
        "namespace": key.namespace,
        "name": key.name,
        "uid": key.uid,
        "resourceVersion": delivery.resource_version,
        "deleting": delivery.deleting,
        "subscription": delivery.subscription,
        "removal": delivery.removal.as_str(),
        "finalStateUnknown": delivery.final_state_unknown,
        "cause": delivery.cause.as_str(),
        "attempt": delivery.attempt,
        "queuedMs": u64::try_from(delivery.queued.as_millis()).unwrap_or(u64::MAX),
        "budgetMs": u64::try_from(delivery.budget.as_millis()).unwrap_or(u64::MAX),
        "size": delivery.size,
        "traceparent": delivery.traceparent,
    }))
}
