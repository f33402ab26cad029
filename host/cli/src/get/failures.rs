//! `wharf get failures`: rows of failed keys. Owns their columns and names; a message is cut to its first line
//! in tables.

use serde::Deserialize as _;
use serde_json::Value;
use wharf_runtime::admin::operate::{FailureRow, FailuresRow};

use super::rows::Rows;
use crate::table::age;

pub(super) fn rows(rows: &FailuresRow, wide: bool) -> Rows {
    let mut head = vec!["PLUGIN", "KEY", "STATE", "REASON", "STRIKES", "ATTEMPTS", "AGE", "NEXT"];
    if wide {
        head.extend(["APIVERSION", "PARKED-BY", "MESSAGE"]);
    }
    let cells = rows.items.iter().map(|row| {
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
        cells
    });
    let foot = if rows.more == 0 { String::new() } else { format!("and {} more\n", rows.more) };
    Rows { foot, ..Rows::new(head, cells.collect()) }
}

/// Plugin and key, which `wharf retry` and `wharf explain` take as they are.
pub(super) fn name(row: &Value) -> String {
    let row = FailureRow::deserialize(row).unwrap_or_default();
    format!("{} {}", row.plugin, key(&row))
}

fn key(row: &FailureRow) -> String {
    key_of(&row.api_version, &row.kind, &row.namespace, &row.name)
}

/// As `wharf retry`, `wharf explain` and `wharf get failedcalls` take it.
pub(super) fn key_of(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    let kind = match api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    };
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::super::host::What;
    use super::*;
    use crate::args::Output;

    fn failed() -> Value {
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
        insta::assert_snapshot!(What::Failures.text(&failed(), Output::Wide).unwrap(), @r"
        PLUGIN         KEY                         STATE      REASON         STRIKES   ATTEMPTS   AGE     NEXT     APIVERSION       PARKED-BY   MESSAGE
        team-a/guard   ConfigMap/team-a/settings   Parked     OwnerMissing   0         1          5m12s   <none>   v1               permanent   no such owner\nin team-a
        team-a/guard   Widget.example.com/w        Retrying   Trap           2         2          5m12s   now      example.com/v1   <none>      unreachable
        and 7 more
        ");
        assert!(!What::Failures.text(&failed(), Output::Table).unwrap().contains("MESSAGE"));
        assert_eq!(
            What::Failures.text(&failed(), Output::Name).unwrap(),
            "team-a/guard ConfigMap/team-a/settings\nteam-a/guard Widget.example.com/w\n"
        );
        let yaml = What::Failures.text(&failed(), Output::Yaml).unwrap();
        assert!(yaml.contains("more: 7") && yaml.contains("parkedBy: permanent"), "{yaml}");
        let none = serde_json::to_value(FailuresRow::default()).unwrap();
        assert_eq!(What::Failures.text(&none, Output::Table).unwrap(), "No failures found.\n");
        assert_eq!(What::Failures.text(&none, Output::Name).unwrap(), "");
    }
}
