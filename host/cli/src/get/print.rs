//! Objects as text: tables, JSON, YAML, names. Owns the forms, which are kubectl's; never
//! asks for anything and never writes to a stream.

use serde::Serialize;
use serde_json::{Value, json};
use wharf_core::Object;
use wharf_runtime::look::{Seen, ServedResource, ServerTable, age};

use crate::args::{LookArgs, Output};
use crate::exit;
use crate::report::CliError;
use crate::table::{self, Table};

/// How objects of a command are printed.
pub(super) struct Printer {
    output: Output,
    /// A column for the namespace.
    namespaces: bool,
    /// A column, or a wrapping, for what happened.
    events: bool,
    /// Names with their kind before them, since there is more than one.
    kinds: bool,
}

impl Printer {
    pub(super) fn new(look: &LookArgs, kinds: bool) -> Self {
        Self { output: look.output(), namespaces: look.all_namespaces, events: look.output_watch_events, kinds }
    }

    /// Is it a table?
    pub(super) fn tabular(&self) -> bool {
        matches!(self.output, Output::Table | Output::Wide)
    }

    /// A table of objects of one kind.
    pub(super) fn table(&self, resource: &ServedResource, seen: &[Seen]) -> String {
        let mut table = self.head(resource);
        for seen in seen {
            table.row(self.cells(resource, seen));
        }
        table.render()
    }

    /// A table in the server's own columns.
    pub(super) fn server_table(&self, resource: &ServedResource, rows: &ServerTable) -> String {
        let namespaces = self.namespaces && resource.kind.namespaced;
        let shown = |wide: bool| !wide || self.output == Output::Wide;
        let names = rows.columns.iter().filter(|(_, wide)| shown(*wide)).map(|(name, _)| name.to_uppercase());
        let mut table = Table::new(namespaces.then(|| "NAMESPACE".to_owned()).into_iter().chain(names).collect());
        for row in &rows.rows {
            let mut cells: Vec<String> = namespaces.then(|| row.namespace.clone()).into_iter().collect();
            for ((name, wide), cell) in rows.columns.iter().zip(&row.cells).filter(|((_, wide), _)| shown(*wide)) {
                // The kind belongs to the name, which is the first column by custom.
                let kind = self.kinds && !*wide && name.eq_ignore_ascii_case("name");
                cells.push(if kind { self.named(resource, cell) } else { cell.clone() });
            }
            table.row_as_it_is(cells);
        }
        table.render()
    }

    /// A table whose rows come one by one.
    pub(super) fn open_table(&self, resource: &ServedResource, first: &[Seen]) -> (Table, String) {
        let mut table = self.head(resource);
        for seen in first {
            table.row(self.cells(resource, seen));
        }
        // Without rows the head is owed to the first one.
        let text = if first.is_empty() { String::new() } else { table.render() };
        (table, text)
    }

    /// One more row of it; with the head if that is still owed.
    pub(super) fn table_row(&self, table: &mut Table, head: &mut bool, resource: &ServedResource, seen: &Seen) -> String {
        table.row(self.cells(resource, seen));
        if std::mem::replace(head, false) { table.render() } else { table.render_more() }
    }

    fn head(&self, resource: &ServedResource) -> Table {
        let namespaces = self.namespaces && resource.kind.namespaced;
        let columns = [(self.events, "EVENT"), (namespaces, "NAMESPACE"), (true, "NAME"), (true, "AGE")];
        Table::new(columns.into_iter().filter(|(there, _)| *there).map(|(_, name)| name).collect())
    }

    fn cells(&self, resource: &ServedResource, Seen { seen, object }: &Seen) -> Vec<String> {
        let namespaces = self.namespaces && resource.kind.namespaced;
        let name = if self.kinds { self.name(resource, object) } else { object.key().name.to_string() };
        let age = age(object).map_or_else(|| "<unknown>".to_owned(), table::age);
        let namespace = object.key().namespace.as_deref().unwrap_or_default().to_owned();
        let cells = [(self.events, format!("{:8}", seen.as_str())), (namespaces, namespace), (true, name), (true, age)];
        cells.into_iter().filter(|(there, _)| *there).map(|(_, cell)| cell).collect()
    }

    /// `configmap/NAME`, `deployment.apps/NAME`.
    fn name(&self, resource: &ServedResource, object: &Object) -> String {
        self.named(resource, &object.key().name)
    }

    fn named(&self, resource: &ServedResource, name: &str) -> String {
        let group = &resource.kind.gvk.group;
        let dot = if group.is_empty() { "" } else { "." };
        format!("{}{dot}{group}/{name}", resource.singular)
    }

