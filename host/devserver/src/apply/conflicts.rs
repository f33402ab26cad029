//! Conflicts of an apply: fields that others own and that would get another value.

use serde_json::{Map, Value, json};

use super::fields::{FieldSet, path_text};
use super::managed::Manager;
use crate::bounded::{Bounded, Told};
use crate::status::Status;

/// What cannot be applied because somebody else owns it.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    /// Who owns which of the fields. None is without any.
    owners: Vec<(Manager, FieldSet)>,
}

/// One of them, as it is told.
struct Conflict {
    owner: usize,
    path: String,
    /// Of the owner's description, which each is told with.
    described: usize,
}

impl Told for Conflict {
    fn bytes(&self) -> usize {
        self.path.len().saturating_add(self.described)
    }
}

impl Conflicts {
    /// Adds fields of a manager.
    pub(super) fn add(&mut self, manager: &Manager, fields: FieldSet) {
        if !fields.is_empty() {
            self.owners.push((manager.clone(), fields));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Leaves out the conflicts about these fields.
    pub(super) fn leave_out(&mut self, allowed: &FieldSet) {
        for (_, fields) in &mut self.owners {
            *fields = fields.difference(allowed);
        }
        self.owners.retain(|(_, fields)| !fields.is_empty());
    }

    /// 409 that counts the conflicts and names them, of very many the first ones.
    pub(super) fn into_status(mut self) -> Status {
        let key = |manager: &Manager| (manager.name.clone(), manager.operation, manager.api_version.clone(), manager.subresource.clone());
        self.owners.sort_by_cached_key(|(manager, _)| key(manager));
        let names: Vec<String> = self.owners.iter().map(|(manager, _)| manager.describe()).collect();
        let mut count = 0_usize;
        let mut told = Bounded::default();
        for (owner, ((_, fields), name)) in self.owners.iter().zip(&names).enumerate() {
            fields.visit(&mut |path| {
                count = count.saturating_add(1);
                if !told.is_full() {
                    told.push(Conflict { owner, path: path_text(path.iter().copied()), described: name.len() });
                }
            });
        }
        let name = |conflict: &Conflict| names.get(conflict.owner).map(String::as_str).unwrap_or_default();
        let message = match &*told {
            [one] if count == 1 => format!("Apply failed with 1 conflict: conflict with {}: {}", name(one), one.path),
            all => format!("Apply failed with {count} conflicts: {}", lines(all, &name).join("\n")),
        };
        let causes: Vec<Value> = told
            .iter()
            .map(|one| json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", name(one)), "field": one.path}))
            .collect();
        let mut status = Status::new(409, "Conflict", message);
        status.details = Some(Map::from_iter([("causes".to_owned(), Value::Array(causes))]));
        status
    }
}

fn lines<'a>(all: &[Conflict], name: &dyn Fn(&Conflict) -> &'a str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for conflict in all {
        if last != Some(conflict.owner) {
            lines.push(format!("conflicts with {}:", name(conflict)));
            last = Some(conflict.owner);
        }
        lines.push(format!("- {}", conflict.path));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::fields::Element;
    use super::super::managed::Operation;
    use super::*;
    use crate::bounded::MOST_BYTES;

    #[test]
    fn very_many_conflicts_are_counted_and_told_in_part() {
        let mut below = FieldSet::default();
        for n in 0..3000 {
            below.put(Element::field(&format!("p{n}")), true, FieldSet::default());
        }
        let mut fields = FieldSet::default();
        fields.put(Element::field(&"x".repeat(MOST_BYTES / 10)), false, below);
        let mut conflicts = Conflicts::default();
        for name in ["a", "b"] {
            let manager =
                Manager { name: name.to_owned(), operation: Operation::Apply, api_version: "v1".to_owned(), subresource: String::new() };
            conflicts.add(&manager, fields.clone());
        }
        let status = conflicts.into_status();
        assert!(status.message.starts_with("Apply failed with 6000 conflicts: conflicts with \"a\":\n- .xxx"));
        let causes = json!(status.details);
        assert!(causes["causes"].as_array().is_some_and(|all| all.len() > 1));
        assert!(causes.to_string().len() + status.message.len() < 3 * MOST_BYTES);
    }
}
