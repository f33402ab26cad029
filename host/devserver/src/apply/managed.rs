//! The entries of `metadata.managedFields`: who owns which fields, by which operation, since when.
//!
//! Owns reading, writing, their order and their number. Does not know how ownership comes about.

use std::cmp::Ordering;
use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::fields::FieldSet;
use super::fields_v1;

/// Entries of updates that are kept apart; of more, the oldest ones are put together.
const MAX_UPDATES: usize = 10;

const ANCIENT: &str = "ancient-changes";

/// How fields came to be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// What tells managers apart: name, operation, version, subresource.
pub(super) type Identity<'a> = (&'a str, Operation, &'a str, &'a str);

/// Who owns fields. Appliers are told apart without their version: they own by the version that they applied last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    pub(super) fn is(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        let version = if self.operation == Operation::Apply { "" } else { &self.api_version };
        (&self.name, self.operation, version, &self.subresource)
    }

    /// As conflicts name it.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: Manager,
    /// RFC 3339; entries that clients wrote may have none.
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl Entry {
    fn seconds(&self) -> i64 {
        self.time.as_deref().and_then(|time| time.parse::<jiff::Timestamp>().ok()).map_or(0, jiff::Timestamp::as_second)
    }

    /// Whether both say the same but for the time.
    pub(super) fn same_but_time(&self, other: &Self) -> bool {
        self.manager == other.manager && self.fields == other.fields
    }

    fn decode(value: &Value) -> Option<Self> {
        let value = value.as_object()?;
        let text = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Some(String::new()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => None,
        };
        let operation = match text("operation")?.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = text("apiVersion")?;
        if api_version.is_empty() || text("fieldsType")? != "FieldsV1" {
            return None;
        }
        let fields = match value.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::default(),
            Some(fields) => fields_v1::decode(fields)?,
        };
        let manager = Manager { name: text("manager")?, operation, api_version, subresource: text("subresource")? };
        Some(Self { manager, time: Some(text("time")?).filter(|time| !time.is_empty()), fields })
    }

    fn encode(&self) -> Value {
        let operation = match self.manager.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        let mut entry = Map::new();
        let texts = [
            ("manager", self.manager.name.as_str()),
            ("operation", operation),
            ("apiVersion", &self.manager.api_version),
            ("time", self.time.as_deref().unwrap_or_default()),
            ("fieldsType", "FieldsV1"),
            ("subresource", &self.manager.subresource),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            entry.insert(name.to_owned(), json!(text));
        }
        entry.insert("fieldsV1".to_owned(), fields_v1::encode(&self.fields));
        Value::Object(entry)
    }

    /// Appliers first, then by time, then by name.
    fn order(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.manager.operation, entry.seconds());
        let names = |entry: &Self| [entry.manager.name.clone(), entry.manager.api_version.clone(), entry.manager.subresource.clone()];
        key(self).cmp(&key(other)).then_with(|| names(self).cmp(&names(other)))
    }
}

/// The entries of an object's `managedFields`; none if one of them is wrong. Absent is no entries.
pub(super) fn decode(managed_fields: Option<&Value>) -> Option<Vec<Entry>> {
    match managed_fields {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(entries)) => {
            let mut all = entries.iter().map(Entry::decode).collect::<Option<Vec<Entry>>>()?;
            // The last one of the same manager is the one that counts.
            let mut seen = HashSet::with_capacity(all.len());
            let counts: Vec<bool> = all.iter().rev().map(|entry| seen.insert(entry.manager.identity())).collect();
            let mut counts = counts.into_iter().rev();
            all.retain(|_| counts.next().unwrap_or(true));
            Some(all)
        }
        Some(_) => None,
    }
}

/// The entries of an object.
pub(super) fn of(object: &Value) -> Option<Vec<Entry>> {
    decode(object.get("metadata").and_then(|metadata| metadata.get("managedFields")))
}

/// Whether a client asks to forget all owners: an empty list, or one empty entry.
pub(super) fn is_reset(managed_fields: &Value) -> bool {
    match managed_fields.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.values().all(Value::is_null),
        _ => false,
    }
}

