//! What there is to tell of a plugin at a moment, by the conventions of Kubernetes' conditions. Owns
//! which condition holds and why; knows neither times nor JSON, and writes nothing.
//!
//! | | True | False |
//! |---|---|---|
//! | `Accepted` | the wish is good, as far as is known | it is refused, with the refusal's reason |
//! | `Ready` | a revision serves and may call | none does, or it is held |
//! | `Progressing` | a revision is on its way, or bakes | |
//! | `Degraded` | what serves is not what is wished, is not told of everything, or does not get what it asks for | |

use wharf_core::{Object, Pointer, Reason};

use crate::plugins::progress::Step;
use crate::plugins::{PluginState, PluginStatus, Refusal, account};

/// The most bytes of a message that the server takes.
const MAX_MESSAGE: usize = 32_768;
/// ... of one that only repeats what `Accepted` says in full.
const MAX_LINE: usize = 1024;
/// Why nothing serves of a resource that is being deleted.
const ENDING: &str = "Terminating";
/// A step that is over sooner is none that anybody must see: a refused wish is tried again and again.
const BRIEF: u64 = 2;

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    /// Which.
    pub(super) kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub(super) status: &'static str,
    /// CamelCase: one of [`Reason`], or one of the words here.
    pub(super) reason: &'static str,
    /// For people.
    pub(super) message: String,
}

impl Condition {
    fn new(kind: &'static str, status: bool, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, status: if status { "True" } else { "False" }, reason, message: message.into() }
    }
}

/// What changes all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) parked: u64,
    pub(super) waiting: u64,
}

/// What there is to tell of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    /// The generation that the conditions speak of, if it is known.
    pub(super) generation: Option<u64>,
    /// The revision that serves; empty if none does.
    pub(super) revision: String,
    /// Digest of its component.
    pub(super) digest: String,
    /// `Accepted`, `Ready`, `Progressing`, `Degraded`.
    pub(super) conditions: [Condition; 4],
    /// Of this host; `None` if it calls the plugin no more.
    pub(super) counts: Option<Counts>,
    /// Nothing is decided yet.
    pub(super) starting: bool,
    /// Nothing serves yet, and something may soon.
    pub(super) coming: bool,
}

impl Outlook {
    /// That of a plugin.
    pub(super) fn of(plugin: &PluginStatus) -> Self {
        let stats = &plugin.stats;
        let counts = Counts {
            calls: stats.calls,
            failures: stats.failures,
            parked: stats.parked as u64,
            waiting: (stats.queue.depth + stats.queue.waiting) as u64,
        };
        Self {
            generation: plugin.generation,
            revision: plugin.revision.clone(),
            digest: plugin.digest.clone(),
            conditions: [accepted(&plugin.state), ready(plugin), progressing(plugin), degraded(plugin)],
            counts: Some(counts),
            starting: undecided(&plugin.state),
            // What was good may stand in for what is refused.
            coming: plugin.revision.is_empty()
                && (undecided(&plugin.state) || matches!(plugin.state, PluginState::Refused(_)) && plugin.step.is_some()),
        }
    }

    /// That of a resource of which not even a plugin's name could be read.
    pub(super) fn unreadable(refusal: &Refusal) -> Self {
        let (reason, line) = (refusal.reason.as_str(), line(&refusal.message));
        let conditions = [
            accepted(&PluginState::Refused(refusal.clone())),
            Condition::new("Ready", false, reason, line),
            Condition::new("Progressing", false, "Settled", ""),
            Condition::new("Degraded", false, "NothingServes", ""),
        ];
        let (revision, digest) = (String::new(), String::new());
        Self { generation: None, revision, digest, conditions, counts: Some(Counts::default()), starting: false, coming: false }
    }

    /// That of a resource that is being deleted, and stays until its finalizers are gone.
    pub(super) fn ending(object: &Object) -> Self {
        let read = |name| object.get(&Pointer::of(["metadata", name]));
        let finalizers: Vec<String> = read("finalizers").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let message = cut(&format!("it is being deleted, which waits for {}", finalizers.join(", ")), MAX_LINE);
        let conditions = [
            Condition::new("Accepted", false, ENDING, message.as_str()),
            Condition::new("Ready", false, ENDING, message),
            Condition::new("Progressing", false, "Settled", ""),
            Condition::new("Degraded", false, "NothingServes", ""),
        ];
        let generation = read("generation").and_then(|text| text.parse().ok());
        Self { generation, revision: String::new(), digest: String::new(), conditions, counts: None, starting: false, coming: false }
    }

    /// Is it that of a resource that is being deleted?
    pub(super) fn is_ending(&self) -> bool {
        self.counts.is_none()
    }

