//! The status of a resource as JSON. Owns its form, the times of transitions, and the comparison
//! with what the server has. Pure: the present time is given.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wharf_core::ObjectKey;
use wharf_core::plugin::{API_VERSION, KIND};

use super::outlook::{Condition, Counts, Outlook};

/// When each condition got the status that it has, by type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transitions(BTreeMap<String, (String, String)>);

impl Transitions {
    /// Those in a status that the server has.
    pub(super) fn read(status: &Value) -> Self {
        let conditions = status.get("conditions").and_then(Value::as_array);
        let read = |condition: &Value| {
            let text = |field| condition.get(field).and_then(Value::as_str).map(str::to_owned);
            Some((text("type")?, (text("status")?, text("lastTransitionTime")?)))
        };
        Self(conditions.into_iter().flatten().filter_map(read).collect())
    }

    /// After the conditions have become these: a time changes only where a status does.
    pub(super) fn turned(&self, conditions: &[Condition], now: &str) -> Self {
        let turn = |condition: &Condition| {
            let known = self.0.get(condition.kind).filter(|(status, _)| status == condition.status);
            let (status, time) = known.cloned().unwrap_or_else(|| (condition.status.to_owned(), now.to_owned()));
            (condition.kind.to_owned(), (status, time))
        };
        Self(conditions.iter().map(turn).collect())
    }

    fn of(&self, condition: &Condition) -> &str {
        self.0.get(condition.kind).map_or("", |(_, time)| time)
    }
}

/// What is applied to the resource with this uid: another one of its name is left alone.
pub(super) fn document(key: &ObjectKey, uid: &str, outlook: &Outlook, times: &Transitions, replica: &str, now: &str) -> Value {
    let mut status = said(outlook, replica);
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        for (value, condition) in conditions.iter_mut().zip(&outlook.conditions) {
            set(value, "lastTransitionTime", times.of(condition));
        }
    }
    if let Some(own) = status.pointer_mut("/replicas/0") {
        set(own, "lastUpdateTime", now);
    }
    json!({
        "apiVersion": API_VERSION, "kind": KIND, "status": status,
        "metadata": {"namespace": key.namespace, "name": key.name, "uid": uid},
    })
}

/// Does the server have what was written? What others have added does not count.
pub(super) fn holds(status: &Value, outlook: &Outlook, replica: &str) -> bool {
    let said = said(outlook, replica);
    let same = |field: &str| status.get(field) == said.get(field);
    let listed = |field: &str, name: &str| {
        let list = |value: &Value| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        let there = list(status);
        list(&said).iter().all(|ours| there.iter().filter(|item| item.get(name) == ours.get(name)).any(|item| covers(item, ours)))
    };
    ["observedGeneration", "revision", "digest"].into_iter().all(same) && listed("conditions", "type") && listed("replicas", "name")
}

/// Has an object all fields of the other?
fn covers(item: &Value, ours: &Value) -> bool {
    ours.as_object().is_some_and(|fields| fields.iter().all(|(field, value)| item.get(field) == Some(value)))
}

/// All of it but the times.
fn said(outlook: &Outlook, replica: &str) -> Value {
    let Outlook { generation, revision, digest, conditions, counts, .. } = outlook;
    let condition = |condition: &Condition| {
        let Condition { kind, status, reason, message } = condition;
        let mut value = json!({"type": kind, "status": status, "reason": reason, "message": message});
        if let Some(generation) = generation {
            set(&mut value, "observedGeneration", *generation);
        }
        value
    };
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    let own = counts.map(|Counts { calls, failures, parked, waiting }| {
        let mut own = json!({"name": replica, "calls": calls, "failures": failures, "parked": parked, "waiting": waiting});
        if !revision.is_empty() {
            set(&mut own, "revision", revision.as_str());
        }
        own
    });
    let replicas: Vec<Value> = own.into_iter().collect();
    let mut status = json!({"conditions": conditions, "replicas": replicas});
    if let Some(generation) = generation {
        set(&mut status, "observedGeneration", *generation);
    }
    if !revision.is_empty() {
        set(&mut status, "revision", revision.as_str());
        set(&mut status, "digest", digest.as_str());
    }
    status
}

fn set(value: &mut Value, field: &str, to: impl Into<Value>) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), to.into());
    }
}
