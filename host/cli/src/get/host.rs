//! `wharf get` of what a running host has: which rows are meant, and what they are called. Owns the words
//! that stand for them and the choice by name; columns are `rows`', changes are `follow`'s.

use serde_json::Value;

use super::follow::follow;
use super::rows::{Rows, informers, items, plugins, queues, word};
use super::{failed_calls, failures, question, revisions};
use crate::args::{HostArgs, LookArgs, Output};
use crate::exit;
use crate::host::{self, Host, until_ended};
use crate::report::{CliError, print_data, print_error};

/// What a host has rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Plugins,
    Informers,
    Queues,
    Failures,
    FailedCalls,
    Revisions,
}

/// What is asked of a host.
pub(super) struct HostAsk {
    pub(super) what: What,
    /// Names of rows; of failures and revisions that of a plugin; of failed calls a plugin, and a key.
    pub(super) names: Vec<String>,
    pub(super) namespace: Option<String>,
}

/// What a word and names mean, if it is one of a host: `plugins`, `plugin NAME`, `plugin/NAME`.
pub(super) fn wish(word: &str, names: &[String]) -> Option<(What, Vec<String>)> {
    let (word, name) = word.split_once('/').map_or((word, None), |(word, name)| (word, Some(name.to_owned())));
    let what = match word {
        "plugins" | "plugin" => What::Plugins,
        "informers" | "informer" => What::Informers,
        "queues" | "queue" => What::Queues,
        "failures" | "failure" => What::Failures,
        "failedcalls" | "failedcall" => What::FailedCalls,
        "revisions" | "revision" => What::Revisions,
        _ => return None,
    };
    Some((what, name.into_iter().chain(names.iter().cloned()).collect()))
}

/// Shows rows once.
pub(super) fn once(ask: &HostAsk, output: Output, at: &HostArgs) -> Result<u8, CliError> {
    let path = ask.path()?;
    let (answer, missing) = ask.chosen(host::get(at, &path)?);
    // Errors say enough.
    let nothing = !missing.is_empty() && items(&answer).is_empty();
    print_data(&if nothing { String::new() } else { ask.text(&answer, output)? })?;
    missing.iter().for_each(|name| print_error(&ask.what.missing(name)));
    Ok(if missing.is_empty() { exit::OK } else { exit::NO })
}

/// Shows rows, and then those that change.
pub(super) fn watch(ask: &HostAsk, look: &LookArgs, at: &HostArgs) -> Result<u8, CliError> {
    let host = Host::at(at)?;
    until_ended(follow(&host, ask, look))
}

impl HostAsk {
    /// Where the host answers it.
    ///
    /// # Errors
    /// What cannot be asked so.
    pub(super) fn path(&self) -> Result<String, CliError> {
        let namespace = self.namespace.as_deref();
        match self.what {
            What::Informers if namespace.is_some() => {
                Err(CliError::new(exit::USAGE, "informers are in no namespace: one may serve plugins of many")
                    .hint("the column SCOPE says which objects an informer has; `wharf get plugins -n NAMESPACE` shows plugins"))
            }
            What::Plugins => Ok("/v1/plugins".to_owned()),
            What::Informers => Ok("/v1/informers".to_owned()),
            What::Queues => Ok("/v1/queues".to_owned()),
            What::Failures if self.names.len() == 2 => Err(CliError::new(exit::USAGE, "failed keys are shown of one plugin, or of all")
                .hint(format!("`wharf get failedcalls {}` shows the last failed call of a key", self.names.join(" ")))),
            What::Failures => question("/v1/failures", &self.names, namespace),
            What::FailedCalls => failed_calls::path(&self.names, namespace),
            What::Revisions => question("/v1/revisions", &self.names, namespace),
        }
    }

    /// The chosen rows in a form.
    ///
    /// # Errors
    /// They are those of a host of another version.
    pub(super) fn text(&self, answer: &Value, output: Output) -> Result<String, CliError> {
        let one = Some(answer).filter(|_| self.what == What::FailedCalls).and_then(|answer| failed_calls::one(&self.names, answer));
        match output {
            Output::Json | Output::Yaml if one.is_some() => self.what.text(&one.unwrap_or_default(), output),
            Output::Table | Output::Wide if items(answer).is_empty() => Ok(self.what.nothing(self.namespace.as_deref())),
            _ => self.what.text(answer, output),
        }
    }

