//! Rows of a host's plugins, informers and queues, as tables have them. Owns columns and cells; which rows
//! are wanted is `host`'s.

use serde_json::Value;
use wharf_runtime::admin::rows::{InformerRow, PluginRow, QueueRow};

use crate::table::{Table, age};

/// Rows, whatever they are about.
pub(super) struct Rows {
    /// The columns.
    pub(super) head: Vec<&'static str>,
    /// The cells of each row.
    pub(super) cells: Vec<Vec<String>>,
    /// What is said below them; mostly nothing.
    pub(super) foot: String,
}

impl Rows {
    pub(super) fn new(head: Vec<&'static str>, cells: Vec<Vec<String>>) -> Self {
        Self { head, cells, foot: String::new() }
    }

    /// All of it.
    pub(super) fn table(self) -> String {
        let mut table = Table::new(self.head);
        self.cells.into_iter().for_each(|cells| table.row(cells));
        table.render() + &self.foot
    }
}

/// The rows in an answer: itself, or what it lists.
pub(super) fn items(answer: &Value) -> &[Value] {
    let list = answer.as_array().or_else(|| answer.get("items").and_then(Value::as_array));
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A text of a row.
pub(super) fn word<'r>(row: &'r Value, field: &str) -> &'r str {
    row.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn plugins(rows: Vec<PluginRow>, wide: bool) -> Rows {
    let mut head = vec!["NAMESPACE", "NAME", "STATE", "REVISION", "REASON", "FAILING", "PARKED", "WAITING", "IN-STATE"];
    if wide {
        head.extend(["SYNCED", "SUBSCRIPTIONS", "SOURCE", "MESSAGE"]);
    }
    let cells = rows.into_iter().map(|row| {
        let mut cells = vec![
            row.namespace,
            row.name,
            row.state,
            row.revision,
            row.reason,
            row.failing.to_string(),
            row.parked.to_string(),
            row.waiting.to_string(),
            age(row.age_seconds),
        ];
        if wide {
            let message = row.message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            cells.extend([row.synced.to_string(), row.subscriptions.join(","), row.source, message]);
        }
        cells
    });
    Rows::new(head, cells.collect())
}

pub(super) fn informers(rows: Vec<InformerRow>, wide: bool) -> Rows {
    let mut head = vec!["KIND", "APIVERSION", "SCOPE", "STATE", "OBJECTS", "BYTES", "HANDLERS", "LAST-EVENT"];
    if wide {
        head.extend(["SELECTOR", "RELISTS", "REASON"]);
    }
    let cells = rows.into_iter().map(|row| {
        let last = row.last_event_age_seconds.map(age).unwrap_or_default();
        let mut cells = vec![
            row.kind,
            row.api_version,
            row.scope,
            row.state,
            row.objects.to_string(),
            row.bytes.to_string(),
            row.handlers.to_string(),
            last,
        ];
        if wide {
            cells.extend([row.selectors, row.relists.to_string(), row.reason]);
        }
        cells
    });
    Rows::new(head, cells.collect())
}

pub(super) fn queues(rows: Vec<QueueRow>) -> Rows {
    let head = vec!["PLUGIN", "READY", "WAITING", "PROCESSING", "LONGEST-RUNNING", "PARKED", "LEDGER"];
    let cells = rows.into_iter().map(|row| {
        vec![
            row.plugin,
            row.ready.to_string(),
            row.waiting.to_string(),
            row.processing.to_string(),
            format!("{:.1}s", row.longest_running_seconds),
            row.parked.to_string(),
            row.ledger_entries.to_string(),
        ]
    });
    Rows::new(head, cells.collect())
}
