//! `wharf get failedcalls`: the failed calls that a host keeps of a plugin. Owns the question, the
//! columns and names; what is in a call is the host's, and `wharf invoke --call` reads it.

use serde::Deserialize as _;
use serde_json::Value;
use wharf_runtime::admin::calls::{FailedCallRow, FailedCallsRow};

use super::question;
use super::rows::Rows;
use crate::exit;
use crate::report::CliError;
use crate::table::age;

/// The path with what it is asked of: one plugin, and maybe one key.
///
/// # Errors
/// There is no plugin, or too much.
pub(super) fn path(names: &[String], namespace: Option<&str>) -> Result<String, CliError> {
    let usage = |message: &str| CliError::new(exit::USAGE, message).hint("write `wharf get failedcalls PLUGIN [KEY]`");
    let (plugin, key) = match names {
        [] => return Err(usage("failed calls are shown of one plugin")),
        [plugin] => (plugin, None),
        [plugin, key] => (plugin, Some(key)),
        _ => return Err(usage("failed calls are shown of one plugin, and of one key or all")),
    };
    let path = question("/v1/failedcalls", std::slice::from_ref(plugin), namespace)?;
    let Some(key) = key else { return Ok(path) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '/' | ':' | '_');
    if key.is_empty() || !key.chars().all(plain) {
        return Err(usage(&format!("{key:?} is no key")));
    }
    Ok(format!("{path}&key={key}"))
}

/// Of one key that was asked for there is one call, as kubectl prints one object.
pub(super) fn one(names: &[String], answer: &Value) -> Option<Value> {
    (names.len() > 1).then(|| answer.get("items")?.get(0).cloned()).flatten()
}

pub(super) fn rows(rows: FailedCallsRow, wide: bool) -> Rows {
    let mut head = vec!["PLUGIN", "KEY", "EVENT", "CAUSE", "ATTEMPT", "REVISION", "OUTCOME", "REASON", "AGE"];
    if wide {
        head.push("MESSAGE");
    }
    let cells = rows.items.into_iter().map(|row| {
        let key = key(&row);
        let FailedCallRow { plugin, revision, outcome, reason, message, age_seconds, input, .. } = row;
        let mut cells = vec![plugin, key, input.event, input.cause, input.attempt.to_string(), revision, outcome, reason, age(age_seconds)];
        if wide {
            cells.push(message);
        }
        cells
    });
    Rows::new(head, cells.collect())
}

/// Plugin and key, which `wharf get failedcalls` takes again.
pub(super) fn name(row: &Value) -> String {
    let row = FailedCallRow::deserialize(row).unwrap_or_default();
    format!("{} {}", row.plugin, key(&row))
}

fn key(row: &FailedCallRow) -> String {
    super::failures::key_of(&row.api_version, &row.kind, &row.namespace, &row.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wharf_runtime::admin::calls::InputRow;

    use super::super::host::{HostAsk, What};
    use super::*;
    use crate::args::Output;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_asked() {
        assert_eq!(path(&names(&["a/x"]), None).unwrap(), "/v1/failedcalls?plugin=a/x");
        let one = path(&names(&["x", "Role.rbac.authorization.k8s.io/a/system:x"]), Some("a")).unwrap();
        assert_eq!(one, "/v1/failedcalls?plugin=x&namespace=a&key=Role.rbac.authorization.k8s.io/a/system:x");
        for wrong in [&[][..], &["x", "k", "l"], &["x", "a&b"], &["x", ""], &["x&y"]] {
            assert_eq!(path(&names(wrong), None).unwrap_err().code, exit::USAGE, "{wrong:?}");
        }
    }

    #[test]
    fn forms() {
        let row = FailedCallRow {
            plugin: "team-a/guard".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: "team-a".into(),
            name: "settings".into(),
            revision: "ab12".into(),
            outcome: "strike".into(),
            reason: "Trap".into(),
            message: "unreachable; in add".into(),
            age_seconds: 61,
            input: InputRow { event: "add".into(), cause: "watch".into(), attempt: 2, ..InputRow::default() },
            ..FailedCallRow::default()
        };
        let answer = serde_json::to_value(FailedCallsRow { items: vec![row] }).unwrap();
        let ask = |list: &[&str]| HostAsk { what: What::FailedCalls, names: names(list), namespace: None };
        insta::assert_snapshot!(ask(&["guard"]).text(&answer, Output::Wide).unwrap(), @r"
        PLUGIN         KEY                         EVENT   CAUSE   ATTEMPT   REVISION   OUTCOME   REASON   AGE   MESSAGE
        team-a/guard   ConfigMap/team-a/settings   add     watch   2         ab12       strike    Trap     61s   unreachable; in add
        ");
        assert_eq!(ask(&["guard"]).text(&answer, Output::Name).unwrap(), "team-a/guard ConfigMap/team-a/settings\n");
        let json = |list: &[&str]| -> Value { serde_json::from_str(&ask(list).text(&answer, Output::Json).unwrap()).unwrap() };
        assert_eq!((&json(&["guard"])["items"][0]["reason"], &json(&["guard", "cm/settings"])["reason"]), (&json!("Trap"), &json!("Trap")));
        let none = serde_json::to_value(FailedCallsRow::default()).unwrap();
        assert_eq!(ask(&["guard"]).text(&none, Output::Table).unwrap(), "No failed calls found.\n");
    }
}
