//! The Plugin document, read from JSON: every mistake is found in one pass, and what this
//! version does not have is refused, never ignored. Owns the document's own fields and what an
//! API server may add to them; entries of `subscribe` are read by `entries`, limits by `limits`,
//! the component by `component`.

use std::time::Duration;

use serde_json::{Value, json};

use super::component;
use super::document::{Isolation, PluginDocument, PluginName, Replay};
use super::entries::{self, Author};
use super::fields::{Node, Problem, Problems, Refused, excerpt};
use super::limits::AskedLimits;
use super::names::{LABEL_HINT, SUBDOMAIN_HINT, is_label, is_subdomain};
use crate::Reason;
use crate::grant::{ClusterGrant, Grants, Namespaces, Verb};

/// The `apiVersion` of the document.
pub const API_VERSION: &str = "wharf.dev/v1alpha1";
/// The `kind` of the document.
pub const KIND: &str = "Plugin";

/// More grants than these are refused.
pub(super) const MAX_GRANTS: usize = 64;

const STATUS: [Refused; 1] = [Refused { field: "status", hint: "remove it: only the host writes a status" }];
const SERVER_FIELDS: [Refused; 7] = {
    const HINT: &str = "remove it: it is written by the API server, and a file has none";
    [
        Refused { field: "uid", hint: HINT },
        Refused { field: "resourceVersion", hint: HINT },
        Refused { field: "generation", hint: HINT },
        Refused { field: "creationTimestamp", hint: HINT },
        Refused { field: "managedFields", hint: HINT },
        Refused { field: "ownerReferences", hint: "remove it: documents have no owners yet" },
        Refused { field: "finalizers", hint: "remove it: documents have no finalizers yet" },
    ]
};
pub(super) const SPEC: [&str; 9] =
    ["component", "serviceAccountName", "suspend", "subscribe", "grants", "limits", "rollout", "isolation", "config"];
const SPEC_NOT_BUILT: [Refused; 2] = [
    Refused { field: "delivery", hint: "remove it: each key is delivered with its latest state" },
    Refused { field: "resync", hint: "put it into an entry of subscribe" },
];
const GRANTS_NOT_BUILT: [Refused; 9] = {
    const FREE: &str = "remove it: every plugin may use it, it needs no grant";
    const LATER: &str = "remove it: this version has no such capability";
    [
        Refused { field: "log", hint: FREE },
        Refused { field: "event", hint: FREE },
        Refused { field: "system", hint: FREE },
        Refused { field: "config", hint: FREE },
        Refused { field: "state", hint: LATER },
        Refused { field: "pods", hint: LATER },
        Refused { field: "http", hint: LATER },
        Refused { field: "schedule", hint: LATER },
        Refused { field: "secrets", hint: "remove it: name apiVersion v1 and kind Secret in an entry of subscribe" },
    ]
};
/// The fields of a grant `cluster`.
pub(super) const CLUSTER: [&str; 4] = ["apiVersion", "kind", "verbs", "namespaces"];
/// The fields of `rollout`.
pub(super) const ROLLOUT: [&str; 2] = ["replay", "bake"];

pub(super) const ISOLATIONS: [(&str, Isolation); 3] = [("reuse", Isolation::Reuse), ("warm", Isolation::Warm), ("fresh", Isolation::Fresh)];
pub(super) const REPLAYS: [(&str, Replay); 3] = [("all", Replay::All), ("failed", Replay::Failed), ("none", Replay::None)];

pub(super) const SUBSCRIBE_EMPTY: &str = "subscribe is empty, so nothing would be delivered";
pub(super) const SUBSCRIBE_EMPTY_HINT: &str = "name some, or leave it out for all that the component asks for";
pub(super) const VERBS_EMPTY: &str = "verbs is empty, which grants nothing";
pub(super) const VERBS_EMPTY_HINT: &str = "name some, or remove the grant";

/// Where a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    /// A person, in a file.
    File,
    /// An API server, which adds fields of its own to what a person wrote.
    Server,
}

