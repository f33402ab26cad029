//! `wharf logs` and `wharf log-level`: what a running host has logged and logs, and how much that is.
//! Owns what is printed; lines come as the host wrote them, escaped and with secrets masked.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use wharf_runtime::admin::logs::{LogLevelRow, LogsRow};

use crate::args::{LogLevelArgs, LogOutput, LogsArgs, Output};
use crate::exit;
use crate::host::{self, Host};
use crate::report::{CliError, print_data, warn, write};
use crate::table::Table;

/// Who follows and found no place asks again after this time.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) fn run(args: LogsArgs) -> Result<u8, CliError> {
    let host = Host::at(&args.host)?;
    host::until_ended(logs(&host, &args))
}

async fn logs(host: &Host, args: &LogsArgs) -> Result<u8, CliError> {
    let plugin = args.plugin.as_deref().map(|plugin| plugin.strip_prefix("plugin/").unwrap_or(plugin));
    let since = args.since.map(|since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let mut ask = json!({
        "plugin": plugin, "namespace": args.namespace, "json": args.output == LogOutput::Json,
        "sinceMs": since, "tail": args.tail, "after": Value::Null, "wait": false,
    });
    let mut follows = false;
    loop {
        let answer = if follows {
            // Somebody else took the place in between: it asks again, as one that does not wait.
            match host.post_if_free("/v1/logs", ask.clone()).await? {
                Some(answer) => answer,
                None => {
                    sleep(AGAIN).await;
                    set(&mut ask, "wait", false.into());
                    continue;
                }
            }
        } else {
            host.post("/v1/logs", ask.clone()).await?
        };
        follows |= ask.get("wait") == Some(&Value::Bool(true));
        let LogsRow { lines, next, more, missed } = host::read(&answer)?;
        if missed > 0 {
            let lines = if missed == 1 { "line is" } else { "lines are" };
            warn(&format!("{missed} {lines} missing here: the host had no room for them any more (logBuffer in its configuration)"));
        }
        if !write(lines.concat()).await? || !(more || args.follow) {
            return Ok(exit::OK);
        }
        set(&mut ask, "after", next.into());
        set(&mut ask, "wait", (!more).into());
    }
}

fn set(ask: &mut Value, field: &str, to: Value) {
    if let Some(ask) = ask.as_object_mut() {
        ask.insert(field.to_owned(), to);
    }
}

pub(crate) fn level(args: LogLevelArgs) -> Result<u8, CliError> {
    let host = Host::at(&args.host)?;
    print_data(&crate::block_on(levels(&host, &args))??)?;
    Ok(exit::OK)
}

async fn levels(host: &Host, args: &LogLevelArgs) -> Result<String, CliError> {
    let output = args.output.unwrap_or(Output::Table);
    if args.level.is_some() || args.reset {
        let body = json!({ "plugin": args.plugin, "namespace": args.namespace, "level": args.level });
        let row: LogLevelRow = host::read(&host.put("/v1/log-level", body).await?)?;
        let changed: Vec<String> = row.changed.iter().cloned().collect();
        return match args.output {
            None => Ok(said(row.changed.as_deref(), args.level.as_deref())),
            Some(_) => text(&chosen(row, &changed), &changed, output),
        };
    }
    let mut named = Vec::new();
    if let Some(plugin) = &args.plugin {
        named = host::plugins(host, args.namespace.as_deref()).await?;
        named.retain(|full| host::is_plugin(full, plugin));
        if named.is_empty() {
            return Err(host::no_plugin(plugin));
        }
    }
    text(&chosen(host::read(&host.get("/v1/log-level").await?)?, &named), &named, output)
}

/// One line, as kubectl says what it has done.
fn said(plugin: Option<&str>, level: Option<&str>) -> String {
    let what = plugin.map_or_else(|| "host".to_owned(), |plugin| format!("plugin/{plugin}"));
    match level {
        Some(level) => format!("{what} logs {level} until the host ends\n"),
        None if plugin.is_some() => format!("{what} logs what the host does\n"),
        None => format!("{what} logs what it was started with\n"),
    }
}

/// Of these plugins only, `NAMESPACE/NAME`; of all if none is named.
fn chosen(mut row: LogLevelRow, named: &[String]) -> LogLevelRow {
    row.plugins.retain(|full, _| named.is_empty() || named.contains(full));
    row
}

fn text(row: &LogLevelRow, named: &[String], output: Output) -> Result<String, CliError> {
    let value = || serde_json::to_value(row).map_err(|error| CliError::new(exit::USAGE, error.to_string()));
    Ok(match output {
        Output::Json => format!("{:#}\n", value()?),
        Output::Yaml => host::yaml(&value()?)?,
        Output::Name => row.plugins.keys().map(|plugin| format!("plugin/{plugin}\n")).collect(),
        Output::Table | Output::Wide => {
            let mut table = Table::new(vec!["NAME", "LEVEL"]);
            table.row(vec!["host".to_owned(), row.filter.clone()]);
            for (plugin, level) in &row.plugins {
                table.row(vec![plugin.clone(), level.clone()]);
            }
            for plugin in named.iter().filter(|plugin| !row.plugins.contains_key(*plugin)) {
                table.row(vec![plugin.clone(), "as the host".to_owned()]);
            }
            table.render()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let plugins = [("a/x", "debug"), ("b/x", "off"), ("b/y", "warn")].map(|(plugin, level)| (plugin.to_owned(), level.to_owned()));
        let row = LogLevelRow { filter: "info".into(), plugins: plugins.into(), changed: None };
        insta::assert_snapshot!(text(&row, &[], Output::Table).unwrap(), @r"
        NAME   LEVEL
        host   info
        a/x    debug
        b/x    off
        b/y    warn
        ");
        let of = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|full| (*full).to_owned()).collect();
            text(&chosen(row.clone(), &named), &named, Output::Table).unwrap()
        };
        assert_eq!(of(&["b/x"]), "NAME   LEVEL\nhost   info\nb/x    off\n");
        assert_eq!(of(&["a/x", "b/z"]), "NAME   LEVEL\nhost   info\na/x    debug\nb/z    as the host\n");
        assert_eq!(text(&row, &[], Output::Name).unwrap(), "plugin/a/x\nplugin/b/x\nplugin/b/y\n");
        assert!(text(&row, &[], Output::Yaml).unwrap().contains("a/x: debug"));
    }

    #[test]
    fn what_was_done_is_said() {
        assert_eq!(said(Some("a/x"), Some("debug")), "plugin/a/x logs debug until the host ends\n");
        assert_eq!(said(Some("a/x"), None), "plugin/a/x logs what the host does\n");
        assert_eq!(said(None, Some("warn")), "host logs warn until the host ends\n");
        assert_eq!(said(None, None), "host logs what it was started with\n");
    }
}
