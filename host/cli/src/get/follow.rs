//! `wharf get -w` of what a running host has: the rows, then those that change. Owns what counts as a change,
//! and how one is printed: as kubectl prints those of the cluster. The host is asked again and again, and knows of no
//! watcher.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use wharf_runtime::look::SeenType;

use super::host::{HostAsk, What};
use super::rows::items;
use crate::args::{LookArgs, Output};
use crate::exit;
use crate::host::{self, Host};
use crate::report::{CliError, print_error, write};
use crate::table::Table;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn follow(host: &Host, ask: &HostAsk, look: &LookArgs) -> Result<u8, CliError> {
    let path = ask.path()?;
    let (mut known, mut printer) = (Known::default(), Printer::new(ask.what, look));
    let mut first = true;
    loop {
        let (answer, missing) = ask.chosen(host.get(&path).await?);
        if first && !missing.is_empty() {
            missing.iter().for_each(|name| print_error(&ask.what.missing(name)));
            return Ok(exit::NO);
        }
        let changes = known.changes(ask.what, &answer);
        let quiet = std::mem::replace(&mut first, false) && look.watch_only;
        if !quiet && !changes.is_empty() && !write(printer.print(&changes)?).await? {
            return Ok(exit::OK);
        }
        sleep(LOOK).await;
    }
}

/// A row, and what has become of it.
type Change = (SeenType, Value);

/// The rows of the last look by their identity.
#[derive(Default)]
struct Known(BTreeMap<String, Value>);

impl Known {
    /// What is new, what is not as it was, and what is gone.
    fn changes(&mut self, what: What, answer: &Value) -> Vec<Change> {
        let mut gone = std::mem::take(&mut self.0);
        let mut changes = Vec::new();
        for row in items(answer) {
            let identity = what.identity(row);
            match gone.remove(&identity) {
                None => changes.push((SeenType::Added, row.clone())),
                Some(was) if still(what, &was) != still(what, row) => changes.push((SeenType::Modified, row.clone())),
                Some(_) => {}
            }
            self.0.insert(identity, row.clone());
        }
        changes.extend(gone.into_values().map(|row| (SeenType::Deleted, row)));
        changes
    }
}

/// A row without what always moves.
fn still(what: What, row: &Value) -> Value {
    let mut row = row.clone();
    if let Some(fields) = row.as_object_mut() {
        fields.retain(|field, _| !what.moving().contains(&field.as_str()));
    }
    row
}

struct Printer {
    what: What,
    output: Output,
    events: bool,
    /// Rows that come later are in its columns.
    table: Option<Table>,
}

impl Printer {
    fn new(what: What, look: &LookArgs) -> Self {
        Self { what, output: look.output(), events: look.output_watch_events, table: None }
    }

    fn print(&mut self, changes: &[Change]) -> Result<String, CliError> {
        if matches!(self.output, Output::Table | Output::Wide) {
            return self.rows(changes);
        }
        changes.iter().map(|(seen, row)| self.document(*seen, row)).collect()
    }

    fn rows(&mut self, changes: &[Change]) -> Result<String, CliError> {
        let rows: Vec<Value> = changes.iter().map(|(_, row)| row.clone()).collect();
        let answer = if self.what == What::Failures { json!({ "items": rows, "more": 0 }) } else { Value::Array(rows) };
        let rows = self.what.rows(&answer, self.output == Output::Wide)?;
        let with_event = |event: &str| self.events.then(|| format!("{event:8}"));
        let events = self.events.then_some("EVENT").into_iter();
        let new = self.table.is_none();
        let table = self.table.get_or_insert_with(|| Table::new(events.chain(rows.head).collect()));
        for ((seen, _), cells) in changes.iter().zip(rows.cells) {
            table.row(with_event(seen.as_str()).into_iter().chain(cells).collect());
        }
        Ok(if new { table.render() } else { table.render_more() })
    }

    fn document(&self, seen: SeenType, row: &Value) -> Result<String, CliError> {
        let event = || json!({ "type": seen.as_str(), "object": row });
        Ok(match (self.output, self.events) {
            (Output::Name, _) => self.what.line(row),
            (Output::Yaml, true) => format!("---\n{}", host::yaml(&event())?),
            (Output::Yaml, false) => format!("---\n{}", host::yaml(row)?),
            (_, true) => format!("{}\n", event()),
            (_, false) => format!("{row:#}\n"),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn printer(what: What, line: &[&str]) -> Printer {
        let cli = Cli::try_parse_from(["wharf", "get", "plugins"].iter().chain(line)).unwrap();
        let Command::Get(args) = cli.command else { panic!("not get") };
        Printer::new(what, &args.look)
    }

    fn queue(plugin: &str, ready: u64, longest: f64) -> Value {
        json!({"plugin": plugin, "ready": ready, "longestRunningSeconds": longest})
    }

    #[test]
    fn rows_that_change_are_printed_and_what_always_moves_is_no_change() {
        let (mut known, mut printer) = (Known::default(), printer(What::Queues, &["--output-watch-events"]));
        let mut look = |rows: &[Value]| {
            let changes = known.changes(What::Queues, &json!(rows));
            if changes.is_empty() { String::new() } else { printer.print(&changes).unwrap() }
        };
        insta::assert_snapshot!(look(&[queue("a/x", 1, 0.5), queue("a/y", 0, 0.0)]), @r"
        EVENT      PLUGIN   READY   WAITING   PROCESSING   LONGEST-RUNNING   PARKED   LEDGER
        ADDED      a/x      1       0         0            0.5s              0        0
        ADDED      a/y      0       0         0            0.0s              0        0
        ");
        assert_eq!(look(&[queue("a/x", 1, 0.9), queue("a/y", 0, 0.1)]), "");
        insta::assert_snapshot!(look(&[queue("a/x", 2, 1.4)]), @r"
        MODIFIED   a/x      2       0         0            1.4s              0        0
        DELETED    a/y      0       0         0            0.1s              0        0
        ");
        insta::assert_snapshot!(look(&[queue("a/x", 2, 1.4), queue("a/y", 7, 0.0)]), @"ADDED      a/y      7       0         0            0.0s              0        0");
    }

    #[test]
    fn other_forms_are_a_document_each() {
        let row = json!({"plugin": "a/x", "number": 3, "standing": "Good"});
        let print = |line: &[&str]| printer(What::Revisions, line).print(&[(SeenType::Modified, row.clone())]).unwrap();
        assert_eq!(print(&["-o", "name"]), "revision/a/x/3\n");
        assert_eq!(print(&["-o", "yaml"]), "---\nnumber: 3\nplugin: a/x\nstanding: Good\n");
        let event = print(&["-o", "json", "--output-watch-events"]);
        assert_eq!(serde_json::from_str::<Value>(&event).unwrap(), json!({"type": "MODIFIED", "object": row}));
        assert_eq!(serde_json::from_str::<Value>(&print(&["-o", "json"])).unwrap(), row);
        let failed = json!({"items": [{"plugin": "a/x", "kind": "ConfigMap", "name": "n", "state": "Parked", "ageSeconds": 7}], "more": 3});
        let changes = Known::default().changes(What::Failures, &failed);
        let text = printer(What::Failures, &[]).print(&changes).unwrap();
        assert!(text.lines().count() == 2 && text.contains("ConfigMap/n"), "{text}");
    }
}
