//! What the guests and the host say of calls, line by line, and whether that is right. Owns the words
//! *lost*, *doubled* and *two at once*; knows nothing of why revisions are exchanged.
//!
//! A call begins with the guest's own line and ends with the host's, which is written before the key is
//! given back. So two calls of one key that overlap are two beginnings without an end between them,
//! whatever any clock says.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};
use wharf_testkit::Line;

use crate::writer::Books;

/// More problems than these tell no more.
const MOST: usize = 50;

/// Which part of a run a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Nothing is exchanged.
    Quiet,
    /// One good revision after the other.
    Swaps,
    /// Some of them broken.
    Broken,
}

/// All that is known of calls so far.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    plugin: String,
    pub(crate) phase: Phase,
    /// What runs, by the name of the object: the tag that the guest said.
    running: HashMap<String, String>,
    uids: HashMap<String, Known>,
    /// Tag of each revision.
    tags: HashMap<String, String>,
    /// Time between the change in the store and the call, in milliseconds.
    latencies: BTreeMap<Phase, Vec<f64>>,
    outcomes: BTreeMap<(Phase, String), u64>,
    /// Calls that a swap has made due.
    reloads: u64,
    problems: Vec<String>,
}

/// What is known of the object with one uid.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By version: how it was handled.
    handled: HashMap<String, String>,
    last: u64,
    ended: bool,
}

impl Witness {
    pub(crate) fn new(plugin: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            phase: Phase::Quiet,
            running: HashMap::new(),
            uids: HashMap::new(),
            tags: HashMap::new(),
            latencies: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            reloads: 0,
            problems: Vec::new(),
        }
    }

    /// Takes a line of the host's log.
    pub(crate) fn see(&mut self, line: &Line) {
        if !line.is("plugin", &self.plugin) {
            return;
        }
        if line.is("target", "guest") {
            self.begins(line);
        } else if line.is("message", "guest call finished") {
            self.ends(line);
        }
    }

    fn begins(&mut self, line: &Line) {
        let fields = guest_fields(line);
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, tag, code) = (line.text("name"), text("version"), text("code"));
        if !tag.ends_with(&code) {
            self.problem(format!("mixed: code {code} with the configuration {tag}"));
        }
        if let Some(other) = self.running.insert(name.clone(), tag.clone()) {
            self.problem(format!("two at once: {name} is called by {tag} while {other} is at it"));
        }
    }

    fn ends(&mut self, line: &Line) {
        let text = |field: &str| line.text(field);
        let [name, uid, revision, event, version, cause, outcome] =
            ["name", "uid", "revision", "event", "resource_version", "cause", "outcome"].map(text);
        let said = format!("{name} {event} uid {uid} at {version}, {cause}, {outcome}, by {revision}");
        match self.running.remove(&name) {
            None => self.problem(format!("a call that no guest spoke of: {said}")),
            Some(tag) => {
                let known = self.tags.entry(revision.clone()).or_insert_with(|| tag.clone());
                if *known != tag {
                    let known = known.clone();
                    self.problem(format!("mixed: a revision is both {known} and {tag}: {said}"));
                }
            }
        }
        *self.outcomes.entry((self.phase, outcome.clone())).or_default() += 1;
        if event == "update" && cause == "watch" && line.is("attempt", "1") {
            self.latencies.entry(self.phase).or_default().extend(text("queued_ms").parse::<f64>());
        }
        // No guest asks to be called again: a `requeue` is of a host that forgot what it has told.
        let due = matches!(cause.as_str(), "reload" | "retry");
        let how = format!("{event}, {cause}, attempt {}, by {revision} at {}", text("attempt"), text("timestamp"));
        self.reloads += u64::from(cause == "reload");
        let known = self.uids.entry(uid).or_default();
        let number = version.parse().unwrap_or_default();
        let mut wrong = Vec::new();
        if known.ended {
            wrong.push("doubled: called after its end".to_owned());
        }
        if event == "delete" {
            known.ended |= matches!(outcome.as_str(), "done" | "permanent");
        } else {
            if number < known.last {
                wrong.push("taken back in time".to_owned());
            }
            known.last = known.last.max(number);
            if matches!(outcome.as_str(), "done" | "requeue-after")
                && let Some(first) = known.handled.insert(version, how.clone())
                && !due
            {
                wrong.push(format!("doubled, first {first}, then {how}"));
            }
        }
        wrong.into_iter().for_each(|wrong| self.problem(format!("{wrong}: {said}")));
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < MOST {
            self.problems.push(problem);
        }
    }

    /// Everything that should not have been.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// What is still to come: last states that were not handled, and ends that were not told.
    pub(crate) fn lost(&self, books: &Books) -> Vec<String> {
        let mut lost = Vec::new();
        for (name, (uid, version)) in &books.live {
            if !self.uids.get(uid).is_some_and(|known| known.handled.contains_key(version)) {
                lost.push(format!("lost: {name} (uid {uid}) was never handled at {version}"));
            }
        }
        let untold = books.gone.iter().filter(|uid| self.uids.get(*uid).is_some_and(|known| !known.ended));
        lost.extend(untold.map(|uid| format!("lost: no delete ended for uid {uid}")));
        lost
    }

    /// Revisions that were called.
    pub(crate) fn revisions(&self) -> usize {
        self.tags.len()
    }

    /// All calls.
    pub(crate) fn calls(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// One line for each part of the run.
    pub(crate) fn figures(&self) -> String {
        let mut text = format!("{} calls by {} revisions, {} because of a swap", self.calls(), self.revisions(), self.reloads);
        for (phase, times) in &self.latencies {
            let mut times = times.clone();
            times.sort_by(f64::total_cmp);
            let at = |share: f64| times.get((times.len().saturating_sub(1) as f64 * share).round() as usize).copied().unwrap_or(f64::NAN);
            let ended: Vec<String> =
                self.outcomes.iter().filter(|((of, _), _)| of == phase).map(|((_, how), n)| format!("{n} {how}")).collect();
            text.push_str(&format!(
                "\n    {phase:?}: {} changes, from the store to the call p50 {:.3} ms, p99 {:.3} ms, max {:.1} ms; calls: {}",
                times.len(),
                at(0.5),
                at(0.99),
                at(1.0),
                ended.join(", ")
            ));
        }
        text
    }
}

