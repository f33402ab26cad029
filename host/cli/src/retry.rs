//! `wharf retry`: asks a host to call a plugin again for objects. Owns what is printed.

use serde_json::json;
use wharf_runtime::admin::operate::RetryRow;

use crate::args::RetryArgs;
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data, print_error};

pub(crate) fn run(args: RetryArgs) -> Result<u8, CliError> {
    let RetryArgs { plugin, keys, all, namespace, host: at } = args;
    let answer = host::post(&at, "/v1/retry", json!({ "plugin": plugin, "keys": keys, "all": all, "namespace": namespace }))?;
    let row: RetryRow = host::read(&answer)?;
    print_data(&text(&row, all))?;
    for refused in &row.refused {
        print_error(&CliError::new(exit::NO, &*refused.error).hint(&*refused.hint));
    }
    Ok(if row.refused.is_empty() { exit::OK } else { exit::NO })
}

/// A line for each key, as kubectl says what it has done.
fn text(row: &RetryRow, all: bool) -> String {
    if all {
        let keys = if row.count == 1 { "key" } else { "keys" };
        return format!("{} {keys} of {} queued\n", row.count, row.plugin);
    }
    row.queued.iter().map(|key| format!("{key} queued for {}\n", row.plugin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said() {
        let row = |queued: &[&str], count| RetryRow {
            plugin: "team-a/guard".into(),
            queued: queued.iter().map(|key| (*key).to_owned()).collect(),
            count,
            refused: Vec::new(),
        };
        assert_eq!(text(&row(&["ConfigMap a/x"], 1), false), "ConfigMap a/x queued for team-a/guard\n");
        assert_eq!(text(&row(&[], 1), true), "1 key of team-a/guard queued\n");
        assert_eq!(text(&row(&[], 0), true), "0 keys of team-a/guard queued\n");
        assert_eq!(text(&row(&[], 0), false), "");
    }
}
