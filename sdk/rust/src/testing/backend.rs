//! The host's functions on the mock's state. Outside a call everything is absent, as in a
//! component, and the cluster is not available.

use std::time::Duration;

use serde_json::Value;

use super::cluster;
use super::record::{LogLine, Operation, RecordedEvent, Write};
use super::state::{State, with};
use crate::backend::Revision;
use crate::cluster::{ApiError, DeleteOptions, EventType, ListOptions, ReadOptions, WriteOptions, Written};
use crate::log::Level;
use crate::object::{Gvk, ObjectRef};

pub(crate) fn event_get(which: Revision, pointer: &str) -> Option<String> {
    with(|state| revision(state, which)?.pointer(pointer).map(Value::to_string)).flatten()
}

pub(crate) fn event_get_many(which: Revision, pointers: &[&str]) -> Vec<Option<String>> {
    pointers.iter().map(|pointer| event_get(which, pointer)).collect()
}

pub(crate) fn event_json(which: Revision) -> Option<String> {
    event_get(which, "")
}

pub(crate) fn event_changed(pointers: &[&str]) -> Vec<bool> {
    let changed = |state: &mut State, pointer: &str| match &state.previous {
        Some(previous) => state.current.as_ref().and_then(|current| current.pointer(pointer)) != previous.pointer(pointer),
        None => true,
    };
    pointers.iter().map(|pointer| with(|state| changed(state, pointer)).unwrap_or(true)).collect()
}

pub(crate) fn event_remaining_ms() -> u32 {
    with(|state| {
        tick(state);
        u32::try_from(state.remaining.as_millis()).unwrap_or(u32::MAX)
    })
    .unwrap_or_default()
}

pub(crate) fn now() -> Duration {
    with(|state| {
        tick(state);
        state.now
    })
    .unwrap_or_default()
}

/// The same bytes in every run of a test (xorshift).
pub(crate) fn random(len: u32) -> Vec<u8> {
    let byte = |state: &mut State| {
        state.random ^= state.random << 13;
        state.random ^= state.random >> 7;
        state.random ^= state.random << 17;
        state.random.to_le_bytes()[0]
    };
    (0..len).map(|_| with(byte).unwrap_or_default()).collect()
}

pub(crate) fn log_enabled(level: Level) -> bool {
    with(|state| level >= state.log_level).unwrap_or_default()
}

pub(crate) fn log_emit(level: Level, message: &str, fields: &[(String, String)]) {
    if log_enabled(level) {
        let line = LogLine { level, message: message.to_owned(), fields: fields.iter().cloned().collect() };
        with(|state| state.logs.push(line));
    }
}

pub(crate) fn config_json() -> String {
    with(|state| state.config.to_string()).unwrap_or_else(|| "{}".to_owned())
}

pub(crate) fn config_get(pointer: &str) -> Option<String> {
    with(|state| state.config.pointer(pointer).map(Value::to_string)).flatten()
}

pub(crate) fn cluster_get(kind: &Gvk, namespace: Option<&str>, name: &str, options: &ReadOptions) -> Result<String, ApiError> {
    cluster(Operation::Get, |state| {
        let object = state.cluster.peek(kind, namespace, name).ok_or(ApiError::NotFound)?;
        Ok(cluster::keep(object, &options.fields).to_string())
    })
}

pub(crate) fn cluster_list(kind: &Gvk, options: &ListOptions) -> Result<(Vec<String>, String), ApiError> {
    cluster(Operation::List, |state| {
        let (items, next) = state.cluster.list(kind, options)?;
        Ok((items.iter().map(Value::to_string).collect(), next))
    })
}

pub(crate) fn cluster_create(object: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    write(Operation::Create, object, None, options)
}

pub(crate) fn cluster_apply(object: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    write(Operation::Apply, object, None, options)
}

pub(crate) fn cluster_merge_patch(target: &ObjectRef, patch: &str, options: &WriteOptions) -> Result<Written, ApiError> {
    write(Operation::MergePatch, patch, Some(target), options)
}

pub(crate) fn cluster_delete(target: &ObjectRef, options: &DeleteOptions) -> Result<(), ApiError> {
    cluster(Operation::Delete, |state| {
        state.cluster.check_delete(target, options)?;
        if !options.dry_run {
            state.cluster.remove(target);
        }
        let target = target.clone();
        state.writes.push(Write { operation: Operation::Delete, target, body: Value::Null, dry_run: options.dry_run, force: false });
        Ok(())
    })
}

pub(crate) fn record_event(about: &ObjectRef, event_type: EventType, reason: &str, message: &str) {
    let event = RecordedEvent { about: about.clone(), event_type, reason: reason.to_owned(), message: message.to_owned() };
    with(|state| state.events.push(event));
}

fn write(operation: Operation, body: &str, target: Option<&ObjectRef>, options: &WriteOptions) -> Result<Written, ApiError> {
    cluster(operation, |state| {
        let body: Value = serde_json::from_str(body).map_err(|error| ApiError::Invalid(error.to_string()))?;
        let target = match target {
            Some(target) => target.clone(),
            None => cluster::try_reference(&body).ok_or_else(|| ApiError::Invalid("no apiVersion, kind or name".to_owned()))?,
        };
        let written = state.cluster.write(operation, &target, &body, options)?;
        state.writes.push(Write { operation, target, body, dry_run: options.dry_run, force: options.force });
        Ok(written)
    })
}

/// A use of the cluster, unless the test wants it to fail.
fn cluster<R>(operation: Operation, work: impl FnOnce(&mut State) -> Result<R, ApiError>) -> Result<R, ApiError> {
    with(|state| match state.failures.iter().position(|(of, _)| *of == operation) {
        Some(index) => Err(state.failures.remove(index).1),
        None => work(state),
    })
    .unwrap_or_else(|| Err(ApiError::Unavailable("no call is running".to_owned())))
}

fn revision(state: &State, which: Revision) -> Option<&Value> {
    match which {
        Revision::Current => state.current.as_ref(),
        Revision::Previous => state.previous.as_ref(),
    }
}

fn tick(state: &mut State) {
    let step = Duration::from_millis(1);
    state.now += step;
    state.remaining = state.remaining.saturating_sub(step);
}