fn guest_fields(line: &Line) -> Map<String, Value> {
    match line.fields().get("fields") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Object(fields)) => fields.clone(),
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn begins(tag: &str, code: &str) -> Line {
        let fields = json!({"version": tag, "code": code}).to_string();
        Line::parse(&json!({"target": "guest", "plugin": "p", "name": "x", "fields": fields}).to_string())
    }

    fn ends(event: &str, uid: &str, version: &str, cause: &str, outcome: &str, revision: &str) -> Line {
        Line::parse(
            &json!({
                "message": "guest call finished", "plugin": "p", "name": "x", "event": event, "uid": uid, "resource_version": version,
                "cause": cause, "outcome": outcome, "revision": revision, "attempt": 1, "queued_ms": 0.5,
            })
            .to_string(),
        )
    }

    fn seen(lines: &[Line]) -> Witness {
        let mut witness = Witness::new("p");
        lines.iter().for_each(|line| witness.see(line));
        witness
    }

    fn books() -> Books {
        Books { live: [("x".to_owned(), ("u".to_owned(), "2".to_owned()))].into(), gone: ["v".to_owned()].into(), writes: 3 }
    }

    #[test]
    fn a_clean_history_is_clean() {
        let witness = seen(&[
            begins("0-v1", "v1"),
            ends("add", "v", "1", "watch", "done", "1-a"),
            begins("1-v2", "v2"),
            ends("delete", "v", "1", "watch", "done", "2-b"),
            begins("1-v2", "v2"),
            ends("add", "u", "2", "watch", "strike", "2-b"),
            begins("0-v1", "v1"),
            ends("add", "u", "2", "reload", "done", "3-a"),
            begins("0-v1", "v1"),
            ends("update", "u", "2", "reload", "done", "3-a"),
        ]);
        assert_eq!((witness.problems(), witness.lost(&books())), (&[][..], Vec::new()));
        assert_eq!((witness.calls(), witness.revisions()), (5, 3));
    }

    #[test]
    fn each_kind_of_wrong_is_seen() {
        let done = || ends("update", "u", "2", "watch", "done", "1-a");
        for (what, lines) in [
            ("two at once", vec![begins("0-v1", "v1"), begins("1-v2", "v2")]),
            ("doubled, first update, watch", vec![begins("0-v1", "v1"), done(), begins("0-v1", "v1"), done()]),
            (
                "doubled, first update, watch, attempt 1, by 1-a",
                vec![begins("0-v1", "v1"), done(), begins("0-v1", "v1"), ends("add", "u", "2", "requeue", "done", "1-a")],
            ),
            ("mixed: code", vec![begins("0-v1", "v2")]),
            (
                "mixed: a revision",
                vec![begins("0-v1", "v1"), done(), begins("2-v1", "v1"), ends("update", "u", "3", "watch", "done", "1-a")],
            ),
            ("taken back", vec![begins("0-v1", "v1"), done(), begins("0-v1", "v1"), ends("update", "u", "1", "watch", "done", "1-a")]),
            (
                "doubled: called after",
                vec![
                    begins("0-v1", "v1"),
                    ends("delete", "u", "2", "watch", "done", "1-a"),
                    begins("0-v1", "v1"),
                    ends("delete", "u", "2", "watch", "done", "1-a"),
                ],
            ),
            ("a call that no guest", vec![done()]),
        ] {
            let witness = seen(&lines);
            assert!(witness.problems().len() == 1 && witness.problems()[0].starts_with(what), "{what}: {:?}", witness.problems());
        }
        let lost = seen(&[begins("0-v1", "v1"), ends("add", "v", "1", "watch", "done", "1-a")]).lost(&books());
        assert!(lost.len() == 2 && lost[0].starts_with("lost: x") && lost[1].starts_with("lost: no delete"), "{lost:?}");
    }
}
