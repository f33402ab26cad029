//! The one who answers operators. Owns the way from a name to a plugin and from its answers to
//! rows; the names of kinds are asked for, but never for long.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::timeout;
use wharf_cache::{DiscoveryError, Informers};
use wharf_core::explain::{Facts, Standing, answer, explain};
use wharf_core::ledger::ParkedBy;
use wharf_core::plugin::{PluginName, closest};
use wharf_core::{Gvk, ObjectKey, TargetKey};

use super::decisions::{Now, milliseconds, rows};
use super::key::{self, Kind, Meant};
use crate::admin::calls::{FailedCallsAsk, FailedCallsRow};
use crate::admin::operate::{
    ExplainAsk, ExplainRow, FailureRow, FailuresAsk, FailuresRow, KeyRefused, Operations, OrderAsk, OrderRow, Refused, RetryAsk, RetryRow,
    RevisionRow, RevisionsAsk,
};
use crate::clock::Clock;
use crate::dispatch::{Dispatcher, Failed, Retried};
use crate::plugins::{Refusal, Registry};
use crate::telemetry::LogHandle;

/// Failed keys in one answer.
const MAX_FAILURES: usize = 500;
/// How long the names of kinds are asked for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers operators.
pub(crate) struct Operator {
    pub(super) registry: Arc<Registry>,
    pub(super) log: LogHandle,
    informers: Informers,
    clock: Clock,
}

/// A plugin that was named.
pub(super) struct Named {
    pub(super) name: PluginName,
    pub(super) dispatcher: Arc<Dispatcher>,
    refused: Option<Refusal>,
}

impl Operator {
    /// Answers from these parts.
    pub(crate) fn new(registry: Arc<Registry>, informers: Informers, clock: Clock, log: LogHandle) -> Self {
        Self { registry, log, informers, clock }
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// The plugin that a text names.
    pub(super) fn plugin(&self, text: &str, namespace: Option<&str>) -> Result<Named, Refused> {
        let all = self.registry.names();
        match meant(text, namespace, &all).as_slice() {
            [one] => {
                let found = self.registry.find(one).map(|(dispatcher, refused)| Named { name: (*one).clone(), dispatcher, refused });
                found.ok_or_else(|| unknown(text, &all))
            }
            [] => Err(unknown(text, &all)),
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                Err(wrong(format!("{text:?} is the name of several plugins"), format!("write one of: {}", names.join(", "))))
            }
        }
    }

    /// The plugin that a text names, or all of a namespace, or all.
    pub(super) fn plugins(&self, plugin: Option<&str>, namespace: Option<&str>) -> Result<Vec<Named>, Refused> {
        match plugin {
            Some(plugin) => {
                let plugin = self.plugin(plugin, namespace)?;
                if let Some(elsewhere) = namespace.filter(|namespace| **namespace != *plugin.name.namespace) {
                    let hint = format!("did you mean {}? `wharf get plugins` lists them", plugin.name);
                    let error = format!("there is no plugin {:?} in {elsewhere}", &*plugin.name.name);
                    return Err(Refused { missing: true, ..wrong(error, hint) });
                }
                Ok(vec![plugin])
            }
            None => {
                let names =
                    self.registry.names().into_iter().filter(|name| namespace.is_none_or(|namespace| *name.namespace == *namespace));
                let named = |name| self.registry.find(&name).map(|(dispatcher, refused)| Named { name, dispatcher, refused });
                Ok(names.filter_map(named).collect())
            }
        }
    }

    /// What a text means to a plugin. Asks the server for the names of kinds if it must, but not for
    /// long: an explanation is wanted above all when something does not answer.
    pub(super) async fn key(&self, text: &str, plugin: &Named, namespace: Option<&str>) -> Result<Meant, Refused> {
        let word = text.split_once('/').map(|(word, _)| word.to_lowercase());
        let subscribed = plugin.dispatcher.subscribed();
        let mut kinds: Vec<Kind> = subscribed.subscriptions().map(|subscription| Kind::new(Arc::clone(&subscription.kind))).collect();
        kinds.sort_by(|a, b| a.gvk.cmp(&b.gvk));
        let known = |kinds: &[Kind]| word.as_ref().is_none_or(|word| kinds.iter().any(|kind| kind.words.contains(word)));
        self.remember(&mut kinds);
        // Nobody is asked about names that are known.
        let unknown = if known(&kinds) && kinds.iter().all(|kind| kind.namespaced.is_some()) {
            None
        } else {
            // What was not learned in time is not known.
            let late = || Some(format!("no answer within {} s", PATIENCE.as_secs()));
            timeout(PATIENCE, self.learn(&mut kinds)).await.unwrap_or_else(|_| late())
        };
        let namespace = namespace.unwrap_or(&plugin.name.namespace);
        key::read(text, &kinds, namespace, unknown.as_deref()).map_err(|(error, hint)| wrong(error, hint))
    }

