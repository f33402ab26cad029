//! Why a plugin was or was not called for an object: what is known of both at one moment, as a
//! list of findings in the order of an event's way. Pure, and changes nothing; it repeats no
//! decision of the table, it says what the table and the queue would go by. The words for people
//! are the command line's.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::key::ObjectKey;
use crate::ledger::{EntryView, FailureState, ParkedBy, Time};
use crate::object::Object;
use crate::plugin::Subscription;
use crate::reason::Reason;

/// What is known of a plugin and a key at one moment.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The moment, on the ledger's clock.
    pub now: Time,
    /// What has become of the plugin.
    pub plugin: Standing<'a>,
    /// The plugin's breaker is not closed: how the last strike ended, and until when it is open.
    pub breaker: Option<(Reason, Option<Time>)>,
    /// The kind that was asked for, as it is printed.
    pub kind: &'a str,
    /// The object that was asked for.
    pub key: &'a ObjectKey,
    /// All kinds that the plugin is subscribed to.
    pub kinds: Vec<String>,
    /// The plugin's subscription to the kind.
    pub subscription: Option<&'a Subscription>,
    /// How the watch does that tells the plugin of the key, if one does.
    pub watch: Option<Watch<'a>>,
    /// What the store holds.
    pub object: Option<&'a Object>,
    /// What the plugin was told.
    pub entry: Option<EntryView<'a>>,
    /// Where its queue has the key.
    pub place: Option<Place>,
    /// The last change of the key was dropped, and by what.
    pub dropped: Option<&'a str>,
    /// So many keys of the plugin fail that it is told of no further object: their number.
    pub full: Option<u64>,
}

/// What has become of a plugin.
#[derive(Clone, Debug)]
pub enum Standing<'a> {
    /// There is none of that name.
    Unknown {
        /// A name that is close.
        similar: Option<&'a str>,
    },
    /// There is one.
    Known {
        /// Short name of the revision that serves.
        serving: Option<&'a str>,
        /// Why the document's present text was refused: reason and message.
        refused: Option<(&'a str, &'a str)>,
        /// It is suspended or paused.
        held: bool,
    },
}

/// How a watch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch<'a> {
    /// Its first list is not there yet.
    Starting,
    /// The store follows the server.
    Synced,
    /// The kind does not exist.
    Sleeping(Reason),
    /// The last request failed.
    Failing(Reason, &'a str),
}

/// Where a queue has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A worker has it, for so long.
    Working(Time),
    /// It waits for a worker, behind so many others.
    Ready(u64),
    /// It waits for its time, which comes after so long.
    Later(Time),
}

/// Whether a finding speaks for or against a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// What must hold holds.
    Good,
    /// A reason why there is no call now.
    Against,
    /// A call is running, or comes by itself.
    Coming,
    /// Good to know.
    Note,
}

/// One thing that explains. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields say what they are, and the variants why they are there")]
pub enum Finding {
    /// No plugin has this name.
    PluginUnknown { similar: Option<String> },
    /// No revision serves yet.
    PluginStarting {},
    /// The document was refused; `serving` names the revision that goes on.
    PluginRefused { reason: String, message: String, serving: Option<String> },
    /// A revision serves.
    PluginServes { revision: String },
    /// It is suspended or paused.
    PluginHeld {},
    /// Its breaker is open for so long, or lets one call through; `reason` is the last strike's.
    BreakerOpen { reason: String, in_ms: Option<u64> },
    /// No subscription is for the kind.
    KindNotSubscribed { kind: String, subscribed: Vec<String> },
    /// The subscription has no events: the kind is cached for reading, or for those that its objects name.
    KindOnlyCached { subscription: String, maps: Option<String> },
    /// The subscription is for other namespaces.
    NamespaceNotCovered { subscription: String, namespace: String, covered: Vec<String> },
    /// The subscription is for the kind and the namespace.
    Covered { subscription: String },
    /// The watch has no first list yet.
    WatchStarting {},
    /// The kind does not exist on the server.
    WatchSleeping { reason: String },
    /// The watch fails; with `Unauthorized` and `Forbidden` the keys sleep, else the store keeps what it had.
    WatchFailing { reason: String, message: String, sleeps: bool },
    /// The store has no such object.
    ObjectMissing {},
    /// The store has it.
    ObjectFound { uid: String, resource_version: String },
    /// A label requirement is not met.
    LabelMismatch { subscription: String, requirement: String, value: Option<String> },
    /// A field requirement is not met.
    FieldMismatch { subscription: String, requirement: String },
    /// It matches the selectors.
    Matches { subscription: String },
    /// The subscription leaves events out.
    EventsNarrowed { subscription: String, wanted: Vec<String> },
    /// The last change was dropped.
    ChangeDropped { by: String },
    /// So many keys fail that no further object is told of.
    TooManyFailures { failing: u64 },
    /// The plugin was never called for it.
    NeverCalled {},
    /// The plugin was told of just this state, and nothing is owed.
    UpToDate { resource_version: String },
    /// The plugin was told of another state last.
    ToldBefore { resource_version: String },
    /// `delete` was called and has not ended.
    Deleting { attempts: u32 },
    /// The last call failed.
    Failing { attempts: u32, strikes: u32, reason: String, message: String, since_ms: u64 },
    /// The key is parked; `next_ms` is when it is tried again by itself.
    Parked { by: String, reason: String, message: String, since_ms: u64, strikes: u32, next_ms: Option<u64> },
    /// The guest asked not to be called before.
    Held { reason: String, message: String, until_ms: u64 },
    /// The call runs.
    Calling { for_ms: u64 },
    /// It waits for a worker.
    Queued { ahead: u64 },
    /// It is called then, if nothing happens before.
    Due { in_ms: u64 },
}

