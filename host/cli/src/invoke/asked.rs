//! What the component asks for, put beside the call: for which subscription it is, and whether
//! a host would make it. Owns the choice and the notes; a call that no host would make is made
//! all the same, since somebody asked for it.

use std::sync::Arc;

use wharf_core::filter::Filters;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Description, Limits, Subscription, resolve};
use wharf_core::printable;
use wharf_core::{Cause, Event, Removal};

use super::case::Case;
use super::input::wrong;
use super::plugin::Plugin;
use crate::exit;
use crate::report::CliError;

/// What follows from the description and the document.
#[derive(Debug)]
pub(super) struct Asked {
    /// Ceilings of the call.
    pub(super) limits: Limits,
    subscriptions: Vec<Subscription>,
}

impl Asked {
    /// As a host: the document narrows what the component asks for. Without a document the
    /// component gets all of it, everywhere.
    ///
    /// # Errors
    /// When the document and the component do not agree.
    pub(super) fn of(plugin: &Plugin, description: &Description) -> Result<Self, CliError> {
        let defaults = Limits::default();
        let Some(document) = &plugin.document else {
            let subscriptions = description.subscribe.iter().filter_map(everywhere).collect();
            return Ok(Self { limits: description.limits.fill(&defaults), subscriptions });
        };
        let (subscriptions, limits) = resolve(document, description, &defaults).map_err(|problems| {
            let lines: Vec<_> = problems.iter().map(|problem| printable(&problem.to_string())).collect();
            let hint = problems.iter().map(|p| p.hint.as_str()).find(|hint| !hint.is_empty()).unwrap_or_default();
            let message = format!("the component and the document {} do not agree\n{}", document.name, lines.join("\n"));
            CliError::new(exit::NO, message).hint(printable(hint))
        })?;
        Ok(Self { limits, subscriptions })
    }

    /// The name of the subscription that the call is for, and why a host would not make it.
    ///
    /// # Errors
    /// When the name that was asked for is not there.
    pub(super) fn subscription(&self, wanted: Option<&str>, case: &Case) -> Result<(Arc<str>, Vec<String>), CliError> {
        let found = match wanted {
            Some(name) => Some(self.named(name)?),
            None => self.subscriptions.iter().find(|subscription| same_type(subscription, case)),
        };
        let Some(found) = found else {
            let name = self.subscriptions.first().map_or_else(|| "none".into(), |first| Arc::clone(&first.name));
            return Ok((name, vec![format!("a host would not make this call: no subscription is for {}", case.kind)]));
        };
        let note = unlike(found, case).map(|why| format!("a host would not make this call: the subscription {} {why}", found.name));
        Ok((Arc::clone(&found.name), note.into_iter().collect()))
    }

    fn named(&self, name: &str) -> Result<&Subscription, CliError> {
        self.subscriptions.iter().find(|subscription| &*subscription.name == name).ok_or_else(|| {
            let names: Vec<_> = self.subscriptions.iter().map(|subscription| &*subscription.name).collect();
            let hint = if names.is_empty() { "there is none at all".to_owned() } else { format!("there are: {}", names.join(", ")) };
            wrong(format!("--subscription: the plugin has no subscription {name:?}")).hint(hint)
        })
    }
}

fn everywhere(entry: &wharf_core::plugin::SubscribeEntry) -> Option<Subscription> {
    Some(Subscription {
        name: Arc::clone(&entry.name),
        kind: Arc::new(entry.kind.clone()?),
        namespaces: Namespaces::All,
        label_selector: entry.label_selector.clone(),
        field_selector: entry.field_selector.clone(),
        events: entry.events.clone().unwrap_or_else(|| Event::ALL.to_vec()),
        resync: None,
        redacted: false,
        every_event: false,
        filters: Filters {
            only_if_changed: entry.changes.only_if_changed.clone().unwrap_or_default(),
            expressions: entry.changes.filter.clone().into_iter().collect(),
        },
        ignore_own_writes: false,
        map: None,
    })
}

fn same_type(subscription: &Subscription, case: &Case) -> bool {
    subscription.kind == case.kind
}

/// In what the call is not one of the subscription's; `None` if it is.
fn unlike(subscription: &Subscription, case: &Case) -> Option<String> {
    if !same_type(subscription, case) {
        return Some(format!("is for {}", subscription.kind));
    }
    if !subscription.events.contains(&case.event) {
        return Some(format!("does not have the event {}", case.event.as_str()));
    }
    if let Some(namespace) = &case.current.key().namespace
        && !subscription.namespaces.contains(namespace)
    {
        return Some(format!("does not cover the namespace {namespace}"));
    }
    let matches = case.current.matches_labels(&subscription.label_selector) && case.current.matches_fields(&subscription.field_selector);
    let by_change = matches!(case.cause, Cause::Watch | Cause::InitialList | Cause::ChangedOffline) && case.event != Event::Delete;
    // Without a state of its own the last call is taken to have seen the object as it is.
    let previous = case.previous.as_ref().filter(|previous| !Arc::ptr_eq(previous, &case.current));
    if by_change
        && matches
        && (case.event == Event::Add || previous.is_some())
        && let Some(by) = subscription.filters.drops(previous.map(|previous| &**previous), &case.current, |_, _| {})
    {
        return Some(format!("drops this change: {}", by.as_str()));
    }
    match (matches, case.removal) {
        (false, Removal::None | Removal::Gone) => {
            let selectors = [&subscription.label_selector, &subscription.field_selector].map(ToString::to_string);
            let selectors: Vec<_> = selectors.into_iter().filter(|text| !text.is_empty()).collect();
            Some(format!("selects {}, which the object does not match", selectors.join(" and ")))
        }
        _ => None,
    }
}
