//! `wharf get revisions` and `wharf history`: the revisions of plugins that are kept. Owns their
//! columns and names.

use serde_json::Value;
use wharf_runtime::admin::operate::RevisionRow;

use super::rows::{Rows, word};
use crate::table::age;

/// Plugin and number.
pub(super) fn name(row: &Value) -> String {
    let number = row.get("number").and_then(Value::as_u64).unwrap_or_default();
    format!("{}/{number}", word(row, "plugin"))
}

pub(super) fn rows(rows: Vec<RevisionRow>, wide: bool) -> Rows {
    let mut head = vec!["PLUGIN", "REVISION", "STANDING", "SERVING", "DIGEST", "AGE", "WHY"];
    if wide {
        head.push("SINCE");
    }
    let cells = rows.into_iter().map(|row| {
        let digest = if wide { row.digest } else { row.digest.chars().take("sha256:".len() + 12).collect() };
        let why = row.message.lines().next().unwrap_or_default().to_owned();
        let serving = if row.serving { "yes" } else { "no" };
        let mut cells = vec![row.plugin, row.number.to_string(), row.standing, serving.to_owned(), digest, age(row.age_seconds), why];
        if wide {
            cells.push(row.since);
        }
        cells
    });
    Rows::new(head, cells.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::host::What;
    use super::*;
    use crate::args::Output;

    #[test]
    fn revisions_in_all_forms() {
        let answer = json!([
            {"plugin": "a/x", "number": 1, "digest": format!("sha256:{}", "ab".repeat(32)), "standing": "Good", "ageSeconds": 120},
            {"plugin": "a/x", "number": 2, "digest": "sha256:cd", "standing": "Withdrawn", "serving": true, "message": "it traps\nso"},
        ]);
        let table = What::Revisions.text(&answer, Output::Table).unwrap();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a/x", "1", "Good", "no", "sha256:abababababab", "2m", "<none>"]);
        assert_eq!(lines[2], ["a/x", "2", "Withdrawn", "yes", "sha256:cd", "0s", "it", "traps"]);
        assert_eq!(What::Revisions.text(&answer, Output::Name).unwrap(), "revision/a/x/1\nrevision/a/x/2\n");
        assert_eq!(What::Revisions.text(&json!([]), Output::Table).unwrap(), "No revisions found.\n");
        assert_eq!(serde_json::from_str::<Value>(&What::Revisions.text(&answer, Output::Json).unwrap()).unwrap(), answer);
    }
}
