//! Asked and granted, put together: what a plugin is told about, and its ceilings. Owns
//! the rule that neither side gets more than the other allows; never asks the cluster what
//! a ServiceAccount may see (that comes on top).

use std::sync::Arc;

use super::changes::{MapEntry, never_called};
use super::describe::Description;
use super::document::{PluginDocument, SubscribeEntry, Subscription};
use super::fields::{Problem, Problems};
use super::limits::Limits;
use super::similar::closest;
use crate::Reason;
use crate::event::Event;
use crate::filter::Filters;
use crate::grant::Namespaces;
use crate::kind::Gvk;
use crate::mapping::Mapping;

/// The subscriptions and limits of a plugin: what its component asks for and its document
/// grants. Limits are the document's, else the component's, else `defaults`.
///
/// # Errors
/// All problems at once, with pointers into the document: names and kinds that do not
/// agree, events that the component does not handle, and `GrantMissing` for the kinds that
/// the document must name itself.
pub fn resolve(
    document: &PluginDocument,
    description: &Description,
    defaults: &Limits,
) -> Result<(Vec<Subscription>, Limits), Vec<Problem>> {
    let mut problems = Problems::new(Reason::DocumentInvalid);
    let own = Namespaces::Some(vec![document.name.namespace.clone()]);
    let at = |i| format!("/spec/subscribe/{i}");
    let mut subscriptions: Vec<Subscription> = match &document.subscribe {
        None => description.subscribe.iter().filter_map(|asked| whole(asked, description, &own, &mut problems)).collect(),
        Some(entries) => {
            entries.iter().enumerate().filter_map(|(i, entry)| narrowed(&at(i), entry, description, &own, &mut problems)).collect()
        }
    };
    if problems.is_empty() {
        let places: Vec<String> = match &document.subscribe {
            None => vec!["/spec/subscribe".to_owned(); subscriptions.len()],
            Some(entries) => (0..entries.len()).map(at).collect(),
        };
        let maps: Vec<Option<MapEntry>> = subscriptions.iter().map(|s| map_of(&s.name, document, description)).collect();
        for ((map, at), i) in maps.into_iter().zip(places).zip(0..) {
            let map = map.and_then(|map| mapping(&at, &map, &subscriptions, &mut problems));
            subscriptions.get_mut(i).into_iter().for_each(|subscription| subscription.map.clone_from(&map));
        }
    }
    if problems.is_empty() { Ok((subscriptions, document.limits.or(description.limits).fill(defaults))) } else { Err(problems.into_list()) }
}

/// What the component asks for, untouched; the document has no `subscribe`.
fn whole(asked: &SubscribeEntry, description: &Description, own: &Namespaces, problems: &mut Problems) -> Option<Subscription> {
    let kind = asked.kind.as_ref()?;
    if needs_naming(kind) {
        let entries = description.subscribe.iter().map(|s| match &s.kind {
            Some(kind) if needs_naming(kind) => named_entry(&s.name, kind),
            _ => format!("{{name: {}}}", s.name),
        });
        let hint = format!("if the plugin should see them, add to spec: subscribe: [{}]", entries.collect::<Vec<_>>().join(", "));
        problems.add(Reason::GrantMissing, "/spec/subscribe", unnamed(&asked.name, kind), hint);
        return None;
    }
    Some(subscription(asked, kind, own.clone(), asked.events.as_deref()))
}