    /// The rows of the namespace that have one of the names, and the names that no row has. Of failures and revisions
    /// the host has chosen.
    pub(super) fn chosen(&self, answer: Value) -> (Value, Vec<String>) {
        let (what, names) = (self.what, &self.names);
        let rows = match answer {
            Value::Array(rows) if !matches!(what, What::Failures | What::FailedCalls | What::Revisions) => rows,
            other => return (other, Vec::new()),
        };
        let here = |row: &Value| {
            let wanted = self.namespace.as_deref();
            wanted.is_none_or(|wanted| what.name(row).split_once('/').is_some_and(|(namespace, _)| namespace == wanted))
        };
        let rows: Vec<Value> = rows.into_iter().filter(here).collect();
        let missing = names.iter().filter(|name| !rows.iter().any(|row| what.is(row, name))).cloned().collect();
        let named = |row: &Value| names.is_empty() || names.iter().any(|name| what.is(row, name));
        (Value::Array(rows.into_iter().filter(named).collect()), missing)
    }
}

impl What {
    fn one(self) -> &'static str {
        match self {
            Self::Plugins => "plugin",
            Self::Informers => "informer",
            Self::Queues => "queue",
            Self::Failures => "failure",
            Self::FailedCalls => "failedcall",
            Self::Revisions => "revision",
        }
    }

    /// What a row is called: a plugin and its queue `NAMESPACE/NAME`, an informer `KIND.GROUP/SCOPE`, a revision
    /// `NAMESPACE/NAME/NUMBER`.
    pub(super) fn name(self, row: &Value) -> String {
        match self {
            Self::Plugins => format!("{}/{}", word(row, "namespace"), word(row, "name")),
            Self::Queues => word(row, "plugin").to_owned(),
            Self::Informers => {
                let dot = word(row, "apiVersion").split_once('/').map_or_else(String::new, |(group, _)| format!(".{group}"));
                format!("{}{dot}/{}", word(row, "kind"), word(row, "scope"))
            }
            Self::Failures => failures::name(row),
            Self::FailedCalls => failed_calls::name(row),
            Self::Revisions => revisions::name(row),
        }
    }

    /// What tells a row from all others, now and later.
    pub(super) fn identity(self, row: &Value) -> String {
        match self {
            // There may be several of one kind and scope.
            Self::Informers => format!("{} {} {}", self.name(row), word(row, "apiVersion"), word(row, "selectors")),
            Self::Plugins => format!("{} {}", self.name(row), word(row, "source")),
            Self::Queues | Self::Failures | Self::FailedCalls | Self::Revisions => self.name(row),
        }
    }

    /// Fields that move with time or with every call: that they do is no change of a row.
    pub(super) fn moving(self) -> &'static [&'static str] {
        match self {
            Self::Plugins => &["ageSeconds", "stepSeconds", "calls", "failures"],
            Self::Informers => &["lastEventAgeSeconds"],
            Self::Queues => &["longestRunningSeconds"],
            Self::Failures => &["ageSeconds", "nextSeconds"],
            Self::FailedCalls | Self::Revisions => &["ageSeconds"],
        }
    }

    /// Is this the name of a row, or the part of it that is clear enough: the plugin without its namespace, the kind without
    /// its scope, or without its group too?
    fn is(self, row: &Value, name: &str) -> bool {
        let full = self.name(row);
        let short = match self {
            Self::Plugins | Self::Queues => full.split_once('/').map(|(_, name)| name),
            Self::Informers => full.split_once('/').map(|(kind, _)| kind),
            Self::Failures | Self::FailedCalls | Self::Revisions => None,
        };
        let bare = short.and_then(|kind| kind.split_once('.')).map(|(kind, _)| kind).filter(|_| matches!(self, Self::Informers));
        full.eq_ignore_ascii_case(name) || [short, bare].into_iter().flatten().any(|short| short.eq_ignore_ascii_case(name))
    }

    /// What is said where there is no row.
    fn nothing(self, namespace: Option<&str>) -> String {
        let what = match self {
            Self::Failures => "failures",
            Self::FailedCalls => "failed calls",
            Self::Revisions => "revisions",
            Self::Plugins | Self::Informers | Self::Queues => "resources",
        };
        let place = namespace.map(|namespace| format!(" in {namespace} namespace")).unwrap_or_default();
        format!("No {what} found{place}.\n")
    }

    /// What is said of a name that no row has.
    pub(super) fn missing(self, name: &str) -> CliError {
        let error = format!("the host has no {} {name:?}", self.one());
        CliError::new(exit::NO, error).hint(format!("`wharf get {}s` lists them", self.one()))
    }

    /// A line of `-o name`, which `wharf get` takes again; of a failure `wharf retry` and `wharf explain` do.
    pub(super) fn line(self, row: &Value) -> String {
        match self {
            Self::Failures | Self::FailedCalls => format!("{}\n", self.name(row)),
            _ => format!("{}/{}\n", self.one(), self.name(row)),
        }
    }

    /// An answer as rows of a table.
    ///
    /// # Errors
    /// It is that of a host of another version.
    pub(super) fn rows(self, answer: &Value, wide: bool) -> Result<Rows, CliError> {
        Ok(match self {
            Self::Plugins => plugins(host::read(answer)?, wide),
            Self::Informers => informers(host::read(answer)?, wide),
            Self::Queues => queues(host::read(answer)?),
            Self::Failures => failures::rows(&host::read(answer)?, wide),
            Self::FailedCalls => failed_calls::rows(host::read(answer)?, wide),
            Self::Revisions => revisions::rows(host::read(answer)?, wide),
        })
    }

    /// An answer in a form.
    ///
    /// # Errors
    /// It is that of a host of another version.
    pub(super) fn text(self, answer: &Value, output: Output) -> Result<String, CliError> {
        Ok(match output {
            Output::Json => format!("{answer:#}\n"),
            Output::Yaml => host::yaml(answer)?,
            Output::Name => items(answer).iter().map(|row| self.line(row)).collect(),
            Output::Table | Output::Wide if items(answer).is_empty() => self.nothing(None),
            Output::Table => self.rows(answer, false)?.table(),
            Output::Wide => self.rows(answer, true)?.table(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn get(answer: &Value, what: What, namespace: Option<&str>, wanted: &[&str]) -> (String, Vec<String>) {
        let names = wanted.iter().map(|name| (*name).to_owned()).collect();
        let ask = HostAsk { what, names, namespace: namespace.map(str::to_owned) };
        let (answer, missing) = ask.chosen(answer.clone());
        (what.text(&answer, Output::Name).unwrap(), missing)
    }

    #[test]
    fn rows_by_namespace_and_name() {
        let plugins = json!([{"namespace": "a", "name": "x"}, {"namespace": "b", "name": "x"}, {"namespace": "b", "name": "y"}]);
        for (namespace, wanted, want, missing) in [
            (None, &[][..], "plugin/a/x\nplugin/b/x\nplugin/b/y\n", &[][..]),
            (Some("b"), &[], "plugin/b/x\nplugin/b/y\n", &[]),
            (None, &["x"], "plugin/a/x\nplugin/b/x\n", &[]),
            (None, &["b/x", "z"], "plugin/b/x\n", &["z"]),
            (Some("a"), &["y"], "", &["y"]),
        ] {
            let missing: Vec<String> = missing.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(get(&plugins, What::Plugins, namespace, wanted), (want.to_owned(), missing), "{namespace:?} {wanted:?}");
        }
        let queues = json!([{"plugin": "a/x"}, {"plugin": "b/y"}]);
        assert_eq!(get(&queues, What::Queues, Some("b"), &["y"]).0, "queue/b/y\n");
    }

    #[test]
    fn an_empty_namespace_is_named_as_kubectl_does() {
        let said = |what, namespace: Option<&str>| {
            let ask = HostAsk { what, names: Vec::new(), namespace: namespace.map(str::to_owned) };
            ask.text(&json!([]), Output::Table).unwrap()
        };
        assert_eq!(said(What::Plugins, Some("nope")), "No resources found in nope namespace.\n");
        assert_eq!(said(What::Queues, None), "No resources found.\n");
        assert_eq!(said(What::Failures, Some("nope")), "No failures found in nope namespace.\n");
        assert_eq!(said(What::Revisions, None), "No revisions found.\n");
    }

    #[test]
    fn a_key_that_failed_has_a_call() {
        let ask = HostAsk { what: What::Failures, names: ["probe", "cm/x"].map(str::to_owned).into(), namespace: None };
        assert!(ask.path().unwrap_err().hint.contains("`wharf get failedcalls probe cm/x`"));
    }

    #[test]
    fn printed_names_are_taken_again() {
        let informers = json!([
            {"kind": "ConfigMap", "apiVersion": "v1", "scope": "*"},
            {"kind": "Deployment", "apiVersion": "apps/v1", "scope": "team-a"},
        ]);
        let (all, _) = get(&informers, What::Informers, None, &[]);
        assert_eq!(all, "informer/ConfigMap/*\ninformer/Deployment.apps/team-a\n");
        for line in all.lines() {
            let (what, names) = wish(line, &[]).unwrap();
            assert_eq!(what, What::Informers);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(get(&informers, what, None, &names), (format!("{line}\n"), Vec::new()));
        }
        assert_eq!(get(&informers, What::Informers, None, &["configmap"]).0, "informer/ConfigMap/*\n");
        assert_eq!(wish("plugins.wharf.dev", &[]), None);
    }
}
