//! The judge: compares what a handler was told with what the server has at the end and with
//! what the writer wrote. Owns the words *lost* (a last state or an end that was not
//! announced) and *doubled* (one state announced twice as new, or one end twice).

use std::collections::{BTreeMap, HashMap, HashSet};

use wharf_cache::ChangeCause;

use crate::history::{Fact, Ident, Told};

/// The state of every key at the end of a run.
pub(crate) type Truth = BTreeMap<String, Ident>;

/// What the writer knows of its writes: state to `data.value` as JSON. A write whose answer
/// was lost is not in it.
pub(crate) type Books = HashMap<(String, String), String>;

/// One registration and all that is known about it.
pub(crate) struct Case<'a> {
    pub(crate) history: &'a [Told],
    /// Was it attached to a selector? Then an object may leave and come back.
    pub(crate) selector: bool,
    /// What it must know by now; `None` for a registration that was removed before the end.
    pub(crate) truth: Option<&'a Truth>,
    pub(crate) books: &'a Books,
}

/// One sentence for everything that is wrong.
pub(crate) fn problems(case: &Case<'_>) -> Vec<String> {
    let mut judge = Judge { case, known: BTreeMap::new(), seen: HashSet::new(), ends: HashMap::new(), problems: Vec::new() };
    judge.calls();
    for told in case.history {
        if let Told::Change(fact) = told {
            judge.change(fact);
        }
    }
    judge.sequences();
    judge.end();
    judge.problems
}

struct Judge<'a> {
    case: &'a Case<'a>,
    /// What the handler knows of each key.
    known: BTreeMap<&'a str, &'a Ident>,
    /// States that were announced as new.
    seen: HashSet<&'a Ident>,
    /// How often the end of a uid was announced.
    ends: HashMap<&'a str, u32>,
    problems: Vec<String>,
}

impl<'a> Judge<'a> {
    /// Attached first, and once more after each move; synced at most once.
    fn calls(&mut self) {
        let count = |wanted: fn(&Told) -> bool| self.case.history.iter().filter(|told| wanted(told)).count();
        let attached = count(|told| matches!(told, Told::Attached { .. }));
        let moves = count(|told| matches!(told, Told::Moving));
        let synced = count(|told| matches!(told, Told::Synced));
        if attached != 1 + moves || !matches!(self.case.history.first(), Some(Told::Attached { .. })) {
            self.problems.push(format!("calls: on_attached was called {attached} times at {moves} moves, or not first"));
        }
        if synced > 1 || (synced == 0 && self.case.truth.is_some()) {
            self.problems.push(format!("calls: on_synced was called {synced} times"));
        }
    }

    fn change(&mut self, fact: &'a Fact) {
        let known = self.known.get(&*fact.key).copied();
        if fact.old.as_ref() != known {
            self.say(fact, format_args!("chain: the old state is not the one that was announced last, {known:?}"));
        }
        match (&fact.old, &fact.new) {
            (None, None) => self.say(fact, format_args!("chain: neither an old nor a new state")),
            (_, Some(new)) => self.put(fact, new),
            (Some(old), None) => self.removal(fact, old),
        }
    }

    fn put(&mut self, fact: &'a Fact, new: &'a Ident) {
        if !self.seen.insert(new) {
            self.say(fact, format_args!("doubled: this state was announced before"));
        }
        if let Some(old) = &fact.old {
            if number(old) >= number(new) {
                self.say(fact, format_args!("stale: the new state is not newer than the old one"));
            }
            if old.uid != new.uid {
                self.ended(fact, &old.uid);
            }
        }
        if !self.case.selector && self.ends.contains_key(&*new.uid) {
            self.say(fact, format_args!("doubled: this object was said to be gone"));
        }
        let written = self.case.books.get(&(new.uid.to_string(), new.version.to_string()));
        if written.is_some_and(|value| Some(&**value) != fact.value.as_deref()) {
            self.say(fact, format_args!("content: written was {written:?}"));
        }
        self.known.insert(&fact.key, new);
    }

    fn removal(&mut self, fact: &'a Fact, old: &'a Ident) {
        self.known.remove(&*fact.key);
        self.ended(fact, &old.uid);
        match &fact.last {
            Some(last) if last.uid != old.uid => self.say(fact, format_args!("chain: the final state is of another object")),
            Some(last) if fact.final_known && number(last) <= number(old) => {
                self.say(fact, format_args!("stale: the final state is not newer than the last one"));
            }
            Some(last) if !fact.final_known && last != old => self.say(fact, format_args!("chain: the final state was never announced")),
            Some(_) => {}
            None => self.say(fact, format_args!("chain: a removal without a final state")),
        }
    }

    fn ended(&mut self, fact: &Fact, uid: &'a str) {
        let ends = self.ends.entry(uid).or_default();
        *ends += 1;
        if *ends > 1 && !self.case.selector {
            self.say(fact, format_args!("doubled: the end of {uid} was announced before"));
        }
    }

    /// Numbers of changes grow within one store; only what a handler is told of a store's contents
    /// when it comes late or has moved has one number, that of the last change before.
    fn sequences(&mut self) {
        let (mut at_start, mut last, mut moved) = (0, 0, false);
        for told in self.case.history {
            match told {
                Told::Attached { sequence } => (at_start, last) = (*sequence, *sequence),
                Told::Change(fact) => {
                    let contents = moved || fact.cause == ChangeCause::InitialList;
                    let replay = contents && fact.sequence == at_start && last == at_start;
                    if fact.sequence <= last && !replay {
                        self.say(fact, format_args!("sequence: {} comes after {last}", fact.sequence));
                    }
                    last = fact.sequence;
                }
                Told::Moving => moved = true,
                Told::Recovered => moved = false,
                Told::Synced => {}
            }
        }
    }