/// Reads a Plugin document as it stands in a file.
///
/// # Errors
/// All problems at once, with RFC 6901 pointers: `DocumentInvalid`, or `NotSupported` for
/// what this version does not have. A document of another `apiVersion` or `kind` has only
/// that problem.
pub fn read_document(value: &Value) -> Result<PluginDocument, Vec<Problem>> {
    read(value, Writer::File)
}

/// Reads a Plugin document as an API server hands it out: what the server or the host writes
/// into it (`status`, and all of `metadata` but the names) is passed over.
///
/// # Errors
/// As [`read_document`].
pub fn read_resource(value: &Value) -> Result<PluginDocument, Vec<Problem>> {
    read(value, Writer::Server)
}

fn read(value: &Value, writer: Writer) -> Result<PluginDocument, Vec<Problem>> {
    let mut problems = Problems::new(Reason::DocumentInvalid);
    let root = Node::new("", value);
    let read = if is_plugin(&root, &mut problems) { document(&root, writer, &mut problems) } else { None };
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(problems.into_list()),
    }
}

/// False, with a problem, if the document is clearly of another type: then every other
/// message would only be noise.
fn is_plugin(root: &Node<'_>, problems: &mut Problems) -> bool {
    let Value::Object(map) = root.value() else { return true };
    let mut same = true;
    for (field, want) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match map.get(field) {
            Some(Value::String(text)) if text != want => {
                let message = format!("{field} {} is not known here", excerpt(text));
                problems.invalid(&format!("/{field}"), message, format!("known: {want}"));
                same = false;
            }
            _ => {}
        }
    }
    same
}

fn document(root: &Node<'_>, writer: Writer, problems: &mut Problems) -> Option<PluginDocument> {
    let known: &[&str] = match writer {
        Writer::File => &["apiVersion", "kind", "metadata", "spec"],
        Writer::Server => &["apiVersion", "kind", "metadata", "spec", "status"],
    };
    let object = root.object(known, &STATUS, problems)?;
    for (field, value) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match object.get(field) {
            Some(node) => drop(node.text(problems)),
            None => problems.invalid(&format!("/{field}"), format!("{field} is missing"), format!("add {field}: {value}")),
        }
    }
    let name = object.required("metadata", problems).and_then(|n| metadata(&n, writer, problems));
    let own = name.as_ref().map_or_else(|| PluginName::DEFAULT_NAMESPACE.into(), |n| n.namespace.clone());
    let spec_node = object.required("spec", problems)?;
    let spec = spec_node.object(&SPEC, &SPEC_NOT_BUILT, problems)?;
    let component = spec.required("component", problems).and_then(|n| component::read(&n, problems));
    let service_account = spec.get("serviceAccountName").and_then(|n| n.checked(is_subdomain, "name", SUBDOMAIN_HINT, problems));
    let suspend = spec.get("suspend").and_then(|n| n.flag(problems)).unwrap_or_default();
    let subscribe = spec.get("subscribe").map(|n| {
        if n.value().as_array().is_some_and(Vec::is_empty) {
            problems.invalid(n.at(), SUBSCRIBE_EMPTY, SUBSCRIBE_EMPTY_HINT);
        }
        entries::read(&n, Author::Document, problems)
    });
    let cluster = spec.get("grants").map(|n| grants(&n, &Namespaces::Some(vec![own]), problems)).unwrap_or_default();
    let limits = spec.get("limits").map(|n| AskedLimits::read(&n, problems)).unwrap_or_default();
    let (replay, bake) = spec.get("rollout").map(|n| rollout(&n, problems)).unwrap_or_default();
    let isolation = spec.get("isolation").and_then(|n| n.choice(&ISOLATIONS, problems)).unwrap_or_default();
    let config = spec.get("config").and_then(|n| config(&n, problems)).unwrap_or_else(|| "{}".to_owned());
    let name = name?;
    Some(PluginDocument {
        component: component?,
        service_account: service_account.map(Into::into),
        subscribe,
        grants: Grants { cluster },
        limits,
        suspend,
        replay: replay.unwrap_or_default(),
        bake: bake.unwrap_or(PluginDocument::BAKE),
        isolation,
        config: config.into(),
        source: source(&name, spec_node.value()).into(),
        name,
    })
}

