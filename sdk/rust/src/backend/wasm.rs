//! The host's functions as imports of the component. Owns the way from this crate's types
//! to the generated ones; every function is one crossing.

use std::time::Duration;

use super::Revision;
use crate::bindings::wharf::plugin as wit;
use crate::cluster::{ApiError, DeleteOptions, EventType, ListOptions, Propagation, ReadOptions, WriteOptions, Written};
use crate::log::Level;
use crate::object::{Gvk, ObjectRef};

pub(crate) fn event_get(which: Revision, pointer: &str) -> Option<String> {
    wit::event::get(which.into(), pointer)
}

pub(crate) fn event_get_many(which: Revision, pointers: &[&str]) -> Vec<Option<String>> {
    wit::event::get_many(which.into(), &owned(pointers))
}

pub(crate) fn event_json(which: Revision) -> Option<String> {
    wit::event::json(which.into())
}

pub(crate) fn event_changed(pointers: &[&str]) -> Vec<bool> {
    wit::event::changed(&owned(pointers))
}

pub(crate) fn event_remaining_ms() -> u32 {
    wit::event::remaining_ms()
}

pub(crate) fn now() -> Duration {
    let now = wit::system::now();
    Duration::new(now.seconds.into(), now.nanoseconds)
}

pub(crate) fn random(len: u32) -> Vec<u8> {
    wit::system::random(len)
}

pub(crate) fn log_enabled(level: Level) -> bool {
    wit::log::enabled(level.into())
}

pub(crate) fn log_emit(level: Level, message: &str, fields: &[(String, String)]) {
    wit::log::emit(level.into(), message, fields);
}

pub(crate) fn config_json() -> String {
    wit::config::json()
}

pub(crate) fn config_get(pointer: &str) -> Option<String> {
    wit::config::get(pointer)
}

pub(crate) fn cluster_get(kind: &Gvk, namespace: Option<&str>, name: &str, options: &ReadOptions) -> Result<String, ApiError> {
    Ok(wit::cluster::get(&kind.into(), namespace, name, &options.fields, options.live)?)
}

/// Items, and the token of the next page.
pub(crate) fn cluster_list(kind: &Gvk, options: &ListOptions) -> Result<(Vec<String>, String), ApiError> {
    let page = wit::cluster::list_objects(&kind.into(), &options.into())?;
    Ok((page.items, page.continue_token))
}

pub(crate) fn cluster_create(object: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    Ok(wit::cluster::create(object, &options.into())?.into())
}

pub(crate) fn cluster_apply(object: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    Ok(wit::cluster::apply(object, &options.into())?.into())
}

pub(crate) fn cluster_merge_patch(target: &ObjectRef, patch: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    Ok(wit::cluster::merge_patch(&target.into(), patch, &options.into())?.into())
}

pub(crate) fn cluster_delete(target: &ObjectRef, options: &DeleteOptions) -> Result<(), ApiError> {
    Ok(wit::cluster::delete(&target.into(), &options.into())?)
}

pub(crate) fn record_event(about: &ObjectRef, event_type: EventType, reason: &str, message: &str) {
    let event_type = match event_type {
        EventType::Normal => wit::cluster::EventType::Normal,
        EventType::Warning => wit::cluster::EventType::Warning,
    };
    wit::cluster::record_event(&about.into(), event_type, reason, message);
}

fn owned(pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| (*pointer).to_owned()).collect()
}

impl From<Revision> for wit::event::Revision {
    fn from(which: Revision) -> Self {
        match which {
            Revision::Current => Self::Current,
            Revision::Previous => Self::Previous,
        }
    }
}

impl From<Level> for wit::log::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

impl From<&Gvk> for wit::types::Gvk {
    fn from(kind: &Gvk) -> Self {
        Self { group: kind.group.clone(), version: kind.version.clone(), kind: kind.kind.clone() }
    }
}

impl From<&ObjectRef> for wit::types::ObjectRef {
    fn from(target: &ObjectRef) -> Self {
        Self { kind: (&target.kind).into(), namespace: target.namespace.clone(), name: target.name.clone(), uid: target.uid.clone() }
    }
}

impl From<&ListOptions> for wit::cluster::ListOptions {
    fn from(options: &ListOptions) -> Self {
        Self {
            namespace: options.namespace.clone(),
            label_selector: options.label_selector.clone(),
            field_selector: options.field_selector.clone(),
            fields: options.fields.clone(),
            live: options.live,
            limit: options.limit,
            continue_token: options.continue_token.clone(),
        }
    }
}

impl From<&WriteOptions> for wit::cluster::WriteOptions {
    fn from(options: &WriteOptions) -> Self {
        Self {
            dry_run: options.dry_run,
            force: options.force,
            if_resource_version: options.if_resource_version.clone(),
            subresource: options.subresource.clone(),
            fields: options.fields.clone(),
        }
    }
}

impl From<&DeleteOptions> for wit::cluster::DeleteOptions {
    fn from(options: &DeleteOptions) -> Self {
        Self {
            dry_run: options.dry_run,
            if_uid: options.if_uid.clone(),
            if_resource_version: options.if_resource_version.clone(),
            propagation: match options.propagation {
                Propagation::Background => wit::cluster::Propagation::Background,
                Propagation::Foreground => wit::cluster::Propagation::Foreground,
                Propagation::Orphan => wit::cluster::Propagation::Orphan,
            },
        }
    }
}

impl From<wit::cluster::Written> for Written {
    fn from(written: wit::cluster::Written) -> Self {
        Self { resource_version: written.resource_version, object: written.object }
    }
}

impl From<wit::cluster::ApiError> for ApiError {
    fn from(error: wit::cluster::ApiError) -> Self {
        use wit::cluster::ApiError as Wit;
        match error {
            Wit::NotGranted(text) => Self::NotGranted(text),
            Wit::Forbidden(text) => Self::Forbidden(text),
            Wit::NotFound => Self::NotFound,
            Wit::Conflict(text) => Self::Conflict(text),
            Wit::AlreadyExists => Self::AlreadyExists,
            Wit::Invalid(text) => Self::Invalid(text),
            Wit::Throttled(ms) => Self::Throttled(Duration::from_millis(ms.into())),
            Wit::Unavailable(text) => Self::Unavailable(text),
            Wit::TooLarge => Self::TooLarge,
        }
    }
}