    fn end(&mut self) {
        let Some(truth) = self.case.truth else { return };
        for (key, state) in truth {
            let known = self.known.get(key.as_str());
            if known != Some(&state) {
                self.problems.push(format!("lost: {key} is {state:?}, last announced was {known:?}"));
            }
        }
        for (key, state) in &self.known {
            if !truth.contains_key(*key) {
                self.problems.push(format!("lost: {key} is gone, but the end of {state:?} was not announced"));
            }
        }
    }

    fn say(&mut self, fact: &Fact, what: std::fmt::Arguments<'_>) {
        self.problems.push(format!("{what}: {fact:?}"));
    }
}

/// The API server's versions are numbers that grow over all objects; only tests may know that.
fn number(state: &Ident) -> u64 {
    state.version.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> Option<Ident> {
        let (uid, version) = text.split_once('@')?;
        Some(Ident::new(uid, version))
    }

    fn change(sequence: u64, old: &str, new: &str) -> Told {
        let (old, new) = (state(old), state(new));
        let last = if new.is_none() { old.clone() } else { None };
        let final_known = new.is_some();
        let value = new.as_ref().map(|new| new.version.clone());
        Told::Change(Fact { key: "a".into(), old, new, last, final_known, cause: ChangeCause::Watch, sequence, value })
    }

    fn judge(changes: &[Told], selector: bool, truth: &[(&str, &str)]) -> Vec<String> {
        let truth: Truth = truth.iter().filter_map(|(key, text)| Some(((*key).to_owned(), state(text)?))).collect();
        let books = Books::from([(("u".into(), "1".into()), "1".into())]);
        let mut history = vec![Told::Attached { sequence: 0 }, Told::Synced];
        history.extend_from_slice(changes);
        problems(&Case { history: &history, selector, truth: Some(&truth), books: &books })
    }

    /// The words with which the problems begin.
    fn words(problems: &[String]) -> Vec<&str> {
        problems.iter().filter_map(|problem| problem.split(':').next()).collect()
    }

    #[test]
    fn a_clean_history_has_no_problems() {
        let changes = [change(1, "", "u@1"), change(2, "u@1", "u@2"), change(3, "u@2", ""), change(4, "", "v@4"), change(5, "v@4", "w@6")];
        assert_eq!(judge(&changes, false, &[("a", "w@6")]), Vec::<String>::new());
    }

    #[test]
    fn a_last_state_that_was_not_announced_is_lost() {
        assert_eq!(words(&judge(&[change(1, "", "u@1")], false, &[("a", "u@2")])), ["lost"]);
        assert_eq!(words(&judge(&[change(1, "", "u@1")], false, &[("a", "u@1"), ("b", "v@2")])), ["lost"]);
    }

    #[test]
    fn an_end_that_was_not_announced_is_lost() {
        assert_eq!(words(&judge(&[change(1, "", "u@1")], false, &[])), ["lost"]);
    }

    #[test]
    fn what_is_announced_twice_is_doubled() {
        let again = [change(1, "", "u@1"), change(2, "u@1", ""), change(3, "", "u@1")];
        assert_eq!(words(&judge(&again, false, &[("a", "u@1")])), ["doubled", "doubled"]);
        assert_eq!(words(&judge(&again, true, &[("a", "u@1")])), ["doubled"]);
        let back = [change(1, "", "u@1"), change(2, "u@1", ""), change(3, "", "u@2"), change(4, "u@2", "")];
        assert_eq!(words(&judge(&back, false, &[])), ["doubled", "doubled"]);
        assert!(judge(&back, true, &[]).is_empty(), "with a selector objects leave and come back");
        let ends = [change(1, "", "u@1"), change(2, "u@1", ""), change(3, "u@1", "")];
        assert_eq!(words(&judge(&ends, false, &[])), ["chain", "doubled"]);
    }

    #[test]
    fn broken_chains_and_stale_states_are_found() {
        assert_eq!(words(&judge(&[change(1, "", "u@1"), change(2, "u@7", "u@9")], false, &[("a", "u@9")])), ["chain"]);
        assert_eq!(words(&judge(&[change(1, "", "u@5"), change(2, "u@5", "u@4")], false, &[("a", "u@4")])), ["stale"]);
        assert_eq!(words(&judge(&[change(2, "", "u@1"), change(2, "u@1", "u@2")], false, &[("a", "u@2")])), ["sequence"]);
    }

    #[test]
    fn numbers_begin_anew_after_a_move() {
        let moved = [change(7, "", "u@1"), Told::Moving, Told::Attached { sequence: 3 }, change(3, "u@1", "u@2"), Told::Recovered];
        assert_eq!(judge(&moved, false, &[("a", "u@2")]), Vec::<String>::new());
        let mut unannounced = moved.to_vec();
        unannounced.remove(1);
        assert_eq!(words(&judge(&unannounced, false, &[("a", "u@2")])), ["calls", "sequence"]);
    }

    #[test]
    fn another_content_than_was_written_is_found() {
        let Told::Change(mut fact) = change(1, "", "u@1") else { panic!("not a change") };
        fact.value = Some("7".into());
        assert_eq!(words(&judge(&[Told::Change(fact)], false, &[("a", "u@1")])), ["content"]);
    }
}
