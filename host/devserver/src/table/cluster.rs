//! The columns of what a cluster consists of besides workloads: nodes, namespaces, configuration, events, quotas, leases, definitions.
//!
//! Owns nothing but cells.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::age;
use super::column::{AGE, Column, NAME, count, integer, none_if_empty, plain, since, string, string_or, text, wide};
use crate::json::Read;

pub(super) const NODES: &[Column] = &[
    NAME,
    text("Status", "Whether the node is ready and takes pods.", |object, _| json!(node_status(object))),
    text("Roles", "Roles of the node.", |object, _| json!(node_roles(object))),
    AGE,
    text("Version", "Version of the kubelet.", |object, _| string(object, &["status", "nodeInfo", "kubeletVersion"])),
    wide(text("Internal-IP", "First internal address.", |object, _| node_address(object, "InternalIP"))),
    wide(text("External-IP", "First external address.", |object, _| node_address(object, "ExternalIP"))),
    wide(text("OS-Image", "Operating system.", |object, _| string_or(object, &["status", "nodeInfo", "osImage"], "<unknown>"))),
    wide(text("Kernel-Version", "Version of the kernel.", |object, _| {
        let info = object.path(&["status", "nodeInfo"]);
        let kernel = Some(info.text("kernelVersion")).filter(|kernel| !kernel.is_empty()).unwrap_or("<unknown>");
        json!(match info.text("architecture") {
            "" => kernel.to_owned(),
            architecture => format!("{kernel} ({architecture})"),
        })
    })),
    wide(text("Container-Runtime", "What runs the containers.", |object, _| {
        string_or(object, &["status", "nodeInfo", "containerRuntimeVersion"], "<unknown>")
    })),
];

pub(super) const NAMESPACES: &[Column] =
    &[NAME, text("Status", "Phase of the namespace.", |object, _| string(object, &["status", "phase"])), AGE];

pub(super) const CONFIG_MAPS: &[Column] = &[
    NAME,
    text("Data", "How many values there are.", |object, _| json!(object.entries("data").count() + object.entries("binaryData").count())),
    AGE,
];

pub(super) const SECRETS: &[Column] = &[
    NAME,
    text("Type", "What the secret is used for.", |object, _| string(object, &["type"])),
    text("Data", "How many values there are.", |object, _| json!(object.entries("data").count())),
    AGE,
];

/// Of both groups: `events.k8s.io` names the same fields otherwise.
pub(super) const EVENTS: &[Column] = &[
    text("Last Seen", "Time since it was last seen.", |event, now| json!(last_seen(event, now))),
    text("Type", "Normal or Warning.", |event, _| string(event, &["type"])),
    text("Reason", "Why it happened, in one word.", |event, _| string(event, &["reason"])),
    text("Object", "What it is about.", |event, _| {
        let object = involved(event);
        let kind = object.text("kind").to_lowercase();
        json!(if object.text("name").is_empty() { kind } else { format!("{kind}/{}", object.text("name")) })
    }),
    wide(text("Subobject", "Part of the object it is about.", |event, _| string(involved(event), &["fieldPath"]))),
    wide(text("Source", "Who reports it.", |event, _| {
        let source = either(event, "source", "deprecatedSource");
        let component = [source.text("component"), event.text("reportingComponent"), event.text("reportingController")];
        let instance = [source.text("host"), event.text("reportingInstance")];
        let first = |texts: &[&str]| texts.iter().find(|text| !text.is_empty()).map(|text| (*text).to_owned());
        let component = first(&component).unwrap_or_default();
        json!(first(&instance).map_or_else(|| component.clone(), |instance| format!("{component}, {instance}")))
    })),
    text("Message", "What happened.", |event, _| json!(either(event, "message", "note").as_str().unwrap_or_default().trim())),
    wide(text("First Seen", "Time since it was first seen.", |event, now| json!(first_seen(event, now)))),
    wide(text("Count", "How often it was seen.", |event, _| {
        match (event.at("series"), either(event, "count", "deprecatedCount").as_i64()) {
            (Value::Object(_), _) => count(event, &["series", "count"]),
            (_, Some(0) | None) => json!(1),
            (_, Some(count)) => json!(count),
        }
    })),
    wide(NAME),
];

pub(super) const LEASES: &[Column] =
    &[NAME, text("Holder", "Who holds the lease.", |object, _| string(object, &["spec", "holderIdentity"])), AGE];

pub(super) const LEASE_CANDIDATES: &[Column] = &[
    NAME,
    text("LeaseName", "Lease that is wanted.", |object, _| string(object, &["spec", "leaseName"])),
    text("BinaryVersion", "Version of the candidate.", |object, _| string(object, &["spec", "binaryVersion"])),
    text("EmulationVersion", "Version it behaves as.", |object, _| string(object, &["spec", "emulationVersion"])),
    AGE,
];

pub(super) const RESOURCE_QUOTAS: &[Column] = &[
    NAME,
    text("Request", "What is used of what may be, but for limits.", |object, _| json!(quota(object, false))),
    text("Limit", "What is used of the limits.", |object, _| json!(quota(object, true))),
    AGE,
];

