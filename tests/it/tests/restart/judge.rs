//! What hosts called, one after the other, and whether that was right. Owns the two words of the
//! design, over restarts: *lost* and *doubled*.
//!
//! A call is *safe* if the host that made it wrote down, before it was killed, that it had ended:
//! its line in the log stands before the beginning of the last commit that was written. What is
//! not safe was in the window in which a crash may forget.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use wharf_testkit::Line;

use crate::books::{Books, REQUEUE_MS, Written};

/// A guest call that ended.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    host: usize,
    safe: bool,
    event: String,
    uid: String,
    version: String,
    cause: String,
    outcome: String,
    /// Milliseconds of the day, by the log.
    at: u64,
    line: String,
}

/// All calls of all hosts so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    hosts: usize,
    calls: Vec<Seen>,
}

/// How often what happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) kills: u64,
    pub(crate) writes: u64,
    pub(crate) calls: u64,
    pub(crate) unsafe_calls: u64,
    /// Objects that a later host found as an earlier one had left them.
    pub(crate) silent: u64,
    pub(crate) changed_offline: u64,
    pub(crate) offline_deletes: u64,
    pub(crate) resumed: u64,
    pub(crate) again: u64,
}

impl Seen {
    fn succeeded(&self) -> bool {
        matches!(self.outcome.as_str(), "done" | "requeue-after")
    }

    fn is_delete(&self) -> bool {
        self.event == "delete"
    }

    fn ends_delete(&self) -> bool {
        self.is_delete() && matches!(self.outcome.as_str(), "done" | "permanent")
    }

    fn was_due(&self) -> bool {
        matches!(self.cause.as_str(), "reload" | "requeue" | "retry")
    }

    /// May a later call be made as if this one had not been?
    fn excuses(&self, later: &Self) -> bool {
        !self.safe && later.host > self.host
    }
}

impl Told {
    /// Adds what a host said until it was killed.
    pub(crate) fn killed(&mut self, lines: &[Arc<Line>], plugin: &str) {
        let (mut begun, mut safe) = (0, 0);
        for (at, line) in lines.iter().enumerate() {
            match line.text("message").as_str() {
                "checkpoint begun" => begun = at,
                "checkpoint written" => safe = begun,
                _ => {}
            }
        }
        self.add(lines, plugin, safe);
    }

    /// With what the present host says.
    pub(crate) fn with(&self, lines: &[Arc<Line>], plugin: &str) -> Self {
        let mut all = self.clone();
        all.add(lines, plugin, lines.len());
        all
    }

    fn add(&mut self, lines: &[Arc<Line>], plugin: &str, safe: usize) {
        let host = self.hosts;
        self.hosts += 1;
        let calls = lines.iter().enumerate().filter(|(_, line)| line.is("message", "guest call finished") && line.is("plugin", plugin));
        let seen = calls.filter(|(_, line)| line.text("name").starts_with("object-")).map(|(at, line)| {
            let text = |field: &str| line.text(field);
            let fields = ["timestamp", "event", "name", "uid", "resource_version", "cause", "attempt", "removal", "outcome"];
            let words: Vec<String> = fields.into_iter().map(text).collect();
            Seen {
                host,
                safe: at < safe,
                event: text("event"),
                uid: text("uid"),
                version: text("resource_version"),
                cause: text("cause"),
                outcome: text("outcome"),
                at: millis(&text("timestamp")),
                line: format!("host {host}{} {}", if at < safe { "" } else { " (not written)" }, words.join(" ")),
            }
        });
        self.calls.extend(seen);
    }

    fn of<'a>(&'a self, object: &'a Written) -> impl Iterator<Item = &'a Seen> {
        self.calls.iter().filter(|call| !call.is_delete() && call.uid == object.uid && call.version == object.version)
    }

    /// Is the object as the last host left it, as far as it wrote that down?
    fn done_with(&self, object: &Written) -> bool {
        self.of(object).any(|call| call.safe && call.outcome == "done")
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.calls.iter().try_for_each(|call| writeln!(f, "{}", call.line))
    }
}

/// What is still to come: last states that were not handled, times that were not kept, ends that
/// were not told.
pub(crate) fn lost(told: &Told, books: &Books) -> Vec<String> {
    let mut lost = Vec::new();
    for (name, object) in &books.live {
        let end = if object.word == "permanent" { "permanent" } else { "done" };
        if !told.of(object).any(|call| call.outcome == end) {
            lost.push(format!("lost: {name} is {object:?}"));
        }
    }
    for uid in &books.gone {
        let of_uid = || told.calls.iter().filter(|call| call.uid == *uid);
        let known = of_uid().any(|call| call.safe && !call.is_delete());
        if known && !of_uid().any(Seen::ends_delete) {
            lost.push(format!("lost: no delete ended for uid {uid}"));
        }
    }
    lost
}

