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
    /// Why what serves as wished is not in order. Without the message, in which numbers may change all the time.
    degraded: Option<String>,
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
        let degraded = (refused.is_none() && field("Degraded", "status") == "True").then(|| field("Degraded", "reason"));
        Self { revision: text(status.get("revision")), refused, degraded, held: held(&field("Ready", "reason")) }
    }

    /// What is new in this one. From then on it was told of.
    pub(super) fn news(&mut self, outlook: &Outlook) -> Vec<Note> {
        let mut notes = Vec::new();
        let [accepted, ready, _, degraded] = &outlook.conditions;
        // Whoever deletes it knows.
        if outlook.starting || outlook.is_ending() {
            return notes;
        }
        let was_bad = self.refused.is_some() || self.degraded.is_some();
        let refused = (accepted.status == "False").then(|| (accepted.reason.to_owned(), accepted.message.clone()));
        if self.refused != refused {
            notes.extend(refused.iter().map(|(reason, text)| Note { warning: true, reason: reason.clone(), text: text.clone() }));
            self.refused = refused;
        }
        // Of a refused wish that is told already.
        let trouble = (self.refused.is_none() && degraded.status == "True").then(|| degraded.reason.to_owned());
        let held = held(ready.reason);
        let recovered = was_bad && self.refused.is_none() && trouble.is_none();
        let serves = !outlook.revision.is_empty();
        if serves && (self.revision != outlook.revision || recovered && held.is_none()) {
            notes.push(Note { warning: false, reason: "Serving".to_owned(), text: format!("revision {} serves", outlook.revision) });
            self.revision.clone_from(&outlook.revision);
        }
        if self.degraded != trouble {
            notes.extend(trouble.iter().map(|reason| Note { warning: true, reason: reason.clone(), text: degraded.message.clone() }));
            self.degraded = trouble;
        }
        // What is held and in order again does not serve: that it is held is told once more.
        if self.held != held || recovered && held.is_some() {
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

#[cfg(test)]
mod tests {
    use wharf_core::{ObjectKey, Reason};

    use super::*;
    use crate::plugins::{PluginState, PluginStatus};
    use crate::publish::document::{Transitions, document};
    use crate::publish::tests::{plugin, refused, serving};

    #[test]
    fn events_tell_of_what_is_new() {
        let mut told = Told::default();
        let mut news = |plugin: &PluginStatus| -> Vec<String> {
            let line = |note: Note| format!("{}{}", if note.warning { "!" } else { "" }, note.reason);
            told.news(&Outlook::of(plugin)).into_iter().map(line).collect()
        };
        assert!(news(&plugin(PluginState::Starting, "")).is_empty());
        assert_eq!(news(&plugin(refused(Reason::ComponentNotFound), "")), ["!ComponentNotFound"]);
        assert!(news(&plugin(refused(Reason::ComponentNotFound), "")).is_empty());
        assert_eq!(news(&serving()), ["Serving"]);
        assert_eq!(news(&PluginStatus { paused: true, ..serving() }), ["Paused"]);
        assert_eq!(news(&plugin(PluginState::Suspended, "2-abc")), ["Suspended"]);
        assert_eq!(news(&plugin(PluginState::Serving, "3-def")), ["Serving", "Resumed"]);
        assert_eq!(news(&plugin(refused(Reason::RolledBack), "4-abc")), ["!RolledBack", "Serving"]);
        // What is in order again is told too, and so is what serves and is not in order.
        assert_eq!(news(&plugin(PluginState::Serving, "4-abc")), ["Serving"]);
        let forbidden = || PluginStatus { trouble: Some((Reason::Forbidden, "X".into())), ..plugin(PluginState::Serving, "5-abc") };
        assert_eq!(news(&forbidden()), ["Serving", "!Forbidden"]);
        assert!(news(&PluginStatus { trouble: Some((Reason::Forbidden, "Y".into())), ..forbidden() }).is_empty());
        assert_eq!(news(&PluginStatus { trouble: None, lacks_account: Some("worker".into()), ..forbidden() }), ["!ServiceAccountNotFound"]);
        assert_eq!(news(&plugin(PluginState::Serving, "5-abc")), ["Serving"]);
        assert!(news(&plugin(PluginState::Serving, "5-abc")).is_empty());
        assert_eq!(news(&PluginStatus { paused: true, ..forbidden() }), ["!Forbidden", "Paused"]);
        assert_eq!(news(&PluginStatus { paused: true, trouble: None, ..forbidden() }), ["Paused"]);
        assert_eq!(news(&plugin(PluginState::Serving, "5-abc")), ["Resumed"]);
        assert_eq!(news(&forbidden()), ["!Forbidden"]);
        let outlook = Outlook::of(&forbidden());
        let written = document(&ObjectKey::new("a", "b"), "u", &outlook, &Transitions::default(), "h", "1");
        assert!(Told::read(&written["status"]).news(&outlook).is_empty());
        // A host that begins knows what the last one told.
        let outlook = Outlook::of(&plugin(refused(Reason::RolledBack), "4-abc"));
        let written = document(&ObjectKey::new("a", "b"), "u", &outlook, &Transitions::default(), "h", "1");
        assert!(Told::read(&written["status"]).news(&outlook).is_empty());
    }
}