pub(super) const COMPONENT_STATUSES: &[Column] = &[
    NAME,
    text("Status", "Whether the component is healthy.", |object, _| {
        json!(match healthy(object).text("status") {
            "True" => "Healthy",
            "" => "Unknown",
            _ => "Unhealthy",
        })
    }),
    text("Message", "What it says.", |object, _| string(healthy(object), &["message"])),
    text("Error", "What is wrong.", |object, _| string(healthy(object), &["error"])),
];

pub(super) const RUNTIME_CLASSES: &[Column] =
    &[NAME, text("Handler", "What runs the containers.", |object, _| string(object, &["handler"])), AGE];

pub(super) const WEBHOOKS: &[Column] =
    &[NAME, integer("Webhooks", "How many webhooks there are.", |object, _| json!(object.list("webhooks").len())), AGE];

pub(super) const VALIDATING_POLICIES: &[Column] = &[
    NAME,
    integer("Validations", "How many rules there are.", |object, _| json!(object.at("spec").list("validations").len())),
    PARAM_KIND,
    AGE,
];

pub(super) const MUTATING_POLICIES: &[Column] = &[
    NAME,
    integer("Mutations", "How many mutations there are.", |object, _| json!(object.at("spec").list("mutations").len())),
    PARAM_KIND,
    AGE,
];

pub(super) const POLICY_BINDINGS: &[Column] = &[
    NAME,
    text("PolicyName", "Policy that is bound.", |object, _| string(object, &["spec", "policyName"])),
    text("ParamRef", "Parameters of the policy.", |object, _| {
        let parameters = object.path(&["spec", "paramRef"]);
        let (namespace, name) = (parameters.text("namespace"), parameters.text("name"));
        json!(match (namespace, name) {
            (_, "") if parameters.has("selector") => super::column::selector(parameters.at("selector")),
            (_, "") => "<unset>".to_owned(),
            ("", name) => format!("*/{name}"),
            (namespace, name) => format!("{namespace}/{name}"),
        })
    }),
    AGE,
];

pub(super) const FLOW_SCHEMAS: &[Column] = &[
    NAME,
    text("PriorityLevel", "Level of the requests.", |object, _| string(object, &["spec", "priorityLevelConfiguration", "name"])),
    text("MatchingPrecedence", "Lower ones are asked first.", |object, _| count(object, &["spec", "matchingPrecedence"])),
    text("DistinguisherMethod", "How flows are told apart.", |object, _| {
        string_or(object, &["spec", "distinguisherMethod", "type"], "<none>")
    }),
    AGE,
    text("MissingPL", "Whether the level is missing.", |object, _| {
        let dangling = object.at("status").list("conditions").iter().find(|one| one.text("type") == "Dangling");
        json!(dangling.map_or("?", |one| one.text("status")))
    }),
];

pub(super) const PRIORITY_LEVELS: &[Column] = &[
    NAME,
    text("Type", "Limited or exempt.", |object, _| string(object, &["spec", "type"])),
    text("NominalConcurrencyShares", "Share of the requests at once.", |object, _| level(object, &["nominalConcurrencyShares"])),
    text("Queues", "How many queues.", |object, _| level(object, &["limitResponse", "queuing", "queues"])),
    text("HandSize", "Queues that a flow may use.", |object, _| level(object, &["limitResponse", "queuing", "handSize"])),
    text("QueueLengthLimit", "Requests that may wait in a queue.", |object, _| {
        level(object, &["limitResponse", "queuing", "queueLengthLimit"])
    }),
    AGE,
];

pub(super) const API_SERVICES: &[Column] = &[
    NAME,
    text("Service", "Who serves the group's version.", |object, _| match object.path(&["spec", "service"]) {
        Value::Null => json!("Local"),
        service => json!(format!("{}/{}", service.text("namespace"), service.text("name"))),
    }),
    text("Available", "Whether it answers.", |object, _| {
        let available = object.at("status").list("conditions").iter().find(|one| one.text("type") == "Available");
        json!(available.map_or_else(
            || "Unknown".to_owned(),
            |one| match one.text("status") {
                "True" => "True".to_owned(),
                status => format!("{status} ({})", one.text("reason")),
            }
        ))
    }),
    AGE,
];

const PARAM_KIND: Column = text("ParamKind", "Kind of the parameters.", |object, _| match object.path(&["spec", "paramKind"]) {
    Value::Null => json!("<unset>"),
    kind => json!(format!("{}/{}", kind.text("apiVersion"), kind.text("kind"))),
});

fn level(object: &Value, path: &[&str]) -> Value {
    match object.path(&["spec", "limited"]).path(path) {
        Value::Null => json!("<none>"),
        value => value.clone(),
    }
}

