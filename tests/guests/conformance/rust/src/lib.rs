//! The conformance guest in Rust: does what the object of the event tells it to, so that one
//! suite can compare the languages. `../README.md` says what each command does; this file owns
//! the configuration and the choice of the command.

mod cluster;
mod crash;
mod host;
mod read;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wharf_sdk::prelude::*;

/// The configuration.
#[derive(Debug, Deserialize, Serialize)]
pub struct Conformance {
    #[serde(default = "hello")]
    greeting: String,
    #[serde(default)]
    number: i64,
    #[serde(default)]
    tags: Vec<String>,
}

impl Handler for Conformance {
    fn describe() -> Description {
        let config = wharf_sdk::config::<Self>();
        if config.is_ok_and(|config| config.greeting == "throw-in-describe") {
            crash::panic("thrown in describe");
        }
        Description::new("conformance-rust", env!("CARGO_PKG_VERSION"))
            .subscribe(Subscription::new("main", "v1", "ConfigMap"))
            .reasons(["Custom", "UnknownCommand"])
    }

    fn validate(&self) -> std::result::Result<(), Vec<String>> {
        if self.greeting == "throw" {
            crash::panic("thrown in validate");
        }
        let mut wrong = Vec::new();
        if self.greeting.is_empty() {
            wrong.push("greeting: must not be empty".to_owned());
        }
        if self.number < 0 {
            wrong.push("number: must not be negative".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn add(&self, event: &Event) -> Result {
        self.obey(event)
    }

    fn delete(&self, event: &Event) -> Result {
        self.obey(event)
    }
}

impl Conformance {
    fn obey(&self, event: &Event) -> Result {
        let command = event.get::<String>("/do")?.unwrap_or_default();
        match command.as_str() {
            "config" => report(self),
            "delivery" | "get" | "get-many" | "changed" | "string" | "integer" | "number" | "boolean" | "strings" | "copy" | "object"
            | "remaining" => read::obey(&command, event),
            "log" | "native-log" | "print" | "enabled" | "config-value" | "now" | "native-now" | "random" | "native-random" => {
                host::obey(&command, event)
            }
            "done" | "requeue" | "retry" | "permanent" | "error" | "rejected" | "leave" | "panic" | "throw-value" | "recurse" | "spin"
            | "allocate" | "count" | "churn" => crash::obey(&command, event),
            _ if command.starts_with("cluster-") || command == "record-event" => cluster::obey(&command, event),
            _ => unknown(&command),
        }
    }
}

/// The arguments of a command.
fn args<T: DeserializeOwned>(event: &Event) -> std::result::Result<T, Failure> {
    event.get("/args")?.ok_or_else(|| Failure::permanent("UnknownCommand", "the command needs arguments"))
}

/// The answer of a command: one log line with a JSON text.
fn report(value: impl Serialize) -> Result {
    log::info!("result", value = serde_json::to_string(&value)?);
    Ok(Outcome::done())
}

fn unknown(command: &str) -> Result {
    Err(Failure::permanent("UnknownCommand", format!("there is no command {command:?}")))
}

fn hello() -> String {
    "hello".to_owned()
}

wharf_sdk::plugin!(Conformance);