impl Finding {
    /// Does it speak for or against a call?
    pub const fn sign(&self) -> Sign {
        match self {
            Self::PluginServes { .. } | Self::Covered { .. } | Self::ObjectFound { .. } | Self::Matches { .. } | Self::UpToDate { .. } => {
                Sign::Good
            }
            Self::Calling { .. } | Self::Queued { .. } | Self::Due { .. } => Sign::Coming,
            Self::PluginRefused { serving, .. } => {
                if serving.is_some() {
                    Sign::Note
                } else {
                    Sign::Against
                }
            }
            Self::WatchFailing { sleeps, .. } => {
                if *sleeps {
                    Sign::Against
                } else {
                    Sign::Note
                }
            }
            Self::BreakerOpen { in_ms: None, .. }
            | Self::EventsNarrowed { .. }
            | Self::ChangeDropped { .. }
            | Self::NeverCalled {}
            | Self::ToldBefore { .. }
            | Self::Deleting { .. }
            | Self::Failing { .. } => Sign::Note,
            _ => Sign::Against,
        }
    }
}

/// The finding that answers the question: the first that stands against a call, else what is
/// coming, else that the plugin was told of everything.
pub fn answer(findings: &[Finding]) -> Option<&Finding> {
    let first = |sign: Sign| findings.iter().find(|finding| finding.sign() == sign);
    let quiet = || findings.iter().find(|finding| matches!(finding, Finding::ChangeDropped { .. } | Finding::UpToDate { .. }));
    first(Sign::Against).or_else(|| first(Sign::Coming)).or_else(quiet).or(findings.last())
}

/// All there is to say. Ends where nothing behind it can matter.
pub fn explain(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if plugin(facts, &mut findings) && subscription(facts, &mut findings) {
        let matches = object(facts, &mut findings);
        ledger(facts, matches, &mut findings);
        place(facts, &mut findings);
    }
    findings
}

/// False if the plugin cannot be called for anything.
fn plugin(facts: &Facts<'_>, findings: &mut Vec<Finding>) -> bool {
    match &facts.plugin {
        Standing::Unknown { similar } => {
            findings.push(Finding::PluginUnknown { similar: similar.map(str::to_owned) });
            false
        }
        Standing::Known { serving, refused, held } => {
            if let Some((reason, message)) = refused {
                let serving = serving.map(str::to_owned);
                findings.push(Finding::PluginRefused { reason: (*reason).to_owned(), message: (*message).to_owned(), serving });
            }
            match serving {
                Some(revision) => findings.push(Finding::PluginServes { revision: (*revision).to_owned() }),
                None if refused.is_none() && !held => findings.push(Finding::PluginStarting {}),
                None => {}
            }
            if *held {
                findings.push(Finding::PluginHeld {});
            }
            if let Some((reason, until)) = facts.breaker {
                let in_ms = until.map(|until| milliseconds(until.saturating_sub(facts.now)));
                findings.push(Finding::BreakerOpen { reason: reason.to_string(), in_ms });
            }
            serving.is_some()
        }
    }
}