fn node_status(node: &Value) -> String {
    let ready = node.at("status").list("conditions").iter().rfind(|one| one.text("type") == "Ready");
    let mut status = ready.map_or("Unknown", |one| if one.text("status") == "True" { "Ready" } else { "NotReady" }).to_owned();
    if node.at("spec").flag("unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    status
}

/// From the labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`.
fn node_roles(node: &Value) -> Value {
    let role = |(key, value): (&'_ str, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => role.to_owned(),
        None if key == "kubernetes.io/role" => plain(value),
        None => String::new(),
    };
    let roles: BTreeSet<String> = node.at("metadata").entries("labels").map(role).filter(|role| !role.is_empty()).collect();
    none_if_empty(&roles.into_iter().collect::<Vec<_>>().join(","))
}

fn node_address(node: &Value, kind: &str) -> Value {
    let address = node.at("status").list("addresses").iter().find(|one| one.text("type") == kind);
    json!(address.map_or("<none>", |one| one.text("address")))
}

/// The member of core's events, or the one of `events.k8s.io`.
fn either<'v>(event: &'v Value, core: &str, newer: &str) -> &'v Value {
    if event.has(core) { event.at(core) } else { event.at(newer) }
}

fn involved(event: &Value) -> &Value {
    either(event, "involvedObject", "regarding")
}

fn first_seen(event: &Value, now: i64) -> String {
    match either(event, "firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => age::since(event.at("eventTime"), now),
        first => age::since(first, now),
    }
}

fn last_seen(event: &Value, now: i64) -> String {
    if event.has("series") {
        return plain(&since(event, &["series", "lastObservedTime"], now));
    }
    match either(event, "lastTimestamp", "deprecatedLastTimestamp") {
        Value::Null => first_seen(event, now),
        last => age::since(last, now),
    }
}

/// `pods: 1/5, …` of the limits or of all else.
fn quota(object: &Value, limits: bool) -> String {
    let status = object.at("status");
    let line = |(name, hard): (&str, &Value)| {
        let used = status.at("used").at(name);
        format!("{name}: {}/{}", if used.is_null() { "0".to_owned() } else { plain(used) }, plain(hard))
    };
    status.entries("hard").filter(|(name, _)| name.starts_with("limits.") == limits).map(line).collect::<Vec<_>>().join(", ")
}

fn healthy(object: &Value) -> &Value {
    object.list("conditions").iter().find(|one| one.text("type") == "Healthy").unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000;

    fn cells(columns: &[Column], object: &Value) -> Value {
        columns.iter().map(|column| (column.cell)(object, NOW)).collect()
    }

    #[test]
    fn nodes() {
        let node = json!({
            "metadata": {"name": "n", "creationTimestamp": "2001-09-09T01:46:30Z", "labels": {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "x"}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.36.3", "kernelVersion": "6.1", "architecture": "amd64"},
            },
        });
        let expected = json!([
            "n",
            "NotReady,SchedulingDisabled",
            "control-plane,x",
            "10s",
            "v1.36.3",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (amd64)",
            "<unknown>"
        ]);
        assert_eq!(cells(NODES, &node), expected);
        assert_eq!(node_status(&json!({})), "Unknown");
        assert_eq!(node_roles(&json!({})), "<none>");
    }

    #[test]
    fn events_of_both_groups_look_the_same() {
        let core = json!({
            "metadata": {"name": "e"}, "type": "Normal", "reason": "R", "message": " m\n", "count": 3,
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"}, "source": {"component": "kubelet", "host": "n"},
            "firstTimestamp": "2001-09-09T01:46:00Z", "lastTimestamp": "2001-09-09T01:46:30Z",
        });
        let newer = json!({
            "metadata": {"name": "e"}, "type": "Normal", "reason": "R", "note": "m", "deprecatedCount": 3,
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"}, "deprecatedSource": {"component": "kubelet", "host": "n"},
            "deprecatedFirstTimestamp": "2001-09-09T01:46:00Z", "deprecatedLastTimestamp": "2001-09-09T01:46:30Z",
        });
        let expected = json!(["10s", "Normal", "R", "pod/p", "spec", "kubelet, n", "m", "40s", 3, "e"]);
        assert_eq!(cells(EVENTS, &core), expected);
        assert_eq!(cells(EVENTS, &newer), expected);
    }

    #[test]
    fn events_of_one_time_and_of_series() {
        let one = json!({"eventTime": "2001-09-09T01:46:30.000000Z", "reportingController": "c", "reportingInstance": "i"});
        assert_eq!(cells(EVENTS, &one), json!(["10s", "", "", "", "", "c, i", "", "10s", 1, ""]));
        let series =
            json!({"eventTime": "2001-09-09T01:46:30.000000Z", "series": {"count": 7, "lastObservedTime": "2001-09-09T01:46:35.000000Z"}});
        assert_eq!(cells(EVENTS, &series), json!(["5s", "", "", "", "", "", "", "10s", 7, ""]));
    }

    #[test]
    fn quotas_tell_requests_from_limits() {
        let quota = json!({"metadata": {"name": "q"}, "status": {"hard": {"pods": "5", "limits.cpu": "2", "requests.cpu": "1"}, "used": {"pods": "1", "limits.cpu": "500m"}}});
        assert_eq!(cells(RESOURCE_QUOTAS, &quota), json!(["q", "pods: 1/5, requests.cpu: 0/1", "limits.cpu: 500m/2", "<unknown>"]));
    }
}
