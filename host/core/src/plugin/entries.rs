//! Entries of `subscribe`, which documents and descriptions share. Owns their fields and
//! what holds between them; never decides what is granted (that is `resolve`).

use std::sync::Arc;

use super::changes;
use super::document::SubscribeEntry;
use super::fields::{Node, Object, Problems, Refused, excerpt};
use super::names::{LABEL_HINT, MAX_KIND, is_api_version, is_camel_case, is_label};
use crate::Reason;
use crate::event::Event;
use crate::grant::Namespaces;
use crate::kind::Gvk;
use crate::selector::Selector;

/// Who wrote an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The operator: may say where, need not repeat the kind.
    Document,
    /// The component: must name the kind, never says where.
    Component,
}

/// More subscriptions than these are refused.
pub(super) const MAX_SUBSCRIPTIONS: usize = 32;
/// More namespaces than these are refused; who means more means all.
pub(super) const MAX_NAMESPACES: usize = 256;
/// The longest selector, in bytes: it becomes part of an URL.
pub(super) const MAX_SELECTOR: usize = 4096;

/// Of both authors, beside those of [`changes`].
pub(super) const FIELDS: [&str; 8] = ["name", "apiVersion", "kind", "labelSelector", "fieldSelector", "events", "resync", "delivery"];
/// Of the document alone.
pub(super) const DOCUMENT_FIELDS: [&str; 2] = ["namespaces", "content"];
const REFUSED: [Refused; 5] = [
    Refused { field: "namespaces", hint: "remove it: only the Plugin document says where" },
    Refused { field: "mapping", hint: "write map" },
    Refused { field: "content", hint: "remove it: only the Plugin document says how much is shown" },
    Refused { field: "fields", hint: "remove it: the handler may look at every field" },
    Refused { field: "projection", hint: "remove it: the handler may look at every field" },
];
pub(super) const CONTENTS: [(&str, bool); 2] = [("full", false), ("redacted", true)];
pub(super) const DELIVERIES: [(&str, bool); 2] = [("latest", false), ("every-event", true)];
pub(super) const EVENTS: [(&str, Event); 3] =
    [(Event::Add.as_str(), Event::Add), (Event::Update.as_str(), Event::Update), (Event::Delete.as_str(), Event::Delete)];

pub(super) const API_VERSION_HINT: &str = "write it as in an object, for example v1 or apps/v1";
pub(super) const KIND_HINT: &str = "write it as in an object, for example ConfigMap";
pub(super) const NAMESPACES_EMPTY: &str = "namespaces is empty, which covers nothing";
pub(super) const NAMESPACES_EMPTY_HINT: &str = "name some, write [\"*\"] for all, or leave it out for the plugin's own";
pub(super) const ALL_BESIDE_OTHERS: &str = "\"*\" stands beside others";
pub(super) const ALL_BESIDE_OTHERS_HINT: &str = "write [\"*\"] alone for all namespaces, or only names";
pub(super) const SAME_KIND_HINT: &str = "merge them into one subscription with a selector that covers both";
pub(super) const SELECTOR_HINT: &str = "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key, separated by commas";
pub(super) const FIELD_SELECTOR_HINT: &str = "only metadata.name and metadata.namespace, with = or !=";

/// Reads a list of entries. What is wrong is noted; the entries that could be read come
/// back, so that more can be checked against them.
pub(super) fn read(node: &Node<'_>, author: Author, problems: &mut Problems) -> Vec<SubscribeEntry> {
    let items = node.list(MAX_SUBSCRIPTIONS, problems).unwrap_or_default();
    let read: Vec<_> = items.iter().filter_map(|item| Some((item, entry(item, author, problems)?))).collect();
    for (i, (item, entry)) in read.iter().enumerate() {
        for (_, earlier) in read.iter().take(i) {
            if earlier.name == entry.name {
                problems.invalid(
                    &format!("{}/name", item.at()),
                    format!("a second subscription has the name {}", entry.name),
                    "rename or remove one",
                );
            } else if let (Some(a), Some(b)) = (&earlier.kind, &entry.kind)
                && (&a.group, &a.kind) == (&b.group, &b.kind)
            {
                let message = format!("{} is subscribed by {} and by {}", b.kind, earlier.name, entry.name);
                problems.add(Reason::NotSupported, &format!("{}/kind", item.at()), message, SAME_KIND_HINT);
            }
        }
    }
    if read.len() == items.len() {
        changes::check_maps(&read.iter().map(|(item, entry)| (item.at(), entry)).collect::<Vec<_>>(), problems);
    }
    read.into_iter().map(|(_, entry)| entry).collect()
}

/// `apiVersion` and `kind` of an object; `None` if one of them is absent or wrong.
pub(super) fn kind(object: &Object<'_>, problems: &mut Problems) -> Option<Gvk> {
    let version = object.required("apiVersion", problems).and_then(|n| n.checked(is_api_version, "apiVersion", API_VERSION_HINT, problems));
    let kind = object.required("kind", problems).and_then(|n| n.checked(|t| is_camel_case(t, MAX_KIND), "kind", KIND_HINT, problems));
    Some(Gvk::from_api_version(version?, kind?))
}

