//! `wharf describe`: all that a host says of one plugin, on one page, as kubectl describes an object.
//! Owns the layout; asks the host for its rows.

use serde::Serialize;
use wharf_core::{Reason, printable};
use wharf_runtime::admin::operate::{FailuresRow, RevisionRow};
use wharf_runtime::admin::rows::{PluginRow, QueueRow};

use crate::args::{DescribeArgs, PageOutput, PluginArgs};
use crate::exit;
use crate::host;
use crate::report::{CliError, print_data};
use crate::table::{Table, age};

/// Failed keys that are shown; `wharf get failures` has them all.
const MAX_FAILURES: usize = 10;

pub(crate) fn run(args: DescribeArgs) -> Result<u8, CliError> {
    let DescribeArgs { which: PluginArgs { plugin, namespace, host: at }, name, output } = args;
    let plugin = named(&plugin, name.as_deref())?;
    let rows: Vec<PluginRow> = host::read(&host::get(&at, "/v1/plugins")?)?;
    let row = meant(rows, plugin, namespace.as_deref())?;
    let name = format!("{}/{}", row.namespace, row.name);
    let queues: Vec<QueueRow> = host::read(&host::get(&at, "/v1/queues")?)?;
    let failures = host::read(&host::get(&at, &format!("/v1/failures?plugin={name}"))?)?;
    let revisions = host::read(&host::get(&at, &format!("/v1/revisions?plugin={name}"))?)?;
    let queue = queues.into_iter().find(|queue| queue.plugin == name).unwrap_or_default();
    print_data(&text(&Described { plugin: row, queue, failures, revisions }, output)?)?;
    Ok(exit::OK)
}

/// The plugin in `PLUGIN`, `plugin PLUGIN` or `plugin/PLUGIN`.
fn named<'a>(word: &'a str, name: Option<&'a str>) -> Result<&'a str, CliError> {
    let is_kind = |word: &str| matches!(word, "plugin" | "plugins" | "plg");
    match name {
        Some(name) if is_kind(word) => Ok(name),
        Some(name) => {
            let error = format!("one plugin is described at a time, and {word:?} and {name:?} are two words");
            Err(CliError::new(exit::USAGE, error).hint("write `wharf describe PLUGIN`; `kubectl describe` shows other kinds"))
        }
        None => Ok(word.strip_prefix("plugin/").unwrap_or(word)),
    }
}

/// The rows that make the page. Their names are those of `wharf get -o json`.
#[derive(Serialize)]
struct Described {
    plugin: PluginRow,
    queue: QueueRow,
    failures: FailuresRow,
    revisions: Vec<RevisionRow>,
}

fn text(all: &Described, output: PageOutput) -> Result<String, CliError> {
    let value = || serde_json::to_value(all).map_err(|error| CliError::new(exit::USAGE, error.to_string()));
    Ok(match output {
        PageOutput::Text => page(all),
        PageOutput::Json => format!("{:#}\n", value()?),
        PageOutput::Yaml => host::yaml(&value()?)?,
    })
}

/// The plugin that a text names, with or without a namespace.
fn meant(rows: Vec<PluginRow>, plugin: &str, namespace: Option<&str>) -> Result<PluginRow, CliError> {
    let is = |row: &PluginRow| {
        let full = format!("{}/{}", row.namespace, row.name);
        host::is_plugin(&full, plugin) && (plugin.contains('/') || namespace.is_none_or(|namespace| row.namespace == namespace))
    };
    let mut found: Vec<PluginRow> = rows.into_iter().filter(is).collect();
    match (found.pop(), found.as_slice()) {
        (Some(row), []) => Ok(row),
        (Some(last), others) => {
            let names: Vec<String> = others.iter().chain([&last]).map(|row| format!("{}/{}", row.namespace, row.name)).collect();
            let error = CliError::new(exit::NO, format!("{plugin:?} is the name of several plugins"));
            Err(error.hint(format!("write one of: {}", names.join(", "))))
        }
        (None, _) => Err(host::no_plugin(plugin)),
    }
}

