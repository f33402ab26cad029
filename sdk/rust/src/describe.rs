//! What a component says of itself, in the words of the Plugin document. The document
//! narrows it and grants; a component never gets more than it asked for here.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::delivery::Change;
use crate::outcome::SDK_REASONS;

/// Reasons that a description may list.
const MAX_REASONS: usize = 16;

/// Name, version, subscriptions, failure reasons and wished limits of a plugin.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    name: Cow<'static, str>,
    version: Cow<'static, str>,
    reasons: Vec<Cow<'static, str>>,
    subscribe: Vec<Subscription>,
    limits: Limits,
}

impl Description {
    /// Name and version, for people: `Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))`.
    pub fn new(name: impl Into<Cow<'static, str>>, version: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), version: version.into(), reasons: Vec::new(), subscribe: Vec::new(), limits: Limits::default() }
    }

    /// Adds a subscription.
    #[must_use]
    pub fn subscribe(mut self, subscription: Subscription) -> Self {
        self.subscribe.push(subscription);
        self
    }

    /// Adds failure reasons that shall count by themselves in metrics: CamelCase words, 8 at
    /// most (16 with those that this crate uses itself); what is more counts as `Other`.
    #[must_use]
    pub fn reasons<R: Into<Cow<'static, str>>>(mut self, reasons: impl IntoIterator<Item = R>) -> Self {
        self.reasons.extend(reasons.into_iter().map(Into::into));
        self
    }

    /// Wishes for memory over all of an instance, as a quantity: `32Mi`.
    #[must_use]
    pub fn memory(mut self, quantity: impl Into<Cow<'static, str>>) -> Self {
        self.limits.memory = Some(quantity.into());
        self
    }

    /// Wishes for wall time of one call.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = Some(milliseconds(deadline));
        self
    }

    /// Wishes for processor time of one call.
    #[must_use]
    pub fn cpu(mut self, cpu: Duration) -> Self {
        self.limits.cpu = Some(milliseconds(cpu));
        self
    }

    /// Wishes for calls at the same time.
    #[must_use]
    pub const fn concurrency(mut self, calls: u32) -> Self {
        self.limits.concurrency = Some(calls);
        self
    }

    /// The JSON text of `setup.describe`.
    pub(crate) fn to_json(&self) -> String {
        let mut all = self.clone();
        let mut reasons = std::mem::take(&mut all.reasons);
        reasons.extend(SDK_REASONS.map(Cow::Borrowed));
        for reason in reasons {
            // The host refuses a list that has one twice.
            if !all.reasons.contains(&reason) {
                all.reasons.push(reason);
            }
        }
        all.reasons.truncate(MAX_REASONS);
        // Strings and numbers only: there is nothing that cannot be written.
        serde_json::to_string(&all).unwrap_or_default()
    }
}

/// One kind that a plugin asks to be told about.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    name: Cow<'static, str>,
    api_version: Cow<'static, str>,
    kind: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    label_selector: Cow<'static, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    field_selector: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    only_if_changed: Vec<Cow<'static, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    filter: Cow<'static, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ignore_own_writes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<BTreeMap<&'static str, Cow<'static, str>>>,
}