/// A list of namespaces, or `["*"]`.
pub(super) fn namespaces(node: &Node<'_>, problems: &mut Problems) -> Option<Namespaces> {
    let items = node.list(MAX_NAMESPACES, problems)?;
    if items.is_empty() {
        problems.invalid(node.at(), NAMESPACES_EMPTY, NAMESPACES_EMPTY_HINT);
        return None;
    }
    let rule = |text: &str| text == "*" || is_label(text);
    let names: Vec<&str> = items.iter().filter_map(|n| n.checked(rule, "namespace", LABEL_HINT, problems)).collect();
    if names.len() < items.len() {
        return None;
    }
    let has_all = names.contains(&"*");
    if has_all && names.len() > 1 {
        problems.invalid(node.at(), ALL_BESIDE_OTHERS, ALL_BESIDE_OTHERS_HINT);
        return None;
    }
    unique(&items, &names, problems);
    Some(if has_all { Namespaces::All } else { Namespaces::Some(names.into_iter().map(Arc::from).collect()) })
}

/// Notes items that are there twice.
pub(super) fn unique(items: &[Node<'_>], values: &[&str], problems: &mut Problems) {
    for (i, (item, value)) in items.iter().zip(values).enumerate() {
        if values.iter().take(i).any(|earlier| earlier == value) {
            problems.invalid(item.at(), format!("{} is there twice", excerpt(value)), "remove one");
        }
    }
}

fn entry(node: &Node<'_>, author: Author, problems: &mut Problems) -> Option<SubscribeEntry> {
    let more = if author == Author::Document { DOCUMENT_FIELDS.as_slice() } else { &[] };
    let object = node.object(&[&FIELDS, more, &changes::FIELDS].concat(), &REFUSED, problems)?;
    let name = object.required("name", problems).and_then(|n| n.checked(is_label, "name", LABEL_HINT, problems));
    // A document gives both or neither; a description always both.
    let names_kind = author == Author::Component || object.get("apiVersion").is_some() || object.get("kind").is_some();
    let kind = if names_kind { kind(&object, problems).map(Some) } else { Some(None) };
    let namespaces = match author {
        Author::Document => object.get("namespaces").and_then(|n| namespaces(&n, problems)),
        Author::Component => None,
    };
    let label_selector = object.get("labelSelector").and_then(|n| selector(&n, problems)).unwrap_or_default();
    let field_selector = object.get("fieldSelector").and_then(|n| field_selector(&n, problems)).unwrap_or_default();
    let events = object.get("events").and_then(|n| events(&n, problems));
    let resync = object.get("resync").and_then(|n| n.duration(&SubscribeEntry::RESYNC, problems));
    let redacted = match author {
        Author::Document => object.get("content").and_then(|n| n.choice(&CONTENTS, problems)).unwrap_or_default(),
        Author::Component => false,
    };
    let changes = changes::read(&object, events.as_deref(), problems);
    let every_event = object.get("delivery").and_then(|n| n.choice(&DELIVERIES, problems));
    Some(SubscribeEntry {
        name: name?.into(),
        kind: kind?,
        namespaces,
        label_selector,
        field_selector,
        events,
        resync,
        redacted,
        every_event,
        changes,
    })
}

fn selector(node: &Node<'_>, problems: &mut Problems) -> Option<Selector> {
    if node.value().is_object() {
        problems.invalid(node.at(), "expected text, found fields with values", "write it as for kubectl, for example app=web,tier!=test");
        return None;
    }
    let text = node.text(problems)?;
    if text.len() > MAX_SELECTOR {
        problems.invalid(node.at(), format!("{} bytes are too many for a selector", text.len()), format!("at most {MAX_SELECTOR}"));
        return None;
    }
    match Selector::parse(text) {
        Ok(selector) => Some(selector),
        Err(error) => {
            problems.invalid(node.at(), format!("{} is no requirement of a selector", excerpt(&error.part)), SELECTOR_HINT);
            None
        }
    }
}

fn field_selector(node: &Node<'_>, problems: &mut Problems) -> Option<Selector> {
    let selector = selector(node, problems)?;
    let hint = FIELD_SELECTOR_HINT;
    let unknown = selector.keys().find(|key| !matches!(*key, "metadata.name" | "metadata.namespace"));
    if let Some(key) = unknown {
        problems.invalid(node.at(), format!("{} cannot be selected by", excerpt(key)), hint);
        return None;
    }
    // The API server's own rule: equality only.
    let text = node.text(problems)?;
    if !selector.is_empty() && !text.split(',').all(|part| part.contains('=') && !part.contains('(')) {
        problems.invalid(node.at(), format!("{} is no field selector", excerpt(text)), hint);
        return None;
    }
    Some(selector)
}

fn events(node: &Node<'_>, problems: &mut Problems) -> Option<Vec<Event>> {
    let items = node.list(EVENTS.len() * 2, problems)?;
    let events: Vec<Event> = items.iter().filter_map(|n| n.choice(&EVENTS, problems)).collect();
    if events.len() < items.len() {
        return None;
    }
    unique(&items, &events.iter().map(|e| e.as_str()).collect::<Vec<_>>(), problems);
    Some(events)
}