/// False if the plugin is not told of such objects.
fn subscription(facts: &Facts<'_>, findings: &mut Vec<Finding>) -> bool {
    let Some(wanted) = facts.subscription else {
        findings.push(Finding::KindNotSubscribed { kind: facts.kind.to_owned(), subscribed: facts.kinds.clone() });
        return false;
    };
    let subscription = || wanted.name.to_string();
    if wanted.events.is_empty() {
        let maps = wanted.map.as_ref().map(|map| format!("{} by {}", map.to, map.by));
        findings.push(Finding::KindOnlyCached { subscription: subscription(), maps });
        return false;
    }
    if let Some(namespace) = &facts.key.namespace
        && let crate::grant::Namespaces::Some(covered) = &wanted.namespaces
        && !wanted.namespaces.contains(namespace)
    {
        let covered = covered.iter().map(ToString::to_string).collect();
        findings.push(Finding::NamespaceNotCovered { subscription: subscription(), namespace: namespace.to_string(), covered });
        return false;
    }
    findings.push(Finding::Covered { subscription: subscription() });
    match facts.watch {
        None | Some(Watch::Synced) => {}
        Some(Watch::Starting) => findings.push(Finding::WatchStarting {}),
        Some(Watch::Sleeping(reason)) => findings.push(Finding::WatchSleeping { reason: reason.to_string() }),
        Some(Watch::Failing(reason, message)) => {
            let sleeps = reason.is_refusal();
            findings.push(Finding::WatchFailing { reason: reason.to_string(), message: message.to_owned(), sleeps });
        }
    }
    true
}

/// Is the object there, and does it match?
fn object(facts: &Facts<'_>, findings: &mut Vec<Finding>) -> bool {
    let (Some(object), Some(wanted)) = (facts.object, facts.subscription) else {
        // What is still owed for an object that is gone is the ledger's to say.
        if facts.entry.is_none() {
            findings.push(Finding::ObjectMissing {});
        }
        return false;
    };
    let resource_version = object.resource_version().to_owned();
    findings.push(Finding::ObjectFound { uid: object.uid().to_string(), resource_version });
    let subscription = wanted.name.to_string();
    if let Some((requirement, value)) = object.unmet_label(&wanted.label_selector) {
        findings.push(Finding::LabelMismatch { subscription, requirement: requirement.to_string(), value });
        return false;
    }
    if let Some(requirement) = object.unmet_field(&wanted.field_selector) {
        findings.push(Finding::FieldMismatch { subscription, requirement: requirement.to_string() });
        return false;
    }
    findings.push(Finding::Matches { subscription: subscription.clone() });
    if wanted.events.len() < Event::ALL.len() {
        let wanted = wanted.events.iter().map(|event| event.as_str().to_owned()).collect();
        findings.push(Finding::EventsNarrowed { subscription, wanted });
    }
    true
}

fn ledger(facts: &Facts<'_>, matches: bool, findings: &mut Vec<Finding>) {
    let Some(entry) = facts.entry else {
        if matches && let Some(failing) = facts.full {
            findings.push(Finding::TooManyFailures { failing });
        } else if matches {
            findings.push(Finding::NeverCalled {});
        }
        return;
    };
    if let Some(by) = facts.dropped {
        findings.push(Finding::ChangeDropped { by: by.to_owned() });
    }
    if entry.deleting {
        findings.push(Finding::Deleting { attempts: entry.attempts });
    }
    let resource_version = entry.resource_version.to_owned();
    let current =
        facts.object.is_some_and(|object| object.uid().as_ref() == entry.uid && object.resource_version() == entry.resource_version);
    let Some(failure) = entry.failure else {
        let owed = entry.deleting || entry.attempts > 0 || !current || !matches;
        findings.push(if owed { Finding::ToldBefore { resource_version } } else { Finding::UpToDate { resource_version } });
        return;
    };
    let (reason, message, strikes) = (failure.reason.to_owned(), failure.message.to_owned(), entry.strikes);
    let ago = |time: Time| milliseconds(facts.now.saturating_sub(time));
    let until = |time: Time| milliseconds(time.saturating_sub(facts.now));
    findings.push(match (entry.failure_state(facts.now), entry.parked, entry.hold) {
        (Some(FailureState::Parked), Some(parked), _) => {
            let by = match parked.by {
                ParkedBy::Permanent => "permanent",
                ParkedBy::Strikes => "strikes",
            };
            let (by, since_ms, next_ms) = (by.to_owned(), ago(parked.since), entry.due.map(until));
            Finding::Parked { by, reason, message, since_ms, strikes, next_ms }
        }
        (Some(FailureState::Waiting), _, Some(hold)) if hold > facts.now => Finding::Held { reason, message, until_ms: until(hold) },
        _ => {
            let since_ms = entry.failing_since.map_or(0, ago);
            Finding::Failing { attempts: entry.attempts, strikes, reason, message, since_ms }
        }
    });
}

/// What comes by itself.
fn place(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    match facts.place {
        Some(Place::Working(time)) => findings.push(Finding::Calling { for_ms: milliseconds(time) }),
        Some(Place::Ready(ahead)) => findings.push(Finding::Queued { ahead }),
        Some(Place::Later(time)) => findings.push(Finding::Due { in_ms: milliseconds(time) }),
        None => {}
    }
}

fn milliseconds(time: Time) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
