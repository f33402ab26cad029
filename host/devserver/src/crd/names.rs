//! Names of a definition: those it wants, those it was given, and the conditions that say so, as the naming controller of the real server
//! decides. Knows other definitions by the names that they were given only.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::definition;
use crate::json::Read as _;

/// Names that a definition was given; empty ones are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Plural, singular and short names.
    resources: Vec<String>,
    /// Kind and kind of lists.
    kinds: Vec<String>,
}

impl Names {
    /// Those in the definition's status.
    pub(crate) fn accepted(definition: &Value) -> Self {
        let names = definition.path(&["status", "acceptedNames"]);
        let of = |members: [&str; 2]| members.map(|name| names.text(name).to_owned());
        let mut resources = of(["plural", "singular"]).to_vec();
        resources.extend(names.texts("shortNames").map(str::to_owned));
        Self { resources, kinds: of(["kind", "listKind"]).to_vec() }
    }
}

/// All names of a group that were given.
#[derive(Debug, Default)]
pub(crate) struct Taken<'n> {
    resources: BTreeSet<&'n str>,
    kinds: BTreeSet<&'n str>,
}

impl<'n> Taken<'n> {
    /// Those of all definitions of the group, the one that asks among them.
    pub(crate) fn of(all: &[&'n Names]) -> Self {
        let mut taken = Self::default();
        for names in all {
            taken.resources.extend(names.resources.iter().map(String::as_str));
            taken.kinds.extend(names.kinds.iter().map(String::as_str));
        }
        taken
    }
}

/// Whether a definition has all the names that it wants, and is established.
pub(crate) fn is_settled(definition: &Value) -> bool {
    let same = definition.path(&["spec", "names"]) == definition.path(&["status", "acceptedNames"]);
    same && has(definition, "NamesAccepted") && has(definition, "Established")
}

/// Whether a condition is true.
pub(super) fn has(definition: &Value, condition: &str) -> bool {
    let conditions = definition.path(&["status", "conditions"]).as_array();
    conditions.into_iter().flatten().any(|one| one.text("type") == condition && one.text("status") == "True")
}

/// See [`super::establish`].
pub(super) fn accept(definition: &mut Value, taken: &Taken<'_>, now: &str) {
    definition::prepare(definition);
    let wanted = definition.path(&["spec", "names"]).clone();
    let mut given = definition.path(&["status", "acceptedNames"]).clone();
    let mut conflict = None;
    // Each is given by itself, and the last that is not is told.
    for (name, reason, used) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        match refusal(&wanted, &given, name, used) {
            Some(why) => conflict = Some((reason, why)),
            None => copy(&wanted, &mut given, name),
        }
    }
    copy(&wanted, &mut given, "categories");
    let was_established = has(definition, "Established");
    let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) else { return };
    status.insert("acceptedNames".to_owned(), given);
    let conditions = status.entry("conditions").or_insert(Value::Null);
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let mut put = |kind: &str, state: &str, reason: &str, message: &str| {
        let before = conditions.iter_mut().find(|one| one.text("type") == kind);
        let since = before.as_ref().filter(|one| one.text("status") == state).and_then(|one| one.get("lastTransitionTime")).cloned();
        let since = since.unwrap_or_else(|| json!(now));
        let fresh = json!({"type": kind, "status": state, "lastTransitionTime": since, "reason": reason, "message": message});
        match before {
            Some(one) => *one = fresh,
            None => conditions.push(fresh),
        }
    };
    match &conflict {
        Some((reason, why)) => put("NamesAccepted", "False", reason, why),
        None => put("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
    }
    // Once established, it stays so.
    match &conflict {
        _ if was_established => {}
        Some(_) => put("Established", "False", "NotAccepted", "not all names are accepted"),
        None => put("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
}

/// Why a name that the definition has not got already is not given.
fn refusal(wanted: &Value, given: &Value, name: &str, taken: &BTreeSet<&str>) -> Option<String> {
    let in_use = |name: &str| format!("{name:?} is already in use");
    if name != "shortNames" {
        let new = wanted.text(name);
        return (new != given.text(name) && taken.contains(new)).then(|| in_use(new));
    }
    let own: Vec<&str> = given.texts(name).collect();
    let refused: Vec<String> = wanted.texts(name).filter(|new| !own.contains(new) && taken.contains(new)).map(in_use).collect();
    match refused.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        // As Go tells several errors.
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn copy(from: &Value, to: &mut Value, name: &str) {
    let Some(to) = to.as_object_mut() else { return };
    match from.get(name) {
        Some(value) => drop(to.insert(name.to_owned(), value.clone())),
        None => drop(to.remove(name)),
    }
}
