//! `wharf get plugins|informers|queues`: asks a running host through its control socket and
//! prints rows. Never speaks to a cluster.

use serde_json::Value;
use wharf_runtime::admin::rows::{InformerRow, PluginRow, QueueRow};

use crate::args::{GetArgs, Output};
use crate::host;
use crate::report::{CliError, print_data};
use crate::table::{Table, age};

/// What a host shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Plugins,
    Informers,
    Queues,
}

/// What a word shows of a host; other words are kinds.
pub(super) fn what(word: &str) -> Option<What> {
    match word {
        "plugins" | "plugin" => Some(What::Plugins),
        "informers" | "informer" => Some(What::Informers),
        "queues" | "queue" => Some(What::Queues),
        _ => None,
    }
}

pub(super) fn run(args: &GetArgs, what: What) -> Result<u8, CliError> {
    let path = match what {
        What::Plugins => "/v1/plugins",
        What::Informers => "/v1/informers",
        What::Queues => "/v1/queues",
    };
    let answer = in_namespace(host::get(&args.host, path)?, what, args);
    let text = match args.look.output {
        Output::Json => format!("{answer:#}\n"),
        Output::Yaml => host::yaml(&answer)?,
        Output::Name => names(&answer, what),
        Output::Table => table(&answer, what, false)?,
        Output::Wide => table(&answer, what, true)?,
    };
    print_data(&text)?;
    Ok(crate::exit::OK)
}

fn in_namespace(answer: Value, what: What, args: &GetArgs) -> Value {
    let Some(namespace) = &args.look.namespace else { return answer };
    let Value::Array(rows) = answer else { return answer };
    let of = |row: &Value| match what {
        What::Plugins => row.get("namespace").and_then(Value::as_str) == Some(namespace),
        What::Queues => row.get("plugin").and_then(Value::as_str).and_then(|p| p.split_once('/')).is_some_and(|(n, _)| n == namespace),
        What::Informers => true,
    };
    Value::Array(rows.into_iter().filter(of).collect())
}

fn names(answer: &Value, what: What) -> String {
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Value, field: &str| row.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = |row: &Value| match what {
        What::Plugins => format!("plugin/{}/{}\n", text(row, "namespace"), text(row, "name")),
        What::Informers => format!("informer/{}/{}\n", text(row, "kind"), text(row, "scope")),
        What::Queues => format!("queue/{}\n", text(row, "plugin")),
    };
    rows.iter().map(name).collect()
}

fn table(answer: &Value, what: What, wide: bool) -> Result<String, CliError> {
    if answer.as_array().is_some_and(Vec::is_empty) {
        return Ok("No resources found.\n".to_owned());
    }
    let mut table = match what {
        What::Plugins => plugins(host::read(answer)?, wide),
        What::Informers => informers(host::read(answer)?, wide),
        What::Queues => queues(host::read(answer)?),
    };
    Ok(table.render())
}

fn plugins(rows: Vec<PluginRow>, wide: bool) -> Table {
    let mut head = vec!["NAMESPACE", "NAME", "STATE", "REVISION", "REASON", "FAILING", "PARKED", "WAITING", "AGE"];
    if wide {
        head.extend(["SYNCED", "SUBSCRIPTIONS", "SOURCE", "MESSAGE"]);
    }
    let mut table = Table::new(head);
    for row in rows {
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
            let message = row.message.lines().next().unwrap_or_default().to_owned();
            cells.extend([row.synced.to_string(), row.subscriptions.join(","), row.source, message]);
        }
        table.row(cells);
    }
    table
}

fn informers(rows: Vec<InformerRow>, wide: bool) -> Table {
    let mut head = vec!["KIND", "APIVERSION", "SCOPE", "STATE", "OBJECTS", "BYTES", "HANDLERS", "LAST-EVENT"];
    if wide {
        head.extend(["SELECTOR", "RELISTS", "REASON"]);
    }
    let mut table = Table::new(head);
    for row in rows {
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
        table.row(cells);
    }
    table
}

fn queues(rows: Vec<QueueRow>) -> Table {
    let mut table = Table::new(vec!["PLUGIN", "READY", "WAITING", "PROCESSING", "LONGEST-RUNNING", "PARKED", "LEDGER"]);
    for row in rows {
        table.row(vec![
            row.plugin,
            row.ready.to_string(),
            row.waiting.to_string(),
            row.processing.to_string(),
            format!("{:.1}s", row.longest_running_seconds),
            row.parked.to_string(),
            row.ledger_entries.to_string(),
        ]);
    }
    table
}