fn metadata(node: &Node<'_>, writer: Writer, problems: &mut Problems) -> Option<PluginName> {
    let object = match writer {
        Writer::File => node.object(&["name", "namespace", "labels", "annotations"], &SERVER_FIELDS, problems)?,
        Writer::Server => node.any_object(problems)?,
    };
    let name = object.required("name", problems).and_then(|n| n.checked(is_label, "name", LABEL_HINT, problems));
    let namespace = match object.get("namespace") {
        Some(node) => node.checked(is_label, "namespace", LABEL_HINT, problems),
        None => Some(PluginName::DEFAULT_NAMESPACE),
    };
    for field in ["labels", "annotations"] {
        for (_, value) in object.get(field).and_then(|n| n.entries(problems)).unwrap_or_default() {
            value.text(problems);
        }
    }
    Some(PluginName { namespace: namespace?.into(), name: name?.into() })
}

fn grants(node: &Node<'_>, own: &Namespaces, problems: &mut Problems) -> Vec<ClusterGrant> {
    let items = node.list(MAX_GRANTS, problems).unwrap_or_default();
    items.iter().filter_map(|item| grant(item, own, problems)).collect()
}

fn grant(node: &Node<'_>, own: &Namespaces, problems: &mut Problems) -> Option<ClusterGrant> {
    let object = node.object(&["cluster"], &GRANTS_NOT_BUILT, problems)?;
    match node.value().as_object().map_or(0, serde_json::Map::len) {
        1 => {}
        0 => problems.invalid(node.at(), "the grant is empty", "write cluster: {apiVersion, kind, verbs, namespaces}"),
        _ => problems.invalid(node.at(), "several grants in one entry", "write one entry for each"),
    }
    let cluster = object.get("cluster")?;
    let object = cluster.object(&CLUSTER, &[], problems)?;
    let kind = entries::kind(&object, problems);
    let verbs = object.required("verbs", problems).and_then(|n| verbs(&n, problems));
    let namespaces = match object.get("namespaces") {
        Some(node) => entries::namespaces(&node, problems),
        None => Some(own.clone()),
    };
    Some(ClusterGrant { kind: kind?, verbs: verbs?, namespaces: namespaces? })
}

fn verbs(node: &Node<'_>, problems: &mut Problems) -> Option<Vec<Verb>> {
    let items = node.list(Verb::ALL.len() * 2, problems)?;
    if items.is_empty() {
        problems.invalid(node.at(), VERBS_EMPTY, VERBS_EMPTY_HINT);
        return None;
    }
    let words = Verb::ALL.map(|verb| (verb.as_str(), verb));
    let verbs: Vec<Verb> = items.iter().filter_map(|n| n.choice(&words, problems)).collect();
    if verbs.len() < items.len() {
        return None;
    }
    entries::unique(&items, &verbs.iter().map(|v| v.as_str()).collect::<Vec<_>>(), problems);
    Some(verbs)
}

fn rollout(node: &Node<'_>, problems: &mut Problems) -> (Option<Replay>, Option<Duration>) {
    let Some(object) = node.object(&ROLLOUT, &[], problems) else { return (None, None) };
    let replay = object.get("replay").and_then(|n| n.choice(&REPLAYS, problems));
    (replay, object.get("bake").and_then(|n| n.duration(&PluginDocument::BAKES, problems)))
}

/// What is needed to read the document again.
fn source(name: &PluginName, spec: &Value) -> String {
    json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": &*name.name, "namespace": &*name.namespace}, "spec": spec})
        .to_string()
}

fn config(node: &Node<'_>, problems: &mut Problems) -> Option<String> {
    node.entries(problems)?;
    Some(node.value().to_string())
}
