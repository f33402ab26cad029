//! A Lease as the server has it. Owns which fields an election reads and writes; all others, of
//! whatever version, stay as they are. Knows no rule of who may write when.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Labels that a host gives its lease.
pub(super) type Labels = BTreeMap<String, String>;

/// A Lease, whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lease(pub Map<String, Value>);

impl Lease {
    /// One that does not exist yet.
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        let mut lease = Self::default();
        lease.0.insert("apiVersion".to_owned(), "coordination.k8s.io/v1".into());
        lease.0.insert("kind".to_owned(), "Lease".into());
        lease.0.insert("metadata".to_owned(), json!({"namespace": namespace, "name": name}));
        lease
    }

    /// Who holds it; empty if nobody does.
    pub(super) fn holder(&self) -> &str {
        self.field("holderIdentity").and_then(Value::as_str).unwrap_or_default()
    }

    /// For how long after a change it is not to be taken, if it says so.
    pub(super) fn duration(&self) -> Option<Duration> {
        let seconds = self.field("leaseDurationSeconds")?.as_u64()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// How often it has changed hands.
    pub(super) fn transitions(&self) -> i64 {
        self.field("leaseTransitions").and_then(Value::as_i64).unwrap_or_default()
    }

    /// What an election has written; the rest may change without anybody having renewed.
    pub(super) fn spec(&self) -> Option<&Value> {
        self.0.get("spec")
    }

    /// Held by somebody from now on, or still.
    #[must_use]
    pub(super) fn held(mut self, holder: &str, duration: Duration, wall: Timestamp) -> Self {
        let (took, transitions, existed) = (self.holder() != holder, self.transitions(), self.exists());
        self.change("spec", |spec| {
            spec.insert("holderIdentity".to_owned(), holder.into());
            spec.insert("leaseDurationSeconds".to_owned(), duration.as_secs().into());
            spec.insert("renewTime".to_owned(), micros(wall).into());
            if took {
                spec.insert("acquireTime".to_owned(), micros(wall).into());
                spec.insert("leaseTransitions".to_owned(), transitions.saturating_add(i64::from(existed)).into());
            }
        });
        self
    }

    /// Held by nobody from now on.
    #[must_use]
    pub(super) fn released(mut self, wall: Timestamp) -> Self {
        self.change("spec", |spec| {
            spec.insert("holderIdentity".to_owned(), "".into());
            spec.insert("leaseDurationSeconds".to_owned(), 1.into());
            spec.insert("renewTime".to_owned(), micros(wall).into());
            spec.insert("acquireTime".to_owned(), micros(wall).into());
        });
        self
    }

    /// With these labels besides those that it has.
    #[must_use]
    pub(super) fn labelled(mut self, labels: &Labels) -> Self {
        if labels.is_empty() {
            return self;
        }
        self.change("metadata", |metadata| {
            let mut all = take(metadata, "labels");
            all.extend(labels.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
            metadata.insert("labels".to_owned(), all.into());
        });
        self
    }

    /// Does the server have it?
    fn exists(&self) -> bool {
        self.0.get("metadata").and_then(|metadata| metadata.get("resourceVersion")).is_some()
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.spec()?.get(name)
    }

    /// Changes a member that is an object; one that is missing or null is empty.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut part = take(&mut self.0, name);
        change(&mut part);
        self.0.insert(name.to_owned(), part.into());
    }
}

fn take(map: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match map.remove(name) {
        Some(Value::Object(part)) => part,
        _ => Map::new(),
    }
}

/// As the API writes a `MicroTime`.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
