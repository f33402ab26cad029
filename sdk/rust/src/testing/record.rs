//! What the mock remembers of a handler's work.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::EventType;
use crate::log::Level;
use crate::object::ObjectRef;

/// A function of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `cluster::get`.
    Get,
    /// `cluster::list`.
    List,
    /// `cluster::create`.
    Create,
    /// `cluster::apply`.
    Apply,
    /// `cluster::merge_patch`.
    MergePatch,
    /// `cluster::delete`.
    Delete,
}

/// A log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Its level.
    pub level: Level,
    /// The constant message.
    pub message: String,
    /// The values.
    pub fields: BTreeMap<String, String>,
}

/// A Kubernetes Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// The object that it is about.
    pub about: ObjectRef,
    /// Normal or Warning.
    pub event_type: EventType,
    /// The CamelCase word.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// A write that the mock accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Which function.
    pub operation: Operation,
    /// The object that was written.
    pub target: ObjectRef,
    /// The object or patch as sent; null for a delete.
    pub body: Value,
    /// Nothing was stored.
    pub dry_run: bool,
    /// With `force`.
    pub force: bool,
}
