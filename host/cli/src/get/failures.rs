//! `wharf get failures`: rows of failed keys. Owns their forms; a message is cut to its first line
//! in tables.

use serde_json::Value;
use wharf_runtime::admin::operate::{FailureRow, FailuresRow};

use super::question;
use crate::args::{GetArgs, Output};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data};
use crate::table::{Table, age};

pub(super) fn run(args: &GetArgs) -> Result<u8, CliError> {
    let namespace = args.look.namespace.as_deref().filter(|_| !args.look.all_namespaces);
    let path = question("/v1/failures", &args.names, namespace)?;
    let answer = host::get(&args.host, &path)?;
    print_data(&text(&answer, args.look.output())?)?;
    Ok(exit::OK)
}

fn text(answer: &Value, output: Output) -> Result<String, CliError> {
    let row: FailuresRow = host::read(answer)?;
    Ok(match output {
        Output::Json => format!("{answer:#}\n"),
        Output::Yaml => host::yaml(answer)?,
        Output::Name => row.items.iter().map(|row| format!("{} {}\n", row.plugin, key(row))).collect(),
        Output::Table | Output::Wide if row.items.is_empty() => "No failures found.\n".to_owned(),
        Output::Table => table(&row, false),
        Output::Wide => table(&row, true),
    })
}

fn table(rows: &FailuresRow, wide: bool) -> String {
    let mut head = vec!["PLUGIN", "KEY", "STATE", "REASON", "STRIKES", "ATTEMPTS", "AGE", "NEXT"];
    if wide {
        head.extend(["APIVERSION", "PARKED-BY", "MESSAGE"]);
    }
    let mut table = Table::new(head);
    for row in &rows.items {
        let next = match row.next_seconds {
            Some(0) => "now".to_owned(),
            Some(seconds) => age(seconds),
            None => String::new(),
        };
        let mut cells = vec![
            row.plugin.clone(),
            key(row),
            row.state.clone(),
            row.reason.clone(),
            row.strikes.to_string(),
            row.attempts.to_string(),
            age(row.age_seconds),
            next,
        ];
        if wide {
            cells.extend([row.api_version.clone(), row.parked_by.clone().unwrap_or_default(), row.message.clone()]);
        }
        table.row(cells);
    }
    let more = if rows.more == 0 { String::new() } else { format!("and {} more\n", rows.more) };
    table.render() + &more
}

/// As `wharf retry` and `wharf explain` take it.
fn key(row: &FailureRow) -> String {
    let kind = match row.api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", row.kind),
        None => row.kind.clone(),
    };
    if row.namespace.is_empty() { format!("{kind}/{}", row.name) } else { format!("{kind}/{}/{}", row.namespace, row.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Value {
        let parked = FailureRow {
            plugin: "team-a/guard".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: "team-a".into(),
            name: "settings".into(),
            state: "Parked".into(),
            parked_by: Some("permanent".into()),
            reason: "OwnerMissing".into(),
            message: "no such owner\\nin team-a".into(),
            strikes: 0,
            attempts: 1,
            age_seconds: 312,
            next_seconds: None,
        };
        let retrying = FailureRow {
            api_version: "example.com/v1".into(),
            kind: "Widget".into(),
            namespace: String::new(),
            name: "w".into(),
            state: "Retrying".into(),
            parked_by: None,
            reason: "Trap".into(),
            message: "unreachable".into(),
            strikes: 2,
            attempts: 2,
            next_seconds: Some(0),
            ..parked.clone()
        };
        serde_json::to_value(FailuresRow { items: vec![parked, retrying], more: 7 }).unwrap()
    }

    #[test]
    fn forms() {
        insta::assert_snapshot!(text(&rows(), Output::Wide).unwrap(), @r"
        PLUGIN         KEY                         STATE      REASON         STRIKES   ATTEMPTS   AGE     NEXT     APIVERSION       PARKED-BY   MESSAGE
        team-a/guard   ConfigMap/team-a/settings   Parked     OwnerMissing   0         1          5m12s   <none>   v1               permanent   no such owner\nin team-a
        team-a/guard   Widget.example.com/w        Retrying   Trap           2         2          5m12s   now      example.com/v1   <none>      unreachable
        and 7 more
        ");
        assert!(!text(&rows(), Output::Table).unwrap().contains("MESSAGE"));
        assert_eq!(text(&rows(), Output::Name).unwrap(), "team-a/guard ConfigMap/team-a/settings\nteam-a/guard Widget.example.com/w\n");
        let yaml = text(&rows(), Output::Yaml).unwrap();
        assert!(yaml.contains("more: 7") && yaml.contains("parkedBy: permanent"), "{yaml}");
        let none = serde_json::to_value(FailuresRow::default()).unwrap();
        assert_eq!(text(&none, Output::Table).unwrap(), "No failures found.\n");
        assert_eq!(text(&none, Output::Name).unwrap(), "");
    }
}