/// What the component asks for under the entry's name, cut to what the entry allows.
fn narrowed(
    at: &str,
    entry: &SubscribeEntry,
    description: &Description,
    own: &Namespaces,
    problems: &mut Problems,
) -> Option<Subscription> {
    let Some(asked) = description.subscribe.iter().find(|asked| asked.name == entry.name) else {
        unknown_name(at, entry, description, problems);
        return None;
    };
    let kind = asked.kind.as_ref()?;
    match &entry.kind {
        Some(named) if named != kind => {
            let message = format!("the component asks for {kind} as {}, not for {named}", entry.name);
            let hint = format!("write apiVersion: {}, kind: {}", kind.api_version(), kind.kind);
            problems.invalid(&format!("{at}/kind"), message, hint);
        }
        None if needs_naming(kind) && !entry.redacted => {
            let hint = format!(
                "if the plugin should see them, write - {}, or content: redacted to show them without their data",
                named_entry(&entry.name, kind)
            );
            problems.add(Reason::GrantMissing, at, unnamed(&entry.name, kind), hint);
        }
        _ => {}
    }
    if entry.redacted && !needs_naming(kind) {
        let message = format!("{kind} has nothing to redact: content: redacted is for Secrets");
        problems.invalid(&format!("{at}/content"), message, "remove it");
    }
    let handled = asked.events.as_deref().unwrap_or(&Event::ALL);
    let refused: Vec<_> = entry.events.iter().flatten().filter(|e| !handled.contains(e)).map(|e| e.as_str()).collect();
    if !refused.is_empty() {
        let message = format!("the component does not ask for {} in {}", refused.join(" and "), entry.name);
        let all = handled.iter().map(|e| e.as_str()).collect::<Vec<_>>().join(", ");
        problems.invalid(&format!("{at}/events"), message, format!("it asks for [{all}]"));
    }
    let mut merged = subscription(
        asked,
        kind,
        entry.namespaces.clone().unwrap_or_else(|| own.clone()),
        entry.events.as_deref().or(asked.events.as_deref()),
    );
    merged.label_selector = asked.label_selector.and(&entry.label_selector);
    merged.field_selector = asked.field_selector.and(&entry.field_selector);
    merged.resync = entry.resync.or(asked.resync);
    merged.redacted = entry.redacted;
    merged.every_event = entry.every_event.or(asked.every_event).unwrap_or_default();
    if let Some(pointers) = &entry.changes.only_if_changed {
        merged.filters.only_if_changed.clone_from(pointers);
    }
    merged.filters.expressions.extend(entry.changes.filter.clone());
    merged.ignore_own_writes = entry.changes.ignore_own_writes.unwrap_or(merged.ignore_own_writes);
    if merged.events.is_empty() {
        if entry.changes.filters() {
            let message = format!("{} is only cached (events: []), so nothing can be filtered", entry.name);
            problems.invalid(at, message, "remove onlyIfChanged, filter and ignoreOwnWrites");
        }
        (merged.filters, merged.ignore_own_writes) = Default::default();
    }
    Some(merged)
}

/// Where the objects of a subscription map to: as the document says, else as the component asks.
fn map_of(name: &str, document: &PluginDocument, description: &Description) -> Option<MapEntry> {
    let of = |entries: &[SubscribeEntry]| entries.iter().find(|entry| *entry.name == *name)?.changes.map.clone();
    document.subscribe.as_deref().and_then(of).or_else(|| of(&description.subscribe))
}

/// The target must be among what is subscribed, and be delivered.
fn mapping(at: &str, map: &MapEntry, subscriptions: &[Subscription], problems: &mut Problems) -> Option<Mapping> {
    let Some(target) = subscriptions.iter().find(|other| other.name == map.to) else {
        let message = format!("its changes concern objects of {}, which the document does not subscribe", map.to);
        problems.invalid(at, message, format!("add - {{name: {}}}, or write a map to another", map.to));
        return None;
    };
    if target.events.is_empty() {
        problems.invalid(at, never_called(&map.to), format!("give {} events, or write a map to another", map.to));
        return None;
    }
    Some(Mapping { to: Arc::clone(&target.kind), namespaced: true, by: map.by.clone() })
}

fn subscription(asked: &SubscribeEntry, kind: &Gvk, namespaces: Namespaces, events: Option<&[Event]>) -> Subscription {
    Subscription {
        name: asked.name.clone(),
        kind: Arc::new(kind.clone()),
        namespaces,
        label_selector: asked.label_selector.clone(),
        field_selector: asked.field_selector.clone(),
        events: Event::ALL.into_iter().filter(|e| events.is_none_or(|events| events.contains(e))).collect(),
        resync: asked.resync,
        redacted: false,
        every_event: asked.every_event.unwrap_or_default(),
        filters: Filters {
            only_if_changed: asked.changes.only_if_changed.clone().unwrap_or_default(),
            expressions: asked.changes.filter.clone().into_iter().collect(),
        },
        ignore_own_writes: asked.changes.ignore_own_writes.unwrap_or_default(),
        map: None,
    }
}

fn unknown_name(at: &str, entry: &SubscribeEntry, description: &Description, problems: &mut Problems) {
    let names: Vec<&str> = description.subscribe.iter().map(|s| s.name.as_ref()).collect();
    let hint = match (names.is_empty(), closest(&entry.name, names.iter().copied())) {
        (true, _) => "it asks for no subscription at all".to_owned(),
        (false, Some(near)) => format!("did you mean {near}? It asks for: {}", names.join(", ")),
        (false, None) => format!("it asks for: {}", names.join(", ")),
    };
    problems.invalid(&format!("{at}/name"), format!("the component has no subscription {}", entry.name), hint);
}

/// Kinds that a component gets only if the document names them: the bodies of Secrets.
fn needs_naming(kind: &Gvk) -> bool {
    kind.group.is_empty() && &*kind.kind == "Secret"
}

fn unnamed(name: &str, kind: &Gvk) -> String {
    format!("the component asks for {kind} as {name}, and the document does not name the kind")
}

fn named_entry(name: &str, kind: &Gvk) -> String {
    format!("{{name: {name}, apiVersion: {}, kind: {}}}", kind.api_version(), kind.kind)
}