/// How an object names the one that it matters to: see [`Subscription::maps_to`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// Each of its owners of the other's kind.
    Owner,
    /// The owner that is its controller.
    Controller,
    /// The value of a label: `NAME`.
    Label(Cow<'static, str>),
    /// The value of an annotation: `NAME`, or `NAMESPACE/NAME`.
    Annotation(Cow<'static, str>),
    /// The value at a pointer, likewise.
    Field(Cow<'static, str>),
}

impl By {
    fn parts(self) -> (&'static str, Cow<'static, str>) {
        match self {
            Self::Owner => ("owner", "any".into()),
            Self::Controller => ("owner", "controller".into()),
            Self::Label(key) => ("label", key),
            Self::Annotation(key) => ("annotation", key),
            Self::Field(pointer) => ("field", pointer),
        }
    }
}

impl Subscription {
    /// A kind, and the name by which the Plugin document refers to the subscription.
    pub fn new(name: impl Into<Cow<'static, str>>, api_version: impl Into<Cow<'static, str>>, kind: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            api_version: api_version.into(),
            kind: kind.into(),
            label_selector: Cow::Borrowed(""),
            field_selector: Cow::Borrowed(""),
            events: None,
            only_if_changed: Vec::new(),
            filter: Cow::Borrowed(""),
            ignore_own_writes: false,
            map: None,
        }
    }

    /// Only objects whose labels match.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<Cow<'static, str>>) -> Self {
        self.label_selector = selector.into();
        self
    }

    /// Only objects whose fields match: `metadata.name` and `metadata.namespace`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<Cow<'static, str>>) -> Self {
        self.field_selector = selector.into();
        self
    }

    /// Only these functions are called; all of them by default.
    #[must_use]
    pub fn events(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.events = Some(changes.into_iter().map(Change::as_str).collect());
        self
    }

    /// The kind is cached for reading, and never delivered.
    #[must_use]
    pub fn cached_only(self) -> Self {
        self.events([])
    }

    /// Only changes of a value at one of these pointers count: `/spec`, `/metadata/labels`.
    #[must_use]
    pub fn only_if_changed(mut self, pointers: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        self.only_if_changed.extend(pointers.into_iter().map(Into::into));
        self
    }

    /// Only changes count for which this CEL expression over `object` and `old` is true; `old`
    /// is null where there is nothing to compare with.
    #[must_use]
    pub fn filter(mut self, expression: impl Into<Cow<'static, str>>) -> Self {
        self.filter = expression.into();
        self
    }

    /// Changes that the plugin makes itself do not count.
    #[must_use]
    pub fn ignore_own_writes(mut self) -> Self {
        self.ignore_own_writes = true;
        self
    }

    /// A change of an object calls the handler for the one that it names, of the subscription
    /// `name`, with the cause `related`.
    #[must_use]
    pub fn maps_to(mut self, name: impl Into<Cow<'static, str>>, by: By) -> Self {
        self.map = Some(BTreeMap::from([("to", name.into()), by.parts()]));
        self
    }
}

#[derive(Clone, Debug, Default, Serialize)]
struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
}

fn milliseconds(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_in_the_words_of_the_document() {
        let text = Description::new("a", "1")
            .subscribe(Subscription::new("main", "apps/v1", "Deployment").labels("team").events([Change::Add, Change::Delete]))
            .subscribe(Subscription::new("maps", "v1", "ConfigMap").cached_only().maps_to("main", By::Label("app".into())))
            .subscribe(Subscription::new("jobs", "batch/v1", "Job").only_if_changed(["/spec"]).filter("old == null").ignore_own_writes())
            .reasons(["NotACopy", "NotACopy", "Conflict"])
            .memory("32Mi")
            .deadline(Duration::from_secs(2))
            .concurrency(2)
            .to_json();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "name": "a",
                "version": "1",
                "reasons": ["NotACopy", "Conflict", "ConfigInvalid", "ObjectInvalid", "GrantMissing", "Forbidden", "ServerUnavailable", "ApiError", "HandlerError"],
                "subscribe": [
                    {"name": "main", "apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": "team", "events": ["add", "delete"]},
                    {"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "events": [], "map": {"to": "main", "label": "app"}},
                    {"name": "jobs", "apiVersion": "batch/v1", "kind": "Job", "onlyIfChanged": ["/spec"], "filter": "old == null", "ignoreOwnWrites": true},
                ],
                "limits": {"memory": "32Mi", "deadline": "2000ms", "concurrency": 2},
            })
        );
    }

    #[test]
    fn own_reasons_come_first_and_the_list_is_short() {
        let text = Description::new("a", "1").reasons((0..20).map(|n| format!("Reason{n}"))).to_json();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let reasons = json["reasons"].as_array().unwrap();
        assert_eq!((reasons.len(), &reasons[0], &reasons[15]), (16, &"Reason0".into(), &"Reason15".into()));
    }
}
