//! Takes out of kubectl's outputs what differs between any two runs: times, ages, identities,
//! versions, addresses, tokens, and the widths of columns that hold them.

use anyhow::{Context as _, Result};
use regex::Regex;

use crate::server::Server;

/// What is replaced, in this order.
const PATTERNS: [(&str, &str); 14] = [
    // The real server's repair of Services may look between an address and its allocation.
    (r"Events:\n.*\n.*\n +Warning +ClusterIPNotAllocated .*\n", "Events:  <none>\n"),
    (r"(?m)^.*\bClusterIPNotAllocated\b.*\n", ""),
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]*", "TOKEN"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", "TIME"),
    (r"\b\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d+ [+-]\d{4}( \w+)?", "TIME"),
    (r"\b[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} [+-]\d{4}", "TIME"),
    (r#"("?[rR]esource ?[vV]ersion"?: *"?)\d+"#, "${1}RV"),
    (r"\bv1\.\d+\.\d+[\w.+-]*", "VERSION"),
    (r"\b10\.\d+\.\d+\.\d+\b", "CLUSTER-IP"),
    (r"\b(LIVE|MERGED)-\d+", "$1"),
    // An age is a cell of a table: `cpu: 500m` and `for 300s` are none.
    (r"(?m)([^:\s][ \t]{2,}|^)(\d+[dhmsy]){1,2}(\s|$)", "${1}AGE${3}"),
    (r"\b(over|since) (\d+[dhmsy]){1,2}\b", "$1 AGE"),
    (r"(?m)[ \t]+$", ""),
];

/// The normaliser of one server's outputs.
pub(crate) struct Normal {
    patterns: Vec<(Regex, &'static str)>,
    columns: Regex,
    address: String,
}

impl Normal {
    /// For the outputs of commands against that server.
    pub(crate) fn of(server: &Server) -> Result<Self> {
        let compile =
            |(pattern, with): &(&str, &'static str)| Ok((Regex::new(pattern).with_context(|| format!("compile {pattern}"))?, *with));
        Ok(Self {
            patterns: PATTERNS.iter().map(compile).collect::<Result<_>>()?,
            columns: Regex::new(r"(\S)(?: {3,}| *\t[ \t]*)(\S)")?,
            address: server.url.trim_start_matches("https://").to_owned(),
        })
    }

    /// The output without what may differ.
    pub(crate) fn text(&self, output: &str) -> String {
        let mut text = output.replace(&self.address, "SERVER");
        for (pattern, with) in &self.patterns {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        // Again and again, since the end of one gap may be the beginning of the next.
        loop {
            let narrow = self.columns.replace_all(&text, "${1}  ${2}").into_owned();
            if narrow == text {
                return text;
            }
            text = narrow;
        }
    }
}
