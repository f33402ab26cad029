//! Findings and decisions as sentences. Owns the words and the hints; knows nothing but what the
//! host answered.

use wharf_core::explain::Finding;
use wharf_core::{Reason, printable};
use wharf_runtime::admin::operate::{Decision, ExplainRow};

use crate::table::age;

/// Characters of a failure's message; it comes twice.
const MAX_MESSAGE: usize = 160;

/// One finding as a sentence without a full stop. A message that has several lines keeps them; each is escaped.
pub(super) fn finding(finding: &Finding) -> String {
    let said = match finding {
        Finding::PluginUnknown { .. } => "there is no such plugin".to_owned(),
        Finding::PluginStarting {} => "the plugin's first revision is not in service yet".to_owned(),
        Finding::PluginHeld {} => "the plugin is suspended or paused: changes wait".to_owned(),
        Finding::BreakerOpen { reason, in_ms: Some(in_ms) } => {
            format!(
                "the plugin is not called for {}, because its calls trap or go beyond limits, the last of them with {reason}",
                time(*in_ms)
            )
        }
        Finding::BreakerOpen { reason, in_ms: None } => {
            format!(
                "one call of the plugin is tried at a time, because its calls trapped or went beyond limits, the last of them with {reason}"
            )
        }
        Finding::PluginRefused { reason, message, serving: None } => format!("the plugin was refused: {reason}: {message}"),
        Finding::PluginRefused { reason, message, serving: Some(serving) } => {
            format!("the plugin's document was refused, and {serving} goes on: {reason}: {message}")
        }
        Finding::PluginServes { revision } => format!("revision {revision} serves"),
        Finding::KindNotSubscribed { kind, subscribed } => {
            let others = if subscribed.is_empty() { "nothing".to_owned() } else { subscribed.join(", ") };
            format!("the plugin is not subscribed to {kind}, but to {others}")
        }
        Finding::KindOnlyCached { subscription, maps: None } => {
            format!("subscription {subscription} has no events: the kind is cached for reading only")
        }
        Finding::KindOnlyCached { subscription, maps: Some(maps) } => {
            format!("subscription {subscription} has no events: its objects only call for those that they name, {maps}")
        }
        Finding::NamespaceNotCovered { subscription, namespace, covered } => {
            format!("subscription {subscription} covers {}, not namespace {namespace}", covered.join(", "))
        }
        Finding::Covered { subscription } => format!("subscription {subscription} covers kind and namespace"),
        Finding::WatchStarting {} => "the watch has no first list yet".to_owned(),
        Finding::WatchSleeping { reason } => format!("the watch sleeps: {reason}"),
        Finding::WatchFailing { reason, message, sleeps: true } => format!("the watch is refused, so the keys sleep: {reason}: {message}"),
        Finding::WatchFailing { reason, message, sleeps: false } => {
            format!("the watch fails, so changes may not be known yet: {reason}: {message}")
        }
        Finding::ObjectMissing {} => "there is no such object in the cache".to_owned(),
        Finding::ObjectFound { resource_version, .. } => format!("the object exists, resourceVersion {resource_version}"),
        Finding::LabelMismatch { subscription, requirement, value } => {
            let has = match value {
                Some(value) => format!("the label is {value:?}"),
                None => "the object has no such label".to_owned(),
            };
            format!("it does not match subscription {subscription}: labelSelector wants {requirement}, and {has}")
        }
        Finding::FieldMismatch { subscription, requirement } => {
            format!("it does not match subscription {subscription}: fieldSelector wants {requirement}")
        }
        Finding::Matches { subscription } => format!("it matches the selectors of subscription {subscription}"),
        Finding::EventsNarrowed { subscription, wanted } => format!("subscription {subscription} wants only {}", wanted.join(" and ")),
        Finding::ChangeDropped { by } => format!("the last change was dropped by {by}"),
        Finding::TooManyFailures { failing } => format!("{failing} keys of the plugin fail, so it is told of no further object"),
        Finding::NeverCalled {} => "the plugin was never called for it".to_owned(),
        Finding::UpToDate { resource_version } => format!("the plugin was told of resourceVersion {resource_version}, with success"),
        Finding::ToldBefore { resource_version } => format!("the plugin was told of resourceVersion {resource_version} last"),
        Finding::Deleting { attempts } => format!("delete is owed or has not ended: {}", calls(*attempts)),
        Finding::Failing { attempts, strikes, reason, message, since_ms } => {
            let strikes = if *strikes == 0 { String::new() } else { format!(", {strikes} of them strikes") };
            format!("it fails since {}, {}{strikes}: {}", time(*since_ms), calls(*attempts), why(reason, message))
        }
        Finding::Parked { by, reason, message, since_ms, strikes, next_ms } => {
            let by = if by == "strikes" { format!("{strikes} strikes") } else { "for good".to_owned() };
            let next = next_ms.map_or(String::new(), |next| format!(", tried again in {}", time(next)));
            format!("it is parked since {} ({by}){next}: {}", time(*since_ms), why(reason, message))
        }
        Finding::Held { reason, message, until_ms } => {
            format!("the plugin asked not to be called before {} have passed: {}", time(*until_ms), why(reason, message))
        }
        Finding::Calling { for_ms } => format!("it is being called, since {}", time(*for_ms)),
        Finding::Queued { ahead: 0 } => "it is next in the queue".to_owned(),
        Finding::Queued { ahead } => format!("it is in the queue, behind {ahead} others"),
        Finding::Due { in_ms } => format!("it is due in {}", time(*in_ms)),
    };
    said.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// What to do about the finding that answers the question.
pub(super) fn hint(finding: &Finding, row: &ExplainRow) -> Option<String> {
    let said = match finding {
        Finding::PluginUnknown { similar: Some(similar) } => format!("did you mean {similar}? `wharf get plugins` lists them"),
        Finding::PluginUnknown { similar: None } => "`wharf get plugins` lists them".to_owned(),
        Finding::PluginStarting {} => "`wharf get plugins -o wide` shows how far it is".to_owned(),
        Finding::PluginHeld {} => format!("`wharf resume {}`, or `suspend: false` in its document", row.plugin),
        Finding::BreakerOpen { .. } => Reason::BreakerOpen.hint().to_owned(),
        Finding::PluginRefused { reason, .. } => Reason::named(reason)?.hint().to_owned(),
        Finding::KindNotSubscribed { .. } => {
            "a component asks for its kinds itself; spec.subscribe of the document may leave some out".to_owned()
        }
        Finding::KindOnlyCached { maps: Some(_), .. } => "`wharf explain` for the object that it names".to_owned(),
        Finding::KindOnlyCached { .. } => "spec.subscribe[].events of the document may leave events out".to_owned(),
        Finding::NamespaceNotCovered { subscription, namespace, .. } => {
            format!("add {namespace} to namespaces of the entry {subscription} in spec.subscribe")
        }
        Finding::LabelMismatch { .. } | Finding::FieldMismatch { .. } => {
            "the selector is that of the component and that of spec.subscribe together".to_owned()
        }
        Finding::ObjectMissing {} => "check kind, namespace and name".to_owned(),
        Finding::ChangeDropped { .. } => "it is a field of the entry in spec.subscribe, or what the component asks for".to_owned(),
        Finding::TooManyFailures { .. } => format!("`wharf get failures {}` shows them", row.plugin),
        Finding::Parked { .. } => {
            let retry = format!("wharf retry {} {}", row.plugin, row.key.replacen(' ', "/", 1));
            format!("a change of the object frees it, or a new revision, or `{retry}`")
        }
        Finding::Held { .. } => format!("`wharf retry {} {}` does not wait", row.plugin, row.key.replacen(' ', "/", 1)),
        Finding::WatchSleeping { .. } => "it goes on by itself as soon as the kind is there".to_owned(),
        Finding::WatchFailing { .. } => "`wharf get informers -o wide` shows all watches".to_owned(),
        _ => return None,
    };
    Some(printable(&said))
}

/// One decision: a word, and what else there is to say.
pub(super) fn decision(decision: &Decision) -> (String, String) {
    let of = |version: &u64| if *version == 0 { String::new() } else { format!(", resourceVersion {version}") };
    let (word, details) = match decision {
        Decision::Seen { how, resource_version, gone } => {
            let gone = if *gone { ", gone" } else { "" };
            ("seen", format!("{how}{}{gone}", of(resource_version)))
        }
        Decision::Asked {} => ("asked", "by an operator".to_owned()),
        Decision::Dropped { by, resource_version } => ("dropped", format!("by {by}{}", of(resource_version))),
        Decision::Merged { changes: 1 } => ("merged", "1 change into the next one, for lack of room".to_owned()),
        Decision::Merged { changes } => ("merged", format!("{changes} changes into the next one, for lack of room")),
        Decision::Nothing { why } => {
            let why = match why.as_str() {
                "gone" => "it is gone, and no call is owed for it",
                "unmatched" => "it does not match the selectors",
                _ => "the plugin was told of it",
            };
            ("nothing", why.to_owned())
        }
        Decision::Held { after_ms } => ("held", format!("for {} more, as the plugin asked", time(*after_ms))),
        Decision::Full {} => ("held", "too many keys fail".to_owned()),
        Decision::Called { event, cause, attempt, revision, resource_version, queued_ms, changes } => {
            let changes = if *changes > 1 { format!(", {changes} changes in one") } else { String::new() };
            let waited = if *queued_ms == 0 { String::new() } else { format!(", waited {}", time(*queued_ms)) };
            ("called", format!("{event}, cause {cause}, attempt {attempt}, revision {revision}{}{changes}{waited}", of(resource_version)))
        }
        Decision::Wrote { verb, api_version, kind, namespace, name } => {
            let name = if name.is_empty() { "(name of the server)" } else { name };
            let place = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
            ("wrote", format!("{verb} {api_version} {kind} {place}"))
        }
        Decision::Ended { outcome, reason, took_us, parked, skipped, next_ms } => {
            let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
            let next = match next_ms {
                _ if *skipped => ", the change is skipped and the next one told".to_owned(),
                _ if *parked => ", parked".to_owned(),
                Some(next) => format!(", next try in {}", time(*next)),
                None => String::new(),
            };
            ("ended", format!("{outcome}{reason} after {}{next}", short(*took_us)))
        }
        Decision::Left {} => ("left", "the subscription does not cover it any more".to_owned()),
    };
    (word.to_owned(), printable(&details))
}

fn why(reason: &str, message: &str) -> String {
    if message.is_empty() {
        return reason.to_owned();
    }
    match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{reason}: {}…", message.get(..end).unwrap_or_default()),
        None => format!("{reason}: {message}"),
    }
}

fn calls(number: u32) -> String {
    if number == 1 { "1 call".to_owned() } else { format!("{number} calls") }
}

/// A time for people: milliseconds below a second.
fn time(milliseconds: u64) -> String {
    if milliseconds < 1000 { format!("{milliseconds}ms") } else { age(milliseconds / 1000) }
}

/// A duration of a call.
fn short(microseconds: u64) -> String {
    match microseconds {
        0..1000 => format!("{microseconds}µs"),
        1000..1_000_000 => format!("{}.{}ms", microseconds / 1000, microseconds / 100 % 10),
        _ => time(microseconds / 1000),
    }
}