/// Writes the entries into the object, in their order; entries that own nothing are left out.
pub(super) fn write(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(Entry::order);
    let Value::Object(object) = object else { return };
    if entries.is_empty() {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        return;
    }
    let entries = Value::Array(entries.iter().map(Entry::encode).collect());
    // Metadata that is no object is for decoding to refuse.
    if let Value::Object(metadata) = object.entry("metadata").or_insert_with(|| json!({})) {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Puts the oldest entries of updates of one version together until there are no more than ten.
pub(super) fn cap(entries: Vec<Entry>) -> Vec<Entry> {
    let (mut updates, mut kept): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.manager.operation == Operation::Update);
    updates.sort_by(Entry::order);
    let mut count = updates.len();
    // The first one of a version stays what it is until there is a second one to be put together with.
    let mut oldest: HashMap<String, Entry> = HashMap::new();
    let mut updates = updates.into_iter();
    while count > MAX_UPDATES {
        let Some(entry) = updates.next() else { break };
        let version = entry.manager.api_version.clone();
        let Some(first) = oldest.remove(&version) else {
            oldest.insert(version, entry);
            continue;
        };
        let manager =
            Manager { name: ANCIENT.to_owned(), operation: Operation::Update, api_version: version.clone(), subresource: String::new() };
        oldest.insert(version, Entry { manager, time: entry.time, fields: first.fields.union(entry.fields) });
        count -= 1;
    }
    // What was put together bears a name that an entry may have, too, which is as it was.
    let mut merged: HashMap<_, Entry> = HashMap::new();
    for entry in oldest.into_values().chain(updates) {
        let Manager { name, api_version, subresource, .. } = entry.manager.clone();
        match merged.entry((name, api_version, subresource)) {
            MapEntry::Occupied(mut other) => other.get_mut().fields.extend(entry.fields),
            MapEntry::Vacant(place) => drop(place.insert(entry)),
        }
    }
    kept.extend(merged.into_values());
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn entry(name: &str, operation: &str, version: &str, time: &str, fields: Value) -> Value {
        json!({"manager": name, "operation": operation, "apiVersion": version, "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    #[test]
    fn entries_are_read_and_written_in_order() {
        let mut status = entry("b", "Update", "v1", "2026-01-01T00:00:02Z", json!({"f:status": {}}));
        status["subresource"] = json!("status");
        let entries = [
            entry("z", "Apply", "v1", "2026-01-01T00:00:09Z", json!({"f:a": {}})),
            entry("c", "Update", "v1", "2026-01-01T00:00:01Z", json!({"f:b": {}})),
            entry("b", "Update", "v1", "2026-01-01T00:00:02Z", json!({"f:c": {}})),
            status,
        ];
        let mut reversed = entries.to_vec();
        reversed.reverse();
        reversed.push(entry("none", "Update", "v1", "2026-01-01T00:00:02Z", json!({})));
        let mut object = json!({"metadata": {"managedFields": reversed}});
        let read = of(&object).unwrap();
        write(&mut object, read);
        assert_eq!(object, json!({"metadata": {"managedFields": entries}}));
        write(&mut object, Vec::new());
        assert_eq!(object, json!({"metadata": {}}));
    }

    #[test]
    fn wrong_entries() {
        let good = entry("a", "Update", "v1", "", json!({}));
        assert!(decode(Some(&json!([good]))).is_some());
        for (name, value) in [
            ("operation", json!("Patch")),
            ("apiVersion", json!("")),
            ("fieldsType", json!("V2")),
            ("fieldsV1", json!({"x": {}})),
            ("manager", json!(1)),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert_eq!(decode(Some(&json!([bad]))), None, "{name}");
        }
        assert_eq!(decode(Some(&json!("x"))), None);
        assert!(is_reset(&json!([])) && is_reset(&json!([{}])) && is_reset(&json!([{"time": null}])));
        assert!(!is_reset(&json!([{}, {}])) && !is_reset(&json!([good])) && !is_reset(&json!({})));
    }

    #[test]
    fn the_last_entry_of_a_manager_counts() {
        let names = |read: Vec<Entry>| -> Vec<(String, Value)> {
            read.iter().map(|entry| (entry.manager.name.clone(), fields_v1::encode(&entry.fields))).collect()
        };
        let read = decode(Some(&json!([
            entry("a", "Apply", "v1", "", json!({"f:x": {}})),
            entry("b", "Update", "v1", "", json!({"f:x": {}})),
            entry("a", "Apply", "v2", "", json!({"f:y": {}})),
            entry("b", "Update", "v2", "", json!({"f:y": {}})),
        ])));
        let (x, y) = (json!({"f:x": {}}), json!({"f:y": {}}));
        assert_eq!(names(read.unwrap()), [("b".to_owned(), x), ("a".to_owned(), y.clone()), ("b".to_owned(), y)]);
    }

    /// As many as a request can have: to look at each for each of them would not end.
    #[test]
    fn very_many_entries() {
        const MANY: usize = 40_000;
        for operation in ["Apply", "Update"] {
            let entries: Vec<Value> =
                (0..MANY).map(|n| entry(&format!("m{n}"), operation, &format!("v{n}"), "", json!({"f:x": {}}))).collect();
            let read = decode(Some(&json!(entries))).unwrap();
            assert_eq!(cap(read).len(), MANY);
            let mut object = json!({"metadata": {"managedFields": entries}});
            let live = object.clone();
            super::super::settle(Some(&live), &mut object);
            assert_eq!(object, live);
        }
    }

    #[test]
    fn the_oldest_updates_are_put_together() {
        let entries = |count: usize| {
            let mut entries: Vec<Value> = (0..count)
                .map(|i| entry(&format!("m{i:02}"), "Update", "v1", &format!("2026-01-01T00:00:{i:02}Z"), json!({format!("f:x{i}"): {}})))
                .collect();
            entries.push(entry("other", "Update", "v2", "2025-01-01T00:00:00Z", json!({"f:y": {}})));
            entries.push(entry("applier", "Apply", "v1", "2025-01-01T00:00:00Z", json!({"f:z": {}})));
            decode(Some(&json!(entries))).unwrap()
        };
        let few = entries(9);
        assert_eq!(cap(few).len(), 11);
        let capped = cap(entries(12));
        assert_eq!(capped.len(), 11);
        let ancient = capped.iter().find(|entry| entry.manager.name == ANCIENT).unwrap();
        assert_eq!(ancient.manager.api_version, "v1");
        assert_eq!(ancient.time.as_deref(), Some("2026-01-01T00:00:03Z"));
        assert_eq!(fields_v1::encode(&ancient.fields), json!({"f:x0": {}, "f:x1": {}, "f:x2": {}, "f:x3": {}}));
        assert!(capped.iter().any(|entry| entry.manager.name == "other"));
    }
}
