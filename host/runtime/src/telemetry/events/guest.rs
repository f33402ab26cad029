//! Lines that guests log. Their message is the guest's own, so it is written as a value:
//! capped, escaped and never read as a line of the host.

use tracing::level_filters::LevelFilter;
use wharf_engine::{CallInfo, Level};

use crate::telemetry::line::{cut, json_text};
use crate::telemetry::metrics::{LogVerdict, Metrics};

/// Longest message in bytes.
const MAX_MESSAGE: usize = 8 << 10;
/// Longest text of all fields in bytes; the fields that do not fit are left out.
const MAX_FIELDS: usize = 8 << 10;

/// A guest logged a line.
#[derive(Debug)]
pub struct GuestLog<'a> {
    /// The plugin, `namespace/name`.
    pub plugin: &'a str,
    /// Short name of its revision; empty while it is staged.
    pub revision: &'a str,
    /// What the guest is doing.
    pub call: &'a CallInfo,
    /// How important the guest finds it.
    pub level: Level,
    /// The guest's words.
    pub message: &'a str,
    /// The guest's fields.
    pub fields: &'a [(String, String)],
}

impl GuestLog<'_> {
    /// Whether a line of this level would be written, of a plugin that has a level of its own or not.
    pub fn enabled(level: Level, own: Option<LevelFilter>) -> bool {
        match (own, level) {
            (Some(own), level) => tracing_level(level) <= own,
            (None, Level::Trace) => tracing::enabled!(target: "guest", tracing::Level::TRACE),
            (None, Level::Debug) => tracing::enabled!(target: "guest", tracing::Level::DEBUG),
            (None, Level::Info) => tracing::enabled!(target: "guest", tracing::Level::INFO),
            (None, Level::Warn) => tracing::enabled!(target: "guest", tracing::Level::WARN),
            (None, Level::Error) => tracing::enabled!(target: "guest", tracing::Level::ERROR),
        }
    }

    /// Logs and counts; drops and counts what is over the plugin's rate. To be asked first: [`enabled`](Self::enabled).
    pub fn emit(&self, metrics: &Metrics) {
        if metrics.log_line(self.plugin, word(self.level)) == LogVerdict::Drop {
            return;
        }
        let message = cut(self.message, MAX_MESSAGE);
        let fields = self.fields_json();
        let kind = self.call.kind.as_ref().map_or("", |kind| &kind.kind);
        let key = self.call.key.as_ref();
        let namespace = key.and_then(|key| key.namespace.as_deref()).unwrap_or_default();
        let name = key.map_or("", |key| &key.name);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    target: "guest", plugin = self.plugin, revision = self.revision, task = self.call.task.as_str(), kind, namespace, name,
                    attempt = self.call.attempt, fields, "{message}"
                )
            };
        }
        match self.level {
            Level::Trace => line!(trace),
            Level::Debug => line!(debug),
            Level::Info => line!(info),
            Level::Warn => line!(warn),
            Level::Error => line!(error),
        }
    }

    /// The fields as the text of one JSON object; a name that comes twice keeps its first
    /// value. Empty if there are none.
    fn fields_json(&self) -> String {
        let mut out = String::new();
        for (at, (name, value)) in self.fields.iter().enumerate() {
            if self.fields.iter().take(at).any(|(earlier, _)| earlier == name) {
                continue;
            }
            let before = out.len();
            out.push(if out.is_empty() { '{' } else { ',' });
            json_text(&mut out, name);
            out.push(':');
            json_text(&mut out, value);
            if out.len() >= MAX_FIELDS {
                out.truncate(before);
                break;
            }
        }
        if !out.is_empty() {
            out.push('}');
        }
        out
    }
}

fn tracing_level(level: Level) -> tracing::Level {
    match level {
        Level::Trace => tracing::Level::TRACE,
        Level::Debug => tracing::Level::DEBUG,
        Level::Info => tracing::Level::INFO,
        Level::Warn => tracing::Level::WARN,
        Level::Error => tracing::Level::ERROR,
    }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use wharf_core::{Cause, Event, Gvk, ObjectKey};
    use wharf_engine::Task;

    use super::*;
    use crate::telemetry::logging::capture;

    fn call() -> CallInfo {
        CallInfo {
            task: Task::Handle(Event::Add),
            kind: Some(Arc::new(Gvk::new("", "v1", "ConfigMap"))),
            key: Some(ObjectKey::new("team-a", "settings")),
            cause: Some(Cause::Watch),
            attempt: 1,
        }
    }

    fn emit(metrics: &Metrics, level: Level, message: &str, fields: &[(String, String)]) -> Vec<Value> {
        let call = call();
        capture(|| GuestLog { plugin: "team-a/guard", revision: "1-abc", call: &call, level, message, fields }.emit(metrics))
    }

    #[test]
    fn a_guest_line_is_a_value() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let message = "done {} %s \n{\"target\":\"wharf::host\"}";
        let fields = [
            ("owner".to_owned(), "a\u{1b}[2Jb".to_owned()),
            ("owner".to_owned(), "again".to_owned()),
            ("plugin".to_owned(), "other".to_owned()),
        ];
        let lines = emit(&metrics, Level::Warn, message, &fields);
        let mut line = lines[0].clone();
        line.as_object_mut().unwrap().remove("timestamp").unwrap();
        let expected = json!({
            "level": "warn", "target": "guest", "message": message, "plugin": "team-a/guard", "revision": "1-abc", "task": "add", "kind": "ConfigMap",
            "namespace": "team-a", "name": "settings", "attempt": 1, "fields": "{\"owner\":\"a\\u001b[2Jb\",\"plugin\":\"other\"}",
        });
        assert_eq!(line, expected);
        assert!(metrics.encode().unwrap().contains(r#"wharf_guest_log_lines_total{plugin="team-a/guard",level="warn"} 1"#));
    }

    #[test]
    fn levels_are_mapped_and_sizes_capped() {
        let metrics = Metrics::new();
        for (level, name) in
            [(Level::Trace, "trace"), (Level::Debug, "debug"), (Level::Info, "info"), (Level::Warn, "warn"), (Level::Error, "error")]
        {
            assert_eq!(emit(&metrics, level, "x", &[])[0]["level"], name);
        }
        let huge = "é".repeat(100_000);
        let fields = [("small".to_owned(), "1".to_owned()), ("huge".to_owned(), huge.clone())];
        let line = &emit(&metrics, Level::Info, &huge, &fields)[0];
        assert!(line["message"].as_str().unwrap().len() < 9 << 10);
        assert_eq!(line["fields"], "{\"small\":\"1\"}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_dropped_and_counted() {
        let metrics = Metrics::new();
        metrics.add_plugin("team-a/guard");
        let call = call();
        let line = GuestLog { plugin: "team-a/guard", revision: "1-abc", call: &call, level: Level::Info, message: "x", fields: &[] };
        let written = capture(|| (0..2500).for_each(|_| line.emit(&metrics)));
        assert_eq!(written.len(), 2000);
        assert!(metrics.encode().unwrap().contains(r#"wharf_guest_log_lines_dropped_total{plugin="team-a/guard"} 500"#));
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert_eq!(capture(|| (0..2500).for_each(|_| line.emit(&metrics))).len(), 500);
    }
}