    /// From memory: the plugin's watches have asked before.
    fn remember(&self, kinds: &mut [Kind]) {
        for kind in kinds {
            if let Some(names) = self.informers.discovery().remembered(&kind.gvk) {
                kind.namespaced = Some(names.resource.namespaced);
                kind.also(&names.resource.plural);
                names.short_names.iter().for_each(|short| kind.also(short));
            }
        }
    }

    /// From the server. Says why a kind's names are still not known, if that is so.
    async fn learn(&self, kinds: &mut [Kind]) -> Option<String> {
        let mut failed = None;
        for kind in kinds.iter().filter(|kind| kind.namespaced.is_none()) {
            match self.informers.discovery().resolve(&kind.gvk).await {
                // A kind that is not there now has no names either.
                Ok(_) | Err(DiscoveryError::NotFound { .. }) => {}
                Err(error) => failed = Some(error.to_string()),
            }
        }
        self.remember(kinds);
        failed
    }

    fn failure(&self, plugin: &PluginName, failed: Failed, now: Duration) -> FailureRow {
        let (api_version, kind, namespace, name) = match &failed.key {
            TargetKey::Object { kind, key } => {
                (kind.api_version(), kind.kind.to_string(), key.namespace.as_deref().unwrap_or_default().to_owned(), key.name.to_string())
            }
            other => (String::new(), String::new(), String::new(), other.to_string()),
        };
        let by = |by| match by {
            ParkedBy::Permanent => "permanent".to_owned(),
            ParkedBy::Strikes => "strikes".to_owned(),
        };
        FailureRow {
            plugin: plugin.to_string(),
            api_version,
            kind,
            namespace,
            name,
            state: failed.state.as_str().to_owned(),
            parked_by: failed.parked.map(by),
            reason: failed.reason,
            message: failed.message,
            strikes: failed.strikes,
            attempts: failed.attempts,
            age_seconds: now.saturating_sub(failed.since).as_secs(),
            next_seconds: failed.due.map(|due| due.saturating_sub(now).as_secs()),
        }
    }
}

#[async_trait]
impl Operations for Operator {
    async fn failures(&self, ask: FailuresAsk) -> Result<FailuresRow, Refused> {
        let plugins = self.plugins(ask.plugin.as_deref(), ask.namespace.as_deref())?;
        let now = self.clock.now();
        let mut row = FailuresRow::default();
        for plugin in plugins {
            let failures = plugin.dispatcher.failures(MAX_FAILURES.saturating_sub(row.items.len()));
            row.items.extend(failures.rows.into_iter().map(|failed| self.failure(&plugin.name, failed, now)));
            row.more = row.more.saturating_add(failures.more as u64);
        }
        Ok(row)
    }

    async fn failed_calls(&self, ask: FailedCallsAsk) -> Result<FailedCallsRow, Refused> {
        self.failed(ask).await
    }

    async fn retry(&self, ask: RetryAsk) -> Result<RetryRow, Refused> {
        let plugin = self.plugin(&ask.plugin, ask.namespace.as_deref())?;
        self.leads()?;
        let mut row = RetryRow { plugin: plugin.name.to_string(), ..RetryRow::default() };
        if ask.all != ask.keys.is_empty() {
            return Err(wrong("either keys or all of them can be called again".to_owned(), "name keys, or use --all".to_owned()));
        }
        if ask.all {
            row.count = plugin.dispatcher.retry_failed() as u64;
        }
        for text in ask.keys {
            let meant = self.key(&text, &plugin, ask.namespace.as_deref()).await;
            let (error, hint) = match meant {
                Ok(Meant::Key(key)) => match plugin.dispatcher.retry(&key) {
                    Retried::Queued => {
                        row.queued.push(key.to_string());
                        continue;
                    }
                    Retried::NeverCalled => (
                        format!("{} was never called for {key}, so there is nothing to do again", plugin.name),
                        format!("`wharf explain {} {text}` says why", plugin.name),
                    ),
                },
                Ok(Meant::OtherKind { word, .. }) => {
                    (format!("{} is not subscribed to {word:?}", plugin.name), format!("`wharf explain {} {text}` says more", plugin.name))
                }
                Err(refused) => (refused.error, refused.hint),
            };
            row.refused.push(KeyRefused { key: text, error, hint });
        }
        row.count = row.count.saturating_add(row.queued.len() as u64);
        tracing::info!(target: "wharf::admin", plugin = row.plugin, keys = row.count, all = ask.all, "an operator asked for calls");
        Ok(row)
    }

