//! The CustomResourceDefinition of the Plugin document, made from the facts that the reader
//! has: its fields, words, ranges and messages. Owns the form of the definition; a test on a real
//! API server holds that it and the reader refuse the same documents.
//!
//! The server checks structure by the schema and what holds between fields by rules in CEL
//! ([`rule`]). Every text, list and map has a limit, because the server estimates from them what
//! the rules may cost, and refuses a definition that may cost too much.

mod part;
mod rule;
mod spec;
mod status;
mod subscribe;

use serde_json::{Value, json};

use super::names::LABEL_HINT;
use super::read::{API_VERSION, KIND};

/// The resource's name in URLs and roles.
pub const PLURAL: &str = "plugins";

/// `plugins.wharf.dev`, ready to be applied.
pub fn custom_resource_definition() -> Value {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{group}")},
        "spec": {
            "group": group,
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": PLURAL,
                "singular": "plugin",
                "shortNames": ["plg"],
                "categories": ["wharf"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": schema()},
            }],
        },
    })
}

fn schema() -> Value {
    let name = rule::matches("self.metadata.name", &rule::whole(rule::LABEL));
    json!({
        "type": "object",
        "description": "An event handler that wharf runs as a WebAssembly component. Its namespace is its tenant.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "wharf.dev/v1alpha1"},
            "kind": {"type": "string", "description": "Plugin"},
            // A server takes no description here.
            "metadata": {"type": "object"},
            "spec": spec::schema(),
            "status": status::schema(),
        },
        "x-kubernetes-validations": [rule::naming(&name, "self.metadata.name", "is no name", LABEL_HINT)],
    })
}

/// What `kubectl get plugins` shows; the last ones only with `-o wide`.
fn columns() -> Value {
    let condition = |name: &str, field: &str| format!(r#".status.conditions[?(@.type=="{name}")].{field}"#);
    let ready = |field: &str| condition("Ready", field);
    let column = |name: &str, kind: &str, path: &str, wide: bool, description: &str| json!({"name": name, "type": kind, "jsonPath": path, "priority": i32::from(wide), "description": description});
    json!([
        column("Ready", "string", &ready("status"), false, "Does a revision serve?"),
        column("Revision", "string", ".status.revision", false, "The revision that serves."),
        column("Reason", "string", &ready("reason"), false, "Why it is ready, or not."),
        column("Degraded", "string", &condition("Degraded", "reason"), false, "What is wrong though it serves; AsExpected if nothing is."),
        column("Calls", "integer", ".status.replicas[0].calls", true, "Calls on the first replica."),
        column("Failures", "integer", ".status.replicas[0].failures", true, "Calls that failed there."),
        column("Parked", "integer", ".status.replicas[0].parked", true, "Keys that are given up there until something changes."),
        column("Digest", "string", ".status.digest", true, "The component that serves."),
        column("Message", "string", &ready("message"), true, "What the reason means here."),
        column("Trouble", "string", &condition("Degraded", "message"), true, "What is wrong though it serves."),
        column("Age", "date", ".metadata.creationTimestamp", false, "Since when the resource is there."),
    ])
}