    /// Is it the same but for the counts?
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        (self.generation, &self.revision, &self.digest, &self.conditions)
            == (other.generation, &other.revision, &other.digest, &other.conditions)
    }
}

/// Only the host that leads tells of plugins: one that stands by still is one that this host is about to start.
const fn undecided(state: &PluginState) -> bool {
    matches!(state, PluginState::Starting | PluginState::Standby)
}

fn accepted(state: &PluginState) -> Condition {
    match state {
        PluginState::Refused(refusal) => Condition::new("Accepted", false, refusal.reason.as_str(), whole(refusal)),
        PluginState::Starting => Condition { status: "Unknown", ..Condition::new("Accepted", false, "Starting", "it is being looked at") },
        PluginState::Standby | PluginState::Serving | PluginState::Suspended | PluginState::Draining => {
            Condition::new("Accepted", true, "Accepted", "")
        }
    }
}

fn ready(plugin: &PluginStatus) -> Condition {
    let no = |reason, message: &str| Condition::new("Ready", false, reason, message);
    match &plugin.state {
        PluginState::Suspended => no("Suspended", "the document says suspend: true"),
        _ if plugin.suspended => no("Suspended", "the last document that could be read says suspend: true"),
        _ if plugin.paused => no("Paused", "an operator has paused it; `wharf resume` goes on"),
        _ if !plugin.revision.is_empty() => Condition::new("Ready", true, "Serving", format!("revision {} serves", plugin.revision)),
        PluginState::Refused(refusal) => no(refusal.reason.as_str(), &line(&refusal.message)),
        PluginState::Draining => no("Draining", "what it has in flight ends"),
        PluginState::Standby => no("Standby", "another host leads"),
        PluginState::Starting | PluginState::Serving => no("Starting", "its first revision is on its way"),
    }
}

fn progressing(plugin: &PluginStatus) -> Condition {
    let yes = |reason, message: String| Condition::new("Progressing", true, reason, message);
    match plugin.step {
        Some((Step::Bake, _)) => yes("Baking", format!("step bake: revision {} is compared with the one before", plugin.revision)),
        Some((step, since)) if since.as_secs() >= BRIEF || plugin.state == PluginState::Starting => {
            yes("RollingOut", format!("step {}", step.as_str()))
        }
        None if plugin.state == PluginState::Starting => yes("Starting", String::new()),
        _ => Condition::new("Progressing", false, "Settled", ""),
    }
}

fn degraded(plugin: &PluginStatus) -> Condition {
    let yes = |reason: Reason, message: String| Condition::new("Degraded", true, reason.as_str(), message);
    if plugin.revision.is_empty() {
        return Condition::new("Degraded", false, "NothingServes", "");
    }
    // A watch that is interrupted is no news: it goes on by itself.
    let lasts = |reason: Reason| !matches!(reason, Reason::ServerUnavailable | Reason::WatchExpired);
    match (&plugin.state, &plugin.trouble) {
        (PluginState::Refused(refusal), _) => {
            yes(refusal.reason, format!("revision {} serves, and not what is wished: {}", plugin.revision, line(&refusal.message)))
        }
        (_, Some((reason, message))) if lasts(*reason) => yes(*reason, format!("it is not told of {}", line(message))),
        _ if let Some(account) = &plugin.lacks_account => yes(Reason::ServiceAccountNotFound, account::missing(&plugin.name, account)),
        _ if let Some(tripped) = &plugin.stats.tripped => yes(Reason::BreakerOpen, tripped.message(&plugin.name)),
        // Without their number, which changes all the time.
        _ if plugin.stats.full => yes(Reason::TooManyFailures, "so many keys fail that it is told of no further object".to_owned()),
        (_, _) => match &plugin.stats.in_vain {
            Some(vain) => yes(Reason::CallsFailing, vain.message(&plugin.name)),
            None => match &plugin.stats.refused {
                Some((reason, message)) => yes(*reason, format!("its Events are not written: {}", line(message))),
                None => Condition::new("Degraded", false, "AsExpected", ""),
            },
        },
    }
}

/// All that a refusal says.
fn whole(refusal: &Refusal) -> String {
    let text = if refusal.hint.is_empty() { refusal.message.clone() } else { format!("{}\nhint: {}", refusal.message, refusal.hint) };
    cut(&text, MAX_MESSAGE)
}

/// All of it on one line.
fn line(text: &str) -> String {
    let mut line = String::new();
    for part in text.lines().map(str::trim) {
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(part);
        if line.len() > MAX_LINE {
            break;
        }
    }
    cut(&line, MAX_LINE)
}

fn cut(text: &str, most: usize) -> String {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text).to_owned()
}
