//! `kubectl get`'s tables: columns per kind and cells per object.
//!
//! One small table of columns and cell functions; custom resources bring their own columns. Knows no Table object, no row and no
//! HTTP: that is `http`'s.

mod access;
mod age;
mod cluster;
mod column;
mod columns;
mod custom;
mod network;
mod path;
mod path_parser;
mod pods;
mod storage;
#[cfg(test)]
mod tests;
mod workloads;

use serde_json::Value;

use crate::kind::{Resource, Schema};

pub(crate) use path::Path;

/// The column definitions of a resource, as `columnDefinitions` shows them.
pub(crate) fn columns(resource: &Resource) -> Vec<Value> {
    match &resource.schema {
        Schema::Custom(version) => custom::columns(&version.columns),
        Schema::Builtin(_) => columns::of(&resource.group, &resource.kind).iter().map(column::Column::definition).collect(),
    }
}

/// The cells of one object, in the order of the columns. `now` is seconds since the epoch, for ages.
pub(crate) fn cells(resource: &Resource, object: &Value, now: i64) -> Vec<Value> {
    match &resource.schema {
        Schema::Custom(version) => custom::cells(&version.columns, object, now),
        Schema::Builtin(_) => columns::of(&resource.group, &resource.kind).iter().map(|column| (column.cell)(object, now)).collect(),
    }
}
