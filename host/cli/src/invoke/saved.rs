//! A call that a host has kept because it failed, as `wharf get failedcalls PLUGIN KEY -o json`
//! prints it. Owns the reading of its words; objects stay the text that they are.

use std::path::Path;

use clap::ValueEnum;

use super::args::{CauseWord, EventWord, RemovalWord};
use super::fields::Fields;
use super::input::{self, wrong};
use crate::report::CliError;

/// What the handler was told.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) event: EventWord,
    pub(super) cause: CauseWord,
    pub(super) removal: Option<RemovalWord>,
    pub(super) attempt: u32,
    pub(super) subscription: Option<String>,
    pub(super) final_state_unknown: bool,
    /// The object as JSON.
    pub(super) object: String,
    /// Its state at the last call.
    pub(super) old: Option<String>,
    /// What is to be said of it.
    pub(super) note: Option<String>,
}

impl Saved {
    /// Reads it: the whole call, or its `input` alone.
    ///
    /// # Errors
    /// It is no such call, or there is nothing in it to call with.
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        Self::of(file, &input::one(file, true)?)
    }

    fn of(file: &Path, json: &str) -> Result<Self, CliError> {
        let at = file.display();
        let hint = "`wharf get failedcalls PLUGIN KEY -o json` prints one";
        let all = Fields::of(json).unwrap_or_default();
        let input = all.get("input").and_then(Fields::of).unwrap_or(all);
        let text = |name: &str| input.text(name).ok_or_else(|| wrong(format!("{at}: the call has no {name}")).hint(hint));
        let event = word::<EventWord>(file, "event", &text("event")?)?;
        let cause = word::<CauseWord>(file, "cause", &text("cause")?)?;
        let removal = match input.text("removal").as_deref() {
            None | Some("none") => None,
            Some(removal) => Some(word::<RemovalWord>(file, "removal", removal)?),
        };
        let number = |name: &str| input.get(name).and_then(|json| serde_json::from_str::<u64>(json).ok());
        let flag = |name: &str| input.get(name).is_some_and(|json| json.trim() == "true");
        let state = |name: &str| input.get(name).filter(|json| json.trim() != "null").map(str::to_owned);
        let object = state("object").ok_or_else(|| match number("tooLarge") {
            Some(bytes) => wrong(format!("{at}: the objects of the call had {bytes} bytes, more than a host keeps"))
                .hint("write the object to a file and use --event and --object; failures.keptBytes is for smaller ones"),
            None => wrong(format!("{at}: the call has no object: its state was not known to the host")).hint(hint),
        })?;
        let attempt = number("attempt").and_then(|attempt| u32::try_from(attempt).ok()).filter(|attempt| *attempt > 0).unwrap_or(1);
        let note = "the values of the Secret were left out (failures.keptSecretData): what depends on them may end in another way";
        Ok(Self {
            event,
            cause,
            removal,
            attempt,
            subscription: input.text("subscription"),
            final_state_unknown: flag("finalStateUnknown"),
            object,
            old: state("old"),
            note: flag("redacted").then(|| note.to_owned()),
        })
    }
}

fn word<T: ValueEnum>(file: &Path, name: &str, text: &str) -> Result<T, CliError> {
    T::from_str(text, false).map_err(|_| wrong(format!("{}: {text:?} is no {name}", file.display())))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Result<Saved, CliError> {
        Saved::of(Path::new("call.json"), &value.to_string())
    }

    #[test]
    fn a_call_is_read_whole_or_its_input_alone() {
        let input = json!({
            "event": "delete", "cause": "changed-offline", "removal": "unmatched", "attempt": 3, "subscription": "main",
            "finalStateUnknown": true, "object": {"kind": "ConfigMap"}, "old": null, "redacted": true,
        });
        for value in [json!({"plugin": "a/x", "input": input}), input] {
            let saved = read(&value).unwrap();
            assert_eq!(
                (saved.event, saved.cause, saved.removal),
                (EventWord::Delete, CauseWord::ChangedOffline, Some(RemovalWord::Unmatched))
            );
            assert_eq!((saved.attempt, saved.subscription.as_deref(), saved.final_state_unknown), (3, Some("main"), true));
            assert_eq!((saved.object.as_str(), saved.old.is_none(), saved.note.is_some()), (r#"{"kind":"ConfigMap"}"#, true, true));
        }
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for (value, message) in [
            (json!([]), "call.json: the call has no event"),
            (json!({"event": "explode", "cause": "watch"}), "call.json: \"explode\" is no event"),
            (
                json!({"event": "add", "cause": "watch", "object": null}),
                "call.json: the call has no object: its state was not known to the host",
            ),
            (
                json!({"event": "add", "cause": "watch", "tooLarge": 300_000}),
                "call.json: the objects of the call had 300000 bytes, more than a host keeps",
            ),
        ] {
            assert_eq!(read(&value).unwrap_err().message, message);
        }
    }
}
