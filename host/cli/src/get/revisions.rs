//! `wharf get revisions` and `wharf history`: the revisions of plugins that are kept. Owns their
//! forms.

use serde_json::Value;
use wharf_runtime::admin::operate::RevisionRow;

use super::question;
use crate::args::{HostArgs, Output};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data};
use crate::table::{Table, age};

pub(super) fn run(names: &[String], namespace: Option<&str>, output: Output, at: &HostArgs) -> Result<u8, CliError> {
    let answer = host::get(at, &question("/v1/revisions", names, namespace)?)?;
    print_data(&text(&answer, output)?)?;
    Ok(exit::OK)
}

fn text(answer: &Value, output: Output) -> Result<String, CliError> {
    let rows: Vec<RevisionRow> = host::read(answer)?;
    Ok(match output {
        Output::Json => format!("{answer:#}\n"),
        Output::Yaml => host::yaml(answer)?,
        Output::Name => rows.iter().map(|row| format!("revision/{}/{}\n", row.plugin, row.number)).collect(),
        Output::Table | Output::Wide if rows.is_empty() => "No revisions found.\n".to_owned(),
        Output::Table => table(rows, false),
        Output::Wide => table(rows, true),
    })
}

fn table(rows: Vec<RevisionRow>, wide: bool) -> String {
    let mut head = vec!["PLUGIN", "REVISION", "STANDING", "SERVING", "DIGEST", "AGE", "WHY"];
    if wide {
        head.push("SINCE");
    }
    let mut table = Table::new(head);
    for row in rows {
        let digest = if wide { row.digest } else { row.digest.chars().take("sha256:".len() + 12).collect() };
        let why = row.message.lines().next().unwrap_or_default().to_owned();
        let serving = if row.serving { "yes" } else { "no" };
        let mut cells = vec![row.plugin, row.number.to_string(), row.standing, serving.to_owned(), digest, age(row.age_seconds), why];
        if wide {
            cells.push(row.since);
        }
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn revisions_in_all_forms() {
        let answer = json!([
            {"plugin": "a/x", "number": 1, "digest": format!("sha256:{}", "ab".repeat(32)), "standing": "Good", "ageSeconds": 120},
            {"plugin": "a/x", "number": 2, "digest": "sha256:cd", "standing": "Withdrawn", "serving": true, "message": "it traps\nso"},
        ]);
        let table = text(&answer, Output::Table).unwrap();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a/x", "1", "Good", "no", "sha256:abababababab", "2m", "<none>"]);
        assert_eq!(lines[2], ["a/x", "2", "Withdrawn", "yes", "sha256:cd", "0s", "it", "traps"]);
        assert_eq!(text(&answer, Output::Name).unwrap(), "revision/a/x/1\nrevision/a/x/2\n");
        assert_eq!(text(&json!([]), Output::Table).unwrap(), "No revisions found.\n");
        assert_eq!(serde_json::from_str::<Value>(&text(&answer, Output::Json).unwrap()).unwrap(), answer);
    }
}
