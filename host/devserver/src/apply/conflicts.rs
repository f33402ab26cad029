//! Conflicts of an apply: fields that others own and that would get another value.

use serde_json::{Map, Value, json};

use super::fields::{Element, FieldSet, path_text};
use super::managed::Manager;
use crate::status::Status;

/// What cannot be applied because somebody else owns it.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    all: Vec<(Manager, Vec<Element>)>,
}

impl Conflicts {
    /// Adds fields of a manager.
    pub(super) fn add(&mut self, manager: &Manager, fields: &FieldSet) {
        self.all.extend(fields.paths().into_iter().map(|path| (manager.clone(), path)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Leaves out the conflicts about these fields.
    pub(super) fn without(mut self, allowed: &FieldSet) -> Self {
        self.all.retain(|(_, path)| !contains(allowed, path));
        self
    }

    /// 409 that names every conflict.
    pub(super) fn into_status(mut self) -> Status {
        let key = |manager: &Manager| (manager.name.clone(), manager.operation, manager.api_version.clone(), manager.subresource.clone());
        self.all.sort_by_cached_key(|(manager, _)| key(manager));
        let message = match self.all.as_slice() {
            [(manager, path)] => format!("Apply failed with 1 conflict: conflict with {}: {}", manager.describe(), path_text(path)),
            all => format!("Apply failed with {} conflicts: {}", all.len(), lines(all).join("\n")),
        };
        let causes: Vec<Value> = self
            .all
            .iter()
            .map(|(manager, path)| json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", manager.describe()), "field": path_text(path)}))
            .collect();
        let mut status = Status::new(409, "Conflict", message);
        status.details = Some(Map::from_iter([("causes".to_owned(), Value::Array(causes))]));
        status
    }
}

fn lines(all: &[(Manager, Vec<Element>)]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last: Option<&Manager> = None;
    for (manager, path) in all {
        if last != Some(manager) {
            lines.push(format!("conflicts with {}:", manager.describe()));
            last = Some(manager);
        }
        lines.push(format!("- {}", path_text(path)));
    }
    lines
}

fn contains(set: &FieldSet, path: &[Element]) -> bool {
    match path {
        [] => false,
        [last] => set.has(last),
        [first, rest @ ..] => set.below(first).is_some_and(|below| contains(below, rest)),
    }
}
