//! What a person should see of a plugin as an Event of its resource. Owns which changes of a status
//! are worth one; the Recorder folds equal ones and keeps floods away.

use serde_json::Value;

use super::outlook::{Condition, Outlook};

/// An Event to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// `Warning` or `Normal`.
    pub(crate) warning: bool,
    /// CamelCase.
    pub(crate) reason: String,
    /// For people.
    pub(crate) text: String,
}

/// What was told last, by this host or by the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    revision: String,
    /// Reason and message of a refusal.
    refused: Option<(String, String)>,
    /// `Suspended` or `Paused`.
    held: Option<String>,
}

impl Told {
    /// What a status says that the server has: it was told of already.
    pub(super) fn read(status: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let conditions = status.get("conditions").and_then(Value::as_array);
        let condition = |kind: &str| conditions.into_iter().flatten().find(|condition| text(condition.get("type")) == kind);
        let field = |kind: &str, field: &str| text(condition(kind).and_then(|condition| condition.get(field)));
        let refused = (field("Accepted", "status") == "False").then(|| (field("Accepted", "reason"), field("Accepted", "message")));
        Self { revision: text(status.get("revision")), refused, held: held(&field("Ready", "reason")) }
    }

    /// What is new in this one. From then on it was told of.
    pub(super) fn news(&mut self, outlook: &Outlook) -> Vec<Note> {
        let mut notes = Vec::new();
        let [accepted, ready, ..] = &outlook.conditions;
        // Whoever deletes it knows.
        if outlook.starting || outlook.is_ending() {
            return notes;
        }
        let refused = (accepted.status == "False").then(|| (accepted.reason.to_owned(), accepted.message.clone()));
        if self.refused != refused {
            notes.extend(refused.iter().map(|(reason, text)| Note { warning: true, reason: reason.clone(), text: text.clone() }));
            self.refused = refused;
        }
        if !outlook.revision.is_empty() && self.revision != outlook.revision {
            notes.push(Note { warning: false, reason: "Serving".to_owned(), text: format!("revision {} serves", outlook.revision) });
            self.revision.clone_from(&outlook.revision);
        }
        let held = held(ready.reason);
        if self.held != held {
            notes.push(hold(held.as_deref(), ready));
            self.held = held;
        }
        notes
    }
}

fn held(reason: &str) -> Option<String> {
    matches!(reason, "Suspended" | "Paused").then(|| reason.to_owned())
}

fn hold(reason: Option<&str>, ready: &Condition) -> Note {
    let (reason, text) = match reason {
        Some(reason) => (reason, ready.message.as_str()),
        None => ("Resumed", "it is called again"),
    };
    Note { warning: false, reason: reason.to_owned(), text: text.to_owned() }
}