    /// One change, in any form but a table.
    ///
    /// # Errors
    /// An object that cannot be written so.
    pub(super) fn document(&self, resource: &ServedResource, seen: &Seen) -> Result<String, CliError> {
        if self.output == Output::Name {
            return Ok(self.name(resource, &seen.object) + "\n");
        }
        let object = value(&seen.object)?;
        // Documents of a stream of YAML are told apart by this.
        let apart = if self.output == Output::Yaml { "---\n" } else { "" };
        let text = match (self.events, self.output) {
            (true, Output::Yaml) => self.write(&json!({ "type": seen.seen.as_str(), "object": object }))?,
            (true, _) => {
                // A line each, the type first.
                let line = serde_json::to_string(&WatchEvent { r#type: seen.seen.as_str(), object: &object });
                line.map_err(|error| unwritten(&error.to_string()))? + "\n"
            }
            (false, _) => self.write(&object)?,
        };
        Ok(apart.to_owned() + &text)
    }

    /// All objects as one document, or a name a line. `single`: one object was asked for by name.
    ///
    /// # Errors
    /// An object that cannot be written so.
    pub(super) fn list(&self, all: &[(&ServedResource, Vec<Seen>)], single: bool) -> Result<String, CliError> {
        let mut seen = all.iter().flat_map(|(resource, seen)| seen.iter().map(move |seen| (*resource, seen)));
        if self.output == Output::Name {
            return Ok(seen.map(|(resource, seen)| self.name(resource, &seen.object) + "\n").collect());
        }
        if single && let Some((_, one)) = seen.next() {
            return self.write(&value(&one.object)?);
        }
        let items = seen.map(|(_, seen)| value(&seen.object)).collect::<Result<Vec<_>, _>>()?;
        self.write(&json!({ "apiVersion": "v1", "items": items, "kind": "List", "metadata": { "resourceVersion": "" } }))
    }

    fn write(&self, value: &Value) -> Result<String, CliError> {
        if self.output == Output::Yaml {
            return serde_saphyr::to_string(value).map_err(|error| unwritten(&error.to_string()));
        }
        let mut text = Vec::new();
        let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, form)).map_err(|error| unwritten(&error.to_string()))?;
        text.push(b'\n');
        String::from_utf8(text).map_err(|error| unwritten(&error.to_string()))
    }
}

/// A change as the API sends it.
#[derive(Serialize)]
struct WatchEvent<'a> {
    r#type: &'a str,
    object: &'a Value,
}

fn unwritten(error: &str) -> CliError {
    CliError::new(exit::USAGE, format!("an object cannot be written: {error}"))
}

fn value(object: &Object) -> Result<Value, CliError> {
    serde_json::from_str(object.json()).map_err(|error| CliError::new(exit::USAGE, format!("an object cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::Parser as _;
    use wharf_core::{Gvk, ResourceKind};
    use wharf_runtime::look::{SeenType, ServerRow};

    use super::*;
    use crate::args::{Cli, Command};

    fn look(line: &[&str]) -> LookArgs {
        let cli = Cli::try_parse_from(["wharf", "get", "cm"].iter().chain(line)).unwrap();
        let Command::Get(args) = cli.command else { panic!("not get") };
        args.look
    }

    fn resource() -> ServedResource {
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "ConfigMap"), plural: "configmaps".into(), namespaced: true };
        ServedResource { kind, singular: "configmap".into(), short_names: Vec::new(), categories: Vec::new(), verbs: Vec::new() }
    }

    fn seen(seen: SeenType, name: &str) -> Seen {
        let text = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n"}},"kind":"ConfigMap","apiVersion":"v1"}}"#);
        Seen { seen, object: Arc::new(Object::parse(&text, &Gvk::new("", "v1", "ConfigMap")).unwrap()) }
    }

    #[test]
    fn the_column_of_events_is_as_wide_as_its_widest_word() {
        let look = look(&["--output-watch-events", "-A"]);
        let printer = Printer::new(&look, false);
        let (mut table, text) = printer.open_table(&resource(), &[seen(SeenType::Added, "a")]);
        assert_eq!(text, "EVENT      NAMESPACE   NAME   AGE\nADDED      n           a      <unknown>\n");
        let more = printer.table_row(&mut table, &mut false, &resource(), &seen(SeenType::Modified, "a"));
        assert_eq!(more, "MODIFIED   n           a      <unknown>\n");
    }

    #[test]
    fn events_as_json_are_a_line_each_with_the_type_first() {
        let look = look(&["-o", "json", "--output-watch-events"]);
        let line = Printer::new(&look, false).document(&resource(), &seen(SeenType::Deleted, "a")).unwrap();
        let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}"#;
        assert_eq!(line, format!("{{\"type\":\"DELETED\",\"object\":{object}}}\n"));
    }

    #[test]
    fn cells_that_the_server_leaves_empty_stay_so() {
        let look = look(&[]);
        let columns = ["Name", "Error"].map(|name| (name.to_owned(), false)).into();
        let rows = vec![ServerRow { namespace: String::new(), cells: vec!["a".to_owned(), String::new()] }];
        assert_eq!(Printer::new(&look, false).server_table(&resource(), &ServerTable { columns, rows }), "NAME   ERROR\na      \n");
    }
}