    async fn explain(&self, ask: ExplainAsk) -> Result<ExplainRow, Refused> {
        let plugin = match self.plugin(&ask.plugin, ask.namespace.as_deref()) {
            Ok(plugin) => plugin,
            // That there is none is the answer; a name that several have is a wrong question.
            Err(refused) if refused.missing => return Ok(self.no_plugin(ask)),
            Err(refused) => return Err(refused),
        };
        self.leads()?;
        let refusal = plugin.refused.as_ref().map(|refusal| (refusal.reason.as_str(), refusal.message.as_str()));
        let nobody = |word: &str, key| (word.to_owned(), TargetKey::object(Arc::new(Gvk::new("", "", word)), key), ask.key.clone());
        let (kind, key, printed) = match self.key(&ask.key, &plugin, ask.namespace.as_deref()).await {
            Ok(Meant::Key(key)) => {
                let TargetKey::Object { kind, .. } = &key else { return Err(wrong(format!("{key} is no object"), String::new())) };
                let printed = key.to_string();
                (kind.to_string(), key, printed)
            }
            Ok(Meant::OtherKind { word, key }) => nobody(&word, key),
            // Nothing serves yet, so no kind is known either; what there is to say is about the plugin.
            Err(_) if plugin.dispatcher.serving().is_none() => nobody("", ObjectKey::new("", &ask.key)),
            Err(refused) => return Err(refused),
        };
        let explained = plugin.dispatcher.explain(&key, &kind, refusal);
        let now = Now { clock: self.clock.now(), world: Timestamp::now() };
        Ok(ExplainRow {
            plugin: plugin.name.to_string(),
            key: printed,
            answer: answer(&explained.findings).cloned(),
            history: rows(&explained.past, now),
            kept: explained.past.kept as u64,
            forgotten: explained.past.gone,
            since_ms: explained.past.since.map(|since| milliseconds(now.clock.saturating_sub(since))),
            findings: explained.findings,
        })
    }

    async fn order(&self, ask: OrderAsk) -> Result<OrderRow, Refused> {
        self.ordered(ask).await
    }

    async fn revisions(&self, ask: RevisionsAsk) -> Result<Vec<RevisionRow>, Refused> {
        self.kept(ask).await
    }
}

impl Operator {
    fn no_plugin(&self, ask: ExplainAsk) -> ExplainRow {
        let all: Vec<String> = self.registry.names().iter().map(ToString::to_string).collect();
        let facts = Facts {
            now: Duration::ZERO,
            plugin: Standing::Unknown { similar: similar(&ask.plugin, &all) },
            breaker: None,
            kind: "",
            key: &ObjectKey::new("", ""),
            kinds: Vec::new(),
            subscription: None,
            watch: None,
            object: None,
            entry: None,
            place: None,
            dropped: None,
            full: None,
        };
        let findings = explain(&facts);
        ExplainRow {
            plugin: ask.plugin,
            key: ask.key,
            answer: answer(&findings).cloned(),
            findings,
            history: Vec::new(),
            kept: 0,
            forgotten: 0,
            since_ms: None,
        }
    }
}

/// The plugins that a text could mean: `namespace/name`, or a name. Of several of one name that in the namespace counts in which the
/// object is.
fn meant<'n>(text: &str, namespace: Option<&str>, all: &'n [PluginName]) -> Vec<&'n PluginName> {
    if let Some((namespace, name)) = text.split_once('/') {
        return all.iter().filter(|p| *p.namespace == *namespace && *p.name == *name).collect();
    }
    let named: Vec<&PluginName> = all.iter().filter(|p| *p.name == *text).collect();
    match named.iter().find(|p| Some(&*p.namespace) == namespace) {
        Some(near) => vec![near],
        None => named,
    }
}

pub(super) fn wrong(error: String, hint: String) -> Refused {
    Refused { error, hint, missing: false }
}

fn unknown(text: &str, all: &[PluginName]) -> Refused {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    let hint = match similar(text, &names) {
        Some(near) => format!("did you mean {near}? `wharf get plugins` lists them"),
        None => "`wharf get plugins` lists them".to_owned(),
    };
    Refused { error: format!("there is no plugin {text:?}"), hint, missing: true }
}

/// The full name that is closest to a name with or without a namespace.
fn similar<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let bare = |name: &&'n String| name.rsplit('/').next() == text.rsplit('/').next();
    let full = || closest(text, names.iter().map(String::as_str));
    let by_name = || {
        let known = names.iter().filter_map(|name| name.rsplit('/').next());
        let near = closest(text.rsplit('/').next()?, known)?;
        names.iter().find(|name| name.rsplit('/').next() == Some(near)).map(String::as_str)
    };
    names.iter().find(bare).map(String::as_str).or_else(full).or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_one_plugin_has_is_enough_wherever_the_object_is() {
        let all: Vec<PluginName> = [("a", "one"), ("a", "two"), ("b", "two"), ("c", "two")]
            .iter()
            .filter_map(|(namespace, name)| PluginName::new(namespace, name))
            .collect();
        for (text, namespace, want) in [
            ("one", None, &["a/one"][..]),
            ("one", Some("team-a"), &["a/one"]),
            ("two", Some("b"), &["b/two"]),
            ("two", Some("team-a"), &["a/two", "b/two", "c/two"]),
            ("two", None, &["a/two", "b/two", "c/two"]),
            ("c/two", Some("b"), &["c/two"]),
            ("three", Some("a"), &[]),
        ] {
            let found: Vec<String> = meant(text, namespace, &all).iter().map(ToString::to_string).collect();
            assert_eq!(found, want, "{text} {namespace:?}");
        }
    }
}
