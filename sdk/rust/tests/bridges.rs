//! The bridges of the features `log` and `tracing`: what these crates produce during a call
//! are the host's log lines.

use serde_json::json;
use wharf_sdk::log::Level;
use wharf_sdk::prelude::*;
use wharf_sdk::testing::{Host, LogLine};

#[derive(serde::Deserialize)]
struct Chatty {}

impl Handler for Chatty {
    fn describe() -> Description {
        Description::new("chatty", "0.1.0").subscribe(Subscription::new("main", "v1", "ConfigMap"))
    }

    fn add(&self, event: &Event) -> Result {
        log_facade::warn!(target: "facade", number = 7; "by log: {}", event.name());
        tracing::debug!(target: "traced", "below the level");
        let outer = tracing::info_span!("outer", team = "a", late = tracing::field::Empty);
        let _in = outer.enter();
        outer.record("late", 3);
        tracing::trace_span!("inner", word = ?"w").in_scope(|| {
            tracing::info!(target: "traced", count = 2, failed = false, "by tracing: {}", event.name());
        });
        tracing::error!(target: "traced", word = "plain", "in outer");
        Ok(Outcome::done())
    }
}

fn line(level: Level, message: &str, fields: &[(&str, &str)]) -> LogLine {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    LogLine { level, message: message.to_owned(), fields }
}

#[test]
fn records_and_events_become_lines_with_their_fields() {
    let mut host = Host::new();
    host.log_level(Level::Info);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}});
    for _ in 0..2 {
        host.clear().add::<Chatty>(&object).unwrap();
        assert_eq!(
            host.logs(),
            [
                line(Level::Warn, "by log: b", &[("target", "facade"), ("number", "7")]),
                line(
                    Level::Info,
                    "by tracing: b",
                    &[("target", "traced"), ("team", "a"), ("late", "3"), ("word", "\"w\""), ("count", "2"), ("failed", "false")]
                ),
                line(Level::Error, "in outer", &[("target", "traced"), ("team", "a"), ("late", "3"), ("word", "plain")]),
            ]
        );
    }
}