/// What should not have been.
pub(crate) fn wrong(told: &Told) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut by_uid: HashMap<&str, Vec<&Seen>> = HashMap::new();
    for call in &told.calls {
        by_uid.entry(&call.uid).or_default().push(call);
    }
    for (uid, calls) in by_uid {
        for (n, later) in calls.iter().enumerate() {
            for earlier in calls.iter().take(n).filter(|earlier| !earlier.excuses(later)) {
                let same = !later.is_delete() && !earlier.is_delete() && earlier.version == later.version;
                if same && earlier.succeeded() && later.succeeded() && !later.was_due() {
                    wrong.push(format!("doubled: {uid}\n  {}\n  {}", earlier.line, later.line));
                }
                if same && earlier.outcome == "permanent" {
                    wrong.push(format!("called although parked: {uid}\n  {}\n  {}", earlier.line, later.line));
                }
                if earlier.ends_delete() {
                    wrong.push(format!("called after its end: {uid}\n  {}\n  {}", earlier.line, later.line));
                }
                let soon = later.at.saturating_sub(earlier.at) < REQUEUE_MS - 20;
                if same && earlier.outcome == "requeue-after" && later.cause == "requeue" && soon {
                    wrong.push(format!("called before its time: {uid}\n  {}\n  {}", earlier.line, later.line));
                }
            }
        }
    }
    wrong.sort();
    wrong
}

impl Figures {
    /// A host was killed, and what happened until the next one is in the books.
    pub(crate) fn restarted(&mut self, told: &Told, books: &Books) {
        self.kills += 1;
        self.silent += books.live.values().filter(|object| told.done_with(object)).count() as u64;
    }

    /// The run is over.
    pub(crate) fn ended(&mut self, told: &Told, books: &Books) {
        let count = |wanted: &dyn Fn(&Seen) -> bool| told.calls.iter().filter(|call| wanted(call)).count() as u64;
        self.writes += books.writes;
        self.calls += count(&|_| true);
        self.unsafe_calls += count(&|call| !call.safe);
        self.changed_offline += count(&|call| call.cause == "changed-offline");
        self.offline_deletes += count(&|call| call.cause == "changed-offline" && call.is_delete());
        self.resumed += count(&|call| call.host > 0 && call.cause == "requeue");
        let again = |call: &Seen| {
            told.calls.iter().any(|e| e.uid == call.uid && e.version == call.version && e.excuses(call) && e.event == call.event)
        };
        self.again += count(&again);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let Self { kills, writes, calls, unsafe_calls, silent, changed_offline, offline_deletes, resumed, again } = other;
        self.kills += kills;
        self.writes += writes;
        self.calls += calls;
        self.unsafe_calls += unsafe_calls;
        self.silent += silent;
        self.changed_offline += changed_offline;
        self.offline_deletes += offline_deletes;
        self.resumed += resumed;
        self.again += again;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, writes, calls, unsafe_calls, silent, changed_offline, offline_deletes, resumed, again } = self;
        write!(
            f,
            "{kills} kills, {writes} writes, {calls} calls; {silent} objects found as they were left, {changed_offline} changed while no \
             host ran ({offline_deletes} deletes), {resumed} requeues kept over a kill; {unsafe_calls} calls in a window, {again} made again"
        )
    }
}

/// `2026-11-30T05:47:18.123456Z` as milliseconds of the day.
fn millis(timestamp: &str) -> u64 {
    let time = timestamp.split_once('T').map_or("", |(_, time)| time).trim_end_matches('Z');
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let seconds = clock.split(':').filter_map(|part| part.parse::<u64>().ok()).fold(0, |sum, part| sum * 60 + part);
    let millis: u64 = format!("{fraction:0<3}").get(..3).and_then(|digits| digits.parse().ok()).unwrap_or_default();
    seconds * 1000 + millis
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(uid: &str, version: &str, event: &str, cause: &str, outcome: &str) -> Arc<Line> {
        Arc::new(Line::parse(
            &json!({
                "message": "guest call finished", "plugin": "p", "name": "object-1", "uid": uid, "resource_version": version,
                "event": event, "cause": cause, "outcome": outcome, "timestamp": "2026-11-30T05:47:18.5Z",
            })
            .to_string(),
        ))
    }

    fn said(message: &str) -> Arc<Line> {
        Arc::new(Line::parse(&json!({"message": message}).to_string()))
    }

    #[test]
    fn only_what_was_written_down_counts() {
        let done = call("u", "1", "add", "watch", "done");
        for (commit, problems) in [("checkpoint written", 1), ("nothing", 0)] {
            let mut told = Told::default();
            told.killed(&[done.clone(), said("checkpoint begun"), said(commit)], "p");
            told = told.with(&[call("u", "1", "add", "initial-list", "done")], "p");
            assert_eq!(wrong(&told).len(), problems, "{commit}");
        }
        let mut told = Told::default();
        told.killed(&[said("checkpoint begun"), done, said("checkpoint written")], "p");
        assert!(wrong(&told.with(&[call("u", "1", "add", "initial-list", "done")], "p")).is_empty());
    }

    #[test]
    fn each_kind_of_wrong_is_seen() {
        let told = Told::default().with(
            &[
                call("u", "1", "add", "watch", "permanent"),
                call("u", "1", "add", "initial-list", "permanent"),
                call("v", "1", "add", "watch", "requeue-after"),
                call("v", "1", "update", "requeue", "done"),
                call("w", "1", "delete", "watch", "done"),
                call("w", "1", "delete", "changed-offline", "done"),
            ],
            "p",
        );
        let wrong = wrong(&told);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert_eq!((millis("2026-11-30T01:01:01.25Z"), millis("x")), (3_661_250, 0));
    }
}
