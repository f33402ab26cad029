//! `wharf get plugins|informers|queues`: asks a running host through its control socket and
//! prints rows. Never speaks to a cluster.

use serde_json::Value;
use wharf_runtime::admin::rows::{InformerRow, PluginRow, QueueRow};

use crate::args::{GetArgs, Output};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data, print_error};
use crate::table::{Table, age};

/// What a host shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Plugins,
    Informers,
    Queues,
}

/// What a word shows of a host, and the names of it that are wanted: `plugins NAME…` or `plugin/NAME`. Other words are
/// kinds.
pub(super) fn wish(word: &str, names: &[String]) -> Option<(What, Vec<String>)> {
    let (word, name) = word.split_once('/').map_or((word, None), |(word, name)| (word, Some(name.to_owned())));
    let what = match word {
        "plugins" | "plugin" => What::Plugins,
        "informers" | "informer" => What::Informers,
        "queues" | "queue" => What::Queues,
        _ => return None,
    };
    Some((what, name.into_iter().chain(names.iter().cloned()).collect()))
}

pub(super) fn run(args: &GetArgs, what: What, names: &[String]) -> Result<u8, CliError> {
    let path = match what {
        What::Plugins => "/v1/plugins",
        What::Informers => "/v1/informers",
        What::Queues => "/v1/queues",
    };
    let namespace = args.look.namespace.as_deref().filter(|namespace| !namespace.is_empty() && !args.look.all_namespaces);
    if what == What::Informers && namespace.is_some() {
        return Err(CliError::new(exit::USAGE, "informers are in no namespace: one may serve plugins of many")
            .hint("the column SCOPE says which objects an informer has; `wharf get plugins -n NAMESPACE` shows plugins"));
    }
    let (answer, missing) = chosen(host::get(&args.host, path)?, what, namespace, names);
    let text = match args.look.output() {
        // Errors say enough.
        _ if !missing.is_empty() && answer.as_array().is_some_and(Vec::is_empty) => String::new(),
        Output::Json => format!("{answer:#}\n"),
        Output::Yaml => host::yaml(&answer)?,
        Output::Name => self::names(&answer, what),
        Output::Table => table(&answer, what, false)?,
        Output::Wide => table(&answer, what, true)?,
    };
    print_data(&text)?;
    for name in &missing {
        let error = format!("the host has no {} {name:?}", what.one());
        print_error(&CliError::new(exit::NO, error).hint(format!("`wharf get {}s` lists them", what.one())));
    }
    Ok(if missing.is_empty() { exit::OK } else { exit::NO })
}

impl What {
    fn one(self) -> &'static str {
        match self {
            Self::Plugins => "plugin",
            Self::Informers => "informer",
            Self::Queues => "queue",
        }
    }

    /// What a row is called: a plugin and its queue `NAMESPACE/NAME`, an informer `KIND.GROUP/SCOPE`.
    fn name(self, row: &Value) -> String {
        let text = |field: &str| row.get(field).and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Plugins => format!("{}/{}", text("namespace"), text("name")),
            Self::Queues => text("plugin").to_owned(),
            Self::Informers => {
                let dot = text("apiVersion").split_once('/').map_or_else(String::new, |(group, _)| format!(".{group}"));
                format!("{}{dot}/{}", text("kind"), text("scope"))
            }
        }
    }

    /// Is this the name of a row, or the part of it that is clear enough: the plugin without its namespace, the kind without
    /// its scope, or without its group too?
    fn is(self, row: &Value, name: &str) -> bool {
        let full = self.name(row);
        let short = match self {
            Self::Plugins | Self::Queues => full.split_once('/').map(|(_, name)| name),
            Self::Informers => full.split_once('/').map(|(kind, _)| kind),
        };
        let bare = short.and_then(|kind| kind.split_once('.')).map(|(kind, _)| kind).filter(|_| matches!(self, Self::Informers));
        full.eq_ignore_ascii_case(name) || [short, bare].into_iter().flatten().any(|short| short.eq_ignore_ascii_case(name))
    }
}

/// The rows of a namespace that have one of these names, and the names that no row has.
fn chosen(answer: Value, what: What, namespace: Option<&str>, names: &[String]) -> (Value, Vec<String>) {
    let Value::Array(rows) = answer else { return (answer, Vec::new()) };
    let here =
        |row: &Value| namespace.is_none_or(|wanted| what.name(row).split_once('/').is_some_and(|(namespace, _)| namespace == wanted));
    let rows: Vec<Value> = rows.into_iter().filter(here).collect();
    let missing = names.iter().filter(|name| !rows.iter().any(|row| what.is(row, name))).cloned().collect();
    let named = |row: &Value| names.is_empty() || names.iter().any(|name| what.is(row, name));
    (Value::Array(rows.into_iter().filter(named).collect()), missing)
}

/// Names that `wharf get` takes again.
fn names(answer: &Value, what: What) -> String {
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(|row| format!("{}/{}\n", what.one(), what.name(row))).collect()
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
            let message = row.message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn get(answer: &Value, what: What, namespace: Option<&str>, wanted: &[&str]) -> (String, Vec<String>) {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let (answer, missing) = chosen(answer.clone(), what, namespace, &wanted);
        (names(&answer, what), missing)
    }

    #[test]
    fn rows_by_namespace_and_name() {
        let plugins = json!([{"namespace": "a", "name": "x"}, {"namespace": "b", "name": "x"}, {"namespace": "b", "name": "y"}]);
        for (namespace, wanted, want, missing) in [
            (None, &[][..], "plugin/a/x\nplugin/b/x\nplugin/b/y\n", &[][..]),
            (Some("b"), &[], "plugin/b/x\nplugin/b/y\n", &[]),
            (None, &["x"], "plugin/a/x\nplugin/b/x\n", &[]),
            (None, &["b/x", "z"], "plugin/b/x\n", &["z"]),
            (Some("a"), &["y"], "", &["y"]),
        ] {
            let missing: Vec<String> = missing.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(get(&plugins, What::Plugins, namespace, wanted), (want.to_owned(), missing), "{namespace:?} {wanted:?}");
        }
        let queues = json!([{"plugin": "a/x"}, {"plugin": "b/y"}]);
        assert_eq!(get(&queues, What::Queues, Some("b"), &["y"]).0, "queue/b/y\n");
    }

    #[test]
    fn printed_names_are_taken_again() {
        let informers = json!([
            {"kind": "ConfigMap", "apiVersion": "v1", "scope": "*"},
            {"kind": "Deployment", "apiVersion": "apps/v1", "scope": "team-a"},
        ]);
        let (all, _) = get(&informers, What::Informers, None, &[]);
        assert_eq!(all, "informer/ConfigMap/*\ninformer/Deployment.apps/team-a\n");
        for line in all.lines() {
            let (what, names) = wish(line, &[]).unwrap();
            assert_eq!(what, What::Informers);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(get(&informers, what, None, &names), (format!("{line}\n"), Vec::new()));
        }
        assert_eq!(get(&informers, What::Informers, None, &["configmap"]).0, "informer/ConfigMap/*\n");
        assert_eq!(wish("plugins.wharf.dev", &[]), None);
    }
}
