//! `status` of the resource, which only the host writes. Owns its schema, by the conventions of
//! the Kubernetes API; what the host writes into it, and when, is the runtime's.

use serde_json::{Value, json};

use super::part::{object, text};

/// The most replicas that a status has.
const MAX_REPLICAS: usize = 64;
/// The most conditions.
const MAX_CONDITIONS: usize = 16;

/// The schema of `status`.
pub(super) fn schema() -> Value {
    let properties = json!({
        "observedGeneration": count("The generation of spec that the rest speaks of."),
        "revision": text("The revision that serves; absent if none does.", 253, vec![]),
        "digest": text("sha256 of the component that serves.", 253, vec![]),
        "conditions": {
            "type": "array", "maxItems": MAX_CONDITIONS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "description": "Accepted: the document is good. Ready: a revision serves. Progressing: a new revision is on its way. \
                Degraded: what serves is not what is wished for, or is not told of everything.",
            "items": condition(),
        },
        "replicas": {
            "type": "array", "maxItems": MAX_REPLICAS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "description": "The hosts that call it: the one that leads, each for itself.",
            "items": replica(),
        },
    });
    object("What became of it; written by the host.", &[], properties, vec![])
}

/// As `metav1.Condition` has it.
fn condition() -> Value {
    let word = json!({
        "type": "string", "maxLength": 316, "description": "The kind of condition.",
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    });
    let reason = json!({
        "type": "string", "maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        "description": "One word for why; docs/errors.md lists them.",
    });
    let properties = json!({
        "type": word,
        "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Does it hold?"},
        "observedGeneration": count("The generation of spec that this speaks of."),
        "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When status changed last."},
        "reason": reason,
        "message": text("What that means here, and what to do.", 32768, vec![]),
    });
    object("One condition.", &["type", "status", "lastTransitionTime", "reason", "message"], properties, vec![])
}

fn replica() -> Value {
    let properties = json!({
        "name": text("The host.", 253, vec![]),
        "revision": text("The revision that serves there; absent if none does.", 253, vec![]),
        "calls": count("Calls since that host began."),
        "failures": count("Those of them that failed."),
        "parked": count("Keys that are given up until something changes."),
        "waiting": count("Keys that wait for a call."),
        "lastUpdateTime": {"type": "string", "format": "date-time", "description": "When that host wrote this."},
    });
    object("One host.", &["name"], properties, vec![])
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "minimum": 0, "description": description})
}
