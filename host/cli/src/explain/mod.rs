//! `wharf explain`: asks a host why a plugin was or was not called for an object, and prints the
//! answer, what holds now, and what was decided lately. Owns the layout; the sentences are in
//! `words`, and what they say comes from the host.

mod words;

use serde_json::json;
use wharf_core::explain::{Finding, Sign};
use wharf_core::printable;
use wharf_runtime::admin::operate::ExplainRow;

use crate::args::{ExplainArgs, PageOutput};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data};
use crate::table::{Table, age};
use words::{decision, finding, hint};

pub(crate) fn run(args: ExplainArgs) -> Result<u8, CliError> {
    let ExplainArgs { plugin, key, namespace, output, host: at } = args;
    let answer = host::post(&at, "/v1/explain", json!({ "plugin": plugin, "key": key, "namespace": namespace }))?;
    print_data(&match output {
        PageOutput::Text => text(&host::read(&answer)?),
        PageOutput::Json => format!("{answer:#}\n"),
        PageOutput::Yaml => host::yaml(&answer)?,
    })?;
    Ok(exit::OK)
}

fn text(row: &ExplainRow) -> String {
    let mut out = format!("Plugin {}, {}\n", printable(&row.plugin), printable(&row.key));
    if let Some(answer) = &row.answer {
        let verdict = match answer.sign() {
            Sign::Against => "Not called",
            Sign::Coming => "Coming",
            Sign::Good => "Nothing to do",
            Sign::Note if matches!(answer, Finding::ChangeDropped { .. }) => "Not called",
            Sign::Note => "Nothing is queued",
        };
        out += &format!("{verdict}: {}\n", indented(&finding(answer), 2));
        if let Some(hint) = hint(answer, row) {
            out += &format!("hint: {hint}\n");
        }
    }
    out.push('\n');
    for each in &row.findings {
        let mark = match each.sign() {
            Sign::Good => "[+]",
            Sign::Against => "[-]",
            Sign::Coming => "[>]",
            Sign::Note => "[ ]",
        };
        out += &format!("{mark} {}\n", indented(&finding(each), 4));
    }
    out + &history(row)
}

/// The lines behind the first one stand below it, so that none can be taken for a finding.
fn indented(text: &str, by: usize) -> String {
    text.replace('\n', &format!("\n{:by$}", ""))
}

fn history(row: &ExplainRow) -> String {
    if row.history.is_empty() {
        return match row.since_ms {
            Some(since) => format!("\nNothing was decided about it in the last {}.\n", age(since / 1000)),
            None => String::new(),
        };
    }
    let mut table = Table::new(vec!["AGO", "DECISION", "DETAILS"]);
    for each in &row.history {
        let (word, details) = decision(&each.what);
        table.row(vec![ago(each.ago_ms), word, details]);
    }
    let older = match row.since_ms.filter(|_| row.forgotten > 0) {
        Some(since) => format!("What is older than {} is not remembered.\n", age(since / 1000)),
        None => String::new(),
    };
    format!("\n{}{older}", table.render())
}

/// An age; below ten seconds with three decimals, since that is where the order matters.
fn ago(milliseconds: u64) -> String {
    if milliseconds < 10_000 { format!("{}.{:03}s", milliseconds / 1000, milliseconds % 1000) } else { age(milliseconds / 1000) }
}

#[cfg(test)]
mod tests;
