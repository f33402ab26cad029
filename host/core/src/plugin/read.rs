//! The Plugin document, read from JSON: every mistake is found in one pass, and what this
//! version does not have is refused, never ignored. Owns the document's own fields; entries
//! of `subscribe` are read by `entries`, limits by `limits`.

use std::time::Duration;

use serde_json::{Value, json};

use super::document::{ComponentRef, Isolation, PluginDocument, PluginName, Replay};
use super::entries::{self, Author};
use super::fields::{Node, Problem, Problems, Refused, excerpt};
use super::limits::AskedLimits;
use super::names::{LABEL_HINT, is_label, is_subdomain};
use crate::Reason;
use crate::grant::{ClusterGrant, Grants, Namespaces, Verb};

/// The `apiVersion` of the document.
pub const API_VERSION: &str = "wharf.dev/v1alpha1";
/// The `kind` of the document.
pub const KIND: &str = "Plugin";

const MAX_GRANTS: usize = 64;

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
const SPEC: [&str; 9] = ["component", "serviceAccountName", "suspend", "subscribe", "grants", "limits", "rollout", "isolation", "config"];
const SPEC_NOT_BUILT: [Refused; 2] = [
    Refused { field: "delivery", hint: "remove it: each key is delivered with its latest state" },
    Refused { field: "resync", hint: "put it into an entry of subscribe" },
];
const COMPONENT_NOT_BUILT: [Refused; 2] = [
    Refused { field: "oci", hint: "put the component beside the document and write {file: NAME.wasm}" },
    Refused { field: "configMap", hint: "mount the ConfigMap beside the document and write {file: NAME.wasm}" },
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
const ISOLATIONS: [(&str, Isolation); 2] = [("reuse", Isolation::Reuse), ("fresh", Isolation::Fresh)];

/// Reads a Plugin document.
///
/// # Errors
/// All problems at once, with RFC 6901 pointers: `DocumentInvalid`, or `NotSupported` for
/// what this version does not have. A document of another `apiVersion` or `kind` has only
/// that problem.
pub fn read_document(value: &Value) -> Result<PluginDocument, Vec<Problem>> {
    let mut problems = Problems::new(Reason::DocumentInvalid);
    let root = Node::new("", value);
    let read = if is_plugin(&root, &mut problems) { document(&root, &mut problems) } else { None };
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

fn document(root: &Node<'_>, problems: &mut Problems) -> Option<PluginDocument> {
    let object = root.object(&["apiVersion", "kind", "metadata", "spec"], &STATUS, problems)?;
    for (field, value) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match object.get(field) {
            Some(node) => drop(node.text(problems)),
            None => problems.invalid(&format!("/{field}"), format!("{field} is missing"), format!("add {field}: {value}")),
        }
    }
    let name = object.required("metadata", problems).and_then(|n| metadata(&n, problems));
    let own = name.as_ref().map_or_else(|| PluginName::DEFAULT_NAMESPACE.into(), |n| n.namespace.clone());
    let spec_node = object.required("spec", problems)?;
    let spec = spec_node.object(&SPEC, &SPEC_NOT_BUILT, problems)?;
    let component = spec.required("component", problems).and_then(|n| component(&n, problems));
    let account_hint = "lower case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit";
    let service_account = spec.get("serviceAccountName").and_then(|n| n.checked(is_subdomain, "name", account_hint, problems));
    let suspend = spec.get("suspend").and_then(|n| n.flag(problems)).unwrap_or_default();
    let subscribe = spec.get("subscribe").map(|n| {
        if n.value().as_array().is_some_and(Vec::is_empty) {
            problems.invalid(
                n.at(),
                "subscribe is empty, so nothing would be delivered",
                "name some, or leave it out for all that the component asks for",
            );
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

fn metadata(node: &Node<'_>, problems: &mut Problems) -> Option<PluginName> {
    let object = node.object(&["name", "namespace", "labels", "annotations"], &SERVER_FIELDS, problems)?;
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

fn component(node: &Node<'_>, problems: &mut Problems) -> Option<ComponentRef> {
    let object = node.object(&["file"], &COMPONENT_NOT_BUILT, problems)?;
    let file = match object.get("file") {
        Some(file) => file,
        // A source that is not built yet was named already; a missing file would be noise.
        None if COMPONENT_NOT_BUILT.iter().any(|r| object.get(r.field).is_some()) => return None,
        None => object.required("file", problems)?,
    };
    let text = file.text(problems)?;
    let inside = !text.is_empty() && !text.starts_with('/') && !text.contains('\0') && text.split('/').all(|part| part != "..");
    if !inside {
        problems.invalid(
            file.at(),
            format!("{} is no file below the document's folder", excerpt(text)),
            "write a relative path without ..",
        );
        return None;
    }
    Some(ComponentRef::File(text.to_owned()))
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
    let object = cluster.object(&["apiVersion", "kind", "verbs", "namespaces"], &[], problems)?;
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
        problems.invalid(node.at(), "verbs is empty, which grants nothing", "name some, or remove the grant");
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
    let Some(object) = node.object(&["replay", "bake"], &[], problems) else { return (None, None) };
    let replays = [("all", Replay::All), ("failed", Replay::Failed), ("none", Replay::None)];
    let replay = object.get("replay").and_then(|n| n.choice(&replays, problems));
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