fn page(Described { plugin: row, queue, failures, revisions }: &Described) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let value = if value.is_empty() { "<none>" } else { value };
        let mut lines = value.lines();
        out += &format!("{:<16}{}\n", format!("{name}:"), printable(lines.next().unwrap_or_default()));
        lines.for_each(|more| out += &format!("{:<16}{}\n", "", printable(more)));
    };
    line("Name", &row.name);
    line("Namespace", &row.namespace);
    line("Source", &row.source);
    line("State", &format!("{}, for {}", row.state, age(row.age_seconds)));
    if !row.reason.is_empty() {
        line("Reason", &row.reason);
        line("Message", &row.message);
        if let Some(reason) = Reason::named(&row.reason) {
            line("Hint", reason.hint());
        }
    }
    if !row.step.is_empty() {
        line("Rollout", &format!("{}, for {}", row.step, age(row.step_seconds)));
    }
    line("Revision", &row.revision);
    line("Digest", &row.digest);
    line("Subscriptions", &row.subscriptions.join("\n"));
    line("Synced", if row.synced { "yes" } else { "no" });
    line("Calls", &format!("{}, {} of them failed", row.calls, row.failures));
    let longest = queue.longest_running_seconds;
    line("Queue", &format!("{} ready, {} waiting, {} in work (longest {longest:.1}s)", queue.ready, queue.waiting, queue.processing));
    line("Objects", &format!("{} told of, {} failing, {} parked", queue.ledger_entries, row.failing, row.parked));
    if !revisions.is_empty() {
        let mut table = Table::new(vec!["REVISION", "STANDING", "SERVING", "AGE", "WHY"]);
        for revision in revisions.iter().rev() {
            let why = revision.message.lines().next().unwrap_or_default().to_owned();
            let serving = if revision.serving { "yes" } else { "no" };
            table.row(vec![revision.number.to_string(), revision.standing.clone(), serving.into(), age(revision.age_seconds), why]);
        }
        out += &format!("Revisions:\n{}", indented(&table.render()));
    }
    if !failures.items.is_empty() {
        let mut table = Table::new(vec!["KIND", "NAMESPACE", "NAME", "STATE", "REASON", "ATTEMPTS", "MESSAGE"]);
        for failure in failures.items.iter().take(MAX_FAILURES) {
            let message = failure.message.lines().next().unwrap_or_default().to_owned();
            let (kind, namespace, name) = (failure.kind.clone(), failure.namespace.clone(), failure.name.clone());
            table.row(vec![kind, namespace, name, failure.state.clone(), failure.reason.clone(), failure.attempts.to_string(), message]);
        }
        out += &format!("Failures:\n{}", indented(&table.render()));
        let more = failures.more + failures.items.len().saturating_sub(MAX_FAILURES) as u64;
        if more > 0 {
            out += &format!("  and {more} more: wharf get failures {}/{}\n", row.namespace, row.name);
        }
    }
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use wharf_runtime::admin::operate::FailureRow;

    use super::*;

    #[test]
    fn a_name_means_one_plugin() {
        let rows = || {
            let row = |namespace: &str, name: &str| PluginRow { namespace: namespace.into(), name: name.into(), ..PluginRow::default() };
            vec![row("a", "x"), row("b", "x"), row("b", "y")]
        };
        let ask =
            |plugin, namespace| meant(rows(), plugin, namespace).map(|row| row.namespace + "/" + &row.name).map_err(|error| error.message);
        assert_eq!(ask("y", None), Ok("b/y".into()));
        assert_eq!(ask("x", Some("a")), Ok("a/x".into()));
        assert_eq!(ask("b/x", None), Ok("b/x".into()));
        assert_eq!(ask("x", None), Err("\"x\" is the name of several plugins".into()));
        assert_eq!(ask("z", None), Err("there is no plugin \"z\"".into()));
    }

    #[test]
    fn the_word_before_the_name_is_optional() {
        let named = |word, name| named(word, name).map_err(|error| error.code);
        for word in ["plugin", "plugins", "plg"] {
            assert_eq!(named(word, Some("a/x")), Ok("a/x"));
        }
        assert_eq!((named("x", None), named("plugin/a/x", None)), (Ok("x"), Ok("a/x")));
        assert_eq!(named("plugin", None), Ok("plugin"), "one may be called so");
        assert_eq!(named("pods", Some("x")), Err(exit::USAGE));
    }

    #[test]
    fn a_standby_is_as_far_as_it_can_be() {
        let row = PluginRow {
            name: "guard".into(),
            state: "Standby".into(),
            reason: "AnotherHostLeads".into(),
            message: "wharf-0 leads".into(),
            digest: "sha256:abc".into(),
            subscriptions: vec!["main=v1 ConfigMap".into()],
            synced: true,
            ..PluginRow::default()
        };
        let all = Described { plugin: row, queue: QueueRow::default(), failures: FailuresRow::default(), revisions: Vec::new() };
        let page = page(&all);
        for line in ["State:          Standby, for 0s\n", "Message:        wharf-0 leads\n", "Synced:         yes\n"] {
            assert!(page.contains(line), "{page}");
        }
        assert!(!page.contains("Hint:") && !page.contains("Rollout:"), "{page}");
    }

    #[test]
    fn a_page() {
        let row = PluginRow {
            namespace: "team-a".into(),
            name: "guard".into(),
            source: "/plugins/guard.yaml".into(),
            state: "Serving".into(),
            reason: "RolledBack".into(),
            message: "revision 3-abc serves, and not what is wished: revision 2 was withdrawn: it traps".into(),
            revision: "3-abc".into(),
            digest: "sha256:abc".into(),
            subscriptions: vec!["main=v1 ConfigMap".into(), "more=v1 Pod".into()],
            synced: true,
            calls: 7,
            failures: 3,
            failing: 12,
            parked: 1,
            age_seconds: 90,
            step: "bake".into(),
            step_seconds: 5,
            ..PluginRow::default()
        };
        let queue =
            QueueRow { ready: 1, waiting: 2, processing: 1, ledger_entries: 20, longest_running_seconds: 0.26, ..QueueRow::default() };
        let failure =
            FailureRow { kind: "ConfigMap".into(), namespace: "a".into(), name: "x".into(), state: "Parked".into(), ..Default::default() };
        let failures = FailuresRow { items: vec![failure; 11], more: 1 };
        let revision = RevisionRow { number: 3, standing: "Good".into(), serving: true, ..RevisionRow::default() };
        let all = Described { plugin: row, queue, failures, revisions: vec![revision] };
        crate::golden::compare("host/cli/src/describe.txt", &text(&all, PageOutput::Text).unwrap());
        crate::golden::compare("host/cli/src/describe.json", &text(&all, PageOutput::Json).unwrap());
        let yaml: serde_json::Value = serde_saphyr::from_str(&text(&all, PageOutput::Yaml).unwrap()).unwrap();
        assert_eq!(yaml, serde_json::to_value(&all).unwrap());
    }
}
